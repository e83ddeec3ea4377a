"""The domain: the public set of H3 cells of a map, independent of the data; and the cells of
places, with probabilities for uncertain places."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, repeat
from typing import Any

import h3
import numpy as np
from h3.api import basic_int
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from shapely.geometry import MultiPolygon

from geo.crs import local_crs, project
from geo.domains import hexagons
from geo.domains.hexagons import EARTH_RADIUS, box_cells, cells_inside, dissolve, expected_cells, simplified
from geo.errors import DomainError, Progress, part_of, silent
from geo.region import Region, Source, region_from_bbox, region_from_geojson, region_from_shape

Floats = NDArray[np.float64]

MAX_CELLS = 200_000
_DRAWN_VERTICES = 2_000
_ANGLES, _RINGS = 16, 12  # places of equal probability that represent an uncertain place
_SHARED_AT_ONCE = 2000  # places in one lookup
_POLAR = 0.01  # least cosine of a latitude: a degree of longitude has no length at a pole
_MAX_BOX_CELLS = 20_000_000  # cells of the searched bounding boxes


@dataclass(frozen=True)
class Domain:
    """N cells of one H3 resolution, sorted by their index, and the public region that they cover.

    Raise `DomainError` for no cells, too many, several resolutions, or cells that are not sorted or
    not unique.
    """

    cells: tuple[str, ...]  # H3 indices in lower-case hexadecimal, 1 <= N <= MAX_CELLS
    region: MultiPolygon  # public, valid, WGS 84 degrees
    origin: str  # a sentence on the source of the domain and the choice of its cells
    notes: tuple[str, ...] = ()  # sentences about repairs of the region's outline

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
        """The projection of `centres`: Lambert azimuthal equal-area around the mean of the cells,
        metres. A function of the cells alone, hence public; `geo.crs.local_crs` states its
        accuracy."""
        return local_crs(*self.middle)

    @cached_property
    def middle(self) -> tuple[float, float]:
        """Longitude and latitude of the mean of the cell centres on the sphere, degrees."""
        lon, lat = np.radians(self.centres_lonlat).T
        x, y, z = (np.cos(lat) * np.cos(lon)).mean(), (np.cos(lat) * np.sin(lon)).mean(), np.sin(lat).mean()
        return float(np.degrees(np.arctan2(y, x))), float(np.degrees(np.arctan2(z, np.hypot(x, y))))

    @cached_property
    def centres(self) -> NDArray[np.float64]:
        """(N, 2) projected cell centres, metres east and north of the domain's middle;
        read-only."""
        return _frozen(project(self.centres_lonlat, self.crs))

    @cached_property
    def areas(self) -> NDArray[np.float64]:
        """(N,) square kilometres of each cell."""
        return _frozen(hexagons.areas(self.cells))

    @cached_property
    def adjacency(self) -> sparse.csr_matrix:
        """(N, N) symmetric 0/1 matrix: which cells of the domain share an edge."""
        return hexagons.adjacency(self.cells)

    @cached_property
    def spacing(self) -> float:
        """Typical distance between neighbouring centres, metres; H3's average if no cells
        touch."""
        return _spacing(self.centres, self.adjacency, self.resolution)

    @cached_property
    def drawn_outline(self) -> MultiPolygon:
        """The region's outline for maps: simplified to a tenth of a cell, coarser for at most 2,000
        vertices. Islands and holes keep at least a triangle each, even above this limit."""
        return simplified(
            self.region, _DRAWN_VERTICES, math.degrees(0.1 * self.spacing / hexagons.EARTH_RADIUS)
        )

    def locate(self, lon: ArrayLike, lat: ArrayLike) -> NDArray[np.int64]:
        """Return the (n,) positions in `cells` of the cells that contain n points in WGS 84
        degrees, -1 outside the domain and for NaN. Raise `DomainError` for columns of different
        lengths."""
        x = np.atleast_1d(np.asarray(lon, dtype=np.float64))
        y = np.atleast_1d(np.asarray(lat, dtype=np.float64))
        if x.shape != y.shape or x.ndim != 1:
            raise DomainError(f"longitudes and latitudes must be equally long, got {x.size} and {y.size}.")
        index = np.full(x.size, -1, dtype=np.int64)
        usable = np.flatnonzero((np.abs(x) <= 180.0) & (np.abs(y) <= 90.0))  # False for NaN and inf
        numbers = numbers_at(x[usable], y[usable], self.resolution)
        at = np.minimum(np.searchsorted(self._numbers, numbers), self.size - 1)
        index[usable] = np.where(self._numbers[at] == numbers, at, -1)
        return index

    def locate_uncertain(
        self, lon: ArrayLike, lat: ArrayLike, deviation: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return for n finite points, WGS 84 degrees, with normal noise of `deviation` metres per
        axis, the (n,) position of the likeliest cell, -1 outside the domain, and the (n,)
        probability that the point is in it. Errors as `cell_shares`."""
        x, y, sd = (np.atleast_1d(np.asarray(column, dtype=np.float64)) for column in (lon, lat, deviation))
        cells = likeliest(cell_shares(x, y, sd, self.resolution))
        position = {cell: index for index, cell in enumerate(self.cells)}
        index = np.array([position.get(cell, -1) for cell, _ in cells], dtype=np.int64)
        return index, np.array([probability for _, probability in cells])

    def lattice_arrays(
        self, padding_rings: int = 0
    ) -> tuple[NDArray[np.float64], sparse.csr_matrix, NDArray[np.int64], float]:
        """Describe the domain and a rim of `padding_rings` >= 0 steps around it as a lattice of P
        cells: (P, 2) centres in metres of `crs`, the domain's cells first in their own order, then
        the rim's, sorted; (P, P) adjacency, 1 where two cells share an edge; (N,) positions of the
        domain's cells; metres between neighbouring centres. Raise `DomainError` for a
        rim that is no whole number of rings or too large."""
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
    def _numbers(self) -> NDArray[np.uint64]:
        """(N,) increasing, in the order of the names."""
        return hexagons.as_integers(self.cells)


