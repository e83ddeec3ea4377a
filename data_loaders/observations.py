"""Observations: rows as loaded, each a place and a value, before any geography or privacy."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from data_loaders.errors import DataError

Kind: TypeAlias = Literal["sale", "reading"]
OwnerWord: TypeAlias = Literal["sensor", "person"]

_Dtype: TypeAlias = Literal["f8", "S", "M8[s]", "i8", "i4"]
_CRS = re.compile(r"^(EPSG|ESRI|OGC):[A-Z0-9]{1,12}$")


def crs_name(crs: str | int) -> str:
    """Write a coordinate system as "AUTHORITY:CODE" in capitals.

    Parameters
    ----------
    crs : str or int
        An EPSG code: 27700, "27700", "epsg:27700".

    Returns
    -------
    str
        For instance "EPSG:27700".

    Raises
    ------
    DataError
        Where `crs` is no such code. Names ("Dutch grid") are found by `geo.crs_by_name`.
    """
    name = str(crs).strip().upper()
    if name.isascii() and name.isdigit():
        name = f"EPSG:{name}"
    if not _CRS.match(name):
        raise DataError("The coordinate system must be an EPSG code such as EPSG:4326 or EPSG:27700.")
    return name


def _column(values: Any, kind: _Dtype) -> NDArray[Any]:
    if isinstance(values, np.memmap) and values.mode == "r" and values.dtype == _read(kind, values):
        return values  # a long column on disk, which nobody can write to
    column = np.array(values, dtype=kind)  # a copy: nobody else may hold a writable view
    column.setflags(write=False)
    return column


def _read(kind: _Dtype, values: NDArray[Any]) -> np.dtype[Any]:
    return values.dtype if kind == "S" and values.dtype.kind == "S" else np.dtype(kind)


@dataclass(frozen=True, eq=False)
class Observations:
    """Private rows: where they are and what was measured there.

    Everything that says something of a single row (`x`, `y`, `value`, `identifier`, `time`, `owner`,
    `place_sd`, `spot`, `row`) is private to the curator: it is never written to a bundle, a log or a message.

    Parameters
    ----------
    x, y : (n,) float64, read-only
        Easting or longitude, northing or latitude, in `crs`. Finite.
    crs : str
        "AUTHORITY:CODE"; degrees or metres as that system says.
    value : (n,) float64, read-only
        Finite values in `unit`.
    unit : str
        Word for the value's unit of measure, e.g. "GBP" or "ug/m3".
    kind : {"sale", "reading"}
        What one row is, and so what point records protect. A row of a sensor table is a reading, never a
        sensor: a sensor may have many.
    title : str
        One line for people.
    generated : bool
        True for data made by a program, which must be said wherever they are shown.
    attribution : tuple of str
        Sentences the data's licences ask for.
    identifier : (n,) bytes or None, read-only
        The source's own name of each row (transaction identifier, chosen id column), at most 64 bytes, b""
        where a row has none. Two rows with one identifier are one record, in whatever file they stand.
    time : (n,) datetime64[s] or None, read-only
        When each row was measured or sold, NaT where it is not known.
    owner : (n,) int64 or None, read-only
        Which sensor or person each row belongs to: 0 <= owner < m, equal numbers for equal owners.
    owner_word : {"sensor", "person"} or None
        What an owner is; None exactly where `owner` is None.
    place_sd : (n,) float64 or None, read-only
        Standard deviation of each place in metres per axis, at least 0, where places carry normal noise.
    spot : (n,) int32 or None, read-only
        Number of each row's place, at least 0: rows with one number have the same x and y.
    row : (n,) int64 or None, read-only
        Number of each row in the file it comes from, at least 0, whatever columns and filters were chosen.

    Raises
    ------
    DataError
        Where the columns are empty, not finite or of different lengths, a word is unknown, or `crs` is
        no code (`crs_name`).
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    crs: str
    value: NDArray[np.float64]
    unit: str
    kind: Kind
    title: str
    generated: bool = False
    attribution: tuple[str, ...] = ()
    identifier: NDArray[np.bytes_] | None = None
    time: NDArray[np.datetime64] | None = None
    owner: NDArray[np.int64] | None = None
    owner_word: OwnerWord | None = None
    place_sd: NDArray[np.float64] | None = None
    spot: NDArray[np.int32] | None = None
    row: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        kinds: dict[str, _Dtype]
        kinds = {"x": "f8", "y": "f8", "value": "f8", "identifier": "S", "time": "M8[s]", "owner": "i8"}
        kinds |= {"place_sd": "f8", "spot": "i4", "row": "i8"}
        for name, kind in kinds.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _column(getattr(self, name), kind))
        object.__setattr__(self, "crs", crs_name(self.crs))
        given = [column for name in kinds if (column := getattr(self, name)) is not None]
        if not (self.x.ndim == 1 and all(column.shape == self.x.shape for column in given)):
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
        """Choose some of the rows.

        Parameters
        ----------
        rows : (k,) int or (n,) bool
            Positions or a mask; the order of positions is kept.

        Returns
        -------
        Observations
            With all columns that these have.

        Raises
        ------
        DataError
            Where no row is chosen.
        """
        chosen = np.asarray(rows)

        def part(column: Any) -> Any:
            return None if column is None else column[chosen]

        return replace(
            self,
            x=self.x[chosen],
            y=self.y[chosen],
            value=self.value[chosen],
            identifier=part(self.identifier),
            time=part(self.time),
            owner=part(self.owner),
            place_sd=part(self.place_sd),
            spot=part(self.spot),
            row=part(self.row),
        )

    def __repr__(self) -> str:
        # The default would print private values into logs and tracebacks.
        return f"Observations({self.size} x {self.kind}, crs={self.crs}, unit={self.unit!r})"
