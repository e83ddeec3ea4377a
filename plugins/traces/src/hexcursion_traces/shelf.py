"""The shelf of trips: what the screen Traces has released on this machine, newest first."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hexcursion.ledger.places import home
from hexcursion.words import plural
from hexcursion_traces.exports import FILES

_ID = re.compile(r"[0-9a-f]{16}")
MOST = 20  # trips that are read


def trips_folder() -> Path:
    """Where trips lie that were released on the screen Traces: `trips` in this installation's home."""
    return home() / "trips"


@dataclass(frozen=True)
class ShelvedTrip:
    """A released trip on disk.

    Parameters
    ----------
    name : str
        The release's id.
    title : str
        When it was released, and of how many records and secrets.
    folder : Path
    """

    name: str
    title: str
    folder: Path

    @property
    def files(self) -> dict[str, str]:
        """The text of every file, by name, as `PublishedTrace.files`."""
        return {name: (self.folder / name).read_text(encoding="utf-8") for name in FILES}


def trips(most: int = MOST) -> tuple[ShelvedTrip, ...]:
    """The latest trips on the shelf, newest first; older ones lie there unread.

    Returns
    -------
    tuple of ShelvedTrip
        Folders that lack a file, or have another name than a release's, are none: a release puts all files
        in place at once.
    """
    folder = trips_folder()
    found = [
        one
        for one in (folder.iterdir() if folder.is_dir() else ())
        if _ID.fullmatch(one.name) and all((one / name).is_file() for name in FILES)
    ]
    found.sort(key=lambda one: (-one.stat().st_mtime_ns, one.name))
    return tuple(ShelvedTrip(one.name, _title(one), one) for one in found[:most])


def _title(folder: Path) -> str:
    made = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    try:
        said = json.loads((folder / "statement.json").read_text(encoding="utf-8"))
        size = f"{plural(said['records'], 'record')}, {plural(said['secrets'], 'secret')}"
    except (OSError, ValueError, KeyError, TypeError):
        size = "its statement cannot be read"
    return f"{made:%Y-%m-%d %H:%M} UTC, {size}, {folder.name}"
