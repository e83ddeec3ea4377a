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
    """Check an H3 resolution.

    Returns
    -------
    int
        The same.

    Raises
    ------
    ValueError
        With a sentence, unless it is a whole number from 0 to 15; TypeError for what is no number at all.
    """
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
    """Find what is no cell.

    Parameters
    ----------
    cells : iterable of str

    Returns
    -------
    list of str
        Those that are not H3 cells in H3's own lower-case spelling.
    """
    return [
        cell
        for cell in cells
        if not (isinstance(cell, str) and cell == cell.lower() and h3.is_valid_cell(cell))
    ]


def resolution_of(cell: str) -> int:
    """Find the resolution of a cell.

    Parameters
    ----------
    cell : str
        A valid one.

    Returns
    -------
    int
        0 to 15.
    """
    return int(h3.get_resolution(cell))


def as_integers(cells: Sequence[str]) -> NDArray[np.uint64]:
    """Make cells into the numbers that their names spell.

    Parameters
    ----------
    cells : sequence of N str
        Valid ones.

    Returns
    -------
    (N,) uint64
    """
    return np.array([h3.str_to_int(cell) for cell in cells], dtype=np.uint64)


def average_area(resolution: int) -> float:
    """Find the average area of a cell.

    Returns
    -------
    float
        Square metres.
    """
    return float(h3.average_hexagon_area(resolution, unit="m^2"))


def average_spacing(resolution: int) -> float:
    """Find the average distance between neighbouring centres: a regular hexagon's edge times sqrt 3.

    Returns
    -------
    float
        Metres.
    """
    return float(h3.average_hexagon_edge_length(resolution, unit="m")) * math.sqrt(3.0)


def fill(rings: Sequence[NDArray[np.float64]], resolution: int) -> set[str]:
    """Find the cells whose centre lies in one polygon, as H3 does it: cells of its box against vertices.

    Parameters
    ----------
    rings : sequence of (K, 2) float64
        Outer ring first, then holes; degrees, edges straight in degrees. The polygon must not span more than
        180 degrees of longitude: H3 would take it for one that crosses the antimeridian.
    resolution : int

    Returns
    -------
    set of str

    Raises
    ------
    DomainError
        Where H3 gives up. An outline without width holds no centre.
    """
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
    """Find the centres of cells.

    Parameters
    ----------
    cells : sequence of N str

    Returns
    -------
    (N, 2) float64
        Longitude and latitude, degrees.
    """
    return (
        np.array([h3.cell_to_latlng(cell) for cell in cells], dtype=np.float64).reshape(-1, 2)[:, ::-1].copy()
    )


@lru_cache(maxsize=KEPT_OUTLINES)
def areas(cells: Sequence[str]) -> NDArray[np.float64]:
    """(N,) square kilometres of each cell."""
    return np.array([h3.cell_area(cell, "km^2") for cell in cells])


def boundary(cell: str) -> NDArray[np.float64]:
    """Find the outline of a cell.

    Returns
    -------
    (K + 1, 2) float64
        A closed counter-clockwise ring, degrees, read-only; K is 5 to 10. The files and maps of one release
        ask for it a dozen times.
    """
    ring = [(lon, lat) for lat, lon in h3.cell_to_boundary(cell)]
    closed = np.array([*ring, ring[0]], dtype=np.float64)
    closed.setflags(write=False)
    return closed


def outlines(cells: Sequence[str]) -> list[list[NDArray[np.float64]]]:
    """Find the outlines of the union of cells.

    Parameters
    ----------
    cells : sequence of str
        Of one resolution.

    Returns
    -------
    list of polygons, each a list of (K, 2) float64
        Closed rings, outer counter-clockwise, holes clockwise. Longitudes jump by 360 degrees where a ring
        crosses the antimeridian; `geo.domains.polygons` cuts those.
    """
    if not cells:
        return []
    shape: dict[str, Any] = h3.cells_to_geo(list(cells))
    polygons = [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]
    return [[np.array(ring, dtype=np.float64) for ring in polygon] for polygon in polygons]


def edges_between(cells: Sequence[str], mask: NDArray[np.bool_]) -> list[NDArray[np.float64]]:
    """Find the edges between a set of cells and the other listed cells.

    Parameters
    ----------
    cells : sequence of N str
    mask : (N,) bool
        The set.

    Returns
    -------
    list of (2 or 3, 2) float64
        Degrees.
    """
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
    """Find the cells around others.

    Parameters
    ----------
    cells : sequence of str
    rings : int
        Steps outside, >= 0.

    Returns
    -------
    list of str
        Sorted; those outside the given ones but within so many steps of them.
    """
    known = set(cells)
    frontier: set[str] = known
    outside: set[str] = set()
    for _ in range(rings):
        frontier = {near for cell in frontier for near in h3.grid_disk(cell, 1)} - known - outside
        outside |= frontier
    return sorted(outside)


def parents(cells: Sequence[str]) -> list[str]:
    """Find the cells one resolution coarser in whose hierarchy cells stand.

    Parameters
    ----------
    cells : sequence of N str
        Of a resolution from 1 on.

    Returns
    -------
    list of N str
    """
    return [h3.cell_to_parent(cell) for cell in cells]


def children(cell: str) -> list[str]:
    """Find the cells one resolution finer below a cell.

    Parameters
    ----------
    cell : str
        Of a resolution up to 14.

    Returns
    -------
    list of str
        Seven, six below a pentagon.
    """
    return list(h3.cell_to_children(cell))


@lru_cache(maxsize=2)
def adjacency(cells: tuple[str, ...]) -> sparse.csr_matrix:
    """Find which cells share an edge; of the last two domains it is known.

    Parameters
    ----------
    cells : tuple of N str

    Returns
    -------
    (N, N) sparse matrix
        Symmetric, 0 or 1; at most 6 neighbours, 5 at pentagons. Not to be written into.
    """
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
