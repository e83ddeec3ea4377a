"""Named areas of a stranger's map and how much of each hexagon lies in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon
from shapely.geometry.base import BaseGeometry

from geo.domains.domain import Domain
from geo.domains.hexagons import METRES_PER_DEGREE, cell_polygons
from geo.errors import DomainError, Progress, silent
from geo.region import MAX_VERTICES, Source, read_document, region_from_geojson

MOST_AREAS = 2_000
NAMES = ("name", "NAME", "Name", "borough", "title", "id")
LONGEST = 100
MOST_MEETINGS = 500_000
"""Pairs of an edge of an outline and a cell whose boxes overlap; laying them over takes up to 30 s."""

EDGES_AT_ONCE = 5_000  # whose pairs are counted together
FEW_CELLS, FEW_CORNERS = 4, 500  # from there on an outline is cut before it is laid over cells


@dataclass(frozen=True, eq=False)
class Areas:
    """Areas of a map and their parts of the cells of a domain."""

    names: tuple[str, ...]
    shapes: tuple[MultiPolygon, ...]  # their outlines, WGS 84 degrees
    # (A, N) part of each area in each cell, square metres; zero outside the domain
    weights: NDArray[np.float64]
    covered: NDArray[np.float64]  # (A,) share of each area that the domain covers

    def part(self, kept: NDArray[np.bool_]) -> Areas:
        """Choose some of the A areas by an (A,) mask."""
        chosen = np.flatnonzero(kept).tolist()
        names = tuple(self.names[at] for at in chosen)
        return Areas(names, tuple(self.shapes[at] for at in chosen), self.weights[kept], self.covered[kept])


def named_areas(source: Source, domain: Domain, name: str = "", progress: Progress = silent) -> Areas:
    """Read the polygons of a GeoJSON file, one area for each feature, and lay them over a domain. `name` is
    the property that names an area; the first usual one that is there without it. `progress` is told the
    share done; what it raises ends the work. Raise `DomainError` for what is no map of areas, touches no
    hexagon, or would take minutes to check."""
    document = read_document(source, "file of areas")
    features = document.get("features") if document.get("type") == "FeatureCollection" else [document]
    if not isinstance(features, list) or not features:
        raise DomainError("the file holds no area: give a GeoJSON file with polygons.")
    if len(features) > MOST_AREAS:
        raise DomainError(f"the file holds {len(features):,} areas, more than the {MOST_AREAS:,} accepted.")
    crs = {"crs": document["crs"]} if "crs" in document else {}
    names, shapes, corners = list[str](), list[MultiPolygon](), 0
    for number, feature in enumerate(features, 1):
        progress(0.5 * (number - 1) / len(features), "Reading the areas")
        if not isinstance(feature, dict):
            raise DomainError("the file holds something that is no GeoJSON feature.")
        names.append(_name_of(feature, name, number))
        shapes.append(region_from_geojson({**feature, **crs}).shape)
        corners += shapely.get_num_coordinates(shapes[-1])
        if corners > MAX_VERTICES:
            raise DomainError(
                f"the areas have more than {MAX_VERTICES:,} corners together: simplify the polygons, for "
                "example with mapshaper or QGIS, or give fewer of them."
            )
    found = areas_of(names, shapes, domain, lambda done, text: progress(0.5 + 0.5 * done, text))
    if not found.weights.any():
        raise DomainError("none of the areas touches a hexagon: give areas of the region that was released.")
    return found


def areas_of(
    names: Sequence[str],
    shapes: Sequence[MultiPolygon],
    domain: Domain,
    progress: Progress = silent,
    most: int = MOST_MEETINGS,
) -> Areas:
    """Lay areas (WGS 84 degrees, checked before as regions are) over a domain; those that touch no hexagon
    have weights of zero. Raise `DomainError` where more than `most` pairs of an edge and a cell, of all
    areas, lie over one another."""
    return Areas(tuple(names), tuple(shapes), *_overlaps(domain, shapes, progress, most))


def _name_of(feature: Mapping[str, Any], name: str, number: int) -> str:
    properties = feature.get("properties")
    known = properties if isinstance(properties, dict) else {}
    if name and name not in known:
        raise DomainError(f"area {number} has no property {name[:60]!r}: name one that every area has.")
    for key in (name,) if name else NAMES:
        if isinstance(known.get(key), str | int | float) and str(known[key]).strip():
            return " ".join(str(known[key]).split())[:LONGEST]
    return f"area {number}"


def _overlaps(
    domain: Domain, shapes: Sequence[MultiPolygon], progress: Progress, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(A, N) square metres that areas and cells share, as `_flat` lays them out; (A,) share covered."""
    cells = np.array([_flat(domain, shape) for shape in cell_polygons(domain.cells)], dtype=object)
    tree = shapely.STRtree(cells)
    weights, covered = np.zeros((len(shapes), domain.size)), np.zeros(len(shapes))
    meetings = 0
    for row, shape in enumerate(shapes):
        progress(row / len(shapes), "Laying the areas over the hexagons")
        flat = _flat(domain, shape)
        meetings += _meetings(tree, flat, most - meetings)
        if meetings > most:
            raise DomainError(
                "the areas' outlines run to and fro over the hexagons too often to be laid over them: "
                "simplify the polygons, for example with mapshaper or QGIS."
            )
        near = np.asarray(tree.query(flat), dtype=np.int64)  # by their boxes: the outline is looked at below
        for some, part in _parted(cells, near, flat):
            weights[row, some] = shapely.area(shapely.intersection(cells[some], part))
        covered[row] = min(1.0, weights[row].sum() / max(flat.area, 1e-9))
    return weights, covered


