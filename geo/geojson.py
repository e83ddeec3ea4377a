"""Writing cells and dissolved regions as RFC 7946 GeoJSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import h3
import numpy as np
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon

from geo.domains.domain import Domain
from geo.domains.hexagons import METRES_PER_DEGREE, boundary, cell_polygon, geometry_dict
from geo.errors import GeoJsonError
from geo.rfc7946 import MAX_DECIMALS, rfc7946_findings

__all__ = ["cells_collection", "collection_bytes", "decimals_for", "regions_collection"]


def cells_collection(
    domain: Domain,
    properties: Mapping[str, Sequence[Any]],
    facts: Mapping[str, Any],
    decimals: int = MAX_DECIMALS,
) -> dict[str, Any]:
    """Make cells into a FeatureCollection: a feature per cell of the domain, in its order, with its
    outline and as property `h3` its index. `properties` have N values each; `facts` (release id,
    epsilon, ...) become the collection's member `release`. Coordinates are rounded to `decimals`
    places of a degree, at most 7. Raise `GeoJsonError` for a wrong number of values, a taken
    name, or a value that is no JSON."""
    columns = {name: list(values) for name, values in properties.items()}
    for name, values in columns.items():
        if len(values) != domain.size:
            raise GeoJsonError(f"property {name!r} has {len(values)} values for {domain.size} cells.")
    if "h3" in columns:
        raise GeoJsonError("property 'h3' is given twice.")
    features = []
    for index, cell in enumerate(domain.cells):
        row = {name: _plain(values[index]) for name, values in columns.items()}
        geometry = _cell_geometry(cell, min(decimals, MAX_DECIMALS))
        features.append({"type": "Feature", "properties": {"h3": cell, **row}, "geometry": geometry})
    return _collection(features, facts)


def decimals_for(resolution: int) -> int:
    """Decimals of a degree that keep a corner within half a per cent of its cell's edge, at most
    7."""
    step = 0.01 * float(h3.average_hexagon_edge_length(resolution, unit="m")) / METRES_PER_DEGREE
    return min(MAX_DECIMALS, max(0, math.ceil(-math.log10(step))))


def regions_collection(
    regions: Sequence[tuple[MultiPolygon, Mapping[str, Any]]],
    facts: Mapping[str, Any],
    decimals: int = MAX_DECIMALS,
) -> dict[str, Any]:
    """Make regions into a FeatureCollection: a feature per region with its own properties; `facts`,
    `decimals` and errors as `cells_collection`. A region without cells has a null geometry: it is
    unlocated, and its properties still say so."""
    features = []
    for shape, own in regions:
        properties = {name: _plain(value) for name, value in own.items()}
        geometry = _geometry(shape, min(decimals, MAX_DECIMALS))
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    return _collection(features, facts)


def collection_bytes(collection: Mapping[str, Any], *, checked: bool = False) -> bytes:
    """Write a FeatureCollection as UTF-8, one feature a line; raise `GeoJsonError` where it is not
    RFC 7946. Its geometries are not looked at again where they were `checked` right before."""
    findings = [] if checked else rfc7946_findings(collection)
    if findings:
        raise GeoJsonError(f"not written, because it is not RFC 7946: {findings[0]}")
    try:
        features = ",\n".join(_dump(feature) for feature in collection["features"])
        rest = {name: value for name, value in collection.items() if name != "features"}
        head = _dump(rest)[:-1]
    except ValueError:
        raise GeoJsonError("a property is NaN or infinite, which JSON cannot hold: use null.") from None
    return f'{head},"features":[\n{features}\n]}}\n'.encode()


def _collection(features: list[dict[str, Any]], facts: Mapping[str, Any]) -> dict[str, Any]:
    collection: dict[str, Any] = {"type": "FeatureCollection"}
    if facts:
        collection["release"] = {name: _plain(value) for name, value in facts.items()}
    outer_rings = [
        np.asarray(polygon[0])
        for feature in features
        if feature["geometry"] is not None
        for polygon in _parts(feature["geometry"])
    ]
    if outer_rings:
        collection["bbox"] = _bbox(outer_rings)
    collection["features"] = features
    return collection


def _cell_geometry(cell: str, decimals: int) -> dict[str, Any] | None:
    """A cell's outline, rounded; the common case goes past shapely, which is four times slower."""
    ring = boundary(cell).tolist()
    longitudes = [lon for lon, _ in ring]
    if max(longitudes) - min(longitudes) > 180.0:
        return _geometry(cell_polygon(cell), decimals)
    corners = [[round(lon, decimals), round(lat, decimals)] for lon, lat in ring]
    return {"type": "Polygon", "coordinates": [corners]}


def _geometry(shape: MultiPolygon, decimals: int) -> dict[str, Any] | None:
    """Rounded Polygon or MultiPolygon; None for an empty one. Slits between areas that should touch
    enclose nothing once rounded: such rings are left out."""
    polygons = [_rounded(polygon, decimals) for polygon in geometry_dict(shape)["coordinates"]]
    rounded = [rings for rings in polygons if rings]
    if not rounded:
        return None
    if len(rounded) == 1:
        return {"type": "Polygon", "coordinates": rounded[0]}
    return {"type": "MultiPolygon", "coordinates": rounded}


def _rounded(polygon: Sequence[Any], decimals: int) -> list[Any]:
    """A polygon's rounded rings without those that changed their direction; empty if the outer ring
    did."""
    outer, *holes = [np.round(np.asarray(ring), decimals) for ring in polygon]
    if _twice_enclosed(outer, decimals) <= 0:
        return []
    return [outer.tolist(), *(hole.tolist() for hole in holes if _twice_enclosed(hole, decimals) < 0)]


def _twice_enclosed(ring: NDArray[np.float64], decimals: int) -> int:
    """Twice a rounded ring's area, in squares of its last decimal, exactly; negative for a
    clockwise one."""
    x, y = np.rint((ring - ring[0]) * 10.0**decimals).astype(np.int64).T
    return int(x[:-1] @ y[1:] - x[1:] @ y[:-1])


def _parts(geometry: Mapping[str, Any]) -> list[Any]:
    coordinates = geometry["coordinates"]
    return [coordinates] if geometry["type"] == "Polygon" else list(coordinates)


def _bbox(rings: list[NDArray[np.float64]]) -> list[float]:
    """West, south, east, north of closed rings; west > east where they meet across the antimeridian
    (5.2)."""
    low = np.array([ring.min(axis=0) for ring in rings])
    high = np.array([ring.max(axis=0) for ring in rings])
    west, south = low.min(axis=0).tolist()
    east, north = high.max(axis=0).tolist()
    if west == -180.0 and east == 180.0 and not np.any((low[:, 0] < 0.0) & (high[:, 0] > 0.0)):
        eastern = low[:, 0] >= 0.0
        west, east = float(low[eastern, 0].min()), float(high[~eastern, 0].max())
    return [west, south, east, north]


def _plain(value: Any) -> Any:
    """A JSON value; numpy scalars become Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    raise GeoJsonError(f"a {type(value).__name__} cannot be a GeoJSON property.")


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
