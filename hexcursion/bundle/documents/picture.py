"""The label's picture: the released classes inside their public boundary, as one small SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
from shapely.geometry import MultiPolygon, shape

from geo import dissolve
from geo.colours import colour
from geo.context.own_layers import OwnLayer
from geo.domains.polygons import multipolygon, rings, simplified
from geo.maps.painting import Mark, legend
from hexcursion.bundle.documents.picture_layers import own_svg
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
    """An SVG of the domain, the boundary and the classes of the release, with a legend below.

    Dots and rings are a second channel beside colour. `threshold`: in words. The curator's own layers, `own`,
    are drawn over it with as many names as find room.
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
