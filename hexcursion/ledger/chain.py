"""Verification: recompute the chain and name every row that is not what was written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from hexcursion.ledger.accounts.book import Book
from hexcursion.ledger.errors import LedgerError
from hexcursion.ledger.signing.key import LedgerKey
from hexcursion.ledger.signing.seals import Seen
from hexcursion.ledger.signing.witness import Witness
from hexcursion.ledger.storage.entry import NO_HASH, Entry, seconds_behind
from hexcursion.ledger.storage.store import Head, Snapshot
from hexcursion.words import plural


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
