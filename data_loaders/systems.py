"""Coordinate systems: their properties in PROJ, and the code of a system that a file states."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from data_loaders.errors import DataError

if TYPE_CHECKING:  # PROJ is slow to load, and sales never ask for it
    from pyproj import CRS, Transformer

WGS84 = "EPSG:4326"
_EPSG = re.compile(r"(EPSG|ESRI|OGC):[A-Z0-9]{1,12}")


@lru_cache(maxsize=64)
def _parsed(system: str) -> CRS | None:
    """Return PROJ's description of a system; None for an unknown code, which the conversion
    refuses."""
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        return CRS.from_user_input(system)
    except CRSError:
        return None


def in_degrees(system: str) -> bool:
    """Whether a system "AUTHORITY:CODE" is in degrees; False if projected, unknown, in grads or
    radians."""
    crs = _parsed(system)
    return crs is not None and crs.is_geographic and all(a.unit_name == "degree" for a in crs.axis_info[:2])


def is_projected(system: str) -> bool:
    """Whether a system "AUTHORITY:CODE" is projected; False for geographic and unknown systems."""
    crs = _parsed(system)
    return crs is not None and crs.is_projected


def system_named(name: str, crs: str) -> str:
    """Return a system as "AUTHORITY:CODE"; raise `DataError` if it has no code."""
    if not _EPSG.fullmatch(crs):
        from pyproj import CRS
        from pyproj.exceptions import CRSError

        try:
            authority = CRS.from_user_input(crs).to_authority(min_confidence=70)
        except CRSError:
            authority = None
        if authority is None:
            raise DataError(
                f"{name} states a coordinate system without an EPSG code: export the layer in one that has a "
                "code, such as EPSG:4326."
            )
        crs = ":".join(authority)
    return WGS84 if crs == "OGC:CRS84" else crs


@lru_cache(maxsize=128)
def _from_zone(zone: int, south: bool) -> Transformer:
    from pyproj import Transformer

    return Transformer.from_crs(f"EPSG:{(32700 if south else 32600) + zone}", WGS84, always_xy=True)


def from_utm(zone: int, south: bool, east: float, north: float) -> tuple[float, float]:
    """Convert an easting and a northing in metres in a UTM zone to longitude and latitude (WGS
    84)."""
    longitude, latitude = _from_zone(zone, south).transform(east, north)
    return float(longitude), float(latitude)
