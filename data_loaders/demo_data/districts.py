"""The districts of the invented city as a public layer: the part of the city nearest to each ward centre."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely
from shapely.geometry import MultiPoint, Polygon

from data_loaders.demo_data.city import WARDS, outline, to_lonlat, ward_of

_FAR = 60.0  # kilometres: well outside the city


def districts() -> dict[str, Any]:
    """Draw the districts.

    Returns
    -------
    dict
        A GeoJSON collection of one polygon for each ward, degrees, with its name in words.
    """
    city = Polygon(outline())
    centres = MultiPoint([(east, north) for _, east, north in WARDS])
    nearest = shapely.voronoi_polygons(centres, extend_to=shapely.box(-_FAR, -_FAR, _FAR, _FAR))
    features = []
    for cell in nearest.geoms:
        inner = cell.representative_point()
        name = WARDS[int(ward_of(np.array([inner.x]), np.array([inner.y]))[0])][0]
        lon, lat = to_lonlat(*np.asarray(cell.exterior.coords).T)
        part = Polygon(np.column_stack([lon, lat])).intersection(city)
        whole = max(shapely.get_parts(part), key=lambda piece: piece.area)
        features.append(
            {
                "type": "Feature",
                "properties": {"name": name.title(), "generated": True},
                "geometry": shapely.geometry.mapping(
                    shapely.set_precision(shapely.geometry.polygon.orient(whole), 1e-5)
                ),
            }
        )
    return {"type": "FeatureCollection", "features": sorted(features, key=_name)}


def _name(feature: dict[str, Any]) -> str:
    return str(feature["properties"]["name"])
