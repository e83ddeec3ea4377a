"""What the printed map shows besides its cells: sea, shores, borders, own layers and names."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from geo.colours import Theme, colour
from geo.context.surroundings import Surroundings
from geo.coordinates.projection import project

MOST_NAMES = 30
_POINTS_PER_INCH = 72.0
_POINTS_PER_PIXEL = 0.46  # of lines: a printed map is seen from nearer than a screen
_LETTER = 0.58  # width of a letter over its height, on average
_BELOW_CELLS = 0.5  # matplotlib draws collections at 1


def draw_ground(axes: Any, around: Surroundings, crs: str, theme: Theme) -> None:
    """Draw sea, land, shores and borders below everything else.

    Parameters
    ----------
    axes : matplotlib Axes
        In metres of `crs`, with its limits set.
    around : Surroundings
    crs : str
    theme : {"light", "dark"}
    """
    if not around.source:
        return
    (west, east), (south, north) = axes.get_xlim(), axes.get_ylim()
    sea = Rectangle((west, south), east - west, north - south, zorder=0, facecolor=colour("water", theme))
    axes.add_patch(sea)
    ground, shore = colour("ground", theme), colour("shore", theme)
    land = [project(ring, crs) for ring in around.land]
    axes.add_collection(
        PolyCollection(land, facecolors=ground, edgecolors=ground, linewidths=0.2, zorder=_BELOW_CELLS)
    )
    for lines, ink in ((around.coast, shore), (around.borders, colour("border", theme))):
        drawn = [project(line, crs) for line in lines]
        axes.add_collection(LineCollection(drawn, colors=ink, linewidths=0.7, zorder=_BELOW_CELLS))


def draw_own(axes: Any, around: Surroundings, crs: str, theme: Theme) -> None:
    """Draw the curator's own layers over the cells.

    Parameters as in `draw_ground`.
    """
    halo = colour("halo", theme)
    for layer in around.own:
        ink, wide = layer.colour or colour("line", theme), _POINTS_PER_PIXEL * layer.stroke
        lines = [project(line, crs) for line in layer.lines]
        if lines:
            axes.add_collection(LineCollection(lines, colors=halo, linewidths=wide + 1.0, zorder=3))
            axes.add_collection(LineCollection(lines, colors=ink, linewidths=wide, zorder=3))
        if layer.points.size:
            x, y = project(layer.points, crs).T
            axes.scatter(x, y, s=(0.33 * layer.dot) ** 2, c=ink, edgecolors=halo, linewidths=0.5, zorder=4)


def draw_names(axes: Any, around: Surroundings, crs: str, theme: Theme) -> tuple[str, ...]:
    """Write the names of places over the map, the more important first, none over another.

    Parameters as in `draw_ground`.

    Returns
    -------
    tuple of str
        The names written.
    """
    if not around.named:
        return ()
    (west, east), (south, north) = axes.get_xlim(), axes.get_ylim()
    inch = (east - west) / (axes.get_position().width * axes.figure.get_figwidth())
    at = project(np.array([(place.longitude, place.latitude) for place in around.named]), crs)
    taken: list[NDArray[np.float64]] = []
    written: list[str] = []
    for place, (x, y) in zip(around.named, at.tolist(), strict=True):
        if not _printable(place.name):
            continue
        size = 8.5 if place.population >= 500_000 else 7.5 if place.population >= 50_000 else 6.5
        tall = 1.3 * size / _POINTS_PER_INCH * inch
        wide = (_LETTER * len(place.name) + 0.6) * size / _POINTS_PER_INCH * inch
        box = np.array([x - wide / 2, y - tall / 2, x + wide / 2, y + tall / 2])
        if box[0] < west or box[1] < south or box[2] > east or box[3] > north:
            continue
        if any((box[:2] < other[2:]).all() and (other[:2] < box[2:]).all() for other in taken):
            continue
        taken.append(box)
        written.append(place.name)
        halo = withStroke(linewidth=2.0, foreground=colour("halo", theme))
        style = {"color": colour("line", theme), "size": size, "ha": "center", "va": "center", "zorder": 5}
        axes.text(x, y, place.name, parse_math=False, path_effects=[halo], **style)
        if len(written) == MOST_NAMES:
            break
    return tuple(written)


def _printable(name: str) -> bool:
    """Whether matplotlib's own font has every letter: Latin ones, with whatever accents."""
    return all(ord(letter) < 0x250 for letter in unicodedata.normalize("NFC", name))
