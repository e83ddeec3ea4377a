"""Placing the first view of a map: the whole domain in a chart of a given size."""

from __future__ import annotations

import math

import numpy as np

from geo.domain import Domain
from geo.hexagons import EARTH_RADIUS

_WORLD = 512  # pixels of the world's width at zoom 0 in deck.gl
_FILLED = 0.94  # share of the chart that the cells may fill


def fit(domain: Domain, width: int, height: int) -> tuple[float, float, float]:
    """Place the first view of a map.

    Parameters
    ----------
    domain : Domain
    width, height : int
        Pixels of the chart.

    Returns
    -------
    longitude, latitude : float
        Degrees of the middle.
    zoom : float
        Of Web Mercator with 512-pixel tiles, as deck.gl counts; all cells are seen, also across the
        antimeridian.
    """
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


def _mercator(latitude: float) -> float:
    return math.asinh(math.tan(max(-1.49, min(1.49, latitude))))
