"""Private names of records, numbers of owners, and the rows that repeat a record.

A record counts once, no matter how many rows list it.
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
from data_loaders.files.spool import STRIDE, Column, strides
from data_loaders.observations import Observations

_AROUND = " \t\r\n{}"
# bytes of an identifier; a longer one is replaced by its hash, in as many hexadecimal digits
LONGEST = 64

Hashes = NDArray[np.uint64]
EqualRows = Literal["once", "each"]
"""Whether equal rows without an identifier count once, or each of them is a record."""
CONTENT = ("x", "y", "value", "time", "owner", "place_sd")
"""The columns in which two rows must agree to be one record, as far as a table has them."""

CLASHING = "has an identifier that another row has with other contents"
_DROPPED: ContextVar[bool] = ContextVar("clashes_dropped", default=False)


@contextmanager
def clashes_dropped(dropped: bool) -> Iterator[None]:
    """In this thread, drop rows that differ under one identifier; by default they raise an error.

    The error reveals that such rows exist, which a release that hides the number of records may not
    reveal. With the rows dropped, one further row changes the set of records by at most one."""
    token = _DROPPED.set(dropped)
    try:
        yield
    finally:
        _DROPPED.reset(token)


def are_dropped() -> bool:
    """Whether `clashes_dropped` is active."""
    return _DROPPED.get()


LISTED_AGAIN = "lists a record again that an earlier row lists, by its identifier"
# Random for each process, so that collisions cannot be constructed.
_SEED = np.uint64(int.from_bytes(os.urandom(8)))
_UNNAMED = np.uint64(0x9E3779B97F4A7C15)  # keeps contents apart from names


def record_names(column: Any) -> Any:
    """Normalise n names of records (Arrow strings without nulls), so that a record has one name in
    all files. Strip blanks and braces, and capitalise: yearly Price Paid files write
    "{F887F88E-...}", the report builder "F887F88E-...". A name has at most 64 ASCII letters, "" for
    a blank; a longer or other one becomes the 64 hexadecimal digits of its BLAKE2b hash, so that
    one long entry cannot widen all rows."""
    plain = pc.string_is_ascii(column)
    if pc.all(plain).as_py():  # Arrow's functions for ASCII are several times as fast
        names = pc.ascii_trim(pc.ascii_upper(column), characters=_AROUND)
    else:
        names = pc.utf8_trim(pc.utf8_upper(column), characters=_AROUND)
        plain = pc.string_is_ascii(names)
    odd = pc.or_(pc.greater(pc.binary_length(names), LONGEST), pc.invert(plain))
    letters = names.buffers()[2]  # search row by row only if the column has a zero byte
    if letters is not None and b"\0" in letters.to_pybytes():
        odd = pc.or_(odd, pc.match_substring(names, "\0"))
    if pc.any(odd).as_py():
        pairs = zip(names.to_pylist(), odd.to_pylist(), strict=True)
        texts = [_hashed(name) if out else name for name, out in pairs]
        names = pa.array(texts, pa.string())
    return names


def as_bytes(names: Any) -> NDArray[np.bytes_]:
    """Return names from `record_names` as an (n,) array of ASCII bytes."""
    binary = names.cast(pa.binary())
    widths = pc.unique(pc.binary_length(binary)).to_pylist()
    if len(widths) == 1 and widths[0] > 0:  # as most files have it
        fixed_width = binary.cast(pa.binary(widths[0]))
        letters = np.frombuffer(fixed_width.buffers()[1], dtype=f"S{widths[0]}")
        return letters[fixed_width.offset : fixed_width.offset + len(fixed_width)]
    return np.array(binary.to_pylist(), dtype="S")


def _hashed(name: str) -> str:
    return hashlib.blake2b(name.encode(), digest_size=LONGEST // 2).hexdigest()


class OwnerNumbers:
    """Numbers the owners that a column names, block by block, from 0 in order of first
    appearance."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def of(self, column: Any) -> NDArray[np.int64]:
        """Return (n,) int64 numbers for a block of n Arrow strings: equal for equal names, in all
        blocks. Blanks around a name are ignored; capitals are not."""
        encoded = pc.utf8_trim_whitespace(column).dictionary_encode()
        names = encoded.dictionary.to_pylist()
        numbers = np.array([self._known.setdefault(name, len(self._known)) for name in names], dtype=np.int64)
        return np.asarray(numbers[np.asarray(encoded.indices.to_numpy(zero_copy_only=False))])

    @property
    def alike(self) -> int:
        """The number of names that differ from an earlier one only in capitals, blanks or leading
        zeros."""
        plain = {"".join(name.casefold().split()).lstrip("0") for name in self._known}
        return len(self._known) - len(plain)


