"""Private names of records and numbers of owners, and the rows that list a record again.

A record counts once, however often a file lists it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.errors import DataError
from data_loaders.files.blocks import STRIDE, Column, strides
from data_loaders.observations import Observations

_AROUND = " \t\r\n{}"
LONGEST = 64  # bytes of an identifier; a longer one is replaced by its hash, in as many hexadecimal digits

Hashes = NDArray[np.uint64]
EqualRows = Literal["once", "each"]
"""Whether rows without an identifier that agree in everything count once, or each of them is a record."""
CONTENT = ("x", "y", "value", "time", "owner", "place_sd")
"""What two rows must agree in to be one record, as far as a table has it."""

CLASHING = "has an identifier that another row has with other contents"
_DROPPED: ContextVar[bool] = ContextVar("clashes_dropped", default=False)


@contextmanager
def clashes_dropped(dropped: bool) -> Iterator[None]:
    """Whether rows that differ under one identifier are left out in this thread; by default they are refused.

    A refusal tells that there are such rows, more than a release may tell that hides how many records there
    are. One row more then leaves the records as they are, or changes them by one more or one less."""
    token = _DROPPED.set(dropped)
    try:
        yield
    finally:
        _DROPPED.reset(token)


def are_dropped() -> bool:
    """Whether `clashes_dropped` holds."""
    return _DROPPED.get()


LISTED_AGAIN = "lists a record again that an earlier row lists, by its identifier"
_SEED = np.uint64(int.from_bytes(os.urandom(8)))  # of this process alone: nobody can choose rows that collide
_UNNAMED = np.uint64(0x9E3779B97F4A7C15)  # keeps contents apart from names


def record_names(column: Any) -> Any:
    """Write n names of records (Arrow strings without nulls) so that one record has one name in every file.
    Drop blanks around a name and braces, capitalise: yearly Price Paid files write "{F887F88E-...}", the
    report builder "F887F88E-...". Names have at most 64 ASCII letters, "" for a blank; others become the 64
    hexadecimal digits of their BLAKE2b hash, so that one long entry cannot widen all rows."""
    plain = pc.string_is_ascii(column)
    if pc.all(plain).as_py():  # ASCII alone is worked on several times as fast
        names = pc.ascii_trim(pc.ascii_upper(column), characters=_AROUND)
    else:
        names = pc.utf8_trim(pc.utf8_upper(column), characters=_AROUND)
        plain = pc.string_is_ascii(names)
    odd = pc.or_(pc.greater(pc.binary_length(names), LONGEST), pc.invert(plain))
    letters = names.buffers()[2]  # row by row only where there is a zero byte at all
    if letters is not None and b"\0" in letters.to_pybytes():
        odd = pc.or_(odd, pc.match_substring(names, "\0"))
    if pc.any(odd).as_py():
        pairs = zip(names.to_pylist(), odd.to_pylist(), strict=True)
        written = [_hashed(name) if out else name for name, out in pairs]
        names = pa.array(written, pa.string())
    return names


def as_bytes(names: Any) -> NDArray[np.bytes_]:
    """Return names from `record_names` as an (n,) array of ASCII bytes."""
    binary = names.cast(pa.binary())
    widths = pc.unique(pc.binary_length(binary)).to_pylist()
    if len(widths) == 1 and widths[0] > 0:  # as most files have it
        whole = binary.cast(pa.binary(widths[0]))
        letters = np.frombuffer(whole.buffers()[1], dtype=f"S{widths[0]}")
        return letters[whole.offset : whole.offset + len(whole)]
    return np.array(binary.to_pylist(), dtype="S")


def _hashed(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=LONGEST // 2).hexdigest()


class OwnerNumbers:
    """Numbers the owners that a column names, block by block, from 0 in order of first appearance."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def of(self, column: Any) -> NDArray[np.int64]:
        """Number the owners in a block of n Arrow strings: equal (n,) int64 for equal names, over all blocks.
        Blanks around a name do not count, capitals do."""
        encoded = pc.utf8_trim_whitespace(column).dictionary_encode()
        names = encoded.dictionary.to_pylist()
        numbers = np.array([self._known.setdefault(name, len(self._known)) for name in names], dtype=np.int64)
        return np.asarray(numbers[np.asarray(encoded.indices.to_numpy(zero_copy_only=False))])

    @property
    def alike(self) -> int:
        """How many names differ from an earlier one in capitals, blanks or leading zeros only."""
        plain = {"".join(name.casefold().split()).lstrip("0") for name in self._known}
        return len(self._known) - len(plain)


