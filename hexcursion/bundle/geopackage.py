"""release.gpkg: cells, regions and boundary as one GeoPackage, with styles for QGIS."""

from __future__ import annotations

import io
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

from data_loaders.files.bombs import check_amount
from geo import MAX_CELLS
from geo.colours import Role, channels, rgb
from geo.context.own_layers import Kind, OwnLayer
from hexcursion import words
from hexcursion.bundle.layers import DECLARED, Export, Exported
from hexcursion.bundle.products import LOOKS, class_labels, class_values, column_words
from hexcursion.bundle.untrusted import BundleError, readable

TABLE = "layer_styles"
DrawnBy = Literal["SimpleFill", "SimpleLine", "SimpleMarker", "PointPatternFill"]
_GEOMETRY: Mapping[Kind, tuple[int, str]] = {"point": (0, "marker"), "line": (1, "line"), "area": (2, "fill")}
_MILLIMETRES = 0.26  # of a pixel of the screen
_COLUMNS = (
    '"id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, "f_table_catalog" TEXT(256), '
    '"f_table_schema" TEXT(256), '
    '"f_table_name" TEXT(256), "f_geometry_column" TEXT(256), "styleName" TEXT(30), "styleQML" TEXT, '
    '"styleSLD" TEXT, "useAsDefault" BOOLEAN, "description" TEXT(4096), "owner" TEXT(30), "ui" TEXT(30), '
    '"update_time" DATETIME'
)


def add_styles(
    database: sqlite3.Connection,
    classes: Mapping[str, str],
    created: str,
    further: Mapping[str, str] | None = None,
    *,
    usual: bool = True,
) -> None:
    """Add the default style of each layer to a GeoPackage. `classes`: lines of the legend by the values of
    `class`, in order; `created`: the release's own date; `further`: styles of further layers by their names;
    `usual`: whether it has the layers of a release of one column."""
    styles = (
        {}
        if not usual
        else {
            "cells": cells_qml(classes),
            "regions": regions_qml(),
            "boundary": _single(_outline("line", 0.5)),
        }
    )
    styles |= further or {}
    database.execute(f'CREATE TABLE "{TABLE}" ({_COLUMNS})')
    for layer, style in styles.items():
        database.execute(
            f"INSERT INTO \"{TABLE}\" VALUES (NULL, '', '', ?, 'geom', ?, ?, NULL, 1, ?, '', NULL, ?)",
            (layer, f"{layer} (default)", style, "The colours of the published map", created),
        )
    database.execute(
        "INSERT INTO gpkg_contents (table_name, data_type, identifier, last_change) VALUES (?, ?, ?, ?)",
        (TABLE, "attributes", TABLE, created),
    )


def cells_qml(classes: Mapping[str, str]) -> str:
    """Cells by their class, with the colours of the screen; `classes` as for `add_styles`."""
    kinds = "".join(
        f'<category value={quoteattr(value)} symbol="{k}" label={quoteattr(label)} render="true"/>'
        for k, (value, label) in enumerate(classes.items())
    )
    symbols = "".join(_symbol(str(k), _filled(role)) for k, role in enumerate(LOOKS[: len(classes)]))
    return _qml(
        '<renderer-v2 type="categorizedSymbol" attr="class" symbollevels="0">'
        f"<categories>{kinds}</categories><symbols>{symbols}</symbols></renderer-v2>"
    )


def regions_qml() -> str:
    """Only the outline of the likely region: those of single paths and of specialists would cover it."""
    kinds = '<category value="likely" symbol="0" label="likely" render="true"/>'
    return _qml(
        '<renderer-v2 type="categorizedSymbol" attr="product" symbollevels="0">'
        f"<categories>{kinds}</categories><symbols>{_symbol('0', _outline('line', 0.6))}</symbols>"
        "</renderer-v2>"
    )


def own_qml(layer: OwnLayer, kind: Kind) -> str:
    """The colour and width of an own layer, as on the screen."""
    ink = _colour(channels(layer.colour) if layer.colour else rgb("line"))
    wide = f"{_MILLIMETRES * (layer.dot if kind == 'point' else layer.stroke):.3g}"
    symbols = {
        "area": _symbol_layer(
            {
                "style": "no",
                "outline_color": ink,
                "outline_style": "solid",
                "outline_width_unit": "MM",
                "outline_width": wide,
            }
        ),
        "line": _symbol_layer({"line_color": ink, "line_width": wide, "line_width_unit": "MM"}, "SimpleLine"),
        "point": _symbol_layer(
            {"name": "circle", "color": ink, "outline_style": "no", "size": wide, "size_unit": "MM"},
            "SimpleMarker",
        ),
    }
    return _single(symbols[kind], kind)


