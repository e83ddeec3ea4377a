"""The label's picture: the released classes inside their public boundary, as one small SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, shape

from geo import dissolve
from geo.colours import colour
from geo.context.own_layers import Named, OwnLayer
from geo.domains.hexagons import multipolygon, rings, simplified
from geo.maps.painting import Mark, legend
from hexcursion.bundle.products.at_threshold import Products
from hexcursion.bundle.products.classes import paint_classes

WIDTH = 920.0  # SVG units; a unit is a tenth of a millimetre on paper
MAX_VERTICES = 6_000
INK = "#12191b"
LETTERS = 58  # of a line of the legend


def picture_svg(
    cells: Sequence[str],
    region: Mapping[str, Any],
    products: Products,
    threshold: str,
    own: Sequence[OwnLayer] = (),
) -> str:
    """Draw the domain, its boundary and the classes of the release as an SVG with a legend below. Dots and
    rings are a second channel beside colour; `own` layers are drawn over it with as many names as find room.
    """
    boundary = multipolygon(shape(dict(region)))
    whole = dissolve(cells)
    west, south, east, north = boundary.union(whole).bounds
    stretch = math.cos(math.radians((south + north) / 2))
    scale = WIDTH / max((east - west) * stretch, 1e-9)
    height = min((north - south) * scale, 1.4 * WIDTH)
    scale = min(scale, height / max(north - south, 1e-9))
    tolerance = 0.5 / scale

    def path(area: MultiPolygon) -> str:
        drawn = simplified(area, MAX_VERTICES, tolerance)
        parts = []
        for ring in rings(drawn):
            points = np.column_stack(
                [(ring[:-1, 0] - west) * stretch * scale, (north - ring[:-1, 1]) * scale]
            )
            parts.append("M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points) + "Z")
        return "".join(parts)

    painting = paint_classes(products, threshold, "")
    layers, entries = [f'<path d="{path(whole)}" fill="{colour("outside")}"/>'], []
    for place, entry in enumerate(legend(painting)):
        fill = f"url(#{entry.mark})" if entry.mark else entry.colour
        entries.append((fill, f"{entry.cells:,}: {entry.label}"))
        if entry.cells:
            chosen = [cells[at] for at in np.flatnonzero(painting.classes == place).tolist()]
            layers.append(f'<path d="{path(dissolve(chosen))}" fill="{fill}" fill-rule="evenodd"/>')
    layers.append(f'<path d="{path(boundary)}" fill="none" stroke="{colour("line")}" stroke-width="3"/>')
    layers.append(own_svg(own, (west, south, east, north), stretch, scale))
    total = f"{len(cells):,} hexagons in all"
    title = f"Map of the release. {'. '.join(said for _, said in entries)}. {total}."
    body = "\n".join(layers)
    lines, foot = _legend(entries, total, height)
    return f"""<svg viewBox="-4 -4 {WIDTH + 8:.0f} {height + foot + 8:.0f}" role="img" \
aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg">
<defs>{_pattern("dots")}{_pattern("rings")}</defs>
{body}
{lines}
</svg>"""


def _pattern(mark: Mark) -> str:
    """Dots or rings over the colour that both their classes have."""
    drawn = (
        f'r="2.6" fill="{INK}"'
        if mark == "dots"
        else f'r="3.6" fill="none" stroke="{INK}" stroke-width="1.4"'
    )
    return (
        f'<pattern id="{mark}" width="16" height="16" patternUnits="userSpaceOnUse">'
        f'<rect width="16" height="16" fill="{colour("unsure")}"/><circle cx="8" cy="8" {drawn}/></pattern>'
    )


def _legend(entries: Sequence[tuple[str, str]], total: str, top: float) -> tuple[str, float]:
    """The legend's SVG under the map, with a last line on all of it, and its height; long lines run on."""
    step, lines, y = 42.0, [], top + 22.0
    for fill, words in entries:
        lines.append(
            f'<rect x="0" y="{y:.0f}" width="30" height="30" fill="{fill}" stroke="{INK}" stroke-width="2"/>'
        )
        for line in wrap(words, LETTERS):
            lines.append(_text(44, y + 24, line))
            y += 32.0
        y += step - 32.0
    lines.append(_text(0, y + 24, total))
    return "\n".join(lines), y + step - top


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="24" fill="{INK}">{escape(words)}</text>'


