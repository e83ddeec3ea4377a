"""One row of the ledger: its columns, its canonical encoding, its hash and its place in the chain."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Literal

from dpgp_core.mechanisms.design import Unit
from hexcursion.ledger.errors import LedgerError

SCHEMA_VERSION = 4  # those before it were never released
EntryKind = Literal[
    "genesis",  # the first row: ledger id, key identity, schema version, grid of orders
    "orders",  # a new grid of orders, from which later charges count
    "records",  # a dataset's record hashes are kept, and how many records it shares with others
    "link",  # a person's decision that two datasets hold the same records, or do not
    "budget",
    "reserve",  # the charge; draw, commit, unused and void refer to one
    "draw",  # private randomness is about to be drawn
    "commit",  # stored and published as release_id with this digest
    "unused",  # given back by the program: nothing was drawn
    "void",  # given back by a person, with a reason
    "trace",  # a location trace is about to be released: another kind of protection, added to no epsilon
]
"""What a row says."""

CLOCK = "clock_behind"
"""A fact of any row: so many seconds its time lies before that of the row that it follows."""

NO_HASH = "0" * 64  # what the first row follows


@dataclass(frozen=True)
class Entry:
    """A row as stored; the types are those of an undamaged row."""

    number: int  # 0, 1, 2, ... without gaps
    kind: EntryKind  # what the row says
    created: str  # UTC, ISO 8601
    dataset: str  # fingerprint, or "" where the row is about the ledger itself
    unit: Unit | Literal[""]  # unit of protection, or ""
    refers_to: int | None  # number of the reserve row that this row continues, or None
    curve: str  # float64 values in hex, big-endian: RDP values (reserve) or orders (genesis, orders), or ""
    body: str  # canonical JSON of everything else
    previous: str  # hash of the row before
    hash: str = ""  # SHA-256 over all of the above

    def expected_hash(self) -> str:
        """The hash that the other columns demand; defined for damaged rows too, whatever their types."""
        digest = hashlib.sha256(b"hexcursion-ledger-row\n")
        for name in HASHED_COLUMNS:
            value = getattr(self, name)
            data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
            digest.update(f"{name}:{type(value).__name__}:{len(data)}:".encode())
            digest.update(data)
        return digest.hexdigest()

    def sealed(self) -> Entry:
        """The same row with its hash filled in."""
        return replace(self, hash=self.expected_hash())

    @property
    def facts(self) -> Mapping[str, Any]:
        """The body, decoded; only for rows whose hash was checked."""
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded


COLUMNS = tuple(field.name for field in fields(Entry))
HASHED_COLUMNS = tuple(name for name in COLUMNS if name != "hash")


@dataclass(frozen=True)
class Draft:
    """An entry before it has a place in the chain; its fields are those of `Entry`, `facts` its body."""

    kind: EntryKind
    facts: Mapping[str, Any]
    dataset: str = ""
    unit: Unit | Literal[""] = ""
    refers_to: int | None = None
    curve: str = ""

    def after(self, last: Entry | None) -> Entry:
        """The entry that follows `last`; its facts say whether the clock ran backwards meanwhile."""
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
    """How many seconds a row's time (ISO 8601) lies before that of the row above it; 0 where that cannot be
    read."""
    try:
        behind = datetime.fromisoformat(before) - datetime.fromisoformat(created)
    except (TypeError, ValueError):
        return 0
    return max(0, round(behind.total_seconds()))


def canonical_json(value: Mapping[str, Any]) -> str:
    """The one JSON text of `value`: sorted keys, no spaces, ASCII, exact floats, no inf or NaN. Raise
    `LedgerError` if JSON would not give the same value back."""
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
