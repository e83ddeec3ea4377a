"""The chain of hashes and what vouches for it: the seals in released bundles, the witness on this machine.

A seal is `number:hash:tag`. Number and hash are those of the charge; the tag is a signature by the ledger's
key, so that the key tells its own seals from those of other ledgers, even where the entry is gone. All three
are public.
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


@dataclass(frozen=True)
class Witness:
    """`entries` rows were seen on this machine, the last one with hash `hash`."""

    entries: int
    hash: str

    def signed_bytes(self) -> bytes:
        """What the signature covers."""
        return json.dumps(asdict(self), sort_keys=True).encode()


def witness_path(key: LedgerKey) -> Path:
    """The witness of a key: one key, one ledger, one witness, however often the key's file was copied."""
    return witness_folder() / f"{key.identity[:16]}.head"


def read_witness(key: LedgerKey) -> Witness | None:
    """The witness, or None where there is none yet. Raise `LedgerDamaged` if its signature does not hold,
    `LedgerError` if its file cannot be read."""
    return _read(witness_path(key), key)


def advance_witness(key: LedgerKey, witness: Witness) -> None:
    """Remember a longer chain; a shorter one than remembered is left alone. Called after the database has
    committed, never before: a crash in between leaves a witness that is one entry behind, which is harmless,
    where one that is ahead would look like a deleted entry. Raise `LedgerError` if it cannot be kept;
    LedgerDamaged if the one that is there was changed."""
    path = witness_path(key)
    with _locked(path):
        known = _read(path, key)
        if known is not None and known.entries >= witness.entries:
            return
        signature = key.mac("witness", witness.signed_bytes())
        draft = path.with_name(f".{path.name}.draft")  # one writer at a time, so one name is enough
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
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed, whatever happens
        yield


@dataclass(frozen=True)
class Finding:
    """Something that is not as it was written; `entry` is its number, None for what is not an entry."""

    entry: int | None
    text: str

    def __str__(self) -> str:
        return self.text if self.entry is None else f"entry {self.entry}: {self.text}"


def sign_head(key: LedgerKey, last: Entry) -> Head:
    """The head record of a chain that ends with `last`."""
    entries = last.number + 1
    return Head(entries, last.hash, key.mac("head", f"{entries}:{last.hash}".encode()))


def check_chain(
    snapshot: Snapshot,
    key: LedgerKey,
    witness: Witness | None,
    seen: Mapping[int, str] | None = None,
    beside: Iterable[Seen] = (),
) -> list[Finding]:
    """Everything that is wrong with the rows, in order; an empty list means that the chain holds. `witness`:
    what this machine remembers of the chain; read it before the snapshot is taken; `seen`: entry number ->
    hash, from released bundles or from notes kept elsewhere; `beside`: the seals of the releases that lie
    beside the ledger."""
    entries = snapshot.entries
    findings = [*_rows(entries), *_head(snapshot, key)]
    if witness is not None:
        text = "is not the entry that this machine has seen here: the ledger was rewritten or is another one."
        findings += _remembered(entries, witness.entries - 1, witness.hash, text)
    for number, known in (seen or {}).items():
        findings += _remembered(entries, number, known, "is not the entry that was noted elsewhere.")
    for quoted in beside:
        text = f"is not the entry that the release in {quoted.where} quotes: the ledger was rewritten."
        findings += _remembered(entries, quoted.number, quoted.hash, text)
    return list(dict.fromkeys(findings)) or _replay(entries, key)


def clock_notes(entries: Iterable[Entry]) -> list[Finding]:
    """Each row that says an earlier time than the row it follows: no damage, but no times to rely on."""
    rows = list(entries)
    behind = [(entry, seconds_behind(entry.created, before.created)) for before, entry in pairwise(rows)]
    return [
        Finding(
            entry.number,
            f"says a time {plural(seconds, 'second')} before that of the entry it follows: the machine's "
            "clock ran backwards.",
        )
        for entry, seconds in behind
        if seconds
    ]


def check_tables(book: Book, records: Mapping[str, bytes], requests: Mapping[str, int]) -> list[Finding]:
    """What is wrong with the tables beside the chain: each must hold at least what the chain tells of."""
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
    expected, before = 0, {NO_HASH}
    for entry in entries:
        if entry.number != expected:
            yield Finding(expected, "is missing.")
            before = {entry.previous}
        right = entry.expected_hash()
        if entry.hash != right:
            yield Finding(entry.number, "was changed: its hash does not fit its fields.")
        elif entry.previous not in before:
            yield Finding(entry.number, "does not follow the entry before it: one of the two was replaced.")
        # A damaged hash is its own row's finding, not the next row's: either value may be quoted there.
        expected, before = entry.number + 1, {entry.hash, right}


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


def _remembered(entries: tuple[Entry, ...], number: int, known: str, otherwise: str) -> list[Finding]:
    if not entries or number > entries[-1].number:
        return [Finding(number, "is missing: the ledger was cut short or an old copy was restored.")]
    found = next((entry for entry in entries if entry.number == number), None)
    if found is None or known in (found.hash, found.expected_hash()):
        return []  # a gap is reported as such
    return [Finding(number, otherwise)]


def _replay(entries: Iterable[Entry], key: LedgerKey) -> list[Finding]:
    book = Book()
    for entry in entries:
        try:
            book.accept(entry)
        except (LedgerError, ValueError, KeyError, TypeError) as error:
            return [Finding(entry.number, f"may not stand here: {error}")]
    if book.key_identity != key.identity:
        return [Finding(0, "this ledger was begun with another key.")]
    return []
