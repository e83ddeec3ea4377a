"""After a crash: what was committed is put in its place, what was staged without that is deleted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.writing.workplace import Workplace
from hexcursion.bundle.writing.write import Staged

NOTE = "pending.json"


@dataclass(frozen=True)
class Pending:
    """What a staged bundle waits for: the commit of this release with this digest in this ledger."""

    release_id: str
    name: str  # of the bundle's folder
    digest: str  # SHA-256 of its SHA256SUMS, hex
    ledger: str  # the public identity of the ledger's key


@dataclass(frozen=True)
class Recovered:
    """What was finished and what was not."""

    placed: tuple[str, ...] = ()  # release ids that were put in their place
    waiting: tuple[str, ...] = ()  # release ids that wait because their place is taken
    deleted: int = 0  # how many work folders of dead processes were deleted


def note_pending(work: Path, pending: Pending) -> None:
    """Leave word in a work folder, flushed to disk, before the commit is asked for."""
    draft = work / f".{NOTE}"
    with draft.open("w", encoding="utf-8") as stream:
        json.dump(asdict(pending), stream)
        stream.flush()
        os.fsync(stream.fileno())
    draft.rename(work / NOTE)


def recover(parent: Path, ledger: str, committed: Callable[[], Mapping[str, str]]) -> Recovered:
    """Finish or discard what dead processes left in a folder of bundles. `parent`: the folder in which
    bundles are put; `ledger`: the identity of the ledger's key. What waits for another ledger is left alone;
    `committed`: release id to digest of everything that the ledger committed; asked only if something waits.
    A folder without a note was left before anything could be committed. With one, the ledger decides: if it
    committed this release with this digest, the bundle is put in its place; otherwise the charge is open or
    was given back, nobody has seen the bundle, and it is deleted."""
    placed, waiting, deleted = [], [], 0
    for work in Workplace.abandoned(parent):
        pending = read_note(work.folder)
        if pending is None:
            work.remove()
            deleted += 1
        elif pending.ledger == ledger:
            if committed().get(pending.release_id) != pending.digest:
                work.remove()
                deleted += 1
                continue
            try:
                Staged(parent / pending.name, work.folder, pending.digest).place()
            except BundleError:
                waiting.append(pending.release_id)
            else:
                placed.append(pending.release_id)
                work.remove()
    return Recovered(tuple(placed), tuple(waiting), deleted)


def read_note(work: Path) -> Pending | None:
    """What a work folder waits for; None where nothing was staged to its end."""
    try:
        pending = Pending(**json.loads((work / NOTE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    # The name becomes a path: it must be one plain name.
    plain = isinstance(pending.name, str) and Path(pending.name).name == pending.name not in ("", "..")
    return pending if plain else None
