"""Reads sheets of Excel workbooks and points of GeoPackage and GeoJSON files, through GDAL, as CSV text.

Also the polygons, lines and points of a GeoPackage as GeoJSON: public areas and layers, never records.
"""

from __future__ import annotations

import functools
import io
import json
import os
import re
import shutil
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import shapely
from numpy.typing import NDArray

from data_loaders.errors import DataError, closest, unopened
from data_loaders.files.bombs import MAGIC, Unfolded, layers_of
from data_loaders.files.guarded import (
    DAMAGE,
    GEOJSON_TYPE,
    LIMITS,
    GuardedStream,
    Limits,
    Meter,
    Pieces,
    damage_sentence,
    open_zip,
)

Format: TypeAlias = Literal["XLSX", "GPKG", "GeoJSON"]
POINT_X, POINT_Y = "point x", "point y"
POINT_SUFFIXES = (".gpkg", ".geojson", ".json")
MOST_BYTES: dict[Format, int] = {"XLSX": 256 << 20, "GPKG": 1 << 30, "GeoJSON": 256 << 20}
_WORDS: dict[Format, str] = {"XLSX": "Excel workbook", "GPKG": "GeoPackage", "GeoJSON": "GeoJSON file"}
_PART: dict[Format, str] = {"XLSX": "sheet", "GPKG": "layer", "GeoJSON": "layer"}
_SUFFIX: dict[Format, str] = {"XLSX": ".xlsx", "GPKG": ".gpkg", "GeoJSON": ".geojson"}
_OPTIONS: dict[Format, dict[str, str]] = {
    "XLSX": {},
    "GPKG": {"IMMUTABLE": "YES"},  # nothing is written beside the file
    "GeoJSON": {"DATE_AS_STRING": "YES", "ARRAY_AS_STRING": "YES"},
}
# All rows of a sheet are rows, and text. As options of the file GDAL forgets them from the second sheet on.
_OF_SHEETS = {"OGR_XLSX_HEADERS": "DISABLE", "OGR_XLSX_FIELD_TYPES": "STRING"}
_EPSG = re.compile(r"(EPSG|ESRI|OGC):[A-Z0-9]{1,12}")
_ROWS = 65_536  # rows written as CSV at a time
_BLANK = "\ufdd0"  # stands for a blank row of a sheet until that is written; no text holds this letter
# Warning filters and GDAL's options are one for all threads: two reads at once would restore each other's.
_ONE_AT_A_TIME = threading.Lock()

MOST_ROWS = 50_000


@dataclass(frozen=True)
class Layer:
    """One sheet or layer as read."""

    layers: tuple[str, ...]  # names of all that may hold rows
    crs: str  # the system the file states for its points ("AUTHORITY:CODE", or "")
    points: bool  # whether the first two columns are coordinates, named `POINT_X` and `POINT_Y`
    stream: io.RawIOBase  # the rows as comma-delimited CSV in UTF-8 with decimal points


def format_of(head: bytes) -> Format | None:
    """Recognise a file that is read through GDAL by the first bytes of an unpacked file. A workbook is a zip
    file and known by its members (`is_workbook`)."""
    if head.startswith(MAGIC):
        return "GPKG"
    return "GeoJSON" if GEOJSON_TYPE.match(head) else None


def is_workbook(members: list[zipfile.ZipInfo]) -> bool:
    """Tell whether a zip file is an Excel workbook (.xlsx, .xlsm), by what it holds and not by its name."""
    return any(member.filename.lower() == "xl/workbook.xml" for member in members)


def read_layer(
    kind: Format, name: str, path: Path | None, handle: Any, layer: str | None, ask: bool, limits: Limits
) -> Layer:
    """Read one sheet or layer of a file; `kind` is the only format allowed, since GDAL, left to itself, would
    also take a file for a processing recipe or a web service. The file is read in place where it has a
    `path`, else written to a temporary file. `ask`: refuse several layers without a chosen one, otherwise
    take the first. `limits` bound what is unpacked, besides `MOST_BYTES`. Raise `DataError` where the file is
    damaged, too large, holds no points, or leaves open which of its layers is meant."""
    layers, crs, geometry, table = read_table(kind, name, path, handle, layer, ask, limits)
    points = kind != "XLSX"
    table = _with_points(name, table, geometry) if points else _without_blanks(table)
    return Layer(layers, crs, points, _CsvText(table, header=points))