def _single(layer: str, kind: Kind = "area") -> str:
    symbols = f"<symbols>{_symbol('0', layer, kind)}</symbols>"
    return _qml(f'<renderer-v2 type="singleSymbol" symbollevels="0">{symbols}</renderer-v2>', kind)


def _qml(renderer: str, kind: Kind = "area") -> str:
    return (
        f'<qgis version="3.22.0" styleCategories="Symbology">{renderer}'
        f"<layerGeometryType>{_GEOMETRY[kind][0]}</layerGeometryType></qgis>"
    )


def _symbol(name: str, layer: str, kind: Kind = "area") -> str:
    of = _GEOMETRY[kind][1]
    return f'<symbol type="{of}" name="{name}" alpha="1" clip_to_extent="1">{layer}</symbol>'


def _filled(role: Role) -> str:
    return _symbol_layer({"color": _colour(rgb(role)), "style": "solid", "outline_style": "no"})


def _outline(role: Role, millimetres: float) -> str:
    line = {"outline_color": _colour(rgb(role)), "outline_style": "solid", "outline_width_unit": "MM"}
    return _symbol_layer({"style": "no", **line, "outline_width": f"{millimetres:g}"})


def _symbol_layer(properties: dict[str, str], kind: DrawnBy = "SimpleFill", within: str = "") -> str:
    props = "".join(f"<prop k={quoteattr(name)} v={quoteattr(value)}/>" for name, value in properties.items())
    return f'<layer class="{kind}" enabled="1" locked="0" pass="0">{props}{within}</layer>'


def _colour(channels: Sequence[int]) -> str:
    return ",".join(map(str, (*channels, 255)))


NAME = "release.gpkg"
_EXTENSIONS = """CREATE TABLE IF NOT EXISTS gpkg_extensions (
  table_name TEXT, column_name TEXT, extension_name TEXT NOT NULL, definition TEXT NOT NULL,
  scope TEXT NOT NULL, CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name))"""
_DATA_COLUMNS = """CREATE TABLE gpkg_data_columns (
  table_name TEXT NOT NULL, column_name TEXT NOT NULL, name TEXT, title TEXT, description TEXT,
  mime_type TEXT, constraint_name TEXT,
  CONSTRAINT pk_gdc PRIMARY KEY (table_name, column_name), CONSTRAINT gdc_tn UNIQUE (table_name, name))"""
_START = b"SQLite format 3\x00"


def write(exported: Exported) -> bytes:
    """Three layers in WGS 84 with their styles; the boundary has the facts of the release. Then the
    curator's own layers, each a table that says so in its description."""
    import geopandas

    regions = exported.regions
    layers = {
        "cells": geopandas.GeoDataFrame(dict(exported.columns), geometry=exported.outlines, crs="EPSG:4326"),
        "regions": geopandas.GeoDataFrame(
            [properties for _, properties in regions],
            geometry=[None if outline.is_empty else outline for outline, _ in regions],
            crs="EPSG:4326",
        ),
        "boundary": geopandas.GeoDataFrame(
            [dict(exported.facts)], geometry=[exported.domain.region], crs="EPSG:4326"
        ),
    }
    tables = own_tables(exported.layers)
    files = [_layer(name, frame) for name, frame in layers.items()]
    files += [_layer(table.table, table.frame(), SHAPES[table.kind]) for table in tables]
    created = str(exported.statement["release"]["created"])
    with closing(sqlite3.connect(":memory:")) as database, closing(sqlite3.connect(":memory:")) as other:
        database.deserialize(files[0])
        for name, content in zip([*layers, *(table.table for table in tables)][1:], files[1:], strict=True):
            other.deserialize(content)
            _take_over(database, other, name)
        labels = class_labels(exported.products)
        classes = dict(zip(class_values(exported.products), labels, strict=False))
        add_styles(
            database, classes, created, {table.table: own_qml(table.layer, table.kind) for table in tables}
        )
        _describe(database, exported)
        for table in tables:
            database.execute(
                "UPDATE gpkg_contents SET identifier = ?, description = ? WHERE table_name = ?",
                (table.says, DECLARED, table.table),
            )
        return _finished(database, created)


