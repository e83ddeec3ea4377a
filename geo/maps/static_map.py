"""The printed map: a painting as PNG or PDF with legend, scale bar, north arrow, outline and attribution."""

from __future__ import annotations

import io
import math
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from geo.colours import Theme, colour, ink_on
from geo.context.surroundings import Surroundings
from geo.crs import project
from geo.domains.domain import Domain
from geo.domains.hexagons import boundary, rings
from geo.maps.painting import Entry, Painting, legend


def draw_map(
    domain: Domain,
    painting: Painting,
    *,
    subtitle: str = "",
    attribution: Sequence[str] = (),
    around: Surroundings | None = None,
    theme: Theme = "light",
    width: float = 8.27,
    dpi: int = 150,
    kind: Literal["png", "pdf"] = "png",
) -> bytes:
    """Print a painting as a picture in the domain's own equal-area projection, north up at its middle.
    `subtitle` has the privacy facts, `attribution` a line for each source; `around` are sea, borders and
    names to draw around and over the cells; another line names their source. `width` is in inches, A4 by
    default; the height follows the region's shape. In a "pdf" shapes stay shapes. The same input gives the
    same bytes: nothing of machine or time is written into it. Raise `ValueError` if painting and domain
    differ in their number of cells."""
    if painting.classes.size != domain.size:
        raise ValueError(f"the painting has {painting.classes.size} cells, the domain {domain.size}.")
    polygons = _cells(domain)
    outline = [project(ring, domain.crs) for ring in rings(domain.drawn_outline)]
    corners = np.vstack([*polygons, *outline])
    (west, south), (east, north) = corners.min(axis=0), corners.max(axis=0)
    shape = float(np.clip((north - south) / (east - west), 0.3, 1.5))

    heading = _wrapped(painting.title, 8.0 * width)
    below = _wrapped(subtitle, 12.5 * width)
    around = around or Surroundings()
    named = [*attribution, *([around.source] if around.source else [])]
    sources = [part for line in named for part in _wrapped(line, 16.0 * width)]
    top = 0.3 + 0.26 * len(heading) + 0.18 * len(below)
    side = 0.25
    rows = len(painting.entries)
    foot = 0.35 + 0.21 * rows + 0.16 * len(sources)
    map_height = (width - 2 * side) * shape
    height = top + map_height + foot
    figure = Figure(figsize=(width, height), dpi=dpi, facecolor=colour("ground", theme))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((side / width, foot / height, 1 - 2 * side / width, map_height / height))
    axes.set_axis_off()
    axes.set_aspect("equal")
    pad = (0.04 if around.source else 0.01) * max(east - west, north - south)
    axes.set_xlim(west - pad, east + pad)
    axes.set_ylim(south - pad, north + pad)

    draw_ground(axes, around, domain.crs, theme)
    _draw_cells(axes, domain, painting, polygons, theme)
    axes.add_collection(LineCollection(outline, colors=colour("halo", theme), linewidths=2.4))
    axes.add_collection(LineCollection(outline, colors=colour("line", theme), linewidths=0.9))

    draw_own(axes, around, domain.crs, theme)
    draw_names(axes, around, domain.crs, theme)

    ink = colour("line", theme)
    left = side / width
    for row, line in enumerate(heading):
        _write(
            figure, left, 1 - (0.2 + 0.26 * row) / height, line, color=ink, size=13, weight="bold", va="top"
        )
    for row, line in enumerate(below):
        y = 1 - (0.24 + 0.26 * len(heading) + 0.18 * row) / height
        _write(figure, left, y, line, color=ink, size=9, va="top")
    handles = [_handle(entry, theme) for entry in painting.entries]
    key = figure.legend(
        handles,
        [f"{line.label}: {line.cells:,}" for line in legend(painting, theme)],
        loc="upper left",
        bbox_to_anchor=(left, (foot - 0.05) / height),
        borderaxespad=0.0,
        borderpad=0.0,
        frameon=False,
        fontsize=9,
        labelcolor=ink,
        labelspacing=0.45,
    )
    for label in key.get_texts():
        label.set_parse_math(False)
    _scale_and_north(figure, east - west + 2 * pad, width, height, foot, side, ink)
    for row, line in enumerate(reversed(sources)):
        _write(figure, left, (0.12 + 0.16 * row) / height, line, color=ink, size=7, va="bottom")

    buffer = io.BytesIO()
    unsaid = {"png": ("Software",), "pdf": ("Creator", "Producer", "CreationDate")}[kind]
    figure.savefig(
        buffer, format=kind, dpi=dpi, facecolor=figure.get_facecolor(), metadata=dict.fromkeys(unsaid)
    )
    return buffer.getvalue()


