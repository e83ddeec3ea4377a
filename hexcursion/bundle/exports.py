"""The formats of the cells: cells.parquet, cells.csv, release.gpkg, and those of installed packages."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from dpgp_core.plugins import Registry
from hexcursion.bundle.geopackage import GEOPACKAGE
from hexcursion.bundle.layers import Export, Exported, frame_of
from hexcursion.bundle.untrusted import (
    BundleError,
    checked_parquet,
    csv_text,
    neutral_cell,
    readable,
    table_of,
)

PARQUET = "cells.parquet"
GEOMETRY = "geometry"
COLUMNS = 12


def write_parquet(exported: Exported) -> bytes:
    """GeoParquet 1.1, WGS 84; the exact outlines of the cells."""
    sink = io.BytesIO()
    frame_of(exported.columns, exported.outlines).to_parquet(
        sink, index=False, compression="zstd", schema_version="1.1.0"
    )
    return sink.getvalue()


def read_parquet(content: bytes) -> Mapping[str, Sequence[Any]]:
    """The columns without the outlines, after size, names and types were found right. Raise `BundleError` if
    it is no GeoParquet file, is damaged, or is larger than a bundle's."""
    with readable(PARQUET, "Parquet"):
        file = checked_parquet(content, PARQUET, COLUMNS)
        names = file.schema_arrow.names
        if GEOMETRY not in names or b"geo" not in (file.schema_arrow.metadata or {}):
            raise BundleError(f"{PARQUET} is no GeoParquet file: it has no outlines.")
        table = table_of(file, PARQUET, [name for name in names if name != GEOMETRY])
        return dict(table.to_pydict())


GEOPARQUET = Export(
    PARQUET,
    "the cells as GeoParquet, with mean and deviation where there are",
    200_000_000,
    write_parquet,
    read_parquet,
)


CSV = "cells.csv"
ALIAS = "hex_id"  # what Kepler.gl, CARTO and Unfolded look for


def write_table(exported: Exported) -> bytes:
    """Comma-separated UTF-8 with a heading; booleans as true and false."""
    columns = {"h3": exported.columns["h3"], ALIAS: exported.columns["h3"], **exported.columns}
    rows = zip(*(map(_written, column) for column in columns.values()), strict=True)
    return csv_text([columns, *rows]).encode()


def read_table(content: bytes) -> Mapping[str, Sequence[Any]]:
    """The columns as written; numbers and truth values are recognised by their form. Raise `BundleError`
    if it is damaged, its rows have different lengths, or `hex_id` is not `h3` again."""
    with readable(CSV, "a table"):
        rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True))
    if not rows or any(len(row) != len(rows[0]) for row in rows) or len(set(rows[0])) != len(rows[0]):
        raise BundleError(f"{CSV} is damaged: its rows have different lengths.")
    columns = {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}
    if ALIAS not in columns or columns[ALIAS] != columns.get("h3"):
        raise BundleError(f"{CSV} must have the column {ALIAS}, equal to h3.")
    return {name: [_meant(text) for text in column] for name, column in columns.items() if name != ALIAS}


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return neutral_cell(value) if isinstance(value, str) else repr(value)


def _meant(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text or len(text) < 15 else text
    except ValueError:
        return text


TABLE = Export(CSV, "the cells as a table, `h3` repeated as `hex_id`", 60_000_000, write_table, read_table)


_OWN = (TABLE, GEOPARQUET, GEOPACKAGE)
EXPORTS = Registry("hexcursion.exports", {export.file: export for export in _OWN}, Export, "file")
