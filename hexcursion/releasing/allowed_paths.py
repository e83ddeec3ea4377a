"""Which files of a machine a session of the app, or a settings file, may name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hexcursion.errors import WorkflowError
from hexcursion.ledger.places import home
from hexcursion.project.example import example_folders
from hexcursion.settings.model import ReleaseSettings

VARIABLE = "HEXCURSION_DATA"


@dataclass(frozen=True)
class AllowedPaths:
    """What may be read by path."""

    named: tuple[Path, ...] | None  # folders that the operator named; None: none were named
    own: tuple[Path, ...]  # folders of the app itself: the session's uploads, public files, the example
    open: bool  # any path: only where nobody but the machine's own user reaches the app
    from_file: bool = False  # what is checked was named by a settings file
    option: str = ""  # by which a settings file on the command line is trusted; "" in the app

    def check(self, path: str) -> None:
        """Raise `WorkflowError` for a path that, links and `..` resolved, lies in no allowed folder."""
        if self.open:
            return
        folders = [folder.resolve() for folder in (*(self.named or ()), *self.own)]
        try:
            real = Path(path).resolve()
            # A folder is read with all its tables, and one of them may be a link to elsewhere.
            every = [real, *(item.resolve() for item in real.rglob("*"))] if real.is_dir() else [real]
        except (OSError, ValueError, RuntimeError):  # an impossible name, or links in a circle
            every = [Path("/")]
        if all(any(item.is_relative_to(folder) for folder in folders) for item in every):
            return
        raise WorkflowError(self._refusal())

    def check_settings(self, settings: ReleaseSettings | Mapping[str, Any]) -> None:
        """Raise `WorkflowError` for settings from a file, checked or not, that name files elsewhere.

        A person names what he means, and may name any; a settings file may come from a colleague, and a layer
        or region that it names is published as it is.
        """
        limited = replace(self, open=False, from_file=True)
        for path in paths_in(settings if isinstance(settings, Mapping) else asdict(settings)):
            limited.check(path)

    def _refusal(self) -> str:
        if self.from_file and self.option:
            return (
                "These settings name files outside of their own folder and the current one: read them first, "
                f"then give {self.option}, or name the folder in {VARIABLE}."
            )
        if self.from_file and self.named is None:
            return (
                "These settings name a file of this machine: upload it together with them, or name its "
                f"folder in {VARIABLE} before the app is started."
            )
        if self.named:
            folders = " or ".join(str(folder) for folder in self.named)
            return (
                f"This app reads files of its machine only below {folders}: name one there, upload the file, "
                f"or ask the operator to add its folder to {VARIABLE}."
            )
        return (
            "This app reads no files of its machine by path: upload the file, or ask the operator to name "
            f"its folder in {VARIABLE}."
        )


def public_folder() -> Path:
    """Where public files lie: `public-data` in this installation's home."""
    return (home() / "public-data").absolute()


def paths_in(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Every path among the key-value pairs of settings; other kinds of value are refused elsewhere."""
    single = ("region", "limits", "basemap", "population_file", "shared_design")
    found = [values.get(name) for name in single]
    for several in (values.get("layers"), values.get("covariates")):
        found += several if isinstance(several, list | tuple) else [several]
    for table in (values.get("data"), values.get("reference")):
        if isinstance(table, Mapping):
            found += [table.get(name) for name in ("path", "postcodes", "trip")]
    return tuple(path for path in found if isinstance(path, str))


def reach_of_file(file: str) -> AllowedPaths:
    """Return what a settings file may name on the command line, unless its reader trusts it.

    Its own folder, the current one, those in $HEXCURSION_DATA, and public files.
    """
    return replace(
        reach([str(Path(file).absolute().parent), str(Path.cwd())], loopback=False, uploads=public_folder()),
        option="--trust-settings",
    )


def reach(listed: Sequence[str] | None, *, loopback: bool, uploads: Path) -> AllowedPaths:
    """Return what a session may read by path.

    `listed` are folders of the operator's secrets, or None; $HEXCURSION_DATA, joined like a search path, adds
    to them. On a `loopback` app without any folder named every path is allowed. `uploads` is the session's
    own.
    """
    variable = [folder for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder.strip()]
    named = (
        None
        if listed is None and not variable
        else tuple(Path(each) for each in (*(listed or ()), *variable))
    )
    return AllowedPaths(named, (uploads, public_folder(), *example_folders()), named is None and loopback)
