"""The chain of hashes and its evidence: the seals in released bundles, the witness on this machine.

A seal is `number:hash:tag`. Number and hash are those of the charge. The tag is a signature by the
ledger's key, by which the key recognises its seals even if the entry is lost. All three are public.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from hexcursion.ledger.book import Book
from hexcursion.ledger.entry import NO_HASH, Entry, seconds_behind
from hexcursion.ledger.errors import LedgerDamaged, LedgerError
from hexcursion.ledger.places import LedgerKey, private_directory, witness_folder
from hexcursion.ledger.store import Head, Snapshot
from hexcursion.new_place import sync_folder
from hexcursion.words import plural

TAG_DIGITS = 16
MOST_BYTES = 4_000_000  # of a statement
STATEMENT = "statement.json"
_NUMBER = re.compile("[0-9]{1,12}")
_SEAL = re.compile(rb'"(\d{1,12}):([0-9a-f]{64}):([0-9a-f]{16})"')


@dataclass(frozen=True)
class Seen:
    """A charge quoted by a bundle near the ledger: number, hash, and the bundle's folder or
    file."""

    number: int
    hash: str
    where: Path


def seal_of(entry: Entry, key: LedgerKey) -> str:
    """Return the seal of a charge."""
    return f"{entry.number}:{entry.hash}:{_tag(key, entry.number, entry.hash)}"


def parse_seal(seal: str) -> tuple[int, str]:
    """Return number and hash of a seal with or without its tag; raise `LedgerError` for other
    texts."""
    number, _, remainder = seal.partition(":")
    digest, _, _ = remainder.partition(":")
    if not (_NUMBER.fullmatch(number) and digest):
        raise LedgerError(f"A seal is written NUMBER:HASH, not {seal!r}: copy it from a bundle's statement.")
    return int(number), digest


def seals_beside(folders: Iterable[Path], key: LedgerKey) -> tuple[Seen, ...]:
    """Return this key's seals in all bundles in these folders, without those of other keys."""
    seals: dict[tuple[int, str, Path], Seen] = {}
    for place in _bundles(folders):
        for number, digest, tag in _seals_in(place):
            if key.matches("seal", f"{number}:{digest}".encode(), tag, TAG_DIGITS):
                seals[number, digest, place] = Seen(number, digest, place)
    return tuple(seals.values())


def _tag(key: LedgerKey, number: int, digest: str) -> str:
    return key.mac("seal", f"{number}:{digest}".encode())[:TAG_DIGITS]


def _bundles(folders: Iterable[Path]) -> Iterator[Path]:
    """Return the folders of bundles, and the zips without such a folder."""
    for folder in dict.fromkeys(path.absolute() for path in folders):
        try:
            names = sorted(entry.name for entry in os.scandir(folder))
        except OSError:  # a missing folder has no bundles
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


@lru_cache(maxsize=4096)  # bundles do not change; time and size are part of the key
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
        return ()  # an unreadable bundle quotes no charge
    return tuple((int(number), digest.decode(), tag.decode()) for number, digest, tag in _SEAL.findall(data))


@dataclass(frozen=True)
class Witness:
    """A record that this machine saw `entries` rows, the last one with hash `hash`."""

    entries: int
    hash: str

    def signed_bytes(self) -> bytes:
        """Return the signed bytes."""
        return json.dumps(asdict(self), sort_keys=True).encode()


def witness_path(key: LedgerKey) -> Path:
    """Return the path of a key's witness: one key has one ledger and one witness, also if
    copied."""
    return witness_folder() / f"{key.identity[:16]}.head"


def read_witness(key: LedgerKey) -> Witness | None:
    """Return the witness, or None before the first. Raise `LedgerDamaged` if its signature is
    invalid, `LedgerError` if its file is unreadable."""
    return _read(witness_path(key), key)


def advance_witness(key: LedgerKey, witness: Witness) -> None:
    """Store the witness of a longer chain; ignore a shorter one. Call this after the database has
    committed, never before: a crash in between then leaves a witness one entry behind, which is
    harmless, while a witness ahead of the database would look like a deleted entry. Raise
    `LedgerError` if it cannot be written, `LedgerDamaged` if the existing one was changed."""
    path = witness_path(key)
    with _locked(path):
        last = _read(path, key)
        if last is not None and last.entries >= witness.entries:
            return
        signature = key.mac("witness", witness.signed_bytes())
        # the lock allows one writer, so one name suffices
        draft = path.with_name(f".{path.name}.draft")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as file:
            json.dump({**asdict(witness), "signature": signature}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)


def _read(path: Path, key: LedgerKey) -> Witness | None:
    try:
        data = json.loads(path.read_bytes())
        signature = data.pop("signature")
        witness = Witness(**data)
        valid = key.matches("witness", witness.signed_bytes(), signature)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(
            f"The witness {path} cannot be read ({error.strerror or error}): restore it, or name another "
            "folder by HEXCURSION_WITNESS."
        ) from None
    except (ValueError, TypeError, AttributeError, KeyError):
        valid = False
    if not valid:
        raise LedgerDamaged(
            f"The witness {path} was changed by another hand: find out by whom, and restore it."
        )
    return witness


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        private_directory(path.parent)
        file = os.fdopen(os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600), "rb")
    except OSError as error:
        raise LedgerError(
            f"The witness cannot be kept in {path.parent} ({error.strerror or error}): name another folder "
            "by HEXCURSION_WITNESS."
        ) from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)  # closing the file releases it
        yield