def layer_tables(names: Sequence[str]) -> tuple[str, ...]:
    """Tables of hexagons of an atlas, one for each column: its name in harmless letters, each once."""
    used = {"cells", "regions", "boundary", TABLE, "layer"}
    tables = []
    for name in names:
        stem = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:_LONGEST] or "layer"
        table = next(option for option in _numbered(stem) if not {option, f"{option}_regions"} & used)
        used |= {table, f"{table}_regions"}
        tables.append(table)
    return tuple(tables)


def write_layers(layers: Mapping[str, Exported]) -> bytes:
    """Two tables for each column of an atlas, its hexagons and its regions, by the hexagons' table; and the
    boundary. WGS 84, in the colours of the map."""
    import geopandas

    frames: dict[str, Any] = {}
    styles: dict[str, str] = {}
    for table, layer in layers.items():
        frames[table] = geopandas.GeoDataFrame(dict(layer.columns), geometry=layer.outlines, crs="EPSG:4326")
        frames[f"{table}_regions"] = geopandas.GeoDataFrame(
            [properties for _, properties in layer.regions],
            geometry=[None if outline.is_empty else outline for outline, _ in layer.regions],
            crs="EPSG:4326",
        )
        classes = zip(class_values(layer.products), class_labels(layer.products), strict=False)
        styles |= {table: cells_qml(dict(classes)), f"{table}_regions": regions_qml()}
    first = next(iter(layers.values()))
    frames["boundary"] = geopandas.GeoDataFrame(
        [{"product": "boundary"}], geometry=[first.domain.region], crs="EPSG:4326"
    )
    styles["boundary"] = _single(_outline("line", 0.5))
    created = str(first.statement["release"]["created"])
    files = {name: _layer(name, frame) for name, frame in frames.items()}
    with closing(sqlite3.connect(":memory:")) as database, closing(sqlite3.connect(":memory:")) as other:
        database.deserialize(files.pop(next(iter(layers))))
        for name, content in files.items():
            other.deserialize(content)
            _take_over(database, other, name)
        add_styles(database, {}, created, styles, usual=False)
        for table, layer in layers.items():
            about = f"{words.asked(layer.statement['subject'], layer.statement['guarantee']['unit_word'])} "
            database.execute(
                "UPDATE gpkg_contents SET description = ? WHERE table_name = ?",
                (about + words.covered(layer.statement), table),
            )
        return _finished(database, created)


def read_layers(content: bytes, tables: Sequence[str]) -> tuple[Mapping[str, Sequence[Any]], ...]:
    """The columns of the hexagons' tables of an atlas; raise `BundleError` as `read`."""
    if not content.startswith(_START):
        raise BundleError(f"{NAME} is no GeoPackage.")
    with readable(NAME, "a GeoPackage"), closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(content)
        return tuple(_cells(database, len(content), table) for table in tables)


def _finished(database: sqlite3.Connection, created: str) -> bytes:
    """The bytes of a GeoPackage that has the release's own date."""
    database.execute("UPDATE gpkg_contents SET last_change = ?", (created,))
    database.commit()
    content = bytearray(database.serialize())
    content[24:28] = content[92:96] = b"\0\0\0\1"  # the count of changes, which GDAL does not repeat
    return bytes(content)


def _layer(name: str, frame: Any, shape: Geometry = "MultiPolygon") -> bytes:
    """A GeoPackage of one layer, made in memory: a trial's contents must not reach any disk."""
    stream = io.BytesIO()
    frame.to_file(
        stream,
        layer=name,
        driver="GPKG",
        engine="pyogrio",
        geometry_type=shape,
        promote_to_multi=True,
        SPATIAL_INDEX="NO",
    )
    return stream.getvalue()


def _describe(database: sqlite3.Connection, exported: Exported) -> None:
    """Say what layers and columns mean, as the schema extension of GeoPackage does (OGC 12-128r19, F.9)."""
    statement = exported.statement
    about = f"{words.asked(statement['subject'], statement['guarantee']['unit_word'])} "
    about += words.covered(statement)
    database.execute("UPDATE gpkg_contents SET description = ? WHERE table_name = 'cells'", (about,))
    database.execute(_DATA_COLUMNS)
    database.execute(_EXTENSIONS)
    database.execute(
        "INSERT INTO gpkg_extensions VALUES ('gpkg_data_columns', NULL, 'gpkg_schema', "
        "'http://www.geopackage.org/spec121/#extension_schema', 'read-write')"
    )
    meanings = column_words(statement)
    database.executemany(
        "INSERT INTO gpkg_data_columns (table_name, column_name, name, title, description) "
        "VALUES ('cells', ?, ?, ?, ?)",
        [(name, name, name.replace("_", " "), meanings[name]) for name in exported.columns],
    )


