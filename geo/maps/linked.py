"""Scenes of the linked maps: panes under one camera, as plain data for the map component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geo.basemap import Basemap
from geo.colours import CLASSES, Role, Theme, colour, rgb
from geo.context.own_layers import OwnLayer
from geo.context.surroundings import around, around_box
from geo.domains.domain import Domain
from geo.domains.hexagons import as_integers, interface, rings
from geo.domains.view import Box
from geo.maps.detail import zoomed_out
from geo.maps.painting import LegendEntry, Painting, as_baseline

Mode = Literal["beside", "swipe", "toggle", "single"]
MOST_BESIDE = 9
"""Most panes side by side: three rows of three."""
_PANES: dict[Mode, tuple[int, int]] = {
    "single": (1, 1),
    "swipe": (2, 2),
    "toggle": (2, 2),
    "beside": (2, MOST_BESIDE),
}
STREETS_HOST = "basemaps.cartocdn.com"
_STREETS = {
    theme: {
        "address": f"https://{STREETS_HOST}/{style}/{{z}}/{{x}}/{{y}}.png",
        "source": "© OpenStreetMap contributors © CARTO.",
    }
    for theme, style in (("light", "light_nolabels"), ("dark", "dark_nolabels"))
}
_AROUND: tuple[Role, ...] = ("water", "shore", "border")
_BENEATH: tuple[Role, ...] = ("ground", "water", "shore", "border", "park", "building", "road", "rail")
_DECIMALS = 5  # of drawn coordinates: about a metre

PLACE_ROLES: tuple[Role, ...] = CLASSES["field"][2:]  # of places by value; dots need strong colours
PLACE_CLASSES = len(PLACE_ROLES)


@dataclass(frozen=True, eq=False)
class Line:
    """Lines of one colour, each (K, 2) in degrees."""

    name: str  # id in a scene
    role: Role
    width: float  # pixels
    paths: Sequence[NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Pane:
    """One of the maps of a scene.

    Raise `ValueError` for the baseline's boundary, or places of observations, in a pane that is
    not private.
    """

    title: str  # a few words in the corner of the pane
    painting: Painting | None = None  # its cells; None for a pane of lines only
    private: bool = False  # has parts of the baseline: a watermark and the tooltips say so
    lines: Sequence[Line] = field(default=())  # drawn over the cells
    word: str = ""  # first word of tooltips; by default "Released" or "Private baseline"
    # (K, 2) degrees: dots over the cells, only in a private pane
    points: Sequence[tuple[float, float]] | NDArray[np.float64] = ()

    def __post_init__(self) -> None:
        if not self.private and len(self.points):
            raise ValueError("a pane with places of observations is private.")
        if not self.private and any(line.role == "baseline" for line in self.lines):
            raise ValueError("a pane with the baseline's boundary is private.")

    @property
    def worded(self) -> Painting | None:
        """The painting with the tooltips of its pane."""
        if self.painting is None or not (self.word or self.private):
            return self.painting
        return as_baseline(self.painting, self.word or "Private baseline")


def boundary_lines(
    domain: Domain, path_sets: Sequence[NDArray[np.bool_]], baseline: NDArray[np.bool_] | None = None
) -> tuple[Line, ...]:
    """Draw boundary lines in the paper's manner: one for each released (N,) set, between cells in
    and cells out and not along the domain's edge, over a wide line of the non-private `baseline`
    set. Raise `ValueError` for a set that is not one boolean for each cell."""
    first = () if baseline is None else (_boundary(domain, "baseline", "baseline", 5.0, baseline),)
    paths = (_boundary(domain, f"path-{k}", path_role(k), 2.0, mask) for k, mask in enumerate(path_sets))
    return (*first, *paths)


def path_role(index: int) -> Role:
    """Return the role of a released path's line; colours repeat after the fifth."""
    return CLASSES["paths"][index % len(CLASSES["paths"])]