@dataclass(frozen=True)
class Finding:
    """A difference from the ledger as written; `entry` is its number, None if it is not about an
    entry."""

    entry: int | None
    text: str

    def __str__(self) -> str:
        return self.text if self.entry is None else f"entry {self.entry}: {self.text}"


def sign_head(key: LedgerKey, last: Entry) -> Head:
    """Return the head record of a chain that ends with `last`."""
    entries = last.number + 1
    return Head(entries, last.hash, key.mac("head", f"{entries}:{last.hash}".encode()))


def check_chain(
    snapshot: Snapshot,
    key: LedgerKey,
    witness: Witness | None,
    seen: Mapping[int, str] | None = None,
    seals: Iterable[Seen] = (),
) -> list[Finding]:
    """Return all findings about the rows, in order; an empty list means that the chain verifies.
    `witness` is this machine's record of the chain, read before the snapshot; `seen` maps entry
    numbers to hashes from released bundles or from notes; `seals` are those of the releases near
    the ledger."""
    entries = snapshot.entries
    findings = [*_rows(entries), *_head(snapshot, key)]
    if witness is not None:
        text = "is not the entry that this machine has seen here: the ledger was rewritten or is another one."
        findings += _remembered(entries, witness.entries - 1, witness.hash, text)
    for number, digest in (seen or {}).items():
        findings += _remembered(entries, number, digest, "is not the entry that was noted elsewhere.")
    for quoted in seals:
        text = f"is not the entry that the release in {quoted.where} quotes: the ledger was rewritten."
        findings += _remembered(entries, quoted.number, quoted.hash, text)
    return list(dict.fromkeys(findings)) or _replay(entries, key)


def clock_notes(entries: Iterable[Entry]) -> list[Finding]:
    """Return a finding for each row with an earlier time than the row before: its time is
    unreliable, but it is not damaged."""
    rows = list(entries)
    behind = [(entry, seconds_behind(entry.created, previous.created)) for previous, entry in pairwise(rows)]
    return [
        Finding(
            entry.number,
            f"says a time {plural(seconds, 'second')} before that of the entry it follows: the machine's "
            "clock ran backwards.",
        )
        for entry, seconds in behind
        if seconds
    ]


def clock_note(last: Entry) -> str:
    """Return a sentence if this machine's clock is a minute or more behind an entry, else ""."""
    behind = seconds_behind(datetime.now(UTC).isoformat(timespec="seconds"), last.created)
    if behind < 60:
        return ""
    return (
        f"This machine's clock is {behind:,} seconds behind the last entry of the ledger: set it first, "
        "or the dates in the release will be wrong."
    )


def check_tables(book: Book, records: Mapping[str, bytes], requests: Mapping[str, int]) -> list[Finding]:
    """Return the findings about the other tables: each must hold at least the rows that the chain
    lists."""
    findings = []
    for dataset, digest in book.links.digests.items():
        if hashlib.sha256(records.get(dataset, b"")).hexdigest() != digest:
            findings.append(
                Finding(None, f"The record hashes of dataset {dataset[:12]} were changed or deleted.")
            )
    for request, number in book.requests.items():
        if requests.get(request) != number:
            findings.append(Finding(number, "has lost its request: that table was changed."))
    return findings


def _rows(entries: Iterable[Entry]) -> Iterable[Finding]:
    expected, previous = 0, {NO_HASH}
    for entry in entries:
        if entry.number != expected:
            yield Finding(expected, "is missing.")
            previous = {entry.previous}
        right = entry.expected_hash()
        if entry.hash != right:
            yield Finding(entry.number, "was changed: its hash does not fit its fields.")
        elif entry.previous not in previous:
            yield Finding(entry.number, "does not follow the entry before it: one of the two was replaced.")
        # Report a damaged hash once: the next row may quote the damaged or the right value.
        expected, previous = entry.number + 1, {entry.hash, right}


def _head(snapshot: Snapshot, key: LedgerKey) -> Iterable[Finding]:
    entries, head = snapshot.entries, snapshot.head
    if head is None:
        yield Finding(None, "The signed head record is missing.")
    elif not key.matches("head", f"{head.entries}:{head.hash}".encode(), head.signature):
        yield Finding(None, "The head record was changed: its signature does not hold.")
    else:
        for entry in entries:
            if entry.number >= head.entries:
                yield Finding(entry.number, "was appended without the key.")
        yield from _remembered(entries, head.entries - 1, head.hash, "is not the entry that the head signs.")


def _remembered(entries: tuple[Entry, ...], number: int, digest: str, otherwise: str) -> list[Finding]:
    if not entries or number > entries[-1].number:
        return [Finding(number, "is missing: the ledger was cut short or an old copy was restored.")]
    match = next((entry for entry in entries if entry.number == number), None)
    if match is None or digest in (match.hash, match.expected_hash()):
        return []  # `_rows` reports a gap
    return [Finding(number, otherwise)]


def _replay(entries: Iterable[Entry], key: LedgerKey) -> list[Finding]:
    book = Book()
    for entry in entries:
        try:
            book.accept(entry)
        except (LedgerError, ValueError, KeyError, TypeError) as error:
            return [Finding(entry.number, f"is not allowed here: {error}")]
    if book.key_identity != key.identity:
        return [Finding(0, "this ledger was begun with another key.")]
    return []
