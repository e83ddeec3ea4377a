"""The domain: the public set of H3 cells on which everything is modelled, never taken from the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from shapely.geometry import MultiPolygon, box

from geo import hexagons
from geo.errors import DomainError
from geo.polygons import dissolve, simplified
from geo.projection import local_crs, project
from geo.region import Region, Source, region_from_bbox, region_from_geojson, region_from_shape

MAX_CELLS = 200_000
_DRAWN_VERTICES = 2_000
_MAX_BOX_CELLS = 20_000_000  # H3 sets memory aside for the bounding box of what it fills


@dataclass(frozen=True)
class Domain:
    """N cells of one H3 resolution, sorted by their index, and the public region they stand for.

    cells   H3 indices in lower-case hexadecimal, sorted and unique, 1 <= N <= MAX_CELLS
    region  the public region, a valid MultiPolygon in WGS 84 degrees
    origin  one sentence: where the domain came from and how cells were chosen
    notes   sentences about repairs of the region's outline, possibly none
    """

    cells: tuple[str, ...]
    region: MultiPolygon
    origin: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_cells(self.cells)
        if any(a >= b for a, b in pairwise(self.cells)):
            raise DomainError("the cells of a domain must be sorted and unique.")

    @property
    def size(self) -> int:
        """Number N of cells."""
        return len(self.cells)

    @cached_property
    def resolution(self) -> int:
        """H3 resolution, 0 to 15."""
        return hexagons.resolution_of(self.cells[0])

    @cached_property
    def centres_lonlat(self) -> NDArray[np.float64]:
        """(N, 2) longitudes and latitudes of the cell centres, degrees; read-only."""
        return _frozen(hexagons.centres(self.cells))

    @cached_property
    def crs(self) -> str:
        """The projection of `centres`: Lambert azimuthal equal-area around the mean of the cells, metres.

        A function of the cells alone, hence public; see `geo.projection.local_crs` for its accuracy.
        """
        return local_crs(*self.middle)

    @cached_property
    def middle(self) -> tuple[float, float]:
        """Longitude and latitude of the mean of the cell centres on the sphere, degrees."""
        lon, lat = np.radians(self.centres_lonlat).T
        x, y, z = (np.cos(lat) * np.cos(lon)).mean(), (np.cos(lat) * np.sin(lon)).mean(), np.sin(lat).mean()
        return float(np.degrees(np.arctan2(y, x))), float(np.degrees(np.arctan2(z, np.hypot(x, y))))

    @cached_property
    def centres(self) -> NDArray[np.float64]:
        """(N, 2) projected cell centres, metres east and north of the domain's middle; read-only."""
        return _frozen(project(self.centres_lonlat, self.crs))

    @cached_property
    def adjacency(self) -> sparse.csr_matrix:
        """(N, N) symmetric 0/1 matrix: which cells of the domain share an edge."""
        return hexagons.adjacency(self.cells)

    @cached_property
    def spacing(self) -> float:
        """Typical distance between neighbouring centres, metres; H3's average where no cells touch."""
        return _spacing(self.centres, self.adjacency, self.resolution)

    @cached_property
    def drawn_outline(self) -> MultiPolygon:
        """The region's outline for maps: simplified to a tenth of a cell, at most 2,000 vertices."""
        return simplified(
            self.region, _DRAWN_VERTICES, math.degrees(0.1 * self.spacing / hexagons.EARTH_RADIUS)
        )

    def locate(self, lon: ArrayLike, lat: ArrayLike) -> NDArray[np.int64]:
        """(n,) position of the cell that holds each point (WGS 84 degrees), -1 outside or for NaN."""
        x = np.atleast_1d(np.asarray(lon, dtype=np.float64))
        y = np.atleast_1d(np.asarray(lat, dtype=np.float64))
        if x.shape != y.shape or x.ndim != 1:
            raise DomainError(f"longitudes and latitudes must be equally long, got {x.size} and {y.size}.")
        index = np.full(x.size, -1, dtype=np.int64)
        usable = np.flatnonzero((np.abs(x) <= 180.0) & (np.abs(y) <= 90.0))  # False for NaN and inf
        found = hexagons.cells_at(x[usable], y[usable], self.resolution)
        index[usable] = [self._position.get(cell, -1) for cell in found]
        return index

    def lattice_arrays(
        self, padding_rings: int = 0
    ) -> tuple[NDArray[np.float64], sparse.csr_matrix, NDArray[np.int64], float]:
        """The arrays of a `Lattice`: centres (P, 2), adjacency (P, P), inside (N,), spacing.

        The domain's cells come first in their own order, then the padding: all cells within
        `padding_rings` steps outside, sorted. Centres are metres in `crs`.
        """
        if padding_rings < 0 or padding_rings != int(padding_rings):
            raise DomainError(f"padding_rings must be a whole number >= 0, got {padding_rings!r}.")
        inside = np.arange(self.size, dtype=np.int64)
        padding = hexagons.ring_around(self.cells, int(padding_rings))
        if self.size + len(padding) > 2 * MAX_CELLS:
            raise DomainError(f"{padding_rings} padding rings are too many: take fewer.")
        if not padding:
            return self.centres, self.adjacency, inside, self.spacing
        centres = np.vstack([self.centres, project(hexagons.centres(padding), self.crs)])
        adjacency = hexagons.adjacency((*self.cells, *padding))
        return centres, adjacency, inside, _spacing(centres, adjacency, self.resolution)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {cell: index for index, cell in enumerate(self.cells)}


