"""Fills an outline with cells: those whose centre lies in it, in time that hardly depends on its vertices."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Polygon, box

from geo.domains import hexagons
from geo.progress import Progress, silent

FEW = 1_000_000
"""Vertices times cells of the bounding box up to which H3 fills an outline itself, in about 20 ms."""

_IN_A_TILE = 20_000  # cells of the boxes that a large outline is cut into
_PAD = 1e-9  # degrees by which boxes overlap, so that a centre on a common edge lies in one of them
_AT_ONCE = 4_096  # centres tested between two reports


def cells_inside(shape: MultiPolygon, resolution: int, progress: Progress = silent) -> set[str]:
    """Find the cells (H3 `resolution` 0 to 15) whose centre lies in a valid region of WGS 84 degrees within
    longitudes -180 to 180; edges are straight in degrees. `progress` is called several times a second; what
    it raises ends the work. H3 tests each cell of a polygon's bounding box against each vertex. Where that is
    much, the bounding box is filled tile by tile, and the centres are tested with GEOS's prepared polygons,
    which look only at the edges that a centre's parallel meets. Both rules agree but for centres within
    rounding of an edge."""
    cells: set[str] = set()
    pieces = _narrow_pieces(shape)
    effort = [shapely.get_num_coordinates(piece) + box_cells(piece, resolution) for piece in pieces]
    done, total = 0.0, math.fsum(effort) or 1.0
    for piece, own in zip(pieces, effort, strict=True):
        start = done / total
        if shapely.get_num_coordinates(piece) * box_cells(piece, resolution) <= FEW:
            rings = [np.asarray(ring.coords) for ring in (piece.exterior, *piece.interiors)]
            cells |= hexagons.fill(rings, resolution)
        else:
            for share, found in _tested(piece, resolution):
                cells |= found
                progress(start + share * own / total, "Filling the outline with hexagons")
        done += own
        progress(done / total, "Filling the outline with hexagons")
    return cells


def expected_cells(shape: Polygon | MultiPolygon, resolution: int) -> float:
    """Estimate how many cells a shape in WGS 84 degrees holds: its area by the average area of a cell."""

    def equal_area(lonlat: NDArray[np.float64]) -> NDArray[np.float64]:
        lon, lat = np.radians(lonlat.T)
        return hexagons.EARTH_RADIUS * np.column_stack([lon, np.sin(lat)])

    return float(shapely.transform(shape, equal_area).area / hexagons.average_area(resolution))


def box_cells(shape: Polygon | MultiPolygon, resolution: int) -> float:
    """Estimate how many cells the bounding boxes of a shape's polygons hold, about right for boxes of
    many."""
    bounds = np.atleast_2d(shapely.bounds(shapely.get_parts(shape)))
    west, south, east, north = np.radians(bounds).T
    area = hexagons.EARTH_RADIUS**2 * np.sum((east - west) * (np.sin(north) - np.sin(south)))
    return float(area / hexagons.average_area(resolution))


def _tested(piece: Polygon, resolution: int) -> Iterator[tuple[float, set[str]]]:
    """The share done so far and more cells of one polygon."""
    shapely.prepare(piece)
    west, south, east, north = piece.bounds
    tiles = max(1, math.ceil(math.sqrt(box_cells(piece, resolution) / _IN_A_TILE)))
    lons, lats = np.linspace(west, east, tiles + 1), np.linspace(south, north, tiles + 1)
    for number in range(tiles * tiles):
        row, column = divmod(number, tiles)
        tile = box(
            max(lons[column] - _PAD, -180.0),
            lats[row] - _PAD,
            min(lons[column + 1] + _PAD, 180.0),
            lats[row + 1] + _PAD,
        )
        share = number / (tiles * tiles)
        if not shapely.intersects(piece, tile):
            yield share, set()
            continue
        candidates = sorted(hexagons.fill([np.asarray(tile.exterior.coords)], resolution))
        for first in range(0, len(candidates), _AT_ONCE):
            some = candidates[first : first + _AT_ONCE]
            inside = shapely.contains_xy(piece, hexagons.centres(some))
            yield share, {cell for cell, lies in zip(some, inside.tolist(), strict=True) if lies}


def _narrow_pieces(shape: MultiPolygon) -> list[Polygon]:
    """Polygons less than 180 degrees wide, since H3 reads wider ones as crossing the antimeridian."""
    west, _, east, _ = shape.bounds
    if east - west < 180.0:
        return list(shape.geoms)
    quarters = [box(-180.0 + 90.0 * k, -90.0, -90.0 + 90.0 * k, 90.0) for k in range(4)]
    cut = [part for quarter in quarters for part in shapely.get_parts(shape.intersection(quarter))]
    return [part for part in cut if isinstance(part, Polygon) and part.area > 0]
