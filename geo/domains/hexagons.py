"""Cells of H3: lookup, neighbours, outlines and their unions, and cells with the centre in an
outline.

H3's polygons are lists of rings, rings (K, 2) arrays of longitude and latitude in degrees;
shapely's are cut at the antimeridian. The time of filling hardly depends on an outline's vertices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import h3
import numpy as np
import shapely
from numpy.typing import NDArray
from scipy import sparse
from shapely.geometry import MultiPolygon, Polygon, box
from shapely.geometry.base import BaseGeometry
from shapely.geometry.polygon import orient

from geo.errors import DomainError, Progress, silent

FINEST_RESOLUTION = 15
_NO_WIDTH = 1e-7  # degrees, about a centimetre: thinner outlines exhaust H3's memory
KEPT_OUTLINES = 1 << 15  # about 10 MB
EARTH_RADIUS = 6_371_007.0  # metres, the authalic sphere on which H3 measures areas
METRES_PER_DEGREE = 111_320.0  # of latitude, and of longitude at the equator

FEW = 1_000_000
"""Vertices times cells of the bounding box up to which H3 fills an outline, in about 20 ms."""

_IN_A_TILE = 20_000  # cells of a box of a large outline
_PAD = 1e-9  # degrees by which boxes overlap, so that one contains a centre on a common edge
_AT_ONCE = 4_096  # centres between two reports


def check_resolution(resolution: int) -> int:
    """Return an H3 resolution; raise `ValueError` unless it is a whole number from 0 to 15,
    `TypeError` for no number."""
    if (
        isinstance(resolution, bool)
        or resolution != int(resolution)
        or not 0 <= resolution <= FINEST_RESOLUTION
    ):
        raise ValueError(
            f"an H3 resolution is a whole number from 0 to {FINEST_RESOLUTION}, got {resolution!r}."
        )
    return int(resolution)


def is_cell(name: object) -> bool:
    """Whether a name is that of an H3 cell, in upper or lower case, of at most 16 digits as H3
    requires."""
    return isinstance(name, str) and len(name) <= 16 and bool(h3.is_valid_cell(name))


def invalid_cells(cells: Iterable[str]) -> list[str]:
    """Return the names that are no H3 cell in H3's lower-case spelling."""
    return [cell for cell in cells if not (is_cell(cell) and cell == cell.lower())]


def resolution_of(cell: str) -> int:
    """Return the resolution, 0 to 15, of a valid cell."""
    return int(h3.get_resolution(cell))


def as_integers(cells: Sequence[str]) -> NDArray[np.uint64]:
    """Return N valid cells as (N,) numbers, of which the names are the hexadecimal digits."""
    return np.array([h3.str_to_int(cell) for cell in cells], dtype=np.uint64)


def average_area(resolution: int) -> float:
    """Return the average area of a cell in square metres."""
    return float(h3.average_hexagon_area(resolution, unit="m^2"))


def average_spacing(resolution: int) -> float:
    """Return the average metres between neighbouring centres: a regular hexagon's edge times sqrt
    3."""
    return float(h3.average_hexagon_edge_length(resolution, unit="m")) * math.sqrt(3.0)


def fill(rings: Sequence[NDArray[np.float64]], resolution: int) -> set[str]:
    """Find the cells with their centre in one polygon by H3, which tests the cells of its box.

    Rings are (K, 2) in degrees, the outer ring first, then holes; edges are straight in degrees.
    The polygon must not span more than 180 degrees of longitude: H3 would assume that it crosses
    the antimeridian. An outline without width has no cells. Raise `DomainError` if H3 fails.
    """
    if np.ptp(rings[0], axis=0).min() < _NO_WIDTH:
        return set()
    outer, *holes = ([(y, x) for x, y in ring.tolist()] for ring in rings)
    try:
        return set(h3.polygon_to_cells(h3.LatLngPoly(outer, *holes), resolution))
    except (h3.H3BaseException, MemoryError):  # H3's errors for very large outlines
        raise DomainError(
            f"the region cannot be filled with cells of resolution {resolution}: too thin or too large. "
            "Choose another resolution or another region."
        ) from None


