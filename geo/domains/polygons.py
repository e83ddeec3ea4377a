"""Outlines of cells and regions as shapely polygons: dissolved, cut at the antimeridian, simplified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Polygon, box
from shapely.geometry.base import BaseGeometry
from shapely.geometry.polygon import orient

from geo.domains import hexagons


def cell_polygon(cell: str) -> MultiPolygon:
    """Return the exact outline of a cell in WGS 84 degrees; two polygons where it crosses the
    antimeridian."""
    return _multi([[hexagons.boundary(cell)]])


def cell_polygons(cells: Sequence[str]) -> list[MultiPolygon]:
    """Return `cell_polygon` of each of many cells, some ten times faster than one after the other."""
    if not cells:
        return []
    outlines = [hexagons.boundary(cell) for cell in cells]
    owner = np.repeat(np.arange(len(outlines)), [len(ring) for ring in outlines])
    parts = shapely.polygons(shapely.linearrings(np.concatenate(outlines), indices=owner))
    found: list[MultiPolygon] = shapely.multipolygons(parts, indices=np.arange(len(parts))).tolist()
    for at, ring in enumerate(outlines):
        if float(np.ptp(ring[:, 0])) > 180.0:  # cut at the antimeridian
            found[at] = _multi([[ring]])
    return found


def dissolve(cells: Sequence[str]) -> MultiPolygon:
    """Unite cells of one resolution, possibly none: WGS 84 degrees, right-hand rule, cut at the
    antimeridian."""
    return _multi(hexagons.outlines(cells))


def interface(cells: Sequence[str], mask: NDArray[np.bool_]) -> list[NDArray[np.float64]]:
    """Return the (K, 2) lines in degrees between the (N,) mask's cells and the listed cells outside it.
    Unlike the outline of `dissolve` they leave out the edge of the whole domain. An edge that crosses the
    antimeridian is left out as well: two pixels of a drawing."""
    edges = [np.round(edge, 7) for edge in hexagons.edges_between(cells, mask)]
    edges = [edge for edge in edges if float(np.ptp(edge[:, 0])) < 180.0]
    if not edges:
        return []
    merged = shapely.line_merge(shapely.MultiLineString(edges))
    return [np.asarray(line.coords) for line in shapely.get_parts(merged)]


def simplified(shape: MultiPolygon, max_vertices: int, tolerance: float) -> MultiPolygon:
    """Simplify an outline in WGS 84 degrees, for drawing only: dropped vertices lie at most `tolerance`
    degrees off, which is doubled until at most `max_vertices` remain, since outlines travel to the browser
    with every message. More remain where islands and holes need them, of which each keeps at least a
    triangle. Of very many islands only the largest remain."""
    islands = sorted(shape.geoms, key=lambda part: part.area, reverse=True)
    largest = MultiPolygon(islands[: max(1, max_vertices // 8)])
    while True:
        drawn = multipolygon(shapely.simplify(largest, tolerance, preserve_topology=True))
        if shapely.get_num_coordinates(drawn) <= max_vertices or tolerance > 360.0:
            return drawn
        tolerance *= 2.0


def multipolygon(shape: BaseGeometry) -> MultiPolygon:
    """Take the polygons out of any geometry, right-hand rule; lines and points are dropped."""
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
    """List every (K, 2) ring of some polygons, outer and inner, closed, in degrees."""
    return [
        np.asarray(ring.coords)[:, :2] for part in shape.geoms for ring in (part.exterior, *part.interiors)
    ]


def _multi(polygons: list[list[NDArray[np.float64]]]) -> MultiPolygon:
    """Polygons as one MultiPolygon, cut where longitudes jump at the antimeridian (RFC 7946, 3.1.9)."""
    parts: list[Polygon] = []
    for polygon in polygons:
        if max(float(np.abs(np.diff(ring[:, 0])).max()) for ring in polygon) <= 180.0:
            parts.append(Polygon(polygon[0], polygon[1:]))
            continue
        unrolled = [
            np.column_stack([np.where(r[:, 0] < 0, r[:, 0] + 360.0, r[:, 0]), r[:, 1]]) for r in polygon
        ]
        whole = Polygon(unrolled[0], unrolled[1:])
        east = whole.intersection(box(0.0, -90.0, 180.0, 90.0))
        west = shapely.transform(
            whole.intersection(box(180.0, -90.0, 360.0, 90.0)), lambda xy: xy - np.array([360.0, 0.0])
        )
        parts += [*multipolygon(east).geoms, *multipolygon(west).geoms]
    return multipolygon(MultiPolygon(parts))
