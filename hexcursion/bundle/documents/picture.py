"""The label's picture: the released set inside its public boundary, as one small SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, shape

from geo import dissolve
from geo.colours import Role, colour
from geo.context.own_layers import OwnLayer
from geo.domains.polygons import multipolygon, rings, simplified
from geo.maps.painting import NO_RECORD
from hexcursion.bundle.documents.picture_layers import own_svg
from hexcursion.bundle.products.at_threshold import Products
from hexcursion.words import side_words

WIDTH = 920.0  # SVG units; a unit is a tenth of a millimetre on paper
MAX_VERTICES = 6_000
INK = "#12191b"


def picture_svg(
    cells: Sequence[str], region: Mapping[str, Any], products: Products, own: Sequence[OwnLayer] = ()
) -> str:
    """An SVG of the domain, the boundary and the summarising set, with a legend below.

    Uses "cannot tell" where the paths support it, dotted as a second channel beside colour; otherwise the
    vote set. The curator's own layers, `own`, are drawn over it with as many names as find room.
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

    layers = [f'<path d="{path(whole)}" fill="{colour("outside")}"/>']
    legend = []
    for members, role, words, dotted in _classes(products):
        chosen = [cell for cell, member in zip(cells, members, strict=True) if member]
        fill = "url(#unsure)" if dotted else colour(role)
        if chosen:
            layers.append(f'<path d="{path(dissolve(chosen))}" fill="{fill}" fill-rule="evenodd"/>')
        swatch = "url(#unsure)" if dotted else colour(role)
        legend.append((swatch, f"{words}: {len(chosen):,} of {len(cells):,} cells"))
    layers.append(f'<path d="{path(boundary)}" fill="none" stroke="{colour("line")}" stroke-width="3"/>')
    layers.append(own_svg(own, (west, south, east, north), stretch, scale))
    meant = _meant(products)
    title = "Map of the released set. " + " ".join(
        f"{words}." for words in (*[said for _, said in legend], meant)
    )
    body = "\n".join(layers)
    lines, foot = _legend(legend, meant, height)
    return f"""<svg viewBox="-4 -4 {WIDTH + 8:.0f} {height + foot + 8:.0f}" role="img" aria-label="{title}" \
xmlns="http://www.w3.org/2000/svg">
<defs><pattern id="unsure" width="16" height="16" patternUnits="userSpaceOnUse">\
<rect width="16" height="16" fill="{colour("unsure")}"/>\
<circle cx="8" cy="8" r="2.6" fill="{INK}"/></pattern></defs>
{body}
{lines}
</svg>"""


def _classes(products: Products) -> list[tuple[NDArray[np.bool_], Role, str, bool]]:
    """(members, palette role, words, dotted) of the classes to draw over the domain."""
    side = side_words(products.direction)
    if products.three_way is None:
        return [(products.vote_set, "inside", f"{side} the threshold", False)]
    empty = np.zeros(products.vote_set.size, dtype=bool) if products.empty is None else products.empty
    above, below = (products.three_way > 0) & ~empty, (products.three_way < 0) & ~empty
    drawn: list[tuple[NDArray[np.bool_], Role, str, bool]] = [
        (above, "above", "surely above the threshold", False),
        (below, "below", "surely at most the threshold", False),
        (~above & ~below & ~empty, "unsure", "cannot tell at this privacy", True),
    ]
    return drawn if products.empty is None else [*drawn, (empty, "outside", NO_RECORD, False)]


def _meant(products: Products) -> str:
    """What the classes mean, said once: a longer line would not fit below the picture."""
    if products.three_way is None:
        return "as released"
    of = "paths" if products.draws == products.paths.shape[0] else "draws"
    return f"surely: in {products.confidence * 100:.0f} % of the {of} at once"


def _legend(entries: Sequence[tuple[str, str]], meant: str, top: float) -> tuple[str, float]:
    """The legend's SVG under the map, with a last line on all of it, and its height."""
    step, lines = 42.0, []
    for index, (fill, words) in enumerate(entries):
        y = top + 22.0 + index * step
        lines.append(
            f'<rect x="0" y="{y:.0f}" width="30" height="30" fill="{fill}" stroke="{INK}" stroke-width="2"/>'
            f'<text x="44" y="{y + 24:.0f}" font-size="26" fill="{INK}">{words}</text>'
        )
    foot = 22.0 + step * len(entries)
    lines.append(f'<text x="0" y="{top + foot + 24:.0f}" font-size="26" fill="{INK}">{meant}</text>')
    return "\n".join(lines), foot + step
