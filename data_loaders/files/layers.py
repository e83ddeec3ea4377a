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
from data_loaders.files.columnar import BLANK, ROWS, CsvText, open_columns, points_of, texts_of
from data_loaders.files.drivers import DRIVERS, PYARROW, Driver, Format
from data_loaders.files.guarded import Limits
from data_loaders.files.placed import laid_out
from data_loaders.files.sheets import as_shown, check_workbook
from data_loaders.systems import system_named

POINT_X, POINT_Y = "point x", "point y"
# All rows of a sheet are rows, and text. As options of the file GDAL forgets them from the second sheet on.
# Nothing of a file makes GDAL ask a server.
_OF_SHEETS = {
    f"OGR_{kind}_{option}": word
    for kind in ("XLSX", "ODS")
    for option, word in (("HEADERS", "DISABLE"), ("FIELD_TYPES", "STRING"))
}
# Warning filters and GDAL's options are one for all threads: two reads at once would restore each other's.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class Layer:
    """One sheet or layer as read."""

    layers: tuple[str, ...]  # names of all that may hold rows
    crs: str  # the system the file states for its points ("AUTHORITY:CODE", or "")
    points: bool  # whether the first two columns are coordinates, named `POINT_X` and `POINT_Y`
    stream: io.RawIOBase  # the rows as comma-delimited CSV in UTF-8 with decimal points
    notes: tuple[str, ...] = ()  # sentences about what was filled in, or shows no more
    texts: tuple[str, ...] = ()  # columns that are text by the file's own types; () of sheets


def read_layer(
    kind: Format, name: str, path: Path | None, handle: Any, layer: str | None, ask: bool, limits: Limits
) -> Layer:
    """Read one sheet or layer of a file; `kind` is the only format allowed, since GDAL, left to itself, would
    also take a file for a processing recipe or a web service. The file is read in place where it has a
    `path`, else written to a temporary file. `ask`: refuse several layers without a chosen one, otherwise
    take the first. `limits` bound what is unpacked, besides what the driver allows. Raise `DataError` where
    the file is damaged, too large, holds no points, or leaves open which of its layers is meant."""
    if kind in PYARROW:
        _chosen(DRIVERS[kind], name, ("",), layer, ask)
        names, batches, crs, points, texts = open_columns(kind, name, path, handle, limits)
        names = [POINT_X, POINT_Y, *names[1:]] if points else names
        return Layer(("",), crs, points, CsvText(names, batches, header=True), texts=texts)
    sheets = check_workbook(kind, name, handle, limits) if DRIVERS[kind].part == "sheet" else {}
    layers, crs, geometry, table = read_table(kind, name, path, handle, layer, ask, limits)
    if DRIVERS[kind].part == "sheet":
        table, notes = as_shown(table, sheets.get(layer or layers[0]))
        table = _without_blanks(table)
        return Layer(layers, crs, False, _text_of(table, header=False), notes)
    table, areas = _with_points(name, table, geometry)
    notes = (f"{areas:,} areas count at their centre.",) if areas else ()
    return Layer(layers, crs, True, _text_of(table, header=True), notes, texts_of(table.schema))


def read_table(
    kind: Format, name: str, path: Path | None, handle: Any, layer: str | None, ask: bool, limits: Limits
) -> tuple[tuple[str, ...], str, str, pa.Table]:
    """Read one sheet or layer with its geometries, as `read_layer`: names of all layers, the system as
    "AUTHORITY:CODE" or "", the column with the geometries as WKB, and the table."""
    driver = DRIVERS[kind]
    with laid_out(kind, name, path, handle, limits) as places:
        if len(places) == 1 and "" in places:
            places = dict.fromkeys(_layers(kind, name, places[""]), places[""])
        layers = tuple(places)
        chosen = _chosen(driver, name, layers, layer, ask)
        # A Shapefile is the only layer of its files, whatever they are called.
        called = "" if kind == "ESRI Shapefile" else chosen
        meta, table = _read(kind, name, places[chosen], called)
    geometry = str(meta.get("geometry_name") or "wkb_geometry")
    return layers, _stated(driver, name, meta.get("crs")), geometry, table


def _layers(kind: Format, name: str, place: Path) -> tuple[str, ...]:
    driver = DRIVERS[kind]
    if kind == "GPKG":
        return layers_of(place, name)
    if driver.layers:
        return driver.layers
    found = _quietly(driver, name, lambda gdal: gdal.list_layers(f"{driver.prefix}{place}"))
    return tuple(str(row[0]) for row in found)


def _chosen(driver: Driver, name: str, layers: tuple[str, ...], layer: str | None, ask: bool) -> str:
    if not layers:
        raise DataError(f"{name} holds no {driver.part} with rows: export the one that is meant.")
    if layer is None:
        if len(layers) > 1 and ask:
            listed = ", ".join(repr(one) for one in layers[:8])
            raise DataError(
                f"{name} holds {len(layers)} {driver.part}s: name the one that is meant, "
                f"{'among others ' if len(layers) > 8 else ''}{listed}."
            )
        return layers[0]
    if layer not in layers:
        raise DataError(f"{name} has no {driver.part} {layer!r}{closest(layer, layers) or '.'}")
    return layer


def _read(kind: Format, name: str, place: Path, layer: str) -> tuple[dict[str, Any], pa.Table]:
    driver = DRIVERS[kind]

    def read(gdal: Any) -> Any:
        return gdal.read_arrow(f"{driver.prefix}{place}", layer=layer or None, **driver.options)

    meta, table = _quietly(driver, name, read)
    return meta, table


def _quietly(driver: Driver, name: str, call: Any) -> Any:
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
    raise DataError(f"{name} is damaged or not the {driver.words} it claims to be: save or export it again.")


def _stated(driver: Driver, name: str, crs: Any) -> str:
    if (
        driver.part == "sheet" or not crs or "Undefined " in str(crs)
    ):  # GDAL's words for a GeoPackage's -1 and 0
        return ""
    return system_named(name, str(crs))


def _with_points(name: str, table: pa.Table, geometry: str) -> tuple[pa.Table, int]:
    """The table with its places' coordinates as first two columns, and how many of them are areas' centres;
    lines count as missing."""
    if geometry not in table.column_names:
        raise DataError(f"{name} holds a table without points: export it as CSV.")
    at = table.column_names.index(geometry)
    x, y, areas = points_of(table.column(at))
    if np.isnan(x).all():
        raise DataError(f"{name} holds no points: each row needs a point, as a sensor or a sale has.")
    rest = table.remove_column(at)
    columns = [pa.array(x, from_pandas=True), pa.array(y, from_pandas=True), *rest.columns]
    # Two columns of one name would be unusable, so the places win over properties called the same.
    taken = (POINT_X, POINT_Y)
    names = [*taken, *(f"{one} (property)" if one in taken else one for one in rest.column_names)]
    return pa.Table.from_arrays(columns, names=names), areas


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
    first = pc.if_else(blank, BLANK, kept.column(0))
    return kept.set_column(0, kept.column_names[0], first)


def _text_of(table: pa.Table, header: bool) -> CsvText:
    return CsvText(table.column_names, table.to_batches(max_chunksize=ROWS), header=header)