def domain_from_geojson(source: Source, resolution: int, progress: Progress = silent) -> Domain:
    """Make the domain of the cells (H3 `resolution` 0 to 15) with their centre in a GeoJSON region.

    The region is a path, the file's bytes, or the parsed object; its edges are straight in
    longitude and latitude. `progress` is called several times a second; an exception from it ends
    the work. Raise `DomainError` as `region_from_geojson`.
    """
    region = region_from_geojson(source, part_of(progress, 0.0, 0.4))
    return domain_from_region(region, resolution, "a GeoJSON region", part_of(progress, 0.4, 1.0))


def domain_from_bbox(
    west: float,
    south: float,
    east: float,
    north: float,
    resolution: int,
    *,
    crosses_date_line: bool | None = None,
) -> Domain:
    """Make the domain of the cells (H3 `resolution` 0 to 15) with their centre in a box of degrees;
    `crosses_date_line` and errors as `region_from_bbox`.

    Examples
    --------
    >>> domain = domain_from_bbox(-0.16, 51.49, -0.06, 51.54, 8)
    >>> domain.size, domain.resolution
    (59, 8)
    >>> domain.locate([-0.1, 0.0], [51.5, 0.0]).tolist()  # -1: outside
    [28, -1]
    """
    what = f"the bounding box {west:g}, {south:g}, {east:g}, {north:g} (west, south, east, north in degrees)"
    region = region_from_bbox(west, south, east, north, crosses_date_line=crosses_date_line)
    return domain_from_region(region, resolution, what)


def domain_from_cells(cells: Iterable[str], region: Any = None) -> Domain:
    """Make the domain of H3 indices of one resolution, in any order, e.g. of a released bundle.

    `region` is a GeoJSON geometry or a shapely polygon, by default the union of the cells.
    Raise `DomainError` for no cells, an invalid cell, several resolutions, or more than `MAX_CELLS`
    cells."""
    listed = list(cells)
    _check_cells(listed)
    listed = sorted(set(listed))
    if region is None:
        outline = Region(dissolve(listed))
    elif isinstance(region, Mapping):
        outline = region_from_geojson(region)
    else:
        outline = region_from_shape(region)
    origin = f"Public geography: {len(listed):,} listed H3 cells."
    return Domain(tuple(listed), outline.shape, origin, outline.notes)


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


def domain_from_region(region: Region, resolution: int, what: str, progress: Progress = silent) -> Domain:
    """Make the domain of the cells with their centre in a region, which sentences call `what`.

    Raise `DomainError` if there is no such cell.
    """
    try:
        resolution = hexagons.check_resolution(resolution)
    except (TypeError, ValueError):
        raise DomainError(
            f"an H3 resolution is a whole number from 0 to {hexagons.FINEST_RESOLUTION}, got {resolution!r}."
        ) from None
    estimate, in_box = _estimated_cells(region.shape, resolution)
    if estimate > 2 * MAX_CELLS:
        raise DomainError(_too_many(region.shape, int(estimate), resolution))
    if in_box > _MAX_BOX_CELLS:
        raise DomainError(
            f"the region's bounding box holds about {in_box:,.0f} cells of resolution {resolution}, too many "
            "to be searched: choose a coarser resolution, or cut the region into smaller polygons."
        )
    cells = cells_inside(region.shape, resolution, progress)
    if len(cells) > MAX_CELLS:
        raise DomainError(_too_many(region.shape, len(cells), resolution))
    if not cells:
        finer_ones = range(resolution + 1, hexagons.FINEST_RESOLUTION + 1)
        finer = next((candidate for candidate in finer_ones if _has_cells(region.shape, candidate)), None)
        hint = "draw a larger region" if finer is None else f"resolution {finer} gives some"
        raise DomainError(f"no H3 cell of resolution {resolution} has its centre in the region: {hint}.")
    origin = f"Public geography: the H3 cells of resolution {resolution} whose centre lies in {what}."
    return Domain(tuple(sorted(cells)), region.shape, origin, region.notes)


