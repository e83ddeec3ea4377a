"""Reads the polygons, lines and points of a GeoPackage as GeoJSON: public areas and layers, never
records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

from data_loaders.errors import DataError, unopened
from data_loaders.files.bombs import MAGIC
from data_loaders.files.drivers import OpenFile
from data_loaders.files.guarded import LIMITS
from data_loaders.files.layers import LayerChoice, read_table

MOST_ROWS = 50_000


def is_geopackage(path: str | Path) -> bool:
    """Whether a file is a GeoPackage, by its first bytes; False if it cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def shapes_of(path: str | Path, layer: str | None = None) -> dict[str, Any]:
    """Read a layer of a GeoPackage (without `layer` the only one) as a GeoJSON FeatureCollection
    with the texts and numbers of every row, in the coordinates of the file; its member `crs` names
    the system that the file states, also EPSG:4326, as in files from before 2016. Raise `DataError`
    for a file that cannot be opened or is damaged, several layers without a selected one, a layer
    without shapes, and too many rows."""
    place = Path(path)
    try:
        handle = place.open("rb")
    except OSError:
        raise unopened(place.name) from None
    with handle:
        file = OpenFile("GPKG", place.name, handle, place)
        _, crs, geometry, table = read_table(file, LayerChoice(layer), LIMITS)
    if table.num_rows > MOST_ROWS:
        raise DataError(
            f"{place.name} has {table.num_rows:,} rows, more than the {MOST_ROWS:,} that are read: "
            "export those near the area."
        )
    if geometry not in table.column_names:
        raise DataError(
            f"{place.name} holds a table without shapes: choose a layer of areas, lines or points."
        )
    column = np.asarray(table.column(geometry).to_pandas(), dtype=object)
    geometries = shapely.force_2d(shapely.from_wkb(column, on_invalid="ignore"))
    geometries[shapely.is_empty(geometries)] = None  # GeoJSON has no form for an empty point
    shapes = shapely.to_geojson(geometries)
    names = [name for name in table.column_names if name != geometry and _plain(table.column(name).type)]
    rows = table.select(names).to_pylist()
    features = [
        {"type": "Feature", "properties": row, "geometry": None if shape is None else json.loads(shape)}
        for row, shape in zip(rows, shapes, strict=True)
    ]
    crs_member = {"crs": {"type": "name", "properties": {"name": crs}}} if crs else {}
    return {"type": "FeatureCollection", **crs_member, "features": features}


def _plain(kind: pa.DataType) -> bool:
    """Whether a type is text or a number; dates, pictures and lists are no names."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
    )
