"""What is asked of H3: filling, centres, neighbours, outlines and lookup of cells.

Polygons are exchanged as lists of rings, rings as (K, 2) arrays of longitude and latitude in degrees.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import h3
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from geo.errors import DomainError

FINEST_RESOLUTION = 15
_NO_WIDTH = 1e-7  # degrees, about a centimetre: below it H3 works for minutes and runs out of memory
KEPT_OUTLINES = 1 << 15  # about 10 MB
EARTH_RADIUS = 6_371_007.0  # metres, the authalic sphere on which H3 measures areas
METRES_PER_DEGREE = 111_320.0  # of latitude, and of longitude at the equator


def check_resolution(resolution: int) -> int:
    """Return an H3 resolution; raise `ValueError` unless it is a whole number from 0 to 15, `TypeError` for
    no number."""
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
    """Return what is no H3 cell in H3's own lower-case spelling."""
    return [
        cell
        for cell in cells
        if not (isinstance(cell, str) and cell == cell.lower() and h3.is_valid_cell(cell))
    ]


def resolution_of(cell: str) -> int:
    """Return the resolution, 0 to 15, of a valid cell."""
    return int(h3.get_resolution(cell))


def as_integers(cells: Sequence[str]) -> NDArray[np.uint64]:
    """Return N valid cells as the (N,) numbers that their names spell."""
    return np.array([h3.str_to_int(cell) for cell in cells], dtype=np.uint64)


def average_area(resolution: int) -> float:
    """Return the average area of a cell in square metres."""
    return float(h3.average_hexagon_area(resolution, unit="m^2"))


def average_spacing(resolution: int) -> float:
    """Return the average metres between neighbouring centres: a regular hexagon's edge times sqrt 3."""
    return float(h3.average_hexagon_edge_length(resolution, unit="m")) * math.sqrt(3.0)


def fill(rings: Sequence[NDArray[np.float64]], resolution: int) -> set[str]:
    """Find the cells whose centre lies in one polygon, as H3 does it: cells of its box against vertices.
    Rings are (K, 2) in degrees, the outer one first, then holes; edges straight in degrees. The polygon must
    not span more than 180 degrees of longitude: H3 would take it for one that crosses the antimeridian. Raise
    `DomainError` where H3 gives up. An outline without width holds no centre."""
    if np.ptp(rings[0], axis=0).min() < _NO_WIDTH:
        return set()
    outer, *holes = ([(y, x) for x, y in ring.tolist()] for ring in rings)
    try:
        return set(h3.polygon_to_cells(h3.LatLngPoly(outer, *holes), resolution))
    except (h3.H3BaseException, MemoryError):  # H3's words for very large outlines
        raise DomainError(
            f"the region cannot be filled with cells of resolution {resolution}: too thin or too large. "
            "Choose another resolution or another region."
        ) from None


def centres(cells: Sequence[str]) -> NDArray[np.float64]:
    """Return the (N, 2) longitudes and latitudes of the cells' centres in degrees."""
    return (
        np.array([h3.cell_to_latlng(cell) for cell in cells], dtype=np.float64).reshape(-1, 2)[:, ::-1].copy()
    )


@lru_cache(maxsize=KEPT_OUTLINES)
def areas(cells: Sequence[str]) -> NDArray[np.float64]:
    """(N,) square kilometres of each cell."""
    return np.array([h3.cell_area(cell, "km^2") for cell in cells])


def boundary(cell: str) -> NDArray[np.float64]:
    """Return a cell's outline: a closed counter-clockwise (K + 1, 2) ring in degrees, read-only; K is 5 to
    10. The files and maps of one release ask for it a dozen times."""
    ring = [(lon, lat) for lat, lon in h3.cell_to_boundary(cell)]
    closed = np.array([*ring, ring[0]], dtype=np.float64)
    closed.setflags(write=False)
    return closed


def outlines(cells: Sequence[str]) -> list[list[NDArray[np.float64]]]:
    """Find the outlines of the union of cells of one resolution: polygons of closed (K, 2) rings, outer
    counter-clockwise, holes clockwise. Longitudes jump by 360 degrees where a ring crosses the antimeridian;
    `geo.domains.polygons` cuts those."""
    if not cells:
        return []
    shape: dict[str, Any] = h3.cells_to_geo(list(cells))
    polygons = [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]
    return [[np.array(ring, dtype=np.float64) for ring in polygon] for polygon in polygons]


def edges_between(cells: Sequence[str], mask: NDArray[np.bool_]) -> list[NDArray[np.float64]]:
    """Return the edges, each (2 or 3, 2) in degrees, between the (N,) mask's cells and the other listed
    cells."""
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
    """Return the cells, sorted, outside the given ones but within so many steps, >= 0, of them."""
    known = set(cells)
    frontier: set[str] = known
    outside: set[str] = set()
    for _ in range(rings):
        frontier = {near for cell in frontier for near in h3.grid_disk(cell, 1)} - known - outside
        outside |= frontier
    return sorted(outside)


def parents(cells: Sequence[str]) -> list[str]:
    """Return the cells one resolution coarser above N cells of a resolution from 1 on."""
    return [h3.cell_to_parent(cell) for cell in cells]


def children(cell: str) -> list[str]:
    """Return the seven cells (six below a pentagon) one resolution finer below a cell of a resolution up to
    14."""
    return list(h3.cell_to_children(cell))


@lru_cache(maxsize=2)
def adjacency(cells: tuple[str, ...]) -> sparse.csr_matrix:
    """Return the (N, N) symmetric sparse matrix, 1 where cells share an edge: at most 6 neighbours, 5 at
    pentagons. Not to be written into: that of the last two domains is kept."""
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
