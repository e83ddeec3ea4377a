"""Checks coordinates against the system they are said to be in: a whole column, not a stray row, decides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from data_loaders.columns.coordinate_names import is_latitude, is_longitude
from data_loaders.columns.systems import in_degrees, is_projected
from data_loaders.errors import DataError
from data_loaders.files.layers import POINT_X
from data_loaders.files.sources import Table
from data_loaders.observations import crs_name

WGS84 = "EPSG:4326"
_NORTHERNMOST = 1.2e7  # metres: no northing reaches it


def check_named(x_name: str, y_name: str, system: str) -> None:
    """Raise `DataError` where the columns of x and y are one column, or are exchanged by their names."""
    if x_name == y_name:
        raise DataError(
            f"Column {x_name!r} is named for both coordinates: choose one for x and another for y."
        )
    if in_degrees(system) and is_latitude(x_name) and is_longitude(y_name):
        raise DataError(f"Longitude is x and latitude is y: exchange the columns {x_name!r} and {y_name!r}.")


def system_of(table: Table, x_name: str, asked: str | int) -> str:
    """Return the coordinate system of a table's places as "AUTHORITY:CODE"; `asked` "EPSG:4326" counts as not
    given where a file states another. Only the points of a file have a stated system. GeoJSON that states
    none is read in the system asked for, since many files hold metres against its standard. Raise `DataError`
    where file and person name different systems."""
    given = crs_name(asked)
    if x_name != POINT_X or not table.points or not table.crs:
        return given
    stated = crs_name(table.crs)
    if given in (stated, WGS84):
        return stated
    if stated == WGS84 and table.layers == ("",):
        return given
    raise DataError(
        f"{table.name} states {stated} for its points, but {given} was given: leave the coordinate system "
        "out, or export the points again."
    )


def in_range(system: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which (n,) places lie within the range of their system; all do where the system is not of
    degrees."""
    if not in_degrees(system):
        return np.ones(x.shape, dtype=bool)
    return (np.abs(x) <= 180) & (np.abs(y) <= 90)


def check_places(
    name: str, system: str, x_name: str, y_name: str, x: NDArray[np.float64], y: NDArray[np.float64]
) -> None:
    """Raise `DataError` where (n,) finite coordinates contradict their system: metres said to be degrees,
    degrees said to be metres, and exchanged columns."""
    if x.size == 0:
        return
    small = (np.abs(x) <= 180) & (np.abs(y) <= 90)
    if in_degrees(system):
        if np.count_nonzero(small) * 2 >= x.size:
            return
        swapped = (np.abs(y) <= 180) & (np.abs(x) <= 90)
        if np.all(swapped):
            raise DataError(
                f"{name} has values beyond 90 degrees in its latitude column {y_name!r}: "
                f"exchange the columns {x_name!r} and {y_name!r}."
            )
        if np.median(np.abs(y)) > _NORTHERNMOST:
            raise DataError(
                f"{name} has values in {x_name!r} and {y_name!r} that look like degrees times 10,000,000: "
                "divide them, or name the columns longitudeE7 and latitudeE7."
            )
        raise DataError(
            f"{name} has values in {x_name!r} and {y_name!r} that are not degrees but projected coordinates: "
            "set the EPSG code of their coordinate system, such as EPSG:27700 for the British National Grid."
        )
    if np.count_nonzero(small) * 2 > x.size and is_projected(system):
        raise DataError(
            f"{name} has values in {x_name!r} and {y_name!r} that look like degrees, not like {system}: "
            "set the EPSG code to EPSG:4326, or give the coordinates in the units of that system."
        )
