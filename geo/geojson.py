"""Writing cells and dissolved regions as RFC 7946 GeoJSON."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon

from geo.domain import Domain
from geo.errors import GeoJsonError
from geo.hexagons import boundary
from geo.polygons import cell_polygon, geometry_dict
from geo.rfc7946 import MAX_DECIMALS, rfc7946_findings

__all__ = ["cells_collection", "collection_bytes", "regions_collection", "rfc7946_findings", "write_geojson"]


def cells_collection(
    domain: Domain, properties: Mapping[str, Sequence[Any]], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """One feature per cell of the domain, in its order, with its exact outline.

    `properties` maps a name to N values in the order of the cells. `facts` (release id, epsilon, ...) are
    the same for all and are repeated on every feature, because many readers drop foreign members. The
    property `h3` and the feature id are the cell's index.
    """
    columns = {name: list(values) for name, values in properties.items()}
    for name, values in columns.items():
        if len(values) != domain.size:
            raise GeoJsonError(f"property {name!r} has {len(values)} values for {domain.size} cells.")
    _check_names(("h3",), columns, facts)
    shared = {name: _plain(value) for name, value in facts.items()}
    features = []
    for index, cell in enumerate(domain.cells):
        own = {name: _plain(values[index]) for name, values in columns.items()}
        properties_of_cell = {"h3": cell, **own, **shared}
        features.append(
            {
                "type": "Feature",
                "id": cell,
                "properties": properties_of_cell,
                "geometry": _cell_geometry(cell),
            }
        )
    return _collection(features)


def regions_collection(
    regions: Sequence[tuple[MultiPolygon, Mapping[str, Any]]], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """One feature per region (see `geo.polygons.dissolve`) with its own properties and the shared facts.

    A region without cells has a null geometry: it is unlocated, and its properties still say so.
    """
    shared = {name: _plain(value) for name, value in facts.items()}
    features = []
    for shape, own in regions:
        _check_names((), own, facts)
        properties_of_region = {**{name: _plain(value) for name, value in own.items()}, **shared}
        features.append({"type": "Feature", "properties": properties_of_region, "geometry": _geometry(shape)})
    return _collection(features)


def collection_bytes(collection: Mapping[str, Any]) -> bytes:
    """The collection as UTF-8 JSON, one feature a line; GeoJsonError if it is not RFC 7946."""
    findings = rfc7946_findings(collection)
    if findings:
        raise GeoJsonError(f"not written, because it is not RFC 7946: {findings[0]}")
    try:
        features = ",\n".join(_dump(feature) for feature in collection["features"])
        rest = {name: value for name, value in collection.items() if name != "features"}
        head = _dump(rest)[:-1]
    except ValueError:
        raise GeoJsonError("a property is NaN or infinite, which JSON cannot hold: use null.") from None
    return f'{head},"features":[\n{features}\n]}}\n'.encode()


def write_geojson(collection: Mapping[str, Any], path: str | Path) -> None:
    """Writes a collection whole or not at all; GeoJsonError if it is not RFC 7946."""
    content = collection_bytes(collection)
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.chmod(name, 0o644)  # mkstemp's 0600 would make a published file unreadable to others
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _collection(features: list[dict[str, Any]]) -> dict[str, Any]:
    collection: dict[str, Any] = {"type": "FeatureCollection"}
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


def _cell_geometry(cell: str) -> dict[str, Any] | None:
    """A cell's outline, rounded; the common case goes past shapely, which is four times slower."""
    ring = boundary(cell).tolist()
    longitudes = [lon for lon, _ in ring]
    if max(longitudes) - min(longitudes) > 180.0:
        return _geometry(cell_polygon(cell))
    corners = [[round(lon, MAX_DECIMALS), round(lat, MAX_DECIMALS)] for lon, lat in ring]
    return {"type": "Polygon", "coordinates": [corners]}


def _geometry(shape: MultiPolygon) -> dict[str, Any] | None:
    """Rounded Polygon or MultiPolygon; None for an empty one."""
    rounded = [
        [np.round(np.asarray(ring), MAX_DECIMALS).tolist() for ring in polygon]
        for polygon in geometry_dict(shape)["coordinates"]
    ]
    if not rounded:
        return None
    if len(rounded) == 1:
        return {"type": "Polygon", "coordinates": rounded[0]}
    return {"type": "MultiPolygon", "coordinates": rounded}


def _parts(geometry: Mapping[str, Any]) -> list[Any]:
    coordinates = geometry["coordinates"]
    return [coordinates] if geometry["type"] == "Polygon" else list(coordinates)


def _bbox(rings: list[NDArray[np.float64]]) -> list[float]:
    """West, south, east, north of closed rings; west > east where they meet across the antimeridian (5.2)."""
    low = np.array([ring.min(axis=0) for ring in rings])
    high = np.array([ring.max(axis=0) for ring in rings])
    west, south = low.min(axis=0).tolist()
    east, north = high.max(axis=0).tolist()
    if west == -180.0 and east == 180.0 and not np.any((low[:, 0] < 0.0) & (high[:, 0] > 0.0)):
        eastern = low[:, 0] >= 0.0
        west, east = float(low[eastern, 0].min()), float(high[~eastern, 0].max())
    return [west, south, east, north]


def _check_names(reserved: Sequence[str], own: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
    for name in own:
        if name in facts or name in reserved:
            raise GeoJsonError(f"property {name!r} is given twice.")
    for name in facts:
        if name in reserved:
            raise GeoJsonError(f"the fact {name!r} would hide the property of that name.")


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
