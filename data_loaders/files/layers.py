"""Reads sheets of workbooks, and places of every format in the table of drivers, as CSV text."""

from __future__ import annotations

import functools
import io
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data_loaders.errors import DataError, closest
from data_loaders.files.bombs import layers_of
from data_loaders.files.columnar import BLANK, ROWS, CsvText, as_text, open_columns, points_of, texts_of
from data_loaders.files.drivers import FEATURES, PYARROW, Format, OpenFile
from data_loaders.files.features import features_of
from data_loaders.files.guarded import Limits
from data_loaders.files.placed import check_size, laid_out
from data_loaders.files.sheets import as_shown, check_workbook
from data_loaders.systems import system_named

POINT_X, POINT_Y = "point x", "point y"
# Read all rows of a sheet as data, and as text. GDAL ignores the options of a file after its first
# sheet, so these are global. Read all attributes of GML as text too, since GDAL infers one type from
# all features. No part of a file makes GDAL contact a server.
_AS_TEXT = {
    f"OGR_{kind}_{option}": word
    for kind in ("XLSX", "ODS")
    for option, word in (("HEADERS", "DISABLE"), ("FIELD_TYPES", "STRING"))
} | {"GML_FIELDTYPES": "ALWAYS_STRINGS"}
_BY_FEATURES: tuple[Format, ...] = (*FEATURES, "LIBKML", "GML")  # their columns are all features'
# Warning filters and GDAL's options are global: two reads at once would restore each other's.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Layer:
    """The content of one sheet or layer."""

    layers: tuple[str, ...]  # names of all sheets or layers that may hold rows
    crs: str  # the system the file states for its points ("AUTHORITY:CODE", or "")
    points: bool  # whether the first two columns are coordinates, named `POINT_X` and `POINT_Y`
    stream: io.RawIOBase  # the rows as comma-delimited CSV in UTF-8 with decimal points
    notes: tuple[str, ...] = ()  # sentences about filled cells, hidden rows and areas
    # columns with the type text; () for sheets, and where columns have no type
    texts: tuple[str, ...] = ()
    lonely: tuple[str, ...] = ()  # columns that exist because one feature alone has them
    # first and last row, and column, from 0, of cells merged over several rows of a sheet
    merged: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class LayerChoice:
    """The sheet or layer to read: with `ask` a file of several needs a `name`, otherwise it is the first."""

    name: str | None = None
    ask: bool = True

    def among(self, file: OpenFile, layers: tuple[str, ...]) -> str:
        """Choose one of a file's layers. Raise `DataError` if there is none, or not exactly one."""
        part = file.driver.part
        if not layers:
            raise DataError(f"{file.name} holds no {part} with rows: export the one that is meant.")
        if self.name is None:
            if len(layers) > 1 and self.ask:
                listed = ", ".join(repr(layer) for layer in layers[:8])
                raise DataError(
                    f"{file.name} holds {len(layers)} {part}s: name the one that is meant, "
                    f"{'among others ' if len(layers) > 8 else ''}{listed}."
                )
            return layers[0]
        if self.name not in layers:
            raise DataError(f"{file.name} has no {part} {self.name!r}{closest(self.name, layers) or '.'}")
        return self.name


def read_layer(file: OpenFile, choice: LayerChoice, limits: Limits) -> Layer:
    """Read one sheet or layer of a file. Its kind is the only format allowed, since GDAL by default
    would also read a file as a processing recipe or a web service. Read the file in place if it has
    a path, otherwise from a temporary copy. `limits` bound the unpacked size in addition to the
    driver's bound. Raise `DataError` if the file is damaged, too large or without points, or if its
    layer is ambiguous."""
    kind, name = file.kind, file.name
    if kind in PYARROW:
        choice.among(file, ("",))
        names, batches, crs, points, texts = open_columns(file, limits)
        names = [POINT_X, POINT_Y, *names[1:]] if points else names
        return Layer(("",), crs, points, CsvText(names, batches, header=True), texts=texts)
    if kind in FEATURES:
        return _features(file, choice, limits)
    sheets = check_workbook(kind, name, file.handle, limits) if file.driver.part == "sheet" else {}
    layers, crs, geometry, table = read_table(file, choice, limits)
    if file.driver.part == "sheet":
        table, notes, merged = as_shown(table, sheets.get(choice.name or layers[0]))
        table = _without_blanks(table)
        return Layer(layers, crs, False, _text_of(table, header=False), notes, merged=merged)
    table, areas = _with_points(name, table, geometry)
    notes = _areas_note(areas)
    if kind == "GML" and {f"{column}_".lower() for column in table.column_names} & set(
        map(str.lower, table.column_names)
    ):  # GDAL puts the stroke, and the first feature decides to which
        raise DataError(f"{name} has attributes that differ in capitals alone: give them different names.")
    texts = () if kind in _BY_FEATURES else texts_of(table.schema)
    lonely = _lonely(table) if kind in _BY_FEATURES else ()
    return Layer(layers, crs, True, _text_of(table, header=True), notes, texts, lonely)


def _features(file: OpenFile, choice: LayerChoice, limits: Limits) -> Layer:
    """Read a GeoJSON file as `read_layer` does."""
    driver, name, handle = file.driver, file.name, file.handle
    choice.among(file, driver.layers)
    check_size(driver, name, int(handle.seek(0, 2)), limits)
    handle.seek(0)
    found = features_of(handle.read(), name, file.kind == "GeoJSONSeq")
    table = found.table(POINT_X, POINT_Y)
    _check_points(name, table.column(POINT_X).to_numpy())
    notes = _areas_note(found.areas)
    return Layer(driver.layers, found.crs, True, _text_of(table, header=True), notes, (), _lonely(table))