def _has_cells(shape: MultiPolygon, resolution: int) -> bool:
    estimate, in_box = _estimated_cells(shape, resolution)
    return estimate <= MAX_CELLS and in_box <= _MAX_BOX_CELLS and bool(cells_inside(shape, resolution))


def _estimated_cells(shape: MultiPolygon, resolution: int) -> tuple[float, float]:
    """Estimated number of cells in the region, and in its polygons' bounding boxes; cheap, before
    filling."""
    return expected_cells(shape, resolution), box_cells(shape, resolution)


def _too_many(shape: MultiPolygon, count: int, resolution: int) -> str:
    coarser = range(resolution - 1, 0, -1)
    fits = next((candidate for candidate in coarser if expected_cells(shape, candidate) <= MAX_CELLS), 0)
    return (
        f"the region holds about {count:,} cells of resolution {resolution}, more than the {MAX_CELLS:,} this"
        f" program handles: choose resolution {fits} or a smaller region."
    )


def _spacing(centres: NDArray[np.float64], adjacency: sparse.csr_matrix, resolution: int) -> float:
    pairs = sparse.triu(adjacency).tocoo()
    if pairs.nnz == 0:
        return hexagons.average_spacing(resolution)
    return float(np.median(np.linalg.norm(centres[pairs.row] - centres[pairs.col], axis=1)))


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array.setflags(write=False)
    return array


def numbers_at(lon: Floats, lat: Floats, resolution: int) -> NDArray[np.uint64]:
    """Return the number of the cell of each of (n,) points in finite degrees, as
    `hexagons.as_integers` does."""
    numbers = map(basic_int.latlng_to_cell, lat.tolist(), lon.tolist(), repeat(resolution))
    return np.fromiter(numbers, np.uint64, lon.size)


def cell_shares(
    longitude: Floats, latitude: Floats, deviation: Floats, resolution: int
) -> list[dict[str, float]]:
    """Divide each of (n,) uncertain places among its possible hexagons: hexagon to probability,
    with sum 1. A place is normal, with `deviation` >= 0 metres per axis, around its finite estimate
    in WGS 84 degrees. The shares come from 192 places of equal probability, so they are accurate to
    about 1 %. Raise `DomainError` for columns of different lengths, or a deviation that is negative
    or not finite."""
    lon, lat, sd = (np.asarray(column, dtype=np.float64) for column in (longitude, latitude, deviation))
    if not (lon.shape == lat.shape == sd.shape) or lon.ndim != 1:
        raise DomainError("uncertain places have one longitude, latitude and deviation each.")
    if not np.all(np.isfinite(sd) & (sd >= 0.0)):
        raise DomainError("the deviation of a place is a number of metres, at least 0.")
    return [
        share for at in range(0, lon.size, _SHARED_AT_ONCE) for share in _shares(lon, lat, sd, at, resolution)
    ]


def _shares(lon: Floats, lat: Floats, sd: Floats, at: int, resolution: int) -> Iterator[dict[str, float]]:
    part = slice(at, at + _SHARED_AT_ONCE)
    # A normal distribution in the plane: squared radii are exponential, angles uniform and turned
    # ring by ring.
    radii = np.sqrt(-2.0 * np.log1p(-(np.arange(_RINGS) + 0.5) / _RINGS))
    turns = (np.arange(_ANGLES)[None, :] + np.arange(_RINGS)[:, None] * 0.5) * (2.0 * np.pi / _ANGLES)
    degrees = np.degrees(sd[part] / EARTH_RADIUS)[:, None]
    north = lat[part, None] + degrees * (radii[:, None] * np.sin(turns)).ravel()
    narrow = np.maximum(np.cos(np.radians(lat[part])), _POLAR)[:, None]
    east = lon[part, None] + degrees / narrow * (radii[:, None] * np.cos(turns)).ravel()
    east, north = (east.ravel() + 180.0) % 360.0 - 180.0, np.clip(north, -90.0, 90.0).ravel()
    cells = [h3.int_to_str(number) for number in numbers_at(east, north, resolution).tolist()]
    size = _ANGLES * _RINGS
    for first in range(0, len(cells), size):
        counts = Counter(cells[first : first + size])
        yield {cell: count / size for cell, count in counts.items()}


def likeliest(shares: Iterable[dict[str, float]]) -> list[tuple[str, float]]:
    """The likeliest hexagon of each place, with its probability: maps count an uncertain place
    there."""
    return [max(share.items(), key=lambda item: (item[1], item[0])) for share in shares]