def _take_over(database: sqlite3.Connection, other: sqlite3.Connection, layer: str) -> None:
    """Copy a layer, and what a GeoPackage says of it, from another database."""
    [(command,)] = other.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (layer,))
    database.execute(command)
    for table in (layer, "gpkg_contents", "gpkg_geometry_columns", "gpkg_ogr_contents"):
        rows = other.execute(f'SELECT * FROM "{table}"').fetchall()
        marks = ", ".join("?" * len(rows[0])) if rows else ""
        database.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows)


def read(content: bytes) -> Mapping[str, Sequence[Any]]:
    """The columns of the layer `cells`, read as data: no view, trigger or function of the file is run. Raise
    `BundleError` if it is no GeoPackage, is damaged, or has no layer of cells."""
    if not content.startswith(_START):
        raise BundleError(f"{NAME} is no GeoPackage.")
    with readable(NAME, "a GeoPackage"), closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(content)
        return _cells(database, len(content))


def _cells(database: sqlite3.Connection, size: int, layer: str = "cells") -> dict[str, list[Any]]:
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA cell_size_check = ON")
    kinds = database.execute("SELECT type FROM sqlite_master WHERE name = ?", (layer,)).fetchall()
    if kinds != [("table",)]:
        raise BundleError(f"{NAME} has no layer of cells.")
    described = database.execute("SELECT name, type FROM pragma_table_info(?)", (layer,)).fetchall()
    names = {name: str(kind).upper() for name, kind in described if name not in ("fid", "geom")}
    if "h3" not in names or any('"' in name for name in names):
        raise BundleError(f"{NAME} has no layer of cells.")
    check_amount(database, layer, size)
    listing = ", ".join(f'"{name}"' for name in names)
    rows = database.execute(f'SELECT {listing} FROM "{layer}" ORDER BY h3').fetchmany(MAX_CELLS + 1)
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) if rows else {}
    return {
        name: [bool(value) for value in column] if names[name] == "BOOLEAN" else column
        for name, column in columns.items()
    }


GEOPACKAGE = Export(
    NAME,
    "cells, regions, boundary and own layers as one GeoPackage, styled for QGIS",
    300_000_000,
    write,
    read,
)


Geometry = Literal["MultiPolygon", "MultiLineString", "MultiPoint"]
SHAPES: Mapping[Kind, Geometry] = {"area": "MultiPolygon", "line": "MultiLineString", "point": "MultiPoint"}
_LONGEST = 40  # letters of a table's name


@dataclass(frozen=True)
class OwnTable:
    """What of a layer has one kind of shape."""

    table: str  # its name in the GeoPackage: `own_` and the layer's name in harmless letters
    says: str  # its title, which no other table has
    layer: OwnLayer  # the whole layer
    kind: Kind  # the kind of shape

    def frame(self) -> Any:
        """Labels and shapes, WGS 84."""
        import geopandas

        features = [feature for feature in self.layer.features if feature.kind == self.kind]
        return geopandas.GeoDataFrame(
            {"label": [feature.label for feature in features]},
            geometry=[feature.shape for feature in features],
            crs="EPSG:4326",
        )


def own_tables(layers: Sequence[OwnLayer]) -> tuple[OwnTable, ...]:
    """Tables for all layers, in their order; names that would be the same are numbered."""
    tables: list[OwnTable] = []
    used: set[str] = set()
    for layer in layers:
        kinds = [kind for kind in SHAPES if any(feature.kind == kind for feature in layer.features)]
        for kind in kinds:
            word = f" ({kind}s)" if len(kinds) > 1 else ""
            stem = "own_" + re.sub(r"\W+", "_", layer.name + word).strip("_").lower()[:_LONGEST]
            table = next(name for name in _numbered(stem) if name not in used)
            used.add(table)
            tables.append(OwnTable(table, f"{layer.name}{word} [{table}]", layer, kind))
    return tuple(tables)


def _numbered(stem: str) -> list[str]:
    return [stem, *(f"{stem}_{number}" for number in range(2, 20))]
