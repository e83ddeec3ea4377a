"""Seals: what a release quotes of its ledger entry, and what the releases beside a ledger remember of it.

A seal is `number:hash:tag`. Number and hash are those of the charge; the tag is a signature by the ledger's
key, so that the key tells its own seals from those of other ledgers, even where the entry is gone. All three
are public.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hexcursion.ledger.errors import LedgerError
from hexcursion.ledger.signing.key import LedgerKey
from hexcursion.ledger.storage.entry import Entry

TAG_DIGITS = 16
MOST_BYTES = 4_000_000  # of a statement: more is no statement
STATEMENT = "statement.json"
_NUMBER = re.compile("[0-9]{1,12}")
_SEAL = re.compile(rb'"(\d{1,12}):([0-9a-f]{64}):([0-9a-f]{16})"')


@dataclass(frozen=True)
class Seen:
    """A charge as a release beside the ledger quotes it: number, hash, and the release's folder or file."""

    number: int
    hash: str
    where: Path


def seal_of(entry: Entry, key: LedgerKey) -> str:
    """The seal of a charge."""
    return f"{entry.number}:{entry.hash}:{_tag(key, entry.number, entry.hash)}"


def parse_seal(seal: str) -> tuple[int, str]:
    """Number and hash of a seal, with its tag or without. Raise `LedgerError` for anything else."""
    number, _, rest = seal.partition(":")
    digest, _, _ = rest.partition(":")
    if not (_NUMBER.fullmatch(number) and digest):
        raise LedgerError(f"A seal is written NUMBER:HASH, not {seal!r}: copy it from a bundle's statement.")
    return int(number), digest


def seals_beside(folders: Iterable[Path], key: LedgerKey) -> tuple[Seen, ...]:
    """This key's seals in all bundles that lie in these folders; those of other keys are left out."""
    found: dict[tuple[int, str, Path], Seen] = {}
    for place in _bundles(folders):
        for number, digest, tag in _seals_in(place):
            if key.matches("seal", f"{number}:{digest}".encode(), tag, TAG_DIGITS):
                found[number, digest, place] = Seen(number, digest, place)
    return tuple(found.values())


def _tag(key: LedgerKey, number: int, digest: str) -> str:
    return key.mac("seal", f"{number}:{digest}".encode())[:TAG_DIGITS]


def _bundles(folders: Iterable[Path]) -> Iterator[Path]:
    """Folders of bundles, and zips whose folder is not beside them."""
    for folder in dict.fromkeys(path.absolute() for path in folders):
        try:
            names = sorted(entry.name for entry in os.scandir(folder))
        except OSError:  # no such folder: nothing was released there
            continue
        for name in names:
            path = folder / name
            if (path / STATEMENT).is_file() or (path.suffix == ".zip" and path.stem not in names):
                yield path


def _seals_in(place: Path) -> tuple[tuple[int, str, str], ...]:
    target = place / STATEMENT if place.suffix != ".zip" or place.is_dir() else place
    try:
        state = target.stat()
    except OSError:
        return ()
    return _read_seals(target, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4096)  # bundles do not change; the time and size are part of what is remembered
def _read_seals(target: Path, _time: int, _size: int) -> tuple[tuple[int, str, str], ...]:
    try:
        if target.suffix == ".zip":
            with zipfile.ZipFile(target) as archive:
                name = next((name for name in archive.namelist() if name.endswith(STATEMENT)), "")
                data = b""
                if name:
                    with archive.open(name) as member:
                        data = member.read(MOST_BYTES)
        else:
            with target.open("rb") as file:
                data = file.read(MOST_BYTES)
    except (OSError, zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError, ValueError):
        return ()  # not a readable bundle: it quotes nothing
    return tuple((int(number), digest.decode(), tag.decode()) for number, digest, tag in _SEAL.findall(data))
