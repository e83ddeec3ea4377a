"""The build's reading of requirements.in and its siblings: what is asked for is stated there only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

FILES = ("requirements.in", "requirements-test.in", "requirements-train.in")
LIBRARY = "library"
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
        metadata["dependencies"] = extras.pop(LIBRARY)
        metadata["optional-dependencies"] = extras
