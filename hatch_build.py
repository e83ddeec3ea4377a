"""What the build adds: the requirements of requirements.in and the core, and the app's files to a wheel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

FILES = ("requirements.in", "requirements-test.in")
LIBRARY = "library"
# The app is a folder of files that Streamlit runs, so in a wheel it is one folder too, laid out as in the
# repository: no module called `pages` or `studies` enters anybody's environment.
APP = {
    **{
        name: f"hexcursion/app/{name}"
        for name in ("app.py", ".streamlit/config.toml", "pages", "studies", "static")
    },
    "frontend/hexcursion_maps": "hexcursion/app/hexcursion_maps",  # with its assets where they were built
    "frontend/wheel/pyproject.toml": "hexcursion/pyproject.toml",
}
_HEADING = re.compile(r"# \[([a-z]+)\]")


def requirements(folder: Path) -> dict[str, list[str]]:
    """What is asked for by heading: "library", and the name of each extra."""
    found: dict[str, list[str]] = {}
    for name in FILES:
        group: list[str] | None = None
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            heading, wanted = _HEADING.match(line), line.split(" #")[0].strip()
            if heading is not None:
                group = found.setdefault(heading[1], [])
            elif wanted and not wanted.startswith(("#", "-")):
                if group is None:
                    raise ValueError(f"{wanted!r} stands below no heading of {name}: write `# [app]`.")
                group.append(wanted)
    return found


class Requirements(MetadataHookInterface):
    """Fills in what pyproject.toml declares as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set dependencies and extras."""
        extras = requirements(Path(self.root))
        metadata["dependencies"] = [f"dpgp-core=={metadata['version']}", *extras.pop(LIBRARY)]
        metadata["optional-dependencies"] = extras


class App(BuildHookInterface[Any]):
    """Puts the app into a wheel; an editable installation runs it from the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to be included."""
        if version != "editable":
            build_data["force_include"].update(APP)
