"""Which files of a machine a session of the app, or a settings file, may name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from hexcursion.errors import WorkflowError
from hexcursion.ledger.places import home
from hexcursion.project.example import example_folders
from hexcursion.settings.model import ReleaseSettings

VARIABLE = "HEXCURSION_DATA"


@dataclass(frozen=True)
class AllowedPaths:
    """Folders of the machine whose files may be read by path."""

    named: tuple[Path, ...] | None  # folders that the operator named, if any
    own: tuple[Path, ...]  # folders of the app: the session's uploads, public files, the example
    open: bool  # any path: only if the machine's user alone reaches the app
    from_file: bool = False  # the checked path comes from a settings file
    option: str = ""  # command-line option that trusts a settings file; "" in the app

    def check(self, path: str) -> None:
        """Raise `WorkflowError` for a path outside all allowed folders, once links and `..` are
        resolved."""
        if not (self.open or self._holds(path)):
            raise WorkflowError(self._refusal())

    def _holds(self, path: str) -> bool:
        folders = [folder.resolve() for folder in (*(self.named or ()), *self.own)]
        try:
            real = Path(path).resolve()
            # A folder is read with all its tables, and one of them may be a link to elsewhere.
            paths = chain((real,), (item.resolve() for item in real.rglob("*")))
            return all(any(item.is_relative_to(folder) for folder in folders) for item in paths)
        except (OSError, ValueError, RuntimeError):  # an impossible name, or links in a circle
            return False

    def check_settings(self, settings: ReleaseSettings | Mapping[str, Any]) -> None:
        """Raise `WorkflowError` for settings from a file that name files elsewhere.

        The settings may be validated or a plain mapping. A user may name any file; a settings file
        may come from another person, and its layers and regions are published unchanged.
        """
        limited = replace(self, open=False, from_file=True)
        for path in paths_in(settings if isinstance(settings, Mapping) else asdict(settings)):
            limited.check(path)

    def _refusal(self) -> str:
        if self.from_file and self.option:
            return (
                "These settings name files outside of their folder and the current one: read them first, "
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
    """The folder of public files: `public-data` in this installation's home."""
    return (home() / "public-data").absolute()


def paths_in(values: Mapping[str, Any]) -> tuple[str, ...]:
    """All paths among the key-value pairs of settings; validation refuses other kinds of value."""
    single = ("region", "limits", "basemap", "population_file", "shared_design")
    paths = [values.get(name) for name in single]
    for several in (values.get("layers"), values.get("covariates")):
        paths += several if isinstance(several, list | tuple) else [several]
    for table in (values.get("data"), values.get("reference")):
        if isinstance(table, Mapping):
            paths += [table.get(name) for name in ("path", "postcodes", "trip")]
    return tuple(path for path in paths if isinstance(path, str))


def reach_of_file(file: str) -> AllowedPaths:
    """Return the paths that a settings file may name on the command line unless the user trusts it.

    These are its folder, the current folder, those in $HEXCURSION_DATA, and public files.
    """
    folders = [str(Path(file).absolute().parent), str(Path.cwd())]
    return replace(reach(folders, loopback=False, uploads=public_folder()), option="--trust-settings")


def reach(listed: Sequence[str] | None, *, loopback: bool, uploads: Path) -> AllowedPaths:
    """Return the paths that a session may read.

    `listed` are the folders in the operator's secrets, or None; $HEXCURSION_DATA, joined like a
    search path, adds to them. A `loopback` app allows every path if the operator named no folder.
    `uploads` is the session's folder.
    """
    variable = [folder for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder.strip()]
    folders = None
    if listed is not None or variable:
        folders = tuple(Path(folder) for folder in (*(listed or ()), *variable))
    program = (uploads, public_folder(), *example_folders())
    return AllowedPaths(folders, program, folders is None and loopback)