def linked_scene(
    domain: Domain,
    panes: Sequence[Pane],
    *,
    mode: Mode,
    alt: str,
    theme: Theme = "light",
    height: int = 460,
    legend: Sequence[LegendEntry] = (),
    streets: bool = False,
    layers: Sequence[OwnLayer] = (),
    drawing: bool = False,
    basemap: tuple[Basemap, str] | None = None,
) -> dict[str, Any]:
    """Make a scene of panes as plain data: `scene`, plain JSON, and `cells`, a table with one row
    per cell: columns `cell` (uint64) and, for each pane with a painting, `class0`, `note0` and so
    on. A scene of very many cells has further tables and, in a pane's `far`, its zoomed-out form:
    see `geo.maps.detail.zoomed_out`. The mode "single" has one pane, "beside" two to nine, the
    other modes two; other numbers raise `ValueError`. Tooltips of private paintings are reworded
    here.

    `alt` is the text for readers who cannot see the map. The `legend` appears over a map that fills
    the screen; elsewhere the page shows it. With `streets` the reader's browser gets pictures of
    streets from `STREETS_HOST`; `basemap` is a curator's map beneath the cells, with the address of
    its file for the browser. Public `layers` are drawn over the cells. With `drawing` the reader
    may draw an outline, which the component sends back."""
    _check_number_of_panes(mode, len(panes))
    cells = as_integers(domain.cells)
    columns: dict[str, NDArray[Any]] = {"cell": cells}
    paintings = [pane.worded for pane in panes]
    pane_data = []
    for number, (pane, painting) in enumerate(zip(panes, paintings, strict=True)):
        data = _pane(pane, number, theme)
        if painting is not None:
            data |= _cells(painting, number, domain, columns, theme)
        pane_data.append(data)
    far, tables = zoomed_out(domain, paintings)
    for data, distant in zip(pane_data, far, strict=True):
        if distant:
            data["far"] = distant
    outline = [*rings(domain.drawn_outline)]
    return {
        "scene": {
            **_look(alt, height, theme),
            "mode": mode,
            "area": sha256(cells.tobytes()).hexdigest()[:16],
            "spacing": domain.spacing,
            "panes": pane_data,
            "streets": _STREETS[theme] if streets else None,
            "basemap": _beneath(*basemap, theme) if basemap is not None and not streets else None,
            "key": [_entry(entry) for entry in legend],
            "drawing": drawing,
            "around": around(domain, layers).packed() | _around_colours(theme),
            "lines": [
                _line(Line("region-halo", "halo", 4.0, outline), theme),
                _line(Line("region", "line", 1.5, outline), theme),
            ],
        },
        "cells": pd.DataFrame(columns),
        **tables,
    }


def _check_number_of_panes(mode: Mode, number: int) -> None:
    fewest, limit = _PANES[mode]
    if not fewest <= number <= limit:
        needed = f"{fewest} to {limit}" if fewest < limit else f"{fewest}"
        raise ValueError(f"a map drawn {mode!r} takes {needed} panes, got {number}.")


def places_scene(
    places: Sequence[tuple[float, float]],
    *,
    classes: Sequence[int] = (),
    alt: str,
    theme: Theme = "light",
    height: int = 460,
    basemap: tuple[Basemap, str] | None = None,
) -> dict[str, Any]:
    """Make a scene of places without an area: one private pane over coast and names, in the form of
    `linked_scene` without cells.

    Places are (longitude, latitude) in degrees, for the curator only, coloured by their classes, 0
    to `PLACE_CLASSES` - 1; without classes they have one colour. The scene is not cached.
    """
    box = box_of_places(places)
    pane = Pane("", private=True, points=places)
    no_cells: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
    pane_data = {
        "id": "pane0",
        "title": pane.title,
        "private": True,
        "points": _points(pane.points, theme, classes),
        "lines": [],
    }
    return {
        "scene": {
            **_look(alt, height, theme),
            "mode": "single",
            "area": sha256(np.asarray(box).tobytes()).hexdigest()[:16],
            "box": box,
            "spacing": 0.0,
            "panes": [pane_data],
            "streets": None,
            "basemap": None if basemap is None else _beneath(*basemap, theme),
            "key": [],
            "drawing": False,
            "around": around_box(box).packed() | _around_colours(theme),
            "lines": [],
        },
        "cells": pd.DataFrame({"cell": no_cells}),
    }