def round_length(longest: float) -> float:
    """Round a positive length down to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(longest))
    return max(step * power for step in (1.0, 2.0, 5.0) if step * power <= longest * (1 + 1e-9))


def _cells(domain: Domain) -> list[NDArray[np.float64]]:
    """Projected outlines of all cells, metres; right across the antimeridian, where degrees would jump."""
    outlines = [boundary(cell) for cell in domain.cells]
    projected = project(np.vstack(outlines), domain.crs)
    return np.split(projected, np.cumsum([len(outline) for outline in outlines])[:-1])


def _draw_cells(
    axes: Any, domain: Domain, painting: Painting, polygons: list[NDArray[np.float64]], theme: Theme
) -> None:
    for index, entry in enumerate(painting.entries):
        members = np.flatnonzero(painting.classes == index)
        if not members.size:
            continue
        face = colour(entry.role, theme)
        # An edge in the cell's own colour closes the hair-lines that antialiasing leaves between cells.
        chosen: Any = [polygons[k] for k in members.tolist()]
        if len({len(polygon) for polygon in chosen}) == 1:
            chosen = np.stack(chosen)  # of one kind, which matplotlib reads faster
        axes.add_collection(PolyCollection(chosen, facecolors=face, edgecolors=face, linewidths=0.3))
        if entry.mark:
            x, y = domain.centres[members].T
            solid = entry.mark == "dots"
            ink = colour(ink_on(entry.role, theme), theme)
            size = _mark_size(axes, domain)
            axes.scatter(
                x, y, s=size, c=ink if solid else "none", edgecolors="none" if solid else ink, linewidths=0.5
            )


def _mark_size(axes: Any, domain: Domain) -> float:
    """Area of a mark in square points: a third of a cell across, but never less than a visible dot."""
    inches = axes.get_position().width * axes.figure.get_figwidth()
    points = 72.0 * inches * domain.spacing / (axes.get_xlim()[1] - axes.get_xlim()[0])
    return float(max(0.4, (0.33 * points) ** 2))


def _handle(entry: Entry, theme: Theme) -> Any:
    patch = Patch(facecolor=colour(entry.role, theme), edgecolor=colour("line", theme), linewidth=0.5)
    if not entry.mark:
        return patch
    solid = entry.mark == "dots"
    ink = colour(ink_on(entry.role, theme), theme)
    dot = Line2D([], [], linestyle="none", marker="o", markersize=3, color=ink)
    dot.set_markerfacecolor(ink if solid else "none")
    return (patch, dot)


def _scale_and_north(
    figure: Figure, metres: float, width: float, height: float, foot: float, side: float, ink: str
) -> None:
    """A scale bar of at most a quarter of the map, and a north arrow, at the right above the attribution."""
    length = round_length(metres / 4.0)
    share = length / metres * (1 - 2 * side / width)
    right, level = 1 - side / width, (foot - 0.22) / height
    bar = Line2D([right - share, right], [level, level], color=ink, linewidth=2, solid_capstyle="butt")
    figure.add_artist(bar)
    text = f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m"
    figure.text(right - share / 2, level - 0.06 / height, text, color=ink, size=8, ha="center", va="top")
    arrow = right - share - 0.25 / width
    figure.text(arrow, level - 0.02 / height, "↑", color=ink, size=12, ha="center", va="center")
    figure.text(arrow, level - 0.06 / height - 0.06 / height, "N", color=ink, size=8, ha="center", va="top")


def _write(figure: Figure, x: float, y: float, text: str, **style: Any) -> None:
    """Text as it is: a dollar sign is a currency here, not the start of a formula."""
    figure.text(x, y, text, parse_math=False, **style)


def _wrapped(text: str, characters: float) -> list[str]:
    return [part for line in text.splitlines() for part in textwrap.wrap(line, max(20, int(characters)))]


MOST_NAMES = 30
_POINTS_PER_INCH = 72.0
_POINTS_PER_PIXEL = 0.46  # of lines: a printed map is seen from nearer than a screen
_LETTER = 0.58  # width of a letter over its height, on average
_BELOW_CELLS = 0.5  # matplotlib draws collections at 1


def draw_ground(axes: Any, around: Surroundings, crs: str, theme: Theme) -> None:
    """Draw sea, land, shores and borders below everything else on axes in metres of `crs` with their limits
    set."""
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
    """Draw the curator's own layers over the cells."""
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
    """Write the names of places over the map, the more important first, none over another; return those
    written."""
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