def read_table(
    kind: Format, name: str, path: Path | None, handle: Any, layer: str | None, ask: bool, limits: Limits
) -> tuple[tuple[str, ...], str, str, pa.Table]:
    """Read one sheet or layer with its geometries, as `read_layer`: names of all layers, the system as
    "AUTHORITY:CODE" or "", the column with the geometries as WKB, and the table."""
    if kind == "XLSX":
        _check_unpacked(name, handle, limits)
    with _at_a_safe_name(kind, name, path, handle, limits) as place:
        layers = _layers(kind, name, place)
        chosen = _chosen(kind, name, layers, layer, ask)
        meta, table = _read(kind, name, place, chosen)
    geometry = str(meta.get("geometry_name") or "wkb_geometry")
    return layers, _stated(kind, name, meta.get("crs")), geometry, table


@contextmanager
def _at_a_safe_name(
    kind: Format, name: str, path: Path | None, handle: Any, limits: Limits
) -> Iterator[Path]:
    """The file under a plain name: GDAL reads colons, question marks and suffixes of a path as orders."""
    with tempfile.TemporaryDirectory(prefix="hexcursion-read-") as folder:
        place = Path(folder) / f"table{_SUFFIX[kind]}"
        try:
            size = os.path.getsize(path) if path is not None else _size(handle)
            if size > min(MOST_BYTES[kind], limits.max_bytes):
                raise DataError(
                    f"{name} is larger than {min(MOST_BYTES[kind], limits.max_bytes) >> 20:,} MiB, the most "
                    f"that is read of a {_WORDS[kind]}: export it as CSV."
                )
            if path is not None:
                try:
                    place.symlink_to(path.absolute())
                except OSError:  # a system without links
                    shutil.copyfile(path, place)
            else:
                handle.seek(0)
                with place.open("wb") as copy:
                    shutil.copyfileobj(handle, copy)
        except OSError:
            failure = DataError(f"{name} cannot be read: check that the file exists and may be read.")
        else:
            yield place
            return
        raise failure


def _size(handle: Any) -> int:
    return int(handle.seek(0, os.SEEK_END))


def _check_unpacked(name: str, handle: Any, limits: Limits) -> None:
    """Unpack all members into nothing and count: a workbook's directory may lie about its sizes."""
    meter = Meter(Limits(min(limits.max_bytes, MOST_BYTES["XLSX"]), limits.max_ratio, limits.free_bytes))
    failure: DataError | None = None
    sheets = Unfolded()
    try:
        with open_zip(name, handle, limits) as archive:
            members = archive.infolist()
            if len(members) > limits.max_members:
                raise DataError(f"{name} holds too many parts for a workbook: save the sheet as CSV.")
            for member in members:
                with archive.open(member) as part:
                    stream = GuardedStream(name, part, meter, lambda size=member.compress_size: size)  # type: ignore[misc]
                    if member.filename.lower().endswith(".xml"):
                        sheets.add(stream)
                    while stream.read(1 << 20):
                        pass
        meter.add(name, sheets.unfolded(), sheets.unfolded(), _size(handle))
    except DataError:
        raise
    except DAMAGE as error:
        failure = damage_sentence(name, error)
    if failure is not None:
        raise failure


def _layers(kind: Format, name: str, place: Path) -> tuple[str, ...]:
    if kind == "GPKG":
        return layers_of(place, name)
    if kind == "GeoJSON":
        return ("",)
    found = _quietly(kind, name, lambda gdal: gdal.list_layers(f"XLSX:{place}"))
    return tuple(str(row[0]) for row in found)


def _chosen(kind: Format, name: str, layers: tuple[str, ...], layer: str | None, ask: bool) -> str:
    if not layers:
        raise DataError(f"{name} holds no {_PART[kind]} with rows: export the one that is meant.")
    if layer is None:
        if len(layers) > 1 and ask:
            listed = ", ".join(repr(one) for one in layers[:8])
            raise DataError(
                f"{name} holds {len(layers)} {_PART[kind]}s: name the one that is meant, "
                f"{'among others ' if len(layers) > 8 else ''}{listed}."
            )
        return layers[0]
    if layer not in layers:
        raise DataError(f"{name} has no {_PART[kind]} {layer!r}{closest(layer, layers) or '.'}")
    return layer


def _read(kind: Format, name: str, place: Path, layer: str) -> tuple[dict[str, Any], pa.Table]:
    def read(gdal: Any) -> Any:
        return gdal.read_arrow(f"{kind}:{place}", layer=layer or None, **_OPTIONS[kind])

    meta, table = _quietly(kind, name, read)
    return meta, table


