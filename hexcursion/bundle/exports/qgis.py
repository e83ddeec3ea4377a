"""How QGIS draws the layers of release.gpkg: one QML style a layer, in the table that QGIS looks for."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Literal
from xml.sax.saxutils import quoteattr

from geo.colours import Role, channels, ink_on, rgb
from geo.context.own_layers import Kind, OwnLayer
from geo.maps.painting import Mark
from hexcursion.bundle.products.classes import LOOKS

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
    own: Mapping[str, str] | None = None,
) -> None:
    """Add the default style of each layer to a GeoPackage. `classes`: lines of the legend by the values of
    `class`, in order; `created`: the release's own date; `own`: styles of further layers by their names."""
    styles = {
        "cells": cells_qml(classes),
        "regions": regions_qml(),
        "boundary": _single(_outline("line", 0.5)),
    }
    styles |= own or {}
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
    """Cells by their class, with the colours, dots and rings of the screen; `classes` as for `add_styles`."""
    kinds = "".join(
        f'<category value={quoteattr(value)} symbol="{k}" label={quoteattr(label)} render="true"/>'
        for k, (value, label) in enumerate(classes.items())
    )
    symbols = "".join(
        _symbol(str(k), _filled(role) + (_marks(role, mark, k) if mark else ""))
        for k, (role, mark) in enumerate(LOOKS[: len(classes)])
    )
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
    drawn = {
        "area": _layer(
            {
                "style": "no", "outline_color": ink, "outline_style": "solid",
                "outline_width_unit": "MM", "outline_width": wide,
            }
        ),
        "line": _layer({"line_color": ink, "line_width": wide, "line_width_unit": "MM"}, "SimpleLine"),
        "point": _layer(
            {"name": "circle", "color": ink, "outline_style": "no", "size": wide, "size_unit": "MM"},
            "SimpleMarker",
        ),
    }  # fmt: skip
    return _single(drawn[kind], kind)


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
    return _layer({"color": _colour(rgb(role)), "style": "solid", "outline_style": "no"})


def _marks(role: Role, mark: Mark, place: int) -> str:
    """Dots or rings over a class, as the second layer of its symbol."""
    ink = _colour(rgb(ink_on(role)))
    drawn = (
        {"color": ink, "outline_style": "no"}
        if mark == "dots"
        else {"color": "0,0,0,0", "outline_color": ink}
    )
    marker = _layer({"name": "circle", "size": "0.7", "size_unit": "MM", **drawn}, "SimpleMarker")
    apart = {"distance_x": "2", "distance_y": "2", "distance_x_unit": "MM", "distance_y_unit": "MM"}
    return _layer(apart, "PointPatternFill", _symbol(f"@{place}@1", marker, "point"))


def _outline(role: Role, millimetres: float) -> str:
    line = {"outline_color": _colour(rgb(role)), "outline_style": "solid", "outline_width_unit": "MM"}
    return _layer({"style": "no", **line, "outline_width": f"{millimetres:g}"})


def _layer(properties: dict[str, str], kind: DrawnBy = "SimpleFill", within: str = "") -> str:
    props = "".join(f"<prop k={quoteattr(name)} v={quoteattr(value)}/>" for name, value in properties.items())
    return f'<layer class="{kind}" enabled="1" locked="0" pass="0">{props}{within}</layer>'


def _colour(channels: Sequence[int]) -> str:
    return ",".join(map(str, (*channels, 255)))