def centres(cells: Sequence[str]) -> NDArray[np.float64]:
    """Return the (N, 2) longitudes and latitudes of the cells' centres in degrees."""
    return (
        np.array([h3.cell_to_latlng(cell) for cell in cells], dtype=np.float64).reshape(-1, 2)[:, ::-1].copy()
    )


def areas(cells: Sequence[str]) -> NDArray[np.float64]:
    """(N,) square kilometres of each cell."""
    return np.array([h3.cell_area(cell, "km^2") for cell in cells])


@lru_cache(maxsize=KEPT_OUTLINES)
def boundary(cell: str) -> NDArray[np.float64]:
    """Return a cell's outline: a closed counter-clockwise (K + 1, 2) ring in degrees, read-only; K
    is 5 to 10. Cached, as one release needs it a dozen times."""
    ring = [(lon, lat) for lat, lon in h3.cell_to_boundary(cell)]
    closed = np.array([*ring, ring[0]], dtype=np.float64)
    closed.setflags(write=False)
    return closed


def outlines(cells: Sequence[str]) -> list[list[NDArray[np.float64]]]:
    """Find the outlines of the union of cells of one resolution: polygons of closed (K, 2) rings,
    outer counter-clockwise, holes clockwise. Longitudes jump by 360 degrees where a ring crosses
    the antimeridian; `dissolve` cuts such rings."""
    if not cells:
        return []
    shape: dict[str, Any] = h3.cells_to_geo(list(cells))
    polygons = [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]
    return [[np.array(ring, dtype=np.float64) for ring in polygon] for polygon in polygons]


def edges_between(cells: Sequence[str], mask: NDArray[np.bool_]) -> list[NDArray[np.float64]]:
    """Return the edges, each (2 or 3, 2) in degrees, between the (N,) mask's cells and the other
    listed cells."""
    outside = {cell for cell, inside in zip(cells, mask.tolist(), strict=True) if not inside}
    edges = []
    for cell in cells:
        if cell in outside:
            continue
        for near in h3.grid_disk(cell, 1):
            if near in outside:
                edge = h3.directed_edge_to_boundary(h3.cells_to_directed_edge(cell, near))
                edges.append(np.array([(lon, lat) for lat, lon in edge]))
    return edges


def ring_around(cells: Sequence[str], rings: int) -> list[str]:
    """Return the cells, sorted, outside of some cells and within `rings` >= 0 steps of them."""
    inside = set(cells)
    frontier: set[str] = inside
    outside: set[str] = set()
    for _ in range(rings):
        frontier = {near for cell in frontier for near in h3.grid_disk(cell, 1)} - inside - outside
        outside |= frontier
    return sorted(outside)


def ancestor(cell: str, resolution: int) -> str | None:
    """Return the cell of a resolution that contains a finer cell; None if `cell` is not a finer
    cell."""
    if not is_cell(cell) or h3.get_resolution(cell) <= resolution:
        return None
    return str(h3.cell_to_parent(cell, resolution))


def parents(cells: Sequence[str]) -> list[str]:
    """Return the cells one resolution coarser above N cells of a resolution from 1 on."""
    return [h3.cell_to_parent(cell) for cell in cells]


def children(cell: str) -> list[str]:
    """Return the seven cells (six below a pentagon) one resolution finer below a cell of a
    resolution up to 14."""
    return list(h3.cell_to_children(cell))


@lru_cache(maxsize=2)
def adjacency(cells: tuple[str, ...]) -> sparse.csr_matrix:
    """Return the (N, N) symmetric sparse matrix, 1 where cells share an edge: at most 6 neighbours,
    5 at pentagons. Do not modify it: the matrices of the last two domains are cached."""
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


def cell_polygon(cell: str) -> MultiPolygon:
    """Return the exact outline of a cell in WGS 84 degrees; two polygons where it crosses the
    antimeridian."""
    return _multi([[boundary(cell)]])


def cell_polygons(cells: Sequence[str]) -> list[MultiPolygon]:
    """Return `cell_polygon` of many cells at once, about ten times as fast as one by one."""
    if not cells:
        return []
    outlines = [boundary(cell) for cell in cells]
    owner = np.repeat(np.arange(len(outlines)), [len(ring) for ring in outlines])
    parts = shapely.polygons(shapely.linearrings(np.concatenate(outlines), indices=owner))
    polygons: list[MultiPolygon] = shapely.multipolygons(parts, indices=np.arange(len(parts))).tolist()
    for at, ring in enumerate(outlines):
        if float(np.ptp(ring[:, 0])) > 180.0:  # cut at the antimeridian
            polygons[at] = _multi([[ring]])
    return polygons