def numbered_again(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber (n,) owners without gaps, from 0 in order of first appearance, where some lost all their
    rows."""
    _, first, back = np.unique(owner, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[back], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Repeats:
    """Which rows are kept as records; private to the curator."""

    kept: NDArray[np.bool_]  # (n,) True at the first row of each record
    named: int  # rows left out that carry the identifier of an earlier row
    unnamed: int  # rows left out without an identifier that equal an earlier row
    timed: bool  # whether times were compared
    each: int = 0  # rows kept, by the settings, which equal an earlier row
    clashing: int = 0  # rows left out because rows with their identifier differ

    @property
    def reasons(self) -> tuple[tuple[str, int], ...]:
        """Why rows are left out, and how many, for a report."""
        alike = "place, value and time" if self.timed else "place and value"
        return (
            (LISTED_AGAIN, self.named),
            (f"equal to an earlier row in {alike}", self.unnamed),
            *([(CLASHING, self.clashing)] if self.clashing else []),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of equal rows, and what to do where each is a record."""
        if self.each:
            rows = "1 row that equals" if self.each == 1 else f"Each of {self.each:,} rows that equal"
            return (f"{rows} an earlier one is a record, as was said.",)
        if not self.unnamed:
            return ()
        name = "an identifier" if self.timed else "their time, or an identifier,"
        return (
            f"Equal rows count as one record: name the column of {name} if they are different ones, or say "
            "so with `equal_rows` (--equal-rows each).",
        )


def refuse_to_guess(repeats: Repeats, name: str) -> None:
    """Raise `DataError` for equal rows of answers or of places alone: they may be one record or several."""
    if repeats.unnamed:
        rows = "1 row" if repeats.unnamed == 1 else f"{repeats.unnamed:,} rows"
        raise DataError(
            f"{rows} of {name} equal{'s' * (repeats.unnamed == 1)} an earlier one, as two wells in one "
            "building do: name the column of an identifier, or say with `equal_rows` (--equal-rows each, or "
            "once) whether each of them is a record."
        )


def find_repeats(columns: Mapping[str, NDArray[Any]], equal: EqualRows = "once") -> Repeats:
    """Find the rows of (n,) columns that list a record again. Rows with one `identifier` (bytes, b"" for
    none) are one record; so are rows without one that agree in everything of `CONTENT` that the table has:
    `x`, `y`, `value`, and where there are any `time` with its `stamp` (uint64: a month is no day, an unread
    time no other, `times.TimesRead`), `owner` and `place_sd`. The first is kept. Raise
    `DataError` where rows with one identifier differ in anything of `CONTENT`: which of them is the record is
    not the program's to say; under `clashes_dropped` all of them are left out. Where `equal` is "each", every
    row without an identifier is a record.

    Which rows are kept is a public rule that looks at nothing but whether rows agree. It makes a set of
    records out of a list of rows, and that is stable (docs/units-of-protection.md, lemma 2). One row more or
    less changes the set by at most one record. One row exchanged for another either leaves the set as it is,
    exchanges one of its records for another, or changes their number by one; two sets of equally many
    records, which is what exchanged records compare, differ in at most one.

    Rows are compared by 64-bit hashes that begin with bits of this process alone, so that nobody can choose
    two different rows that agree: among 30 million the chance that any two different ones agree is below
    3e-5, and then one record is missing, which costs no privacy."""
    content = _content_hashes(columns)
    names = columns.get("identifier")
    if names is None:
        kept, named = one_of_each(content, "first"), np.zeros(content.size, dtype=bool)
        return _repeats(kept, named, equal, "time" in columns)
    records, rows, named = Column(), Column(), np.empty(content.size, dtype=bool)
    for part in strides(content.size):
        named[part] = names[part] != b""
        unnamed = pd.util.hash_array(content[part] ^ _UNNAMED)
        record = np.where(named[part], hashed_names(names[part]), unnamed)
        records.add(record)
        rows.add(pd.util.hash_array(record ^ pd.util.hash_array(content[part])))
    kept = one_of_each(records.array("u8"), "first")
    differing = np.zeros(0, bool) if kept.all() else one_of_each(rows.array("u8"), "first") & ~kept
    if differing.any() and are_dropped():
        clash = np.isin(records.array("u8"), records.array("u8")[differing])
        found = _repeats(kept | clash, named, equal, "time" in columns)
        return replace(found, kept=found.kept & ~clash, clashing=int(clash.sum()))
    if differing.any():
        raise DataError(
            "Rows with one identifier differ in place, value or time, so it names no single record "
            "here: if it names a sensor or a person, give that column as owner (--owner) with records per "
            "owner (--records-per-owner); otherwise leave the identifier out, or keep one row of each."
        )
    return _repeats(kept, named, equal, "time" in columns)


def _repeats(kept: NDArray[np.bool_], named: NDArray[np.bool_], equal: EqualRows, timed: bool) -> Repeats:
    """Count the rows (n,) that are left out: none without a name where each row is a record."""
    again, unnamed = int(np.count_nonzero(~kept & named)), int(np.count_nonzero(~kept & ~named))
    if equal == "each":
        return Repeats(kept | ~named, again, 0, timed, unnamed)
    return Repeats(kept, again, unnamed, timed)


def repeats_of(observations: Observations, equal: EqualRows = "once") -> Repeats:
    """Find the rows of loaded observations that list a record again; errors as `find_repeats`."""
    given = {name: getattr(observations, name) for name in (*CONTENT, "identifier")}
    return find_repeats({name: column for name, column in given.items() if column is not None}, equal)


def hashed_names(names: NDArray[np.bytes_]) -> Hashes:
    """Hash (n,) identifiers of at most 64 bytes. Eight bytes after eight are mixed in, as many for short
    names as for long ones: a name has one hash beside whatever other names it stands."""
    letters = np.zeros((names.size, LONGEST), np.uint8)
    plain = np.ascontiguousarray(names)
    letters[:, : plain.itemsize] = plain.view(np.uint8).reshape(plain.size, -1)
    return mixed(unhashed(names.size), *letters.view(np.uint64).T)


def unhashed(count: int) -> Hashes:
    """(count,) what hashes begin with in this process, so that nobody can choose rows that collide."""
    return np.full(count, _SEED)


def mixed(hashes: Hashes, *columns: NDArray[np.uint64]) -> Hashes:
    """Mix further columns of (n,) uint64 into (n,) hashes, one after the other."""
    for column in columns:
        hashes = pd.util.hash_array(hashes ^ column)
    return hashes


def bits_of(column: NDArray[Any]) -> NDArray[np.uint64]:
    """(n,) the 8 bytes of each number or time, one pattern for 0.0 and -0.0."""
    whole = column + 0.0 if column.dtype.kind == "f" else column
    return np.ascontiguousarray(whole).view(np.uint64)


def one_of_each(hashes: Hashes, which: Literal["first", "last"]) -> NDArray[np.bool_]:
    """Mark the first, or the last, row of each of (n,) evenly spread hashes, a part of the rows at a time."""
    chosen = np.ones(hashes.size, dtype=bool)
    parts = max(1, -(-hashes.size // (4 * STRIDE)))
    for part in range(parts):
        at = np.concatenate(
            [rows.start + np.flatnonzero(hashes[rows] % parts == part) for rows in strides(chosen.size)]
            or [np.empty(0, np.int64)]
        )
        ordered = hashes[at]
        ordered.sort()
        again = ordered[1:][ordered[1:] == ordered[:-1]]
        del ordered
        again = again[np.concatenate([[True], again[1:] != again[:-1]])] if again.size else again
        seen = np.zeros(again.size, dtype=bool)
        blocks = list(strides(at.size)) if again.size else []
        for block in blocks if which == "first" else reversed(blocks):
            rows = at[block]
            place = np.searchsorted(again, hashes[rows]).clip(max=again.size - 1)
            repeated = again[place] == hashes[rows]
            rows, place = rows[repeated], place[repeated]
            chosen[rows] = ~(pd.Index(place).duplicated(keep=which) | seen[place])
            seen[place] = True
    return chosen


def _content_hashes(columns: Mapping[str, NDArray[Any]]) -> Hashes:
    """(n,) one hash for each row of everything in `CONTENT`."""
    given = [columns[name] for name in (*CONTENT, "stamp") if name in columns]
    hashes = Column()
    for rows in strides(given[0].size):
        begin = unhashed(given[0][rows].size)
        hashes.add(mixed(begin, *(bits_of(column[rows]) for column in given)))
    return hashes.array("u8")
