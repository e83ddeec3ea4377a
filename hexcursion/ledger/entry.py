"""One row of the ledger: its columns, its canonical encoding, its hash and its link in the
chain."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Literal

from dpgp_core.mechanisms.design import Unit
from hexcursion.ledger.errors import LedgerError

SCHEMA_VERSION = 4  # earlier versions were never released
EntryKind = Literal[
    "genesis",  # the first row: ledger id, key identity, schema version, grid of orders
    "orders",  # a new grid of orders, for later charges
    "records",  # the digest of a dataset's record hashes, and its numbers of shared records
    "link",  # a person's decision that two datasets hold the same records, or do not
    "budget",
    "reserve",  # the charge; draw, commit, unused and void refer to one
    "draw",  # private randomness is about to be drawn
    "commit",  # stored and published as release_id with this digest
    "unused",  # given back by the program before a draw
    "void",  # given back by a person, with a reason
    # a location trace is about to be released: another kind of protection, outside of epsilons
    "trace",
]
"""The kind of a row."""

CLOCK = "clock_behind"
"""A fact of any row: the number of seconds by which its time precedes that of the row before."""

NO_HASH = "0" * 64  # the previous hash of the first row


@dataclass(frozen=True)
class Entry:
    """A row as stored; the types are those of an undamaged row."""

    number: int  # 0, 1, 2, ... without gaps
    kind: EntryKind
    created: str  # UTC, ISO 8601
    dataset: str  # fingerprint, or "" if the row is about the ledger
    unit: Unit | Literal[""]  # unit of protection, or ""
    refers_to: int | None  # number of the reserve row that this row continues, or None
    # float64 values in hex, big-endian: RDP values (reserve) or orders (genesis, orders), or ""
    curve: str
    body: str  # canonical JSON of everything else
    previous: str  # hash of the row before
    hash: str = ""  # SHA-256 over all of the above

    def expected_hash(self) -> str:
        """Compute the hash of the other columns; defined also for damaged rows of any type."""
        digest = hashlib.sha256(b"hexcursion-ledger-row\n")
        for name in HASHED_COLUMNS:
            value = getattr(self, name)
            data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
            digest.update(f"{name}:{type(value).__name__}:{len(data)}:".encode())
            digest.update(data)
        return digest.hexdigest()

    def sealed(self) -> Entry:
        """Return the row with its hash."""
        return replace(self, hash=self.expected_hash())

    @property
    def facts(self) -> Mapping[str, Any]:
        """The decoded body; only for rows with a checked hash."""
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded


COLUMNS = tuple(field.name for field in fields(Entry))
HASHED_COLUMNS = tuple(name for name in COLUMNS if name != "hash")


@dataclass(frozen=True)
class Draft:
    """An entry before it joins the chain; its fields are those of `Entry`, `facts` is its body."""

    kind: EntryKind
    facts: Mapping[str, Any]
    dataset: str = ""
    unit: Unit | Literal[""] = ""
    refers_to: int | None = None
    curve: str = ""

    def after(self, last: Entry | None) -> Entry:
        """Return the entry that follows `last`; its facts record a clock that ran backwards."""
        created = datetime.now(UTC).isoformat(timespec="seconds")
        behind = 0 if last is None else seconds_behind(created, last.created)
        return Entry(
            number=0 if last is None else last.number + 1,
            kind=self.kind,
            created=created,
            dataset=self.dataset,
            unit=self.unit,
            refers_to=self.refers_to,
            curve=self.curve,
            body=canonical_json({**self.facts, CLOCK: behind} if behind else self.facts),
            previous=NO_HASH if last is None else last.hash,
        ).sealed()


def seconds_behind(created: str, before: str) -> int:
    """Return the seconds by which a row's time (ISO 8601) precedes that of the row before; 0 if
    unreadable."""
    try:
        behind = datetime.fromisoformat(before) - datetime.fromisoformat(created)
    except (TypeError, ValueError):
        return 0
    return max(0, round(behind.total_seconds()))


def canonical_json(value: Mapping[str, Any]) -> str:
    """Return the canonical JSON text of `value`: sorted keys, no spaces, ASCII, exact floats, no
    inf or NaN. Raise `LedgerError` if JSON does not give the same value back."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
        same = json.loads(text) == value
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        raise LedgerError(
            "The facts of a ledger entry must be plain JSON: texts, finite numbers, true, false, null, "
            "lists and objects with text keys."
        )
    return text