def _lonely(table: pa.Table) -> tuple[str, ...]:
    """Return the properties with an entry in one row alone."""
    counts = {
        name: int(pc.sum(pc.not_equal(as_text(column), "")).as_py() or 0)
        for name, column in zip(table.column_names[2:], table.columns[2:], strict=True)
    }
    return tuple(name for name, count in counts.items() if count == 1 < table.num_rows)


def read_table(
    file: OpenFile, choice: LayerChoice, limits: Limits
) -> tuple[tuple[str, ...], str, str, pa.Table]:
    """Read one sheet or layer with its geometries, as `read_layer` does. Return the names of all
    layers, the system as "AUTHORITY:CODE" or "", the column with the geometries as WKB, and the
    table."""
    with laid_out(file, limits) as places:
        if len(places) == 1 and "" in places:
            places = dict.fromkeys(_layers(file, places[""]), places[""])
        layers = tuple(places)
        layer_name = choice.among(file, layers)
        # A Shapefile has one layer, whatever its files are called.
        called = "" if file.kind == "ESRI Shapefile" else layer_name
        meta, table = _read(file, places[layer_name], called)
    geometry = str(meta.get("geometry_name") or "wkb_geometry")
    return layers, _stated(file, meta.get("crs")), geometry, table


def _layers(file: OpenFile, place: Path) -> tuple[str, ...]:
    driver = file.driver
    if file.kind == "GPKG":
        return layers_of(place, file.name)
    if driver.layers:
        return driver.layers
    rows = _quietly(file, lambda gdal: gdal.list_layers(f"{driver.prefix}{place}"))
    return tuple(str(row[0]) for row in rows)


def _read(file: OpenFile, place: Path, layer: str) -> tuple[dict[str, Any], pa.Table]:
    driver = file.driver

    def read(gdal: Any) -> Any:
        # A column of times has one zone for all rows, but each row keeps its own as text.
        return gdal.read_arrow(
            f"{driver.prefix}{place}", layer=layer or None, datetime_as_string=True, **driver.options
        )

    meta, table = _quietly(file, read)
    return meta, table


def _quietly(file: OpenFile, call: Any) -> Any:
    """Call GDAL, replacing its warnings and errors, which may quote rows, by one sentence."""
    import pyogrio  # slow with GDAL, and needed only for workbooks and layers of shapes

    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pyogrio.set_gdal_config_options(_AS_TEXT)
        try:
            return call(pyogrio)
        except Exception:  # pyogrio raises a dozen kinds, and pyarrow its own
            pass
        finally:
            pyogrio.set_gdal_config_options(dict.fromkeys(_AS_TEXT))
    raise DataError(
        f"{file.name} is damaged or not the {file.driver.words} it claims to be: save or export it again."
    )


def _stated(file: OpenFile, crs: Any) -> str:
    # "Undefined": GDAL's words for a GeoPackage's -1 and 0.
    if file.driver.part == "sheet" or not crs or "Undefined " in str(crs):
        return ""
    return system_named(file.name, str(crs))


def _with_points(name: str, table: pa.Table, geometry: str) -> tuple[pa.Table, int]:
    """Return the table with the coordinates of its places as first two columns, and the number of
    areas among the places; lines count as missing."""
    if geometry not in table.column_names:
        raise DataError(f"{name} holds a table without points: export it as CSV.")
    at = table.column_names.index(geometry)
    x, y, areas = points_of(table.column(at))
    _check_points(name, x)
    attributes = table.remove_column(at)
    columns = [pa.array(x, from_pandas=True), pa.array(y, from_pandas=True), *attributes.columns]
    # Two columns with one name would be unusable, so rename properties named like the places.
    point_names = (POINT_X, POINT_Y)
    names = [
        *point_names,
        *(f"{column} (property)" if column in point_names else column for column in attributes.column_names),
    ]
    return pa.Table.from_arrays(columns, names=names), areas


def _check_points(name: str, x: Any) -> None:
    if np.isnan(x).all():
        raise DataError(f"{name} holds no points: each row needs a point, as a sensor or a sale has.")


def _areas_note(areas: int) -> tuple[str, ...]:
    return (f"{areas:,} areas count at their centre.",) if areas else ()


def _without_blanks(table: pa.Table) -> pa.Table:
    """Drop the blank columns to the right of a sheet of text, and turn blank rows into empty lines,
    which are not records but count in the numbers of rows."""
    if table.num_columns == 0:
        return table
    filled = [pc.not_equal(pc.fill_null(column, ""), "") for column in table.columns]
    last = max((at for at, column in enumerate(filled) if pc.any(column).as_py()), default=-1)
    trimmed = table.select(range(last + 1))
    if last < 0:
        return trimmed
    blank = pc.invert(functools.reduce(pc.or_, filled[: last + 1]))
    first = pc.if_else(blank, BLANK, trimmed.column(0))
    return trimmed.set_column(0, trimmed.column_names[0], first)


def _text_of(table: pa.Table, header: bool) -> CsvText:
    return CsvText(table.column_names, table.to_batches(max_chunksize=ROWS), header=header)
