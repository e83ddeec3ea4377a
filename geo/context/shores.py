"""Land, lakes, rivers and borders of the world, from a file that ships; areas without the open sea."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geo.domains.hexagons import EARTH_RADIUS, average_spacing
from geo.domains.view import Box
from geo.region import Region

FILE = Path(__file__).with_name("land.json.gz")  # `python -m studies.material.world` makes it
Lines = tuple[NDArray[np.float64], ...]

NEAR_KM = 2.0
"""Water so near to land is kept: the shores are right to about a kilometre, and sensors stand on piers."""

WIDEST = 1.3  # of a cell's own reach to that of an average one
_CORNERS = 2_000  # of a side of the area: finer bends of a shore do not matter
_ROUND = 0.9  # of a distance that a corner widened in two steps keeps: cos(pi / 8) is 0.92
_LEAST = 1e-3  # share of an area that must be sea for anything to be cut


class Packed:
    """Many lines in degrees and the box around each, from first corners and differences in whole steps. A
    line across the date line is in one piece, beyond 180 degrees; only Antarctica is cut there."""

    def __init__(self, packed: list[list[int]], steps: float) -> None:
        sizes = np.array([len(flat) // 2 for flat in packed], dtype=np.int64)
        if not sizes.size:
            self.lines: list[NDArray[np.float64]] = []
            self.low = self.high = np.empty((0, 2))
            return
        starts = np.cumsum(sizes) - sizes
        moves = np.fromiter(chain.from_iterable(packed), dtype=np.int64).reshape(-1, 2)
        moved = np.cumsum(moves, axis=0)
        before = moved[starts] - moves[starts]  # where the line in front of each ends
        corners = (moved - np.repeat(before, sizes, axis=0)) / steps
        self.lines = np.split(corners, starts[1:])
        self.low = np.minimum.reduceat(corners, starts, axis=0)
        self.high = np.maximum.reduceat(corners, starts, axis=0)

    def near(self, kept: Box) -> Lines:
        """Those whose box touches a box, moved by whole turns to where that box is."""
        found: list[NDArray[np.float64]] = []
        for turn in (-360.0, 0.0, 360.0):
            west, east = kept[0] - turn, kept[2] - turn
            across = (self.low[:, 0] <= east) & (self.high[:, 0] >= west)
            along = (self.low[:, 1] <= kept[3]) & (self.high[:, 1] >= kept[1])
            found += [self.lines[at] + (turn, 0.0) for at in np.flatnonzero(across & along).tolist()]
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Shores:
    """What the file holds, degrees."""

    land: Packed  # outer shores, rings without the closing corner; what they enclose is land
    lakes: Packed  # water within them, the Caspian Sea among it
    isles: Packed  # land within these
    rivers: Packed
    borders: Packed  # between countries


@cache
def shores(file: Path) -> Shores:
    """Read the file of shores; it is kept."""
    with gzip.open(file, "rb") as packed:
        found: dict[str, Any] = json.load(packed)
    steps = float(found["steps"])
    parts = (Packed(found.get(name, []), steps) for name in Shores.__dataclass_fields__)
    return Shores(*parts)


def land_near(box: Box) -> Lines:
    """Return the land in a box: outer shores, cut at its edges; (K, 2) float64, degrees."""
    return tuple(part for ring in shores(FILE).land.near(box) if len(part := cut(ring, box)) > 2)


def cut(ring: NDArray[np.float64], kept: Box) -> NDArray[np.float64]:
    """Cut a ring (n, 2) by a box, edge after edge (Sutherland and Hodgman 1974, 10.1145/360767.360802)."""
    for axis, limit, sign in ((0, kept[0], 1.0), (1, kept[1], 1.0), (0, kept[2], -1.0), (1, kept[3], -1.0)):
        inward = sign * (ring[:, axis] - limit)
        if not len(ring) or (inward >= 0).all():
            continue
        after = np.roll(ring, -1, axis=0)
        beyond = np.roll(inward, -1)
        inside = inward >= 0
        crossing = inside != (beyond >= 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            met = ring + (after - ring) * (inward / (inward - beyond))[:, None]
        pair = np.stack([ring, met], axis=1).reshape(-1, 2)
        ring = pair[np.stack([inside, crossing], axis=1).reshape(-1)]
    return ring


def without_sea(region: Region, resolution: int | None = None) -> Region:
    """Cut the open sea out of a region: keep what lies on land or within `NEAR_KM` of it, with a note. Given
    the `resolution` of the cells that fill it, keep the centre of every cell that touches land as well.
    Return the region as it is where it has no land or no open sea."""
    reach = 0.0 if resolution is None else WIDEST * average_spacing(resolution) / math.sqrt(3.0) / 1000.0
    kilometres = max(NEAR_KM, reach)
    parts = [_dry(part, kilometres) for part in region.shape.geoms]
    dry = MultiPolygon([one for part in parts for one in shapely.get_parts(part) if isinstance(one, Polygon)])
    if dry.is_empty or dry.area > (1.0 - _LEAST) * region.shape.area:
        return region
    note = f"The open sea, more than {kilometres:.0f} km from land, is left out unless asked for (land_only)."
    return Region(dry, (*region.notes, note))


def _dry(part: Polygon, kilometres: float) -> BaseGeometry:
    """What of a polygon lies on or near land."""
    west, south, east, north = part.bounds
    stretch = math.cos(math.radians((south + north) / 2.0))
    fine = max(east - west, north - south) / _CORNERS
    near = math.degrees(1000.0 * kilometres / EARTH_RADIUS) + fine
    pad = 2.0 * near  # where shores are cut, beyond what is kept
    rings = land_near((west - pad / stretch, south - pad, east + pad / stretch, north + pad))
    land = [_wide(Polygon(ring), stretch) for ring in rings]
    wide = _wide(part, stretch)
    across = math.hypot((east - west) * stretch, north - south)
    if across < _ROUND * near and any(wide.distance(one) + across < _ROUND * near for one in land):
        return part  # widening shores far beyond a small part takes seconds
    land = shapely.simplify(land, fine)
    reach = _wide(shapely.union_all(shapely.buffer(land, near, quad_segs=2)), 1.0 / stretch)
    return shapely.intersection(part, reach)


def _wide(shape: BaseGeometry, times: float) -> BaseGeometry:
    """A shape with its longitudes times a number."""
    return shapely.transform(shape, lambda corners: corners * np.array([times, 1.0]))
