"""Why points miss a domain: swapped axes, projected metres read as degrees, the wrong system, or far away.

These helpers read private coordinates and answer the curator only; nothing of them belongs in a release.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geo.coordinates.projection import is_lonlat, to_lonlat
from geo.domains.domain import Domain

_COMMON = ("EPSG:27700", "EPSG:28992", "EPSG:3857", "EPSG:2056", "EPSG:2154", "EPSG:25832", "EPSG:4326")
_SAMPLE = 2_000  # points looked at: enough to tell "most", cheap for a million rows


def looks_swapped(lon: ArrayLike, lat: ArrayLike, domain: Domain) -> bool:
    """Tell whether most of n points, in degrees, hit the domain with longitude and latitude exchanged, and
    hardly any as they are."""
    x, y = _sample(lon, lat)
    return x.size > 0 and _share(x, y, domain) < 0.1 and _share(y, x, domain) > 0.5


def looks_projected(x: ArrayLike, y: ArrayLike) -> bool:
    """Tell whether most finite pairs cannot be degrees in either order, as eastings and northings in
    metres."""
    east, north = _sample(x, y)
    if east.size == 0:
        return False
    size = np.maximum(np.abs(east), np.abs(north))
    return bool(np.mean(size > 360.0) > 0.5)


def looks_like_degrees(x: ArrayLike, y: ArrayLike) -> bool:
    """Tell whether all finite pairs are within 180: metres in a projection are hardly ever so small."""
    east, north = _sample(x, y)
    return bool(east.size > 0 and np.all(np.abs(east) <= 180.0) and np.all(np.abs(north) <= 180.0))


def outside_reason(x: ArrayLike, y: ArrayLike, crs: str, domain: Domain) -> str:
    """Say in one sentence, with the remedy, why hardly any of n points lies in a domain; for the curator
    only: it tells where the points lie. Raise `CrsError` where the system is unknown or cannot be converted.
    """
    east, north = _sample(x, y)
    if east.size == 0:
        return "No row has finite coordinates: check which columns hold them."
    if is_lonlat(crs):
        if looks_swapped(east, north, domain):
            return "Longitude and latitude look swapped: exchange the two columns."
        if looks_projected(east, north):
            fits = _fitting(east, north, domain)
            hint = f"they fit {fits}" if fits else "name their EPSG code"
            return f"The coordinates are not degrees, they look projected: {hint} instead of {crs}."
    else:
        if looks_like_degrees(east, north):
            return f"The coordinates look like degrees, not like {crs}: give EPSG:4326 as their system."
        if _share(*to_lonlat(north, east, crs), domain) > 0.5:
            return "Easting and northing look swapped: exchange the two columns."
        fits = _fitting(east, north, domain)
        if fits:
            return f"Read as {crs} the points miss the region; they fit {fits}."
    lon, lat = to_lonlat(east, north, crs)
    known = np.isfinite(lon)
    if not known.any():
        return f"No point has a place on Earth when read as {crs}: name the right EPSG code."
    west, south, right, top = domain.region.bounds
    middle = f"longitude {np.median(lon[known]):.2f}, latitude {np.median(lat[known]):.2f}"
    area = f"longitudes {west:.2f} and {right:.2f}, latitudes {south:.2f} and {top:.2f}"
    return (
        f"The points lie around {middle}, the region between {area}: "
        "choose the region that belongs to the data."
    )


def _sample(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most `_SAMPLE` finite pairs, evenly spread over the rows."""
    east = np.atleast_1d(np.asarray(x, dtype=np.float64))
    north = np.atleast_1d(np.asarray(y, dtype=np.float64))
    finite = np.flatnonzero(np.isfinite(east) & np.isfinite(north))
    chosen = finite[:: max(1, -(-finite.size // _SAMPLE))]
    return east[chosen], north[chosen]


def _share(lon: NDArray[np.float64], lat: NDArray[np.float64], domain: Domain) -> float:
    return float(np.mean(domain.locate(lon, lat) >= 0)) if lon.size else 0.0


def _fitting(x: NDArray[np.float64], y: NDArray[np.float64], domain: Domain) -> str | None:
    """The first common system in which most points hit the domain."""
    return next((crs for crs in _COMMON if _share(*to_lonlat(x, y, crs), domain) > 0.5), None)