def dissolve(cells: Sequence[str]) -> MultiPolygon:
    """Unite cells of one resolution, possibly none: WGS 84 degrees, right-hand rule, cut at the
    antimeridian."""
    return _multi(outlines(cells))


def interface(cells: Sequence[str], mask: NDArray[np.bool_]) -> list[NDArray[np.float64]]:
    """Return the (K, 2) lines in degrees between the (N,) mask's cells and the listed cells outside
    it. Unlike the outline of `dissolve` they omit the edge of the domain. Edges across the
    antimeridian, two pixels of a drawing, are omitted as well."""
    edges = [np.round(edge, 7) for edge in edges_between(cells, mask)]
    edges = [edge for edge in edges if float(np.ptp(edge[:, 0])) < 180.0]
    if not edges:
        return []
    merged = shapely.line_merge(shapely.MultiLineString(edges))
    return [np.asarray(line.coords) for line in shapely.get_parts(merged)]


def simplified(shape: MultiPolygon, max_vertices: int, tolerance: float) -> MultiPolygon:
    """Simplify an outline in WGS 84 degrees, for drawing only.

    Dropped vertices are at most `tolerance` degrees off. The tolerance is doubled until at most
    `max_vertices` remain, since every message to the browser contains the outline. Islands and
    holes keep at least a triangle each, even above the limit. Of very many islands only the largest
    remain.
    """
    islands = sorted(shape.geoms, key=lambda part: part.area, reverse=True)
    largest = MultiPolygon(islands[: max(1, max_vertices // 8)])
    while True:
        outline = multipolygon(shapely.simplify(largest, tolerance, preserve_topology=True))
        if shapely.get_num_coordinates(outline) <= max_vertices or tolerance > 360.0:
            return outline
        tolerance *= 2.0


def multipolygon(shape: BaseGeometry) -> MultiPolygon:
    """Return the polygons of any geometry by the right-hand rule, without lines and points."""
    parts: list[Any] = []
    for part in shapely.get_parts(shape):
        if isinstance(part, Polygon):
            parts.append(part)
        elif not isinstance(part, shapely.Point | shapely.LineString):
            parts.extend(multipolygon(part).geoms)
    return MultiPolygon([orient(part) for part in parts if not part.is_empty])


def geometry_dict(shape: MultiPolygon) -> dict[str, Any]:
    """Return polygons as a plain GeoJSON MultiPolygon of lists, right-hand rule, full precision."""
    return {
        "type": "MultiPolygon",
        "coordinates": [
            [np.asarray(ring.coords)[:, :2].tolist() for ring in (part.exterior, *part.interiors)]
            for part in multipolygon(shape).geoms
        ],
    }


def rings(shape: MultiPolygon) -> list[NDArray[np.float64]]:
    """List every ring of some polygons, outer and inner, as (K, 2) lines in degrees: closed, but
    open along the antimeridian, where a region is cut and does not end (RFC 7946, 3.1.9)."""
    return [
        line
        for part in shape.geoms
        for ring in (part.exterior, *part.interiors)
        for line in _open(np.asarray(ring.coords)[:, :2])
    ]


def _open(ring: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The lines that remain of a closed ring (K, 2) without its edges along the antimeridian."""
    (along,) = np.nonzero((np.abs(ring[:-1, 0]) == 180.0) & (np.abs(ring[1:, 0]) == 180.0))
    if not along.size:
        return [ring]
    begun = np.roll(ring[:-1], -along[0] - 1, axis=0)
    return [line for line in np.split(begun, along[1:] - along[0]) if len(line) > 1]


def _multi(polygons: list[list[NDArray[np.float64]]]) -> MultiPolygon:
    """Polygons as one MultiPolygon, cut where longitudes jump at the antimeridian (RFC 7946,
    3.1.9)."""
    parts: list[Polygon] = []
    for polygon in polygons:
        if max(float(np.abs(np.diff(ring[:, 0])).max()) for ring in polygon) <= 180.0:
            parts.append(Polygon(polygon[0], polygon[1:]))
            continue
        unrolled = [
            np.column_stack([np.where(r[:, 0] < 0, r[:, 0] + 360.0, r[:, 0]), r[:, 1]]) for r in polygon
        ]
        joined = Polygon(unrolled[0], unrolled[1:])
        east = joined.intersection(box(0.0, -90.0, 180.0, 90.0))
        west = shapely.transform(
            joined.intersection(box(180.0, -90.0, 360.0, 90.0)), lambda xy: xy - np.array([360.0, 0.0])
        )
        parts += [*multipolygon(east).geoms, *multipolygon(west).geoms]
    return multipolygon(MultiPolygon(parts))


def cells_inside(shape: MultiPolygon, resolution: int, progress: Progress = silent) -> set[str]:
    """Find the cells (H3 `resolution` 0 to 15) with their centre in a valid region.

    The region is in WGS 84 degrees within longitudes -180 to 180; edges are straight in degrees.
    `progress` is called several times a second; an exception from it ends the work. H3 tests each
    cell of a polygon's bounding box against each vertex. For large products the bounding box is
    filled tile by tile, and GEOS's prepared polygons test the centres, by the edges on a centre's
    parallel alone. Both rules agree except for centres within rounding of an edge.
    """
    cells: set[str] = set()
    pieces = _narrow_pieces(shape)
    effort = [shapely.get_num_coordinates(piece) + box_cells(piece, resolution) for piece in pieces]
    finished, total = 0.0, math.fsum(effort) or 1.0
    for piece, work in zip(pieces, effort, strict=True):
        start = finished / total
        if shapely.get_num_coordinates(piece) * box_cells(piece, resolution) <= FEW:
            rings = [np.asarray(ring.coords) for ring in (piece.exterior, *piece.interiors)]
            cells |= fill(rings, resolution)
        else:
            for share, tile_cells in _tested(piece, resolution):
                cells |= tile_cells
                progress(start + share * work / total, "Filling the outline with hexagons")
        finished += work
        progress(finished / total, "Filling the outline with hexagons")
    return cells


def expected_cells(shape: Polygon | MultiPolygon, resolution: int) -> float:
    """Estimate the number of cells in a shape in WGS 84 degrees by the average area of a cell."""

    def equal_area(lonlat: NDArray[np.float64]) -> NDArray[np.float64]:
        lon, lat = np.radians(lonlat.T)
        return EARTH_RADIUS * np.column_stack([lon, np.sin(lat)])

    return float(shapely.transform(shape, equal_area).area / average_area(resolution))


def box_cells(shape: Polygon | MultiPolygon, resolution: int) -> float:
    """Estimate the number of cells in the bounding boxes of a shape's polygons, for large boxes."""
    bounds = np.atleast_2d(shapely.bounds(shapely.get_parts(shape)))
    west, south, east, north = np.radians(bounds).T
    area = EARTH_RADIUS**2 * np.sum((east - west) * (np.sin(north) - np.sin(south)))
    return float(area / average_area(resolution))


def _tested(piece: Polygon, resolution: int) -> Iterator[tuple[float, set[str]]]:
    """Yield the finished share and further cells of one polygon."""
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
        candidates = sorted(fill([np.asarray(tile.exterior.coords)], resolution))
        for first in range(0, len(candidates), _AT_ONCE):
            part = candidates[first : first + _AT_ONCE]
            inside = shapely.contains_xy(piece, centres(part))
            yield share, {cell for cell, contained in zip(part, inside.tolist(), strict=True) if contained}


def _narrow_pieces(shape: MultiPolygon) -> list[Polygon]:
    """Polygons less than 180 degrees wide, since H3 reads wider ones as crossing the
    antimeridian."""
    west, _, east, _ = shape.bounds
    if east - west < 180.0:
        return list(shape.geoms)
    quarters = [box(-180.0 + 90.0 * k, -90.0, -90.0 + 90.0 * k, 90.0) for k in range(4)]
    cut = [part for quarter in quarters for part in shapely.get_parts(shape.intersection(quarter))]
    return [part for part in cut if isinstance(part, Polygon) and part.area > 0]