def _meetings(tree: shapely.STRtree, shape: BaseGeometry, most: int) -> int:
    """How many pairs of an edge and a cell have boxes that overlap; counted until there are too many."""
    found: int = 0
    for ring in shapely.get_rings(shapely.get_parts(shape)):
        points = shapely.get_coordinates(ring)
        for at in range(0, len(points) - 1, EDGES_AT_ONCE):
            ends = points[at : at + EDGES_AT_ONCE + 1]
            low, high = np.minimum(ends[:-1], ends[1:]), np.maximum(ends[:-1], ends[1:])
            found += int(tree.query(shapely.box(*low.T, *high.T)).shape[1])
            if found > most:
                return found
    return found


def _parted(
    cells: NDArray[np.object_], some: NDArray[np.int64], shape: BaseGeometry
) -> Iterator[tuple[NDArray[np.int64], BaseGeometry]]:
    """Cut a shape of many corners into pieces, each with the few cells whose boxes hold it. Laying the whole
    outline over each cell would take the product of their numbers."""
    if shape.is_empty or not some.size:
        return
    if some.size <= FEW_CELLS or shapely.get_num_coordinates(shape) <= FEW_CORNERS:
        yield (some, shape if shape.is_valid else shapely.make_valid(shape))  # pieces may touch
        return
    west, south, east, north = shapely.bounds(cells[some]).T
    along = west + east if np.ptp(west) >= np.ptp(south) else south + north
    half = np.argsort(along, kind="stable")
    for cut in (half[: half.size // 2], half[half.size // 2 :]):
        frame = west[cut].min(), south[cut].min(), east[cut].max(), north[cut].max()
        yield from _parted(cells, some[cut], shapely.clip_by_rect(shape, *frame))


def _flat(domain: Domain, shape: MultiPolygon) -> Any:
    """A shape in metres around the middle of the domain: near enough for shares of areas."""
    longitude, latitude = domain.middle

    def move(points: NDArray[np.float64]) -> NDArray[np.float64]:
        east = (points[:, 0] - longitude + 180.0) % 360.0 - 180.0
        return np.column_stack(
            [
                east * METRES_PER_DEGREE * np.cos(np.radians(latitude)),
                (points[:, 1] - latitude) * METRES_PER_DEGREE,
            ]
        )

    return shapely.make_valid(shapely.transform(shape, move))
