"""The pydeck maps that Streamlit pages draw, and what pages need to know about them.

Nothing outside the machine is asked by default: the ground is blank and only the public region's
outline is drawn. A basemap is a choice (`basemap=True`) and makes the reader's browser contact
`BASEMAP_HOST`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
import pydeck
from numpy.typing import NDArray
from pydeck.bindings.json_tools import default_serialize
from shapely.geometry import MultiPolygon

from geo.colours import Theme, colour, rgb
from geo.domains.domain import Domain
from geo.domains.hexagons import rings
from geo.domains.view import fit
from geo.maps.linked import STREETS_HOST, Line, Pane, boundary_lines, path_role
from geo.maps.painting import LegendEntry, Painting

BASEMAP_HOST = STREETS_HOST
_DECIMALS = 5  # of drawn coordinates: about a metre


class Look(TypedDict, total=False):
    """How a map is drawn; every key may be left out. By default light, and without a basemap."""

    theme: Theme
    width: int  # pixels of the chart, 700 by 500 by default; they only place the first view
    height: int
    basemap: bool  # True makes the reader's browser contact `BASEMAP_HOST`


class _CompactDeck(pydeck.Deck):  # type: ignore[misc]  # pydeck has no types
    """A deck whose JSON has no white space: a third of the bytes at every rerun."""

    def to_json(self) -> str:
        return json.dumps(
            self, sort_keys=True, default=default_serialize, separators=(",", ":"), allow_nan=False
        )


def pane_deck(domain: Domain, pane: Pane, **look: Unpack[Look]) -> pydeck.Deck:
    """Draw one pane of a linked map as a separate map; tooltips of a private pane say that it is
    private.

    Layer ids are "cells" and the names of the pane's lines. The page adds the watermark of a
    private pane: a chart cannot hold text over the map without fetching a font atlas."""
    painting = pane.worded
    layers = [] if painting is None else [_painted(domain, painting, "cells", look)]
    theme = look.get("theme", "light")
    layers += [_drawn(line, theme) for line in pane.lines]
    return _deck(domain, layers, look)


def boundaries_deck(
    domain: Domain,
    path_sets: Sequence[NDArray[np.bool_]],
    baseline: NDArray[np.bool_] | None = None,
    **look: Unpack[Look],
) -> pydeck.Deck:
    """Draw `boundary_lines` of released (N,) sets, one per path, on a separate map, with the
    non-private `baseline` set on a curator's page only. Layer ids "path-0", "path-1",
    ... and "baseline"."""
    theme = look.get("theme", "light")
    lines = boundary_lines(domain, path_sets, baseline)
    return _deck(domain, [_drawn(line, theme) for line in lines], look)


def boundaries_legend(paths: int, *, baseline: bool, theme: Theme = "light") -> tuple[LegendEntry, ...]:
    """Make the legend of `boundaries_deck` for a number of paths; colours repeat after the
    fifth."""
    first = (LegendEntry("non-private boundary (curator only)", colour("baseline", theme)),)
    lines = tuple(
        LegendEntry(f"private path {index + 1}", colour(path_role(index), theme)) for index in range(paths)
    )
    return (*first, *lines) if baseline else lines


def cells_deck(domain: Domain, **look: Unpack[Look]) -> pydeck.Deck:
    """Draw the domain's cells with their edges: layer id "cells"."""
    theme = look.get("theme", "light")
    records = [{"h": cell, "n": "Hexagon of the public area"} for cell in domain.cells]
    cells = _hexagons("cells", records, rgb("cell", theme), look)
    cells.stroked, cells.get_line_color, cells.line_width_min_pixels = True, rgb("halo", theme), 1
    return _deck(domain, [cells], look)


def _painted(domain: Domain, painting: Painting, name: str, look: Look) -> pydeck.Layer:
    if painting.classes.size != domain.size:
        raise ValueError(f"the painting has {painting.classes.size} cells, the domain {domain.size}.")
    theme = look.get("theme", "light")
    colours = [rgb(entry.role, theme) for entry in painting.entries]
    classes = painting.classes.tolist()
    records = [
        {"h": cell, "c": colours[k], "n": note}
        for cell, k, note in zip(domain.cells, classes, painting.notes, strict=True)
    ]
    return _hexagons(name, records, "c", look)


def _hexagons(name: str, records: list[dict[str, Any]], fill: Any, look: Look) -> pydeck.Layer:
    return pydeck.Layer(
        "H3HexagonLayer",
        records,
        id=name,
        get_hexagon="h",
        get_fill_color=fill,
        high_precision=True,  # the fast approximation has white specks between cells
        extruded=False,
        stroked=False,
        pickable=True,
        auto_highlight=False,
        opacity=0.75 if look.get("basemap", False) else 1.0,
    )


def _line_layer(name: str, lines: list[dict[str, Any]], line: list[int], width: float) -> pydeck.Layer:
    return pydeck.Layer(
        "PathLayer",
        lines,
        id=name,
        get_path="p",
        get_color=line,
        get_width=width,
        width_units=pydeck.types.String("pixels"),
        cap_rounded=True,
        joint_rounded=True,
        opacity=1.0,
    )


def _deck(domain: Domain, layers: list[pydeck.Layer], look: Look) -> pydeck.Deck:
    theme, basemap = look.get("theme", "light"), look.get("basemap", False)
    longitude, latitude, zoom = fit(domain, look.get("width", 700), look.get("height", 500))
    outline = _paths(domain.drawn_outline)
    # Without a provider Streamlit draws no basemap, but only with pydeck's default of map_style: an
    # explicit None makes it fetch a basemap.
    ground = {"map_provider": "carto", "map_style": theme} if basemap else {"map_provider": None}
    return _CompactDeck(
        layers=[
            *layers,
            _line_layer("region-halo", outline, rgb("halo", theme), 4.0),
            _line_layer("region", outline, rgb("line", theme), 1.5),
        ],
        initial_view_state=pydeck.ViewState(
            longitude=longitude, latitude=latitude, zoom=zoom, pitch=0, bearing=0
        ),
        tooltip={
            "text": "{n}\nH3 cell {h}",
            "style": {
                "backgroundColor": colour("ground", theme),
                "color": colour("line", theme),
                "fontSize": "0.85rem",
            },
        },
        **ground,
    )


def _paths(shape: MultiPolygon) -> list[dict[str, Any]]:
    return [{"p": np.round(ring, _DECIMALS).tolist()} for ring in rings(shape)]


def _drawn(line: Line, theme: Theme) -> pydeck.Layer:
    paths = [{"p": np.round(path, _DECIMALS).tolist()} for path in line.paths]
    return _line_layer(line.name, paths, rgb(line.role, theme), line.width)
