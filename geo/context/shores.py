"""Land, lakes, rivers and borders of the world, from a file of this package; areas without the
open sea."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geo.domains.hexagons import EARTH_RADIUS, average_spacing
from geo.domains.view import Box
from geo.region import Region

FILE = Path(__file__).with_name("land.npz")  # `python -m studies.material.world` makes it
Lines = tuple[NDArray[np.float64], ...]

NEAR_KM = 2.0
"""Distance from land of water that stays in an area: shores are exact to about a kilometre, and
some sensors are on piers."""

WIDEST = 1.3  # largest ratio of a cell's reach to that of an average cell
_CORNERS = 2_000  # share of an area's side below which bends of a shore do not matter, inverse
_ROUND = 0.9  # least reach of a corner widened in two steps: cos(pi / 8) is 0.92
_LEAST = 1e-3  # least share of sea in an area that is cut


class Packed:
    """Many lines in degrees and the box around each, from first corners and differences in whole
    steps. A line across the date line is in one piece, beyond 180 degrees; only Antarctica is cut
    there."""

    def __init__(self, moves: NDArray[np.int32], sizes: NDArray[np.int32], steps: float) -> None:
        """Unpack `moves` (n, 2), whole steps, of lines with `sizes` (K,) corners."""
        if not sizes.size:
            self.lines: list[NDArray[np.float64]] = []
            self.low = self.high = np.empty((0, 2))
            return
        starts = np.cumsum(sizes) - sizes
        positions = np.cumsum(moves, axis=0)
        ends = positions[starts] - moves[starts]  # ends of the previous lines
        corners = (positions - np.repeat(ends, sizes, axis=0)) / steps
        self.lines = np.split(corners, starts[1:])
        self.low = np.minimum.reduceat(corners, starts, axis=0)
        self.high = np.maximum.reduceat(corners, starts, axis=0)

    @classmethod
    def of(cls, lines: Sequence[Sequence[int]], steps: float) -> Packed:
        """Unpack flat lines, as `write_shores` takes them."""
        return cls(*_flat(lines), steps)

    def near(self, frame: Box) -> Lines:
        """Lines whose box touches a box, moved by whole turns to that box."""
        lines: list[NDArray[np.float64]] = []
        for turn in (-360.0, 0.0, 360.0):
            west, east = frame[0] - turn, frame[2] - turn
            across = (self.low[:, 0] <= east) & (self.high[:, 0] >= west)
            along = (self.low[:, 1] <= frame[3]) & (self.high[:, 1] >= frame[1])
            lines += [self.lines[at] + (turn, 0.0) for at in np.flatnonzero(across & along).tolist()]
        return tuple(lines)


@dataclass(frozen=True, eq=False)
class Shores:
    """The content of the file of shores, degrees."""

    land: Packed  # outer shores, rings without the closing corner, that enclose land
    lakes: Packed  # water within them, the Caspian Sea among it
    isles: Packed  # land within these
    rivers: Packed
    borders: Packed  # between countries


@cache
def shores(file: Path) -> Shores:
    """Read the file of shores; the result is cached."""
    with np.load(file) as content:
        steps = float(content["steps"])
        layers = Shores.__dataclass_fields__
        return Shores(*(Packed(content[name], content[f"{name} sizes"], steps) for name in layers))


def write_shores(file: Path, steps: int, layers: Mapping[str, Sequence[Sequence[int]]]) -> None:
    """Write the file of shores.

    A layer has the name of a field of `Shores`; each of its lines is flat, in whole steps, of which a
    degree has `steps`: the first corner, then the differences from corner to corner.
    """
    content = {"steps": np.array(steps)}
    for name in Shores.__dataclass_fields__:
        content[name], content[f"{name} sizes"] = _flat(layers.get(name, []))
    np.savez_compressed(file, allow_pickle=False, **content)


def _flat(lines: Sequence[Sequence[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(n, 2) steps of flat lines together, and (K,) the number of corners of each."""
    steps = np.fromiter(chain.from_iterable(lines), dtype=np.int32).reshape(-1, 2)
    return steps, np.array([len(line) // 2 for line in lines], dtype=np.int32)


def land_near(box: Box) -> Lines:
    """Return the land in a box: outer shores, cut at its edges; (K, 2) float64, degrees."""
    return tuple(part for ring in shores(FILE).land.near(box) if len(part := cut(ring, box)) > 2)


def cut(ring: NDArray[np.float64], frame: Box) -> NDArray[np.float64]:
    """Cut a ring (n, 2) by a box, edge after edge (Sutherland and Hodgman 1974,
    10.1145/360767.360802)."""
    for axis, limit, sign in (
        (0, frame[0], 1.0),
        (1, frame[1], 1.0),
        (0, frame[2], -1.0),
        (1, frame[3], -1.0),
    ):
        inward = sign * (ring[:, axis] - limit)
        if not len(ring) or (inward >= 0).all():
            continue
        following = np.roll(ring, -1, axis=0)
        beyond = np.roll(inward, -1)
        inside = inward >= 0
        crossing = inside != (beyond >= 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            met = ring + (following - ring) * (inward / (inward - beyond))[:, None]
        pair = np.stack([ring, met], axis=1).reshape(-1, 2)
        ring = pair[np.stack([inside, crossing], axis=1).reshape(-1)]
    return ring


def without_sea(region: Region, resolution: int | None = None) -> Region:
    """Cut the open sea out of a region: keep land and everything within `NEAR_KM` of it, with a
    note. With the `resolution` of the cells that fill it, also keep the centre of every cell that
    touches land. Return the region unchanged if it has no land or no open sea."""
    reach = 0.0 if resolution is None else WIDEST * average_spacing(resolution) / math.sqrt(3.0) / 1000.0
    kilometres = max(NEAR_KM, reach)
    parts = [_dry(part, kilometres) for part in region.shape.geoms]
    dry = MultiPolygon(
        [polygon for part in parts for polygon in shapely.get_parts(part) if isinstance(polygon, Polygon)]
    )
    if dry.is_empty or dry.area > (1.0 - _LEAST) * region.shape.area:
        return region
    note = f"The open sea, more than {kilometres:.0f} km from land, is left out unless asked for (land_only)."
    return Region(dry, (*region.notes, note))


def _dry(part: Polygon, kilometres: float) -> BaseGeometry:
    """The part of a polygon on or near land."""
    west, south, east, north = part.bounds
    stretch = math.cos(math.radians((south + north) / 2.0))
    fine = max(east - west, north - south) / _CORNERS
    near = math.degrees(1000.0 * kilometres / EARTH_RADIUS) + fine
    pad = 2.0 * near  # shores are cut at this distance, beyond the kept part
    rings = land_near((west - pad / stretch, south - pad, east + pad / stretch, north + pad))
    land = [_wide(Polygon(ring), stretch) for ring in rings]
    wide = _wide(part, stretch)
    across = math.hypot((east - west) * stretch, north - south)
    if across < _ROUND * near and any(wide.distance(shore) + across < _ROUND * near for shore in land):
        return part  # widening shores far beyond a small part takes seconds
    land = shapely.simplify(land, fine)
    reach = _wide(shapely.union_all(shapely.buffer(land, near, quad_segs=2)), 1.0 / stretch)
    return shapely.intersection(part, reach)


def _wide(shape: BaseGeometry, times: float) -> BaseGeometry:
    """A shape with its longitudes times a number."""
    return shapely.transform(shape, lambda corners: corners * np.array([times, 1.0]))
