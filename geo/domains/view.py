"""The first view of a domain on a map, and how far around it anything is drawn."""

from __future__ import annotations

import math

import numpy as np

from geo.domains.domain import Domain
from geo.domains.hexagons import EARTH_RADIUS

_WORLD = 512  # pixels of the world's width at zoom 0 in deck.gl
_FILLED = 0.94  # share of the chart that the cells may fill
_REACH = (3.0, 1.5)  # sides of the region that are kept left and right of, and above and below its middle
_LEAST = 0.05  # degrees: least side of a region for its surroundings
Box = tuple[float, float, float, float]  # west, south, east, north, degrees


def fit(domain: Domain, width: int, height: int) -> tuple[float, float, float]:
    """Return the first view of a map of `width` by `height` pixels, which shows all cells, also
    across the antimeridian: longitude and latitude of its middle in degrees, and the zoom of Web
    Mercator with 512-pixel tiles, as in deck.gl."""
    lon, lat = domain.centres_lonlat.T
    origin = domain.middle[0]
    relative = (lon - origin + 180.0) % 360.0 - 180.0
    margin = 0.6 * domain.spacing / EARTH_RADIUS  # radians: half a cell beyond the outermost centres
    stretch = 1.0 / math.cos(math.radians(float(np.abs(lat).max())))
    west = math.radians(float(relative.min())) - margin * stretch
    east = math.radians(float(relative.max())) + margin * stretch
    south = _mercator(math.radians(float(lat.min())) - margin)
    north = _mercator(math.radians(float(lat.max())) + margin)
    per_radian = _WORLD / (2.0 * math.pi)
    scale = _FILLED * min(width / (east - west), height / (north - south)) / per_radian
    longitude = (origin + math.degrees((west + east) / 2.0) + 180.0) % 360.0 - 180.0
    latitude = math.degrees(math.atan(math.sinh((south + north) / 2.0)))
    return round(longitude, 5), round(latitude, 5), round(max(0.0, math.log2(scale)), 3)


def region_box(domain: Domain) -> Box:
    """Return the box around a domain's cells: west, south, east, north in degrees; longitudes
    within 180 of the domain's middle, so possibly beyond 180."""
    middle = domain.middle[0]
    lon, lat = domain.centres_lonlat.T
    lon = middle + (lon - middle + 180.0) % 360.0 - 180.0
    pad = math.degrees(0.6 * domain.spacing / EARTH_RADIUS)
    wide = pad / math.cos(math.radians(min(85.0, float(np.abs(lat).max()))))
    return (
        round(float(lon.min()) - wide, 4),
        round(float(lat.min()) - pad, 4),
        round(float(lon.max()) + wide, 4),
        round(float(lat.max()) + pad, 4),
    )


def wide_box(region: Box) -> tuple[Box, float, float]:
    """Return the extent of a region's surroundings: the box in degrees; the region's longer side in
    degrees of latitude, at least 0.05; degrees of longitude as long as one of latitude there."""
    west, south, east, north = region
    middle = ((west + east) / 2, (south + north) / 2)
    stretch = 1.0 / math.cos(math.radians(min(85.0, abs(middle[1]))))
    side = max((east - west) / stretch, north - south, _LEAST)
    half = (min(179.0, _REACH[0] * side * stretch), _REACH[1] * side)
    box = (
        middle[0] - half[0],
        max(-85.0, middle[1] - half[1]),
        middle[0] + half[0],
        min(85.0, middle[1] + half[1]),
    )
    return box, side, stretch


def _mercator(latitude: float) -> float:
    return math.asinh(math.tan(max(-1.49, min(1.49, latitude))))