def domain_from_geojson(source: Source, resolution: int) -> Domain:
    """The cells whose centre lies in a GeoJSON region (path, bytes or parsed object).

    Cell fill rule: a cell belongs exactly if its centre does, edges of the region being straight lines
    in longitude and latitude. Raises DomainError with one sentence; see `geo.region` for what is refused.
    """
    return _filled(region_from_geojson(source), resolution, "a GeoJSON region")


def domain_from_bbox(west: float, south: float, east: float, north: float, resolution: int) -> Domain:
    """The cells whose centre lies in a box of degrees; west > east means a box across the antimeridian."""
    what = f"the bounding box {west:g}, {south:g}, {east:g}, {north:g} (west, south, east, north in degrees)"
    return _filled(region_from_bbox(west, south, east, north), resolution, what)


def domain_from_cells(cells: Iterable[str], region: Any = None) -> Domain:
    """The domain of given cells in any order, e.g. of a released bundle.

    `region` is the public region as a GeoJSON geometry or a shapely polygon; by default the union of
    the cells.
    """
    given = list(cells)
    _check_cells(given)
    given = sorted(set(given))
    if region is None:
        outline = Region(dissolve(given))
    elif isinstance(region, Mapping):
        outline = region_from_geojson(region)
    else:
        outline = region_from_shape(region)
    origin = f"Public geography: {len(given):,} listed H3 cells."
    return Domain(tuple(given), outline.shape, origin, outline.notes)


def _check_cells(cells: Sequence[str]) -> None:
    if not cells:
        raise DomainError("a domain needs at least one cell.")
    if len(cells) > MAX_CELLS:
        raise DomainError(f"{len(cells):,} cells are more than the {MAX_CELLS:,} this program handles.")
    wrong = hexagons.invalid_cells(cells)
    if wrong:
        raise DomainError(f"{str(wrong[0])[:40]!r} is not an H3 cell.")
    if len({hexagons.resolution_of(cell) for cell in cells}) != 1:
        raise DomainError("the cells of a domain must all have the same H3 resolution.")


def _filled(region: Region, resolution: int, what: str) -> Domain:
    try:
        resolution = hexagons.check_resolution(resolution)
    except (TypeError, ValueError):
        raise DomainError(
            f"an H3 resolution is a whole number from 0 to {hexagons.FINEST_RESOLUTION}, got {resolution!r}."
        ) from None
    estimate, in_box = _estimated_cells(region.shape, resolution)
    if estimate > 2 * MAX_CELLS or in_box > _MAX_BOX_CELLS:
        raise DomainError(_too_many(int(estimate), resolution))
    cells = _cells_of(region.shape, resolution)
    if len(cells) > MAX_CELLS:
        raise DomainError(_too_many(len(cells), resolution))
    if not cells:
        finer = next(
            (r for r in range(resolution + 1, hexagons.FINEST_RESOLUTION + 1) if _has_cells(region.shape, r)),
            None,
        )
        hint = "draw a larger region" if finer is None else f"resolution {finer} gives some"
        raise DomainError(f"no H3 cell of resolution {resolution} has its centre in the region: {hint}.")
    origin = f"Public geography: the H3 cells of resolution {resolution} whose centre lies in {what}."
    return Domain(tuple(sorted(cells)), region.shape, origin, region.notes)


def _cells_of(shape: MultiPolygon, resolution: int) -> set[str]:
    cells: set[str] = set()
    for piece in _narrow_pieces(shape):
        cells |= hexagons.fill([np.asarray(r.coords) for r in (piece.exterior, *piece.interiors)], resolution)
    return cells


def _has_cells(shape: MultiPolygon, resolution: int) -> bool:
    estimate, in_box = _estimated_cells(shape, resolution)
    return estimate <= MAX_CELLS and in_box <= _MAX_BOX_CELLS and bool(_cells_of(shape, resolution))


def _narrow_pieces(shape: MultiPolygon) -> list[Any]:
    """Polygons less than 180 degrees wide, since H3 reads wider ones as crossing the antimeridian."""
    west, _, east, _ = shape.bounds
    if east - west < 180.0:
        return list(shape.geoms)
    quarters = [box(-180.0 + 90.0 * k, -90.0, -90.0 + 90.0 * k, 90.0) for k in range(4)]
    cut = [part for quarter in quarters for part in shapely.get_parts(shape.intersection(quarter))]
    return [part for part in cut if part.geom_type == "Polygon" and part.area > 0]


def _estimated_cells(shape: MultiPolygon, resolution: int) -> tuple[float, float]:
    """About how many cells the region holds, and its polygons' bounding boxes; cheap, before any filling."""

    def equal_area(lonlat: NDArray[np.float64]) -> NDArray[np.float64]:
        lon, lat = np.radians(lonlat.T)
        return hexagons.EARTH_RADIUS * np.column_stack([lon, np.sin(lat)])

    cell = hexagons.average_area(resolution)
    boxes = sum(shapely.transform(box(*part.bounds), equal_area).area for part in shape.geoms)
    return shapely.transform(shape, equal_area).area / cell, boxes / cell


def _too_many(count: int, resolution: int) -> str:
    return (
        f"the region holds about {count:,} cells of resolution {resolution}, more than the {MAX_CELLS:,} this"
        " program handles: choose a coarser resolution or a smaller region."
    )


def _spacing(centres: NDArray[np.float64], adjacency: sparse.csr_matrix, resolution: int) -> float:
    pairs = sparse.triu(adjacency).tocoo()
    if pairs.nnz == 0:
        return hexagons.average_spacing(resolution)
    return float(np.median(np.linalg.norm(centres[pairs.row] - centres[pairs.col], axis=1)))


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.setflags(write=False)
    return array
