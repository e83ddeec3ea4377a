"""The results of a loader: observations, which are places with values, and a report of its reading.

The report counts the rows read and kept, and the rows dropped by reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from data_loaders.errors import DataError

Kind: TypeAlias = Literal["sale", "reading"]
OwnerWord: TypeAlias = Literal["sensor", "person"]

_Dtype: TypeAlias = Literal["f8", "S", "M8[s]", "i8", "i4"]
_CRS = re.compile(r"^(EPSG|ESRI|OGC):[A-Z0-9]{1,12}$")


COLUMNS: dict[str, _Dtype] = {
    "x": "f8",
    "y": "f8",
    "value": "f8",
    "identifier": "S",
    "time": "M8[s]",
    "owner": "i8",
    "place_sd": "f8",
    "spot": "i4",
    "row": "i8",
}
"""Columns of observations, one entry a row, and their types."""


def crs_name(crs: str | int) -> str:
    """Write an EPSG code (27700, "27700", "epsg:27700") as "EPSG:27700". Raise `DataError` for
    anything else; `geo.crs_by_name` translates names such as "Dutch grid"."""
    name = str(crs).strip().upper()
    if name.isascii() and name.isdigit():
        name = f"EPSG:{name}"
    if not _CRS.match(name):
        raise DataError("The coordinate system must be an EPSG code such as EPSG:4326 or EPSG:27700.")
    return name


def _column(values: Any, kind: _Dtype) -> NDArray[Any]:
    if isinstance(values, np.memmap) and values.mode == "r" and values.dtype == _read(kind, values):
        return values  # a long column on disk, already read-only
    column = np.array(values, dtype=kind)  # a copy, because a caller may have a writable view
    column.setflags(write=False)
    return column


def _read(kind: _Dtype, values: NDArray[Any]) -> np.dtype[Any]:
    return values.dtype if kind == "S" and values.dtype.kind == "S" else np.dtype(kind)


@dataclass(frozen=True, eq=False)
class Observations:
    """n private rows with a place and a value each; columns are read-only. Every column of single
    rows (`x`, `y`, `value`, `identifier`, `time`, `owner`, `place_sd`, `spot`, `row`) is private to
    the curator and is never written to a bundle, a log or a message. Raise `DataError` if columns
    are empty, not finite or of different lengths, a word is unknown, or `crs` is not a code
    (`crs_name`)."""

    x: NDArray[np.float64]  # (n,) easting or longitude in `crs`, finite
    y: NDArray[np.float64]  # (n,) northing or latitude
    crs: str  # "AUTHORITY:CODE"; degrees or metres as that system says
    value: NDArray[np.float64]  # (n,) finite values in `unit`
    unit: str  # e.g. "GBP" or "ug/m3"
    # the meaning of a row, and so the unit that point records protect; a sensor may have many
    # readings
    kind: Kind
    title: str  # one line for people
    generated: bool = False  # invented by a program; every view of them must state this
    attribution: tuple[str, ...] = ()  # sentences the data's licences ask for
    # (n,) the source's own name of each row (transaction identifier, chosen id column), at most 64
    # bytes, b"" without one; two rows with one identifier are one record, even in different files
    identifier: NDArray[np.bytes_] | None = None
    time: NDArray[np.datetime64] | None = None  # (n,) when measured or sold, NaT where unknown
    owner: NDArray[np.int64] | None = None  # (n,) sensor or person of each row, 0 <= owner < m
    owner_word: OwnerWord | None = None  # the kind of owner; None exactly where `owner` is None
    # (n,) metres per axis, >= 0, where places carry normal noise
    place_sd: NDArray[np.float64] | None = None
    # (n,) number of each row's place, >= 0: rows with one number have the same x and y
    spot: NDArray[np.int32] | None = None
    # (n,) number of each row in its file, >= 0, whatever columns and filters were chosen
    row: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        for name, kind in COLUMNS.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _column(getattr(self, name), kind))
        object.__setattr__(self, "crs", crs_name(self.crs))
        columns = [column for name in COLUMNS if (column := getattr(self, name)) is not None]
        if not (self.x.ndim == 1 and all(column.shape == self.x.shape for column in columns)):
            raise DataError("Observations need x, y and value, and whatever else is given, of one length.")
        if self.x.size == 0:
            raise DataError("There are no observations: no row was left after loading.")
        if not all(np.all(np.isfinite(column)) for column in (self.x, self.y, self.value)):
            raise DataError(
                "Observations must have finite coordinates and values: drop the other rows first."
            )
        if self.kind not in get_args(Kind):
            raise DataError(f"Observations are of kind 'sale' or 'reading', not {self.kind!r}.")
        if (self.owner is None) != (self.owner_word is None):
            raise DataError("Owners and the word for them belong together: give both or neither.")
        if self.owner_word is not None and self.owner_word not in get_args(OwnerWord):
            raise DataError(f"An owner is a 'sensor' or a 'person', not {self.owner_word!r}.")
        if self.place_sd is not None and not np.all(np.isfinite(self.place_sd) & (self.place_sd >= 0.0)):
            raise DataError("The noise of a place is a number of metres, at least 0: drop the other rows.")
        if self.owner is not None and self.owner.min() < 0:
            raise DataError("Every observation needs its owner: drop the rows without one first.")

    @property
    def size(self) -> int:
        """Number n of observations."""
        return int(self.value.size)

    @property
    def owners(self) -> int | None:
        """Number of different owners; None where the source names none."""
        return None if self.owner is None else int(np.unique(self.owner).size)

    def take(self, rows: ArrayLike) -> Observations:
        """Select rows by k positions, in their order, or by an (n,) mask; raise `DataError` for an
        empty selection."""
        positions = np.asarray(rows)
        columns = {name: getattr(self, name) for name in COLUMNS}
        parts = {name: column[positions] for name, column in columns.items() if column is not None}
        return replace(self, **parts)

    def __repr__(self) -> str:
        # The default would print private values into logs and tracebacks.
        return f"Observations({self.size} x {self.kind}, crs={self.crs}, unit={self.unit!r})"


@dataclass(frozen=True)
class LoadReport:
    """Rows read, kept and dropped. Raise `ValueError` unless each row is kept or dropped for one
    reason."""

    source: str  # a file name, never its folder
    rows_read: int  # header not counted
    kept: int  # rows that became observations (or postcodes)
    # reason in words and number of rows, in the order of checks
    dropped: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()  # sentences about how the loader read the input
    filtered: int = 0  # of the dropped rows, those that the settings ask to leave out

    def __post_init__(self) -> None:
        if min(self.rows_read, self.kept, self.filtered, *(count for _, count in self.dropped), 0) < 0:
            raise ValueError("a report cannot count a negative number of rows.")
        if self.kept + self.rows_dropped != self.rows_read:
            raise ValueError("a report must account for every row read.")
        if self.filtered > self.rows_dropped:
            raise ValueError("a report cannot filter more rows than it drops.")

    @property
    def rows_dropped(self) -> int:
        """Rows that were not kept."""
        return sum(count for _, count in self.dropped)

    def lines(self) -> tuple[str, ...]:
        """Return the report for the curator's screen, one sentence per line."""
        rows = "1 row" if self.rows_read == 1 else f"{self.rows_read:,} rows"
        first = f"{self.source}: {rows} read, {self.kept:,} kept."
        reasons = (f"{count:,} dropped: {reason}." for reason, count in self.dropped if count)
        return (first, *reasons, *self.notes)