def _quietly(kind: Format, name: str, call: Any) -> Any:
    """Call GDAL; its warnings and errors may quote rows, so they become one sentence of ours."""
    import pyogrio  # with GDAL: only workbooks and layers of shapes need it

    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pyogrio.set_gdal_config_options(_OF_SHEETS)
        try:
            return call(pyogrio)
        except Exception:  # pyogrio raises a dozen kinds, and pyarrow its own
            pass
        finally:
            pyogrio.set_gdal_config_options(dict.fromkeys(_OF_SHEETS))
    raise DataError(f"{name} is damaged or not the {_WORDS[kind]} it claims to be: save or export it again.")


def _stated(kind: Format, name: str, crs: Any) -> str:
    if kind == "XLSX" or not crs or "Undefined " in str(crs):  # GDAL's words for a GeoPackage's -1 and 0
        return ""
    if not _EPSG.fullmatch(str(crs)):
        raise DataError(
            f"{name} states a coordinate system without an EPSG code: export the layer in one that has a "
            "code, such as EPSG:4326."
        )
    return str(crs)


def _with_points(name: str, table: pa.Table, geometry: str) -> pa.Table:
    """The table with its points' coordinates as first two columns; other geometries count as missing."""
    if geometry not in table.column_names:
        raise DataError(f"{name} holds a table without points: export it as CSV.")
    at = table.column_names.index(geometry)
    shapes = shapely.from_wkb(np.asarray(table.column(at).to_pandas(), dtype=object), on_invalid="ignore")
    several = shapely.get_num_geometries(shapes) != 1
    shapes = shapely.get_geometry(shapes, 0)  # a multipoint of one point is one
    shapes[several | (shapely.get_type_id(shapes) != 0)] = None
    if not np.any(shapely.is_geometry(shapes)):
        raise DataError(f"{name} holds no points: each row needs a point, as a sensor or a sale has.")
    rest = table.remove_column(at)
    columns = [_coordinate(shapely.get_x(shapes)), _coordinate(shapely.get_y(shapes)), *rest.columns]
    # Two columns of one name would be unusable, so the places win over properties called the same.
    taken = (POINT_X, POINT_Y)
    names = [*taken, *(f"{one} (property)" if one in taken else one for one in rest.column_names)]
    return pa.Table.from_arrays(columns, names=names)


def _without_blanks(table: pa.Table) -> pa.Table:
    """A sheet of text without the blank columns to its right; blank rows become empty lines, which no reader
    takes for records but which count in the numbers of rows."""
    if table.num_columns == 0:
        return table
    given = [pc.not_equal(pc.fill_null(column, ""), "") for column in table.columns]
    last = max((at for at, column in enumerate(given) if pc.any(column).as_py()), default=-1)
    kept = table.select(range(last + 1))
    if last < 0:
        return kept
    blank = pc.invert(functools.reduce(pc.or_, given[: last + 1]))
    first = pc.if_else(blank, _BLANK, kept.column(0))
    return kept.set_column(0, kept.column_names[0], first)


def _coordinate(values: NDArray[np.float64]) -> pa.Array:
    return pa.array(values, from_pandas=True)


class _CsvText(Pieces):
    """A table as CSV text, made while it is read."""

    def __init__(self, table: pa.Table, header: bool) -> None:
        super().__init__()
        self._batches = iter(table.to_batches(max_chunksize=_ROWS))
        self._ready = _csv([pa.array([name], pa.string()) for name in table.column_names]) if header else b""

    def _take(self, size: int) -> bytes:
        while not self._ready and (batch := next(self._batches, None)) is not None:
            self._ready = _csv([_as_text(column) for column in batch.columns])
        part, self._ready = self._ready[:size], self._ready[size:]
        return part


def _csv(columns: list[pa.Array]) -> bytes:
    held = io.BytesIO()
    names = [f"c{position}" for position in range(len(columns))]
    options = pacsv.WriteOptions(include_header=False, quoting_style="needed")
    pacsv.write_csv(pa.Table.from_arrays(columns, names=names), held, options)
    blank = ",".join([f'"{_BLANK}"', *['""'] * (len(columns) - 1)])
    return held.getvalue().replace(f"{blank}\n".encode(), b"\n")


def _as_text(column: pa.Array) -> pa.Array:
    """A column as text; what has no plain text (pictures, lists) is left blank."""
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_nested(kind):
        return pa.array([""] * len(column), pa.string())
    return pc.fill_null(pc.cast(column, pa.string()), "")


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
