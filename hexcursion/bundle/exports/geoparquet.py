"""cells.parquet: the cells as GeoParquet, with mean and deviation where the release has them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.exports.base import Export, Exported
from hexcursion.bundle.untrusted import checked_parquet, table_of

NAME = "cells.parquet"
GEOMETRY = "geometry"
COLUMNS = 12


def write(exported: Exported) -> bytes:
    """GeoParquet 1.1, WGS 84; the exact outlines of the cells."""
    import geopandas

    outlines = [shape.geoms[0] if len(shape.geoms) == 1 else shape for shape in exported.outlines]
    frame = geopandas.GeoDataFrame(dict(exported.columns), geometry=outlines, crs="EPSG:4326")
    sink = io.BytesIO()
    frame.to_parquet(sink, index=False, compression="zstd", schema_version="1.1.0")
    return sink.getvalue()


def read(content: bytes) -> Mapping[str, Sequence[Any]]:
    """The columns without the outlines, after size, names and types were found right. Raise `BundleError` if
    it is no GeoParquet file, is damaged, or is larger than a bundle's."""
    try:
        file = checked_parquet(content, NAME, COLUMNS)
        names = file.schema_arrow.names
        if GEOMETRY not in names or b"geo" not in (file.schema_arrow.metadata or {}):
            raise BundleError(f"{NAME} is no GeoParquet file: it has no outlines.")
        table = table_of(file, NAME, [name for name in names if name != GEOMETRY])
        return dict(table.to_pydict())
    except (pa.ArrowException, OSError, ValueError, UnicodeError, MemoryError) as error:
        if isinstance(error, BundleError):
            raise
        raise BundleError(f"{NAME} is damaged: it cannot be read as Parquet.") from error


GEOPARQUET = Export(
    NAME, "the cells as GeoParquet, with mean and deviation where there are", 200_000_000, write, read
)
