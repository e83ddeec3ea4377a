"""Reads the polygons, lines and points of a GeoPackage as GeoJSON: public areas and layers, never records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

from data_loaders.errors import DataError, unopened
from data_loaders.files.bombs import MAGIC
from data_loaders.files.guarded import LIMITS
from data_loaders.files.layers import read_table

MOST_ROWS = 50_000


def is_geopackage(path: str | Path) -> bool:
    """Tell whether a file is a GeoPackage, by how it begins; False where it cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def shapes_of(path: str | Path, layer: str | None = None) -> dict[str, Any]:
    """Read a layer of a GeoPackage (the only one without a name) as a GeoJSON FeatureCollection: texts and
    numbers of every row, in the file's own coordinates; its member `crs` names the system that the file
    states, also EPSG:4326, as files of before 2016 do. Raise `DataError` for a file that cannot be opened or
    is damaged, several layers of which none is named, a layer without shapes, and too many rows."""
    place = Path(path)
    try:
        handle = place.open("rb")
    except OSError:
        raise unopened(place.name) from None
    with handle:
        _, crs, geometry, table = read_table("GPKG", place.name, place, handle, layer, True, LIMITS)
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
    read = shapely.force_2d(shapely.from_wkb(column, on_invalid="ignore"))
    read[shapely.is_empty(read)] = None  # GeoJSON has no form for an empty point
    shapes = shapely.to_geojson(read)
    kept = [name for name in table.column_names if name != geometry and _plain(table.column(name).type)]
    rows = table.select(kept).to_pylist()
    features = [
        {"type": "Feature", "properties": row, "geometry": None if shape is None else json.loads(shape)}
        for row, shape in zip(rows, shapes, strict=True)
    ]
    stated = {"crs": {"type": "name", "properties": {"name": crs}}} if crs else {}
    return {"type": "FeatureCollection", **stated, "features": features}


def _plain(kind: pa.DataType) -> bool:
    """Texts and numbers; dates, pictures and lists name nothing."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
    )
