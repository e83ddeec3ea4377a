"""Reach: which files of the machine that runs the app a session may name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow.errors import WorkflowError
from workflow.ledger.storage.places import home
from workflow.project.example import example_folders
from workflow.settings.model import ReleaseSettings
from workflow.settings.source import SourceSettings

VARIABLE = "HEXCURSION_DATA"


@dataclass(frozen=True)
class Reach:
    """What may be read by path.

    Parameters
    ----------
    named
        folders that the operator named; None: none were named
    own
        folders of the app itself: the session's uploads, public files, the example
    open
        any path may be named: only where nobody but the machine's own user reaches the app
    """

    named: tuple[Path, ...] | None
    own: tuple[Path, ...]
    open: bool

    def check(self, path: str) -> None:
        """Refuse a file or folder that, links and `..` resolved, lies in no folder that is allowed.

        Raises
        ------
        WorkflowError
            One sentence that says where it may lie.
        """
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

    def check_settings(self, settings: ReleaseSettings) -> None:
        """The same for every file that settings name.

        Raises
        ------
        WorkflowError
            One sentence, also for a ledger or a scheduler that settings name.
        """
        for source in (settings.data, settings.reference):
            for path in () if source is None else files_of(source):
                self.check(path)
        for public in (settings.region, settings.limits, settings.basemap, *settings.layers):
            if public is not None:
                self.check(public)
        if settings.ledger is not None and not self.open:
            raise WorkflowError(
                "These settings name a ledger of their own, but this app keeps one for everybody: "
                "take `ledger` out of the file."
            )
        if settings.dask is not None and not self.open:
            raise WorkflowError(
                "These settings name a Dask scheduler, but this app calls no address that a file names: "
                "take `dask` out of the file."
            )

    def _refusal(self) -> str:
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


def files_of(source: SourceSettings) -> tuple[str, ...]:
    """The paths that a source names."""
    return tuple(path for path in (source.path, source.postcodes, source.trip) if path is not None)


def reach(listed: Sequence[str] | None, *, loopback: bool, uploads: Path) -> Reach:
    """What a session may read by path.

    Parameters
    ----------
    listed
        folders from the operator's secrets, None without such a list; $HEXCURSION_DATA, folders joined like a
        search path, adds to them
    loopback
        the app listens on this machine only; without any folder named, every path is then allowed
    uploads
        the session's own folder
    """
    variable = [folder for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder.strip()]
    named = (
        None
        if listed is None and not variable
        else tuple(Path(each) for each in (*(listed or ()), *variable))
    )
    return Reach(named, (uploads, public_folder(), *example_folders()), named is None and loopback)
