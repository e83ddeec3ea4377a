"""The curator's own layers in the label's picture: lines, dots and names inside the drawn frame."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import shapely
from numpy.typing import NDArray

from geo.colours import colour
from geo.context.own_layers import Named, OwnLayer

NAMES = 40
SIZE = 24.0  # height of letters, SVG units
LETTER = 0.56  # width of a letter over its height, on average
CORNERS = 4_000

UNITS = 1.4  # SVG units of a pixel of a line's width

Lines = list[NDArray[np.float64]]
Box = tuple[float, float, float, float]


def own_svg(layers: Sequence[OwnLayer], frame: Box, stretch: float, scale: float) -> str:
    """SVG elements of the layers; "" where there are none.

    Parameters
    ----------
    frame
        west, south, east and north of the picture, degrees
    stretch
        length of a degree of longitude, of one of latitude
    scale
        SVG units of a degree of latitude
    """
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
