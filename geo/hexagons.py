"""The only module that knows H3: filling, centres, neighbours, outlines and lookup of cells.

Polygons are exchanged as lists of rings, rings as (K, 2) arrays of longitude and latitude in degrees.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import h3
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FINEST_RESOLUTION = 15
EARTH_RADIUS = 6_371_007.0  # metres, the authalic sphere on which H3 measures areas


def check_resolution(resolution: int) -> int:
    """The resolution as an int; ValueError with a sentence unless it is a whole number from 0 to 15."""
    if (
        isinstance(resolution, bool)
        or resolution != int(resolution)
        or not 0 <= resolution <= FINEST_RESOLUTION
    ):
        raise ValueError(
            f"an H3 resolution is a whole number from 0 to {FINEST_RESOLUTION}, got {resolution!r}."
        )
    return int(resolution)


def invalid_cells(cells: Iterable[str]) -> list[str]:
    """Those of the given strings that are not H3 cells in H3's own lower-case spelling."""
    return [
        cell
        for cell in cells
        if not (isinstance(cell, str) and cell == cell.lower() and h3.is_valid_cell(cell))
    ]


def resolution_of(cell: str) -> int:
    """Resolution 0..15 of a valid cell."""
    return int(h3.get_resolution(cell))


def as_integers(cells: Sequence[str]) -> NDArray[np.uint64]:
    """(N,) valid cells as the 64-bit numbers that their names spell."""
    return np.array([h3.str_to_int(cell) for cell in cells], dtype=np.uint64)


def average_area(resolution: int) -> float:
    """Average area of a cell, square metres."""
    return float(h3.average_hexagon_area(resolution, unit="m^2"))


def average_spacing(resolution: int) -> float:
    """Average distance between neighbouring centres, metres (a regular hexagon's edge times sqrt 3)."""
    return float(h3.average_hexagon_edge_length(resolution, unit="m")) * math.sqrt(3.0)


def cell_at(longitude: float, latitude: float, resolution: int) -> str:
    """The cell that holds a finite point in degrees."""
    return str(h3.latlng_to_cell(latitude, longitude, resolution))


def cells_at(lon: NDArray[np.float64], lat: NDArray[np.float64], resolution: int) -> list[str]:
    """The cell of each of n finite points in degrees (about 1 million points in 0.7 s)."""
    find = h3.latlng_to_cell
    return [find(y, x, resolution) for x, y in zip(lon.tolist(), lat.tolist(), strict=True)]


def fill(rings: Sequence[NDArray[np.float64]], resolution: int) -> set[str]:
    """Cells whose centre lies in one polygon (outer ring first, then holes), edges straight in degrees.

    The polygon must not span more than 180 degrees of longitude: H3 would take it for one that crosses
    the antimeridian.
    """
    outer, *holes = ([(y, x) for x, y in ring.tolist()] for ring in rings)
    return set(h3.polygon_to_cells(h3.LatLngPoly(outer, *holes), resolution))


def centres(cells: Sequence[str]) -> NDArray[np.float64]:
    """(N, 2) longitude and latitude of cell centres, degrees."""
    return (
        np.array([h3.cell_to_latlng(cell) for cell in cells], dtype=np.float64).reshape(-1, 2)[:, ::-1].copy()
    )


def boundary(cell: str) -> NDArray[np.float64]:
    """(K + 1, 2) closed counter-clockwise boundary of a cell, degrees; K is 5 to 10."""
    ring = [(lon, lat) for lat, lon in h3.cell_to_boundary(cell)]
    return np.array([*ring, ring[0]], dtype=np.float64)


def outlines(cells: Sequence[str]) -> list[list[NDArray[np.float64]]]:
    """Polygons of the union of cells: closed rings, outer counter-clockwise, holes clockwise.

    Longitudes jump by 360 degrees where a ring crosses the antimeridian; `geo.polygons` cuts those.
    """
    if not cells:
        return []
    shape: dict[str, Any] = h3.cells_to_geo(list(cells))
    polygons = [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]
    return [[np.array(ring, dtype=np.float64) for ring in polygon] for polygon in polygons]


def edges_between(cells: Sequence[str], mask: NDArray[np.bool_]) -> list[NDArray[np.float64]]:
    """(2 or 3, 2) edges in degrees shared by a cell inside and a listed cell outside a set, (N,) booleans."""
    outside = {cell for cell, chosen in zip(cells, mask.tolist(), strict=True) if not chosen}
    found = []
    for cell in cells:
        if cell in outside:
            continue
        for near in h3.grid_disk(cell, 1):
            if near in outside:
                edge = h3.directed_edge_to_boundary(h3.cells_to_directed_edge(cell, near))
                found.append(np.array([(lon, lat) for lat, lon in edge]))
    return found


def ring_around(cells: Sequence[str], rings: int) -> list[str]:
    """Sorted cells outside the given ones but within `rings` steps of them."""
    known = set(cells)
    frontier: set[str] = known
    outside: set[str] = set()
    for _ in range(rings):
        frontier = {near for cell in frontier for near in h3.grid_disk(cell, 1)} - known - outside
        outside |= frontier
    return sorted(outside)


def adjacency(cells: Sequence[str]) -> sparse.csr_matrix:
    """(N, N) symmetric 0/1 matrix of cells that share an edge (at most 6 neighbours, 5 at pentagons)."""
    position = {cell: index for index, cell in enumerate(cells)}
    rows: list[int] = []
    columns: list[int] = []
    for index, cell in enumerate(cells):
        for near in h3.grid_disk(cell, 1):
            other = position.get(near)
            if other is not None and other != index:
                rows.append(index)
                columns.append(other)
    size = len(position)
    graph = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(size, size), dtype=np.float64)
    graph.sort_indices()
    return graph
