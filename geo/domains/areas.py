"""Named areas of another map and their parts of each hexagon."""

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
"""Pairs of an edge of an outline and a cell with overlapping boxes; overlaying them takes up to
30 s."""

EDGES_AT_ONCE = 5_000  # edges in one count of pairs
FEW_CELLS, FEW_CORNERS = 4, 500  # larger outlines are cut before the overlay with cells


@dataclass(frozen=True, eq=False)
class Areas:
    """Areas of a map and their parts of the cells of a domain."""

    names: tuple[str, ...]
    shapes: tuple[MultiPolygon, ...]  # their outlines, WGS 84 degrees
    # (A, N) part of each area in each cell, square metres; zero outside the domain
    weights: NDArray[np.float64]
    covered: NDArray[np.float64]  # (A,) share of each area that the domain covers

    def part(self, mask: NDArray[np.bool_]) -> Areas:
        """Choose some of the A areas by an (A,) mask."""
        positions = np.flatnonzero(mask).tolist()
        names = tuple(self.names[at] for at in positions)
        shapes = tuple(self.shapes[at] for at in positions)
        return Areas(names, shapes, self.weights[mask], self.covered[mask])


def named_areas(source: Source, domain: Domain, name: str = "", progress: Progress = silent) -> Areas:
    """Read the polygons of a GeoJSON file, one area for each feature, and overlay them on a domain.
    `name` is the property with an area's name, by default the first usual one. `progress` is called
    with the share of the work done; an error that it raises ends the work. Raise `DomainError` for
    a file that is no map of areas, touches no hexagon, or would take minutes to check."""
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
    areas = areas_of(names, shapes, domain, lambda done, text: progress(0.5 + 0.5 * done, text))
    if not areas.weights.any():
        raise DomainError("none of the areas touches a hexagon: give areas of the region that was released.")
    return areas


def areas_of(
    names: Sequence[str],
    shapes: Sequence[MultiPolygon],
    domain: Domain,
    progress: Progress = silent,
    most: int = MOST_MEETINGS,
) -> Areas:
    """Overlay areas (WGS 84 degrees, already checked as regions) on a domain; an area that touches
    no hexagon has weights of zero. Raise `DomainError` if more than `most` pairs of an edge and a
    cell, over all areas, overlap."""
    return Areas(tuple(names), tuple(shapes), *_overlaps(domain, shapes, progress, most))


def _name_of(feature: Mapping[str, Any], name: str, number: int) -> str:
    properties = feature.get("properties")
    texts = properties if isinstance(properties, dict) else {}
    if name and name not in texts:
        raise DomainError(f"area {number} has no property {name[:60]!r}: name one that every area has.")
    for key in (name,) if name else NAMES:
        if isinstance(texts.get(key), str | int | float) and str(texts[key]).strip():
            return " ".join(str(texts[key]).split())[:LONGEST]
    return f"area {number}"


def _overlaps(
    domain: Domain, shapes: Sequence[MultiPolygon], progress: Progress, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(A, N) common square metres of areas and cells in the plane of `_flat`; (A,) share
    covered."""
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
        near = np.asarray(tree.query(flat), dtype=np.int64)  # by boxes; outlines are intersected below
        for cells_of_part, part in _parted(cells, near, flat):
            weights[row, cells_of_part] = shapely.area(shapely.intersection(cells[cells_of_part], part))
        covered[row] = min(1.0, weights[row].sum() / max(flat.area, 1e-9))
    return weights, covered


def _meetings(tree: shapely.STRtree, shape: BaseGeometry, limit: int) -> int:
    """Number of pairs of an edge and a cell whose boxes overlap; the count stops above the
    limit."""
    count: int = 0
    for ring in shapely.get_rings(shapely.get_parts(shape)):
        points = shapely.get_coordinates(ring)
        for at in range(0, len(points) - 1, EDGES_AT_ONCE):
            ends = points[at : at + EDGES_AT_ONCE + 1]
            low, high = np.minimum(ends[:-1], ends[1:]), np.maximum(ends[:-1], ends[1:])
            count += int(tree.query(shapely.box(*low.T, *high.T)).shape[1])
            if count > limit:
                return count
    return count


def _parted(
    cells: NDArray[np.object_], positions: NDArray[np.int64], shape: BaseGeometry
) -> Iterator[tuple[NDArray[np.int64], BaseGeometry]]:
    """Cut a shape of many corners into pieces, each with the few cells whose boxes contain it.
    Intersecting the whole outline with each cell would take time in the product of their
    numbers."""
    if shape.is_empty or not positions.size:
        return
    if positions.size <= FEW_CELLS or shapely.get_num_coordinates(shape) <= FEW_CORNERS:
        yield (positions, shape if shape.is_valid else shapely.make_valid(shape))  # pieces may touch
        return
    west, south, east, north = shapely.bounds(cells[positions]).T
    along = west + east if np.ptp(west) >= np.ptp(south) else south + north
    half = np.argsort(along, kind="stable")
    for cut in (half[: half.size // 2], half[half.size // 2 :]):
        frame = west[cut].min(), south[cut].min(), east[cut].max(), north[cut].max()
        yield from _parted(cells, positions[cut], shapely.clip_by_rect(shape, *frame))


def _flat(domain: Domain, shape: MultiPolygon) -> Any:
    """A shape in metres around the middle of the domain, accurate enough for shares of areas."""
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