def box_of_places(places: Sequence[tuple[float, float]]) -> Box:
    """Return the box of a map of at least one place, degrees: a little wider than the places, and
    unbroken across the antimeridian. It is as private as the places."""
    lon, lat = np.asarray(places, dtype=np.float64).T
    lon = lon - 360.0 * np.round((lon - lon[0]) / 360.0)
    margin = max(0.01, 0.03 * float(max(np.ptp(lon), np.ptp(lat))))
    west, east = float(lon.min()) - margin, float(lon.max()) + margin
    return west, max(-85.0, float(lat.min()) - margin), east, min(85.0, float(lat.max()) + margin)


def _look(alt: str, height: int, theme: Theme) -> dict[str, Any]:
    return {
        "alt": alt,
        "height": height,
        "ground": colour("ground", theme),
        "ink": rgb("line", theme),
        "halo": rgb("halo", theme),
    }


def _around_colours(theme: Theme) -> dict[str, Any]:
    return {role: rgb(role, theme) for role in _AROUND}


def _pane(pane: Pane, number: int, theme: Theme) -> dict[str, Any]:
    """A pane without its cells."""
    return {
        "id": f"pane{number}",
        "title": pane.title,
        "private": pane.private,
        "points": _points(pane.points, theme),
        "lines": [_line(line, theme) for line in pane.lines],
    }


def _cells(
    painting: Painting, number: int, domain: Domain, columns: dict[str, NDArray[Any]], theme: Theme
) -> dict[str, Any]:
    """What a painting adds to its pane; its classes and notes, one for each cell, go into `columns`."""
    if painting.classes.size != domain.size:
        raise ValueError(f"the painting has {painting.classes.size} cells, the domain {domain.size}.")
    codes, notes = pd.factorize(np.asarray(painting.notes, dtype=object))
    columns[f"class{number}"] = painting.classes.astype(np.uint8)
    columns[f"note{number}"] = codes.astype(np.uint32)
    return {
        "notes": notes.tolist(),
        "classes": [{"colour": rgb(entry.role, theme)} for entry in painting.entries],
    }


def _beneath(basemap: Basemap, address: str, theme: Theme) -> dict[str, Any]:
    return {
        "address": address,
        "vector": basemap.kind == "vector",
        "shallowest": basemap.zooms[0],
        "deepest": basemap.zooms[1],
        "source": f"Basemap: {basemap.source}." if basemap.source else "",
        "colours": {role: colour(role, theme) for role in _BENEATH},
    }


def _points(
    points: Sequence[tuple[float, float]] | NDArray[np.float64], theme: Theme, classes: Sequence[int] = ()
) -> dict[str, Any] | None:
    if not len(points):
        return None
    data = {"places": np.round(np.asarray(points), _DECIMALS).tolist(), "colour": rgb("point", theme)}
    if classes:
        data |= {"classes": list(classes), "palette": [rgb(role, theme) for role in PLACE_ROLES]}
    return data


def _entry(entry: LegendEntry) -> dict[str, Any]:
    return {"label": entry.label, "colour": entry.colour}


def _line(line: Line, theme: Theme) -> dict[str, Any]:
    return {
        "id": line.name,
        "colour": rgb(line.role, theme),
        "width": line.width,
        "paths": [np.round(path, _DECIMALS).tolist() for path in line.paths],
    }


def _boundary(domain: Domain, name: str, role: Role, width: float, mask: NDArray[np.bool_]) -> Line:
    if mask.shape != (domain.size,) or mask.dtype != np.bool_:
        raise ValueError("a set of cells is one boolean for each cell of the domain.")
    return Line(name, role, width, interface(domain.cells, mask))
