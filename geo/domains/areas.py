"""Named areas of a stranger's map and how much of each hexagon lies in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon

from geo.domains.domain import Domain
from geo.domains.hexagons import METRES_PER_DEGREE
from geo.domains.polygons import cell_polygons
from geo.errors import DomainError
from geo.regions.region import Source, read_document, region_from_geojson

MOST_AREAS = 2_000
NAMES = ("name", "NAME", "Name", "borough", "title", "id")
LONGEST = 100


@dataclass(frozen=True, eq=False)
class Areas:
    """Areas of a map and their parts of the cells of a domain.

    Parameters
    ----------
    names
        One for each area.
    shapes
        Their outlines, WGS 84 degrees.
    weights
        (A, N) part of each area that lies in each cell, square metres; areas outside the domain have none.
    covered
        (A,) share of each area that the domain covers.
    """

    names: tuple[str, ...]
    shapes: tuple[MultiPolygon, ...]
    weights: NDArray[np.float64]
    covered: NDArray[np.float64]

    def part(self, kept: NDArray[np.bool_]) -> Areas:
        """Choose some of the A areas.

        Parameters
        ----------
        kept : (A,) bool
        """
        chosen = np.flatnonzero(kept).tolist()
        names = tuple(self.names[at] for at in chosen)
        return Areas(names, tuple(self.shapes[at] for at in chosen), self.weights[kept], self.covered[kept])


def named_areas(source: Source, domain: Domain, name: str = "") -> Areas:
    """Read the polygons of a GeoJSON file, one area for each feature, and lay them over a domain.

    Parameters
    ----------
    source : str, Path, bytes or mapping
        As for `region_from_geojson`.
    domain : Domain
        Whose hexagons are divided among the areas.
    name : str, optional
        Property that names an area; the first usual one that is there without it.

    Raises
    ------
    DomainError
        With one sentence for what is no map of areas, or touches no hexagon.
    """
    document = read_document(source, "file of areas")
    features = document.get("features") if document.get("type") == "FeatureCollection" else [document]
    if not isinstance(features, list) or not features:
        raise DomainError("the file holds no area: give a GeoJSON file with polygons.")
    if len(features) > MOST_AREAS:
        raise DomainError(f"the file holds {len(features):,} areas, more than the {MOST_AREAS:,} accepted.")
    crs = {"crs": document["crs"]} if "crs" in document else {}
    names, shapes = list[str](), list[MultiPolygon]()
    for number, feature in enumerate(features, 1):
        if not isinstance(feature, dict):
            raise DomainError("the file holds something that is no GeoJSON feature.")
        names.append(_name_of(feature, name, number))
        shapes.append(region_from_geojson({**feature, **crs}).shape)
    found = areas_of(names, shapes, domain)
    if not found.weights.any():
        raise DomainError("none of the areas touches a hexagon: give areas of the region that was released.")
    return found


def areas_of(names: Sequence[str], shapes: Sequence[MultiPolygon], domain: Domain) -> Areas:
    """Lay areas over a domain.

    Parameters
    ----------
    names : sequence of str
    shapes : sequence of MultiPolygon
        WGS 84 degrees.
    domain : Domain

    Returns
    -------
    Areas
        Those that touch no hexagon have weights of zero.
    """
    return Areas(tuple(names), tuple(shapes), *_overlaps(domain, shapes))


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
    domain: Domain, shapes: Sequence[MultiPolygon]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(A, N) square metres that areas and cells share, as `_flat` lays them out; (A,) share covered."""
    cells = np.array([_flat(domain, shape) for shape in cell_polygons(domain.cells)], dtype=object)
    tree = shapely.STRtree(cells)
    weights, covered = np.zeros((len(shapes), domain.size)), np.zeros(len(shapes))
    for row, shape in enumerate(shapes):
        flat = _flat(domain, shape)
        near = tree.query(flat, predicate="intersects")
        weights[row, near] = shapely.area(shapely.intersection(cells[near], flat))
        covered[row] = min(1.0, weights[row].sum() / max(flat.area, 1e-9))
    return weights, covered


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