def tables_note(names: Sequence[str]) -> tuple[str, ...]:
    """Name the tables of an archive that were read as one, at most ten; () for a single table."""
    if len(names) < 2:
        return ()
    remainder = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    return (f"{len(names):,} tables were read as one: {', '.join(names[:10])}{remainder}.",)


class Tally:
    """Counts rows and drop reasons while a file streams by."""

    def __init__(self) -> None:
        self.rows_read = 0
        self.filtered = 0
        self._reasons: dict[str, int] = {}

    def read(self, rows: int) -> None:
        """Count data rows."""
        self.rows_read += rows

    def drop(self, reason: str, rows: int) -> None:
        """Count rows as dropped; zero rows keep the reason's place in the order."""
        self._reasons[reason] = self._reasons.get(reason, 0) + rows

    def drop_where(self, reason: str, bad: NDArray[np.bool_], alive: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Drop, and count once, the (n,) `bad` rows that are still alive; return the rows still
        alive afterwards."""
        lost = alive & bad
        self.drop(reason, int(np.count_nonzero(lost)))
        return alive & ~lost

    def filter_where(
        self, reason: str, bad: NDArray[np.bool_], alive: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Drop (n,) rows as `drop_where` does; the settings exclude them."""
        remaining = self.drop_where(reason, bad, alive)
        self.filtered += int(np.count_nonzero(alive)) - int(np.count_nonzero(remaining))
        return remaining

    @property
    def main_reason(self) -> str:
        """The reason that cost most rows, or "" before any was dropped."""
        return max(self._reasons, key=lambda reason: self._reasons[reason], default="")

    def report(self, source: str, kept: int, notes: tuple[str, ...] = ()) -> LoadReport:
        """Close the account of `kept` rows; reasons that dropped nothing are left out."""
        dropped = tuple((reason, count) for reason, count in self._reasons.items() if count)
        return LoadReport(source, self.rows_read, kept, dropped, notes, self.filtered)