NAMES = 40
SIZE = 24.0  # height of letters, SVG units
LETTER = 0.56  # width of a letter over its height, on average
CORNERS = 4_000

UNITS = 1.4  # SVG units of a pixel of a line's width

Lines = list[NDArray[np.float64]]
Box = tuple[float, float, float, float]


def own_svg(layers: Sequence[OwnLayer], frame: Box, stretch: float, scale: float) -> str:
    """SVG elements of the layers; "" where there are none. `frame`: west, south, east and north, degrees;
    `stretch`: length of a degree of longitude over one of latitude; `scale`: SVG units of a degree of
    latitude."""
    if not layers:
        return ""
    west, south, east, north = frame
    middle = (west + east) / 2.0

    def placed(points: NDArray[np.float64]) -> NDArray[np.float64]:
        lon = points[:, 0] - 360.0 * np.round((points[:, 0] - middle) / 360.0)
        return np.column_stack([(lon - west) * stretch * scale, (north - points[:, 1]) * scale])

    width, height = (east - west) * stretch * scale, (north - south) * scale
    made = []
    cut = _cut([[placed(line) for line in layer.lines] for layer in layers], width, height)
    for layer, lines in zip(layers, cut, strict=True):
        ink, wide = layer.colour or colour("line"), UNITS * layer.stroke
        if path := "".join(map(_path, lines)):
            for stroke, size in ((colour("halo"), wide + 3.2), (ink, wide)):
                made.append(f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{size:.2g}"/>')
        made += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{0.625 * layer.dot:g}" fill="{ink}" '
            f'stroke="{colour("halo")}"/>'
            for x, y in placed(layer.points).tolist()
            if 0 <= x <= width and 0 <= y <= height
        ]
    names = [one for layer in layers for one in layer.labels]
    spots = placed(np.array([one.at for one in names])) if names else np.empty((0, 2))
    return "\n".join([*made, *_names(names, spots, width, height)])


def _cut(layers: Sequence[Lines], width: float, height: float) -> list[Lines]:
    """The parts of the layers' lines inside the frame, as exact as few enough corners allow."""
    exact = 0.5
    while True:
        found = [[part for line in lines for part in _inside(line, exact, width, height)] for lines in layers]
        if sum(len(part) for parts in found for part in parts) <= CORNERS or exact > width:
            return found
        exact *= 1.6


def _inside(line: NDArray[np.float64], exact: float, width: float, height: float) -> Lines:
    simple = shapely.simplify(shapely.LineString(line), exact)
    parts = shapely.get_parts(shapely.clip_by_rect(simple, 0, 0, width, height))
    return [part for part in map(shapely.get_coordinates, parts) if len(part) > 1]


def _path(line: NDArray[np.float64]) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in line)


def _names(names: Sequence[Named], spots: NDArray[np.float64], width: float, height: float) -> list[str]:
    """Names that find room, none over another."""
    taken: list[Box] = []
    written = []
    for one, (x, y) in zip(names, spots.tolist(), strict=True):
        half = LETTER * SIZE * len(one.name) / 2.0
        box = (x - half, y - SIZE / 2, x + half, y + SIZE / 2)
        if box[0] < 0 or box[1] < 0 or box[2] > width or box[3] > height:
            continue
        if any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            continue
        taken.append(box)
        written.append(
            f'<text x="{x:.1f}" y="{y + 0.35 * SIZE:.1f}" font-size="{SIZE:g}" text-anchor="middle" '
            f'fill="{colour("line")}" stroke="{colour("halo")}" stroke-width="4" paint-order="stroke">'
            f"{escape(one.name)}</text>"
        )
        if len(written) == NAMES:
            break
    return written
