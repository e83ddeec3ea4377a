"""The shelf of trips: the releases of the screen Traces on this machine, newest first."""

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
MOST = 20  # trips on the screen


def trips_folder() -> Path:
    """The folder of trips released on the screen Traces: `trips` in this installation's home."""
    return home() / "trips"


@dataclass(frozen=True)
class ShelvedTrip:
    """A released trip on disk: the release's id, and as a title when it was released, of how many
    records and secrets."""

    name: str
    title: str
    folder: Path

    @property
    def files(self) -> dict[str, str]:
        """The text of every file, by name, as `PublishedTrace.files`."""
        return {name: (self.folder / name).read_text(encoding="utf-8") for name in FILES}


def trips(most: int = MOST) -> tuple[ShelvedTrip, ...]:
    """The latest trips on the shelf, newest first; older ones are not read. Folders without one of the
    files, or with another name than a release's, do not count: a release puts all files in place at
    once."""
    folder = trips_folder()
    folders = [
        entry
        for entry in (folder.iterdir() if folder.is_dir() else ())
        if _ID.fullmatch(entry.name) and all((entry / name).is_file() for name in FILES)
    ]
    folders.sort(key=lambda entry: (-entry.stat().st_mtime_ns, entry.name))
    return tuple(ShelvedTrip(entry.name, _title(entry), entry) for entry in folders[:most])


def _title(folder: Path) -> str:
    time = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    try:
        statement = json.loads((folder / "statement.json").read_text(encoding="utf-8"))
        size = f"{plural(statement['records'], 'record')}, {plural(statement['secrets'], 'secret')}"
    except (OSError, ValueError, KeyError, TypeError):
        size = "its statement cannot be read"
    return f"{time:%Y-%m-%d %H:%M} UTC, {size}, {folder.name}"
