"""Says in which unit a coordinate system counts: degrees of longitude and latitude, or metres and feet."""

from __future__ import annotations

from functools import lru_cache

from pyproj import CRS
from pyproj.exceptions import CRSError


@lru_cache(maxsize=64)
def _parsed(system: str) -> CRS | None:
    """What PROJ knows of a system; None for an unknown code, which whoever converts the places refuses."""
    try:
        return CRS.from_user_input(system)
    except CRSError:
        return None


def in_degrees(system: str) -> bool:
    """Whether a system "AUTHORITY:CODE" counts in degrees: False for projected, unknown, grads and radians.

    >>> in_degrees("EPSG:7844"), in_degrees("EPSG:4647")
    (True, False)
    """
    crs = _parsed(system)
    return crs is not None and crs.is_geographic and all(a.unit_name == "degree" for a in crs.axis_info[:2])


def is_projected(system: str) -> bool:
    """Whether a system "AUTHORITY:CODE" counts in metres or feet on a plane: False for geographic and unknown
    ones."""
    crs = _parsed(system)
    return crs is not None and crs.is_projected
