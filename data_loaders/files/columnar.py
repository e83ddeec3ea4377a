"""Tables of Arrow columns as CSV text, their places as two numbers, and files that pyarrow
reads."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import shapely
from numpy.typing import NDArray

from data_loaders.errors import DataError
from data_loaders.files.drivers import Format, OpenFile
from data_loaders.files.guarded import Limits, Pieces
from data_loaders.systems import WGS84, system_named

BLANK = "\ufdd0"
"""Marks a blank row of a sheet until it is written; no text contains this character."""

ROWS = 65_536
"""Rows written as CSV at a time."""

_AREAS = (3, 6)  # shapely's numbers of polygon and multipolygon


def points_of(column: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return (n,) x and (n,) y of an Arrow column of shapes in WKB, or of points as a structure of
    x and y, and the number of areas, whose centre counts; NaN for lines, several points, blanks and
    empty shapes."""
    if pa.types.is_struct(column.type):
        parts = pc.struct_field(column, "x"), pc.struct_field(column, "y")
        x, y = (np.asarray(pc.cast(part, pa.float64()).to_pandas(), dtype=np.float64) for part in parts)
        return x, y, 0
    shapes = shapely.from_wkb(np.asarray(column.to_pandas(), dtype=object), on_invalid="ignore")
    kinds = shapely.get_type_id(shapes)
    area = np.isin(kinds, _AREAS)
    centres = shapely.centroid(np.where(area, shapes, None))
    several = shapely.get_num_geometries(shapes) != 1
    single = shapely.get_geometry(shapes, 0)  # a multipoint with one point counts as a point
    single[several | (shapely.get_type_id(single) != 0)] = None
    points = np.where(area, centres, single)
    points[shapely.is_empty(points)] = None
    return shapely.get_x(points), shapely.get_y(points), int(np.count_nonzero(area))


def open_columns(
    file: OpenFile, limits: Limits
) -> tuple[list[str], Iterator[Any], str, bool, tuple[str, ...]]:
    """Open a Parquet, Arrow or ORC file. Return the names of its columns, its batches of rows, the
    system of its places ("" unless stated), whether it has places, and the names of columns of
    text. The places are the first two columns of each batch and replace the first name. Raise
    `DataError` if the file is damaged or unpacks beyond `limits`."""
    driver, name, handle = file.driver, file.name, file.handle
    failed = False
    try:
        handle.seek(0, 2)
        size = handle.tell()
        if size > min(driver.most_bytes, limits.max_bytes):
            raise DataError(f"{name} is larger than {driver.most_bytes >> 20:,} MiB: export it as CSV.")
        handle.seek(0)
        schema, batches, unfolded = _opened(file.kind, pa.PythonFile(handle, mode="r"))
        if unfolded > limits.free_bytes + limits.max_ratio * size:
            raise DataError(
                f"{name} unpacks to more than {limits.max_ratio:g} times its size and is refused as a "
                "possible bomb: export it as CSV if you trust it."
            )
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError, OverflowError):
        failed = True
    if failed:  # outside the handler, because Arrow's message quotes the file
        raise DataError(f"{name} is damaged or not the {driver.words} it claims to be: export it again.")
    geometry, crs = _geometry(name, schema)
    names = [field.name for field in schema]
    if geometry is not None:
        names = [geometry, *(column for column in names if column != geometry)]
    return (
        names,
        _guarded(name, driver.words, _with_places(batches, names, geometry)),
        crs,
        geometry is not None,
        texts_of(schema),
    )


