"""Observations: rows as loaded, each a place and a value, before any geography or privacy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_loaders.errors import DataError

# Coordinate systems whose unit is the degree and whose ranges this room may check. What a code means is
# not known here: only geo/projection.py knows coordinate reference systems.
DEGREES = frozenset({"EPSG:4326", "EPSG:4258", "EPSG:4269", "OGC:CRS84"})
_CRS = re.compile(r"^(EPSG|ESRI|OGC):[A-Z0-9]{1,12}$")


def crs_name(crs: str | int) -> str:
    """`crs` as "AUTHORITY:CODE" in capitals; accepts 27700, "27700", "epsg:27700". Raises DataError."""
    name = str(crs).strip().upper()
    if name.isascii() and name.isdigit():
        name = f"EPSG:{name}"
    if not _CRS.match(name):
        raise DataError("The coordinate system must be an EPSG code such as EPSG:4326 or EPSG:27700.")
    return name


def _column(values: Any) -> NDArray[np.float64]:
    column = np.array(values, dtype=np.float64)  # a copy: nobody else may hold a writable view
    column.setflags(write=False)
    return column


@dataclass(frozen=True, eq=False)
class Observations:
    """Private rows: where they are and what was measured there.

    x, y         (n,) easting or longitude, northing or latitude, in `crs`; read-only float64
    crs          "AUTHORITY:CODE"; degrees or metres as that system says
    value        (n,) finite values in `unit`; read-only float64
    unit         word for the value's unit, e.g. "GBP" or "ug/m3"
    kind         "sale" or "sensor": what one row is, and so what point records protect
    title        one line for people
    generated    True for data made by a program, which must be said wherever they are shown
    attribution  sentences the data's licences ask for
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    crs: str
    value: NDArray[np.float64]
    unit: str
    kind: str
    title: str
    generated: bool = False
    attribution: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("x", "y", "value"):
            object.__setattr__(self, name, _column(getattr(self, name)))
        object.__setattr__(self, "crs", crs_name(self.crs))
        if not (self.x.ndim == 1 and self.x.shape == self.y.shape == self.value.shape):
            raise DataError("Observations need x, y and value of one common length.")
        if self.x.size == 0:
            raise DataError("There are no observations: no row was left after loading.")
        if not all(np.all(np.isfinite(column)) for column in (self.x, self.y, self.value)):
            raise DataError(
                "Observations must have finite coordinates and values: drop the other rows first."
            )
        if self.kind not in ("sale", "sensor"):
            raise DataError(f"Observations are of kind 'sale' or 'sensor', not {self.kind!r}.")

    @property
    def size(self) -> int:
        """Number of observations."""
        return int(self.value.size)

    def __repr__(self) -> str:
        # The default would print private values into logs and tracebacks.
        return f"Observations({self.size} x {self.kind}, crs={self.crs}, unit={self.unit!r})"