def numbered_again(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber (n,) owners without gaps, from 0 in order of first appearance, after some lost all
    rows."""
    _, first, back = np.unique(owner, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[back], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Repeats:
    """The rows that count as records; private to the curator."""

    kept: NDArray[np.bool_]  # (n,) True at the first row of each record
    named: int  # dropped rows with the identifier of an earlier row
    unnamed: int  # dropped rows without an identifier that equal an earlier row
    timed: bool  # whether times were compared
    each: int = 0  # rows that equal an earlier row and are kept by the settings
    clashing: int = 0  # dropped rows whose identifier has rows that differ

    @property
    def reasons(self) -> tuple[tuple[str, int], ...]:
        """The reasons for dropped rows and their numbers, for a report."""
        alike = "place, value and time" if self.timed else "place and value"
        return (
            (LISTED_AGAIN, self.named),
            (f"equal to an earlier row in {alike}", self.unnamed),
            *([(CLASHING, self.clashing)] if self.clashing else []),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """How equal rows were counted, and the remedy where each is a record."""
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
    """Raise `DataError` for equal rows of answers or of places alone: they may be one record or
    several."""
    if repeats.unnamed:
        rows = "1 row" if repeats.unnamed == 1 else f"{repeats.unnamed:,} rows"
        raise DataError(
            f"{rows} of {name} equal{'s' * (repeats.unnamed == 1)} an earlier one, as two wells in one "
            "building do: name the column of an identifier, or say with `equal_rows` (--equal-rows each, or "
            "once) whether each of them is a record."
        )


def find_repeats(columns: Mapping[str, NDArray[Any]], equal: EqualRows = "once") -> Repeats:
    """Find the rows of (n,) columns that repeat a record. Rows with the same `identifier` (bytes,
    b"" if absent) are one record. Rows without an identifier are one record if they agree in all
    columns of `CONTENT` that the table has: `x`, `y`, `value`, `time` with its `stamp` (uint64,
    which tells a month from a day and one unread time from another, `times.TimesRead`), `owner` and
    `place_sd`. Keep the first row. Raise `DataError` if rows with one identifier differ in a column
    of `CONTENT`, since the program cannot decide which of them is the record; under
    `clashes_dropped` drop all of them. If `equal` is "each", every row without an identifier is a
    record.

    The rule is public and depends only on whether rows agree. It turns a list of rows into a set of
    records, and it is stable (docs/proofs/owners.md, lemma 2). Adding or removing a row
    changes the set by at most one record. Exchanging a row leaves the set unchanged, exchanges one
    of its records, or changes their number by one; two sets of equal size, as the relation of
    exchanged records compares them, differ in at most one record.

    Rows are compared by 64-bit hashes with a random seed for each process, so that no one can
    construct two different rows with one hash. Among 30 million rows the probability of any
    collision is below 3e-5, and a collision loses one record, which costs no privacy."""
    content = _content_hashes(columns)
    names = columns.get("identifier")
    if names is None:
        first_rows, has_name = one_of_each(content, "first"), np.zeros(content.size, dtype=bool)
        return _repeats(first_rows, has_name, equal, "time" in columns)
    records, rows, has_name = Column(), Column(), np.empty(content.size, dtype=bool)
    for part in strides(content.size):
        has_name[part] = names[part] != b""
        unnamed = pd.util.hash_array(content[part] ^ _UNNAMED)
        record = np.where(has_name[part], hashed_names(names[part]), unnamed)
        records.add(record)
        rows.add(pd.util.hash_array(record ^ pd.util.hash_array(content[part])))
    first_rows = one_of_each(records.array("u8"), "first")
    differing = (
        np.zeros(0, bool) if first_rows.all() else one_of_each(rows.array("u8"), "first") & ~first_rows
    )
    if differing.any() and are_dropped():
        clash = np.isin(records.array("u8"), records.array("u8")[differing])
        repeats = _repeats(first_rows | clash, has_name, equal, "time" in columns)
        return replace(repeats, kept=repeats.kept & ~clash, clashing=int(clash.sum()))
    if differing.any():
        raise DataError(
            "Rows with one identifier differ in place, value or time, so it names no single record "
            "here: if it names a sensor or a person, give that column as owner (--owner) with records per "
            "owner (--records-per-owner); otherwise leave the identifier out, or keep one row of each."
        )
    return _repeats(first_rows, has_name, equal, "time" in columns)


def _repeats(
    first_rows: NDArray[np.bool_], has_name: NDArray[np.bool_], equal: EqualRows, timed: bool
) -> Repeats:
    """Count the (n,) dropped rows; if each row is a record, keep all rows without a name."""
    again, unnamed = (
        int(np.count_nonzero(~first_rows & has_name)),
        int(np.count_nonzero(~first_rows & ~has_name)),
    )
    if equal == "each":
        return Repeats(first_rows | ~has_name, again, 0, timed, unnamed)
    return Repeats(first_rows, again, unnamed, timed)


def repeats_of(observations: Observations, equal: EqualRows = "once") -> Repeats:
    """Find the rows of loaded observations that repeat a record; errors as `find_repeats`."""
    columns = {name: getattr(observations, name) for name in (*CONTENT, "identifier")}
    return find_repeats({name: column for name, column in columns.items() if column is not None}, equal)


def hashed_names(names: NDArray[np.bytes_]) -> Hashes:
    """Hash (n,) identifiers of at most 64 bytes. Mix in all 64 bytes, eight at a time, also of a
    short name, so that its hash does not depend on the width of the column."""
    letters = np.zeros((names.size, LONGEST), np.uint8)
    plain = np.ascontiguousarray(names)
    letters[:, : plain.itemsize] = plain.view(np.uint8).reshape(plain.size, -1)
    return mixed(unhashed(names.size), *letters.view(np.uint64).T)


def unhashed(count: int) -> Hashes:
    """Return (count,) initial hashes, random for each process, against constructed collisions."""
    return np.full(count, _SEED)


def mixed(hashes: Hashes, *columns: NDArray[np.uint64]) -> Hashes:
    """Mix columns of (n,) uint64 into (n,) hashes, one after the other."""
    for column in columns:
        hashes = pd.util.hash_array(hashes ^ column)
    return hashes


def bits_of(column: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the (n,) 8-byte patterns of numbers or times; 0.0 and -0.0 have the same."""
    numbers = column + 0.0 if column.dtype.kind == "f" else column
    return np.ascontiguousarray(numbers).view(np.uint64)


def one_of_each(hashes: Hashes, which: Literal["first", "last"]) -> NDArray[np.bool_]:
    """Mark the first or the last row of each of (n,) uniform hashes, working on a part of them at a
    time."""
    marks = np.ones(hashes.size, dtype=bool)
    parts = max(1, -(-hashes.size // (4 * STRIDE)))
    for part in range(parts):
        at = np.concatenate(
            [rows.start + np.flatnonzero(hashes[rows] % parts == part) for rows in strides(marks.size)]
            or [np.empty(0, np.int64)]
        )
        ordered = hashes[at]
        ordered.sort()
        again = ordered[1:][ordered[1:] == ordered[:-1]]
        del ordered
        again = again[np.concatenate([[True], again[1:] != again[:-1]])] if again.size else again
        flags = np.zeros(again.size, dtype=bool)
        blocks = list(strides(at.size)) if again.size else []
        for block in blocks if which == "first" else reversed(blocks):
            rows = at[block]
            place = np.searchsorted(again, hashes[rows]).clip(max=again.size - 1)
            repeated = again[place] == hashes[rows]
            rows, place = rows[repeated], place[repeated]
            marks[rows] = ~(pd.Index(place).duplicated(keep=which) | flags[place])
            flags[place] = True
    return marks


def _content_hashes(columns: Mapping[str, NDArray[Any]]) -> Hashes:
    """Return (n,) hashes of the columns of `CONTENT`."""
    contents = [columns[name] for name in (*CONTENT, "stamp") if name in columns]
    hashes = Column()
    for rows in strides(contents[0].size):
        begin = unhashed(contents[0][rows].size)
        hashes.add(mixed(begin, *(bits_of(column[rows]) for column in contents)))
    return hashes.array("u8")