def texts_of(schema: Any) -> tuple[str, ...]:
    """Return the names of the columns whose type is text."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    return tuple(field.name for field in schema if any(is_kind(field.type) for is_kind in kinds))


def _opened(kind: Format, file: Any) -> tuple[Any, Iterator[Any], int]:
    """Return the schema of a file, its batches, and its stated unpacked size in bytes."""
    if kind == "Parquet":
        import pyarrow.parquet as pq

        parquet = pq.ParquetFile(file)
        groups = (parquet.metadata.row_group(at) for at in range(parquet.metadata.num_row_groups))
        unfolded = max(sum(group.total_byte_size for group in groups), parquet.metadata.num_rows)
        return parquet.schema_arrow, parquet.iter_batches(ROWS), unfolded
    if kind == "ORC":
        from pyarrow import orc

        stripes = orc.ORCFile(file)
        batches = (stripes.read_stripe(at) for at in range(stripes.nstripes))
        return stripes.schema, batches, stripes.nrows
    reader = pa.ipc.open_file(file)
    return reader.schema, (reader.get_batch(at) for at in range(reader.num_record_batches)), 0


def _geometry(name: str, schema: Any) -> tuple[str | None, str]:
    """Return the column of shapes that a file names (GeoParquet 1.1, GeoArrow) or None, and its
    system."""
    metadata = schema.metadata or {}
    try:
        geo = json.loads(metadata.get(b"geo", b"null"))
    except ValueError:
        geo = None
    if isinstance(geo, dict) and isinstance(geo.get("columns"), dict):
        column = geo.get("primary_column")
        about = geo["columns"].get(column)
        if isinstance(about, dict) and column in schema.names:
            return column, _system(name, about.get("crs", WGS84))
    for field in schema:
        extension = field.metadata or {}
        if extension.get(b"ARROW:extension:name", b"") in (b"geoarrow.wkb", b"ogc.wkb", b"geoarrow.point"):
            try:
                about = json.loads(extension.get(b"ARROW:extension:metadata") or b"{}")
            except ValueError:
                about = {}
            return field.name, _system(name, about.get("crs"))
    return None, ""


def _system(name: str, crs: Any) -> str:
    """Return the system of PROJJSON, a code or a text; "" for null."""
    return "" if crs is None else system_named(name, json.dumps(crs) if isinstance(crs, dict) else str(crs))


def _with_places(batches: Iterable[Any], names: Sequence[str], geometry: str | None) -> Iterator[Any]:
    for batch in batches:
        columns = {name: batch.column(batch.schema.get_field_index(name)) for name in names}
        if geometry is None:
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
            continue
        x, y, _ = points_of(columns.pop(geometry))
        places = [pa.array(x, from_pandas=True), pa.array(y, from_pandas=True)]
        arrays = [*places, *columns.values()]
        yield pa.RecordBatch.from_arrays(arrays, names=[f"c{at}" for at in range(len(arrays))])


def _guarded(name: str, words: str, batches: Iterator[Any]) -> Iterator[Any]:
    failed = False
    try:
        yield from batches
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError, OverflowError):
        failed = True
    if failed:
        raise DataError(f"{name} is damaged or not the {words} it claims to be: export it again.")


class CsvText(Pieces):
    """Batches of columns as CSV text in UTF-8, written on demand."""

    def __init__(self, names: Sequence[str], batches: Iterable[Any], header: bool) -> None:
        super().__init__()
        self._batches = iter(batches)
        self._ready = _csv([as_text(pa.array([name], pa.string())) for name in names]) if header else b""

    def _take(self, size: int) -> bytes:
        while not self._ready and (batch := next(self._batches, None)) is not None:
            self._ready = _csv([as_text(column) for column in batch.columns])
        part, self._ready = self._ready[:size], self._ready[size:]
        return part


def _csv(columns: list[Any]) -> bytes:
    buffer = io.BytesIO()
    names = [f"c{position}" for position in range(len(columns))]
    options = pacsv.WriteOptions(include_header=False, quoting_style="needed")
    pacsv.write_csv(pa.Table.from_arrays(columns, names=names), buffer, options)
    blank = ",".join([f'"{BLANK}"', *['""'] * (len(columns) - 1)])
    return buffer.getvalue().replace(f"{blank}\n".encode(), b"\n")


def as_text(column: Any) -> Any:
    """Return a column as text, each entry on one line; blank for types without plain text (pictures,
    lists)."""
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_nested(kind):
        return pa.array([""] * len(column), pa.string())
    texts = pc.fill_null(pc.cast(column, pa.string()), "")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind):
        texts = pc.replace_substring_regex(texts, "\r\n|\r|\n", " ")
    return texts
