"""The only module that knows coordinate reference systems: degrees to metres and back."""

from __future__ import annotations

import math
import re
import warnings
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError, ProjError
from pyproj.transformer import TransformerGroup

from geo.errors import CrsError

LONLAT = "EPSG:4326"

_NAME = re.compile(
    r"[A-Za-z]{2,10}:\d{1,8}|OGC:CRS84|urn:ogc:def:crs:[\w:.]{1,40}|\+proj=laea [\w+=. -]{1,100}"
)


@lru_cache(maxsize=64)
def parse_crs(text: str) -> CRS:
    """Parse "EPSG:27700", "27700", a URN, or a projection made by `local_crs`. Raise `CrsError` for unknown
    codes and for systems without horizontal coordinates on Earth."""
    name = str(text).strip()
    if name.isdigit():
        name = f"EPSG:{name}"
    try:
        if not _NAME.fullmatch(name):  # PROJ would take other texts for file names and pipelines
            raise CRSError(name)
        crs = CRS.from_user_input(name)
    except CRSError:
        raise CrsError(
            f"the coordinate reference system {name[:60]!r} is not known: give an EPSG code such as "
            "EPSG:4326 (longitude and latitude) or EPSG:27700 (British National Grid)."
        ) from None
    if not (crs.is_geographic or crs.is_projected):
        raise CrsError(
            f"{name[:60]!r} has no horizontal coordinates: give a geographic or projected EPSG code "
            "such as EPSG:4326 or EPSG:27700."
        )
    return crs


def is_lonlat(crs: str) -> bool:
    """Tell whether coordinates in a system are degrees of longitude and latitude; raise `CrsError` for
    unknown codes."""
    return bool(parse_crs(crs).is_geographic)


def to_lonlat(x: ArrayLike, y: ArrayLike, crs: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Convert n places, easting or longitude first whatever axis order the authority states, to WGS 84
    degrees: two (n,) arrays, NaN in both for points without an answer (NaN, or outside the system's
    validity). `accuracy_note` says how accurate. Raise `CrsError` where the two are not equally long, or the
    system is unknown or cannot be converted at all."""
    east = np.asarray(x, dtype=np.float64)
    north = np.asarray(y, dtype=np.float64)
    if east.shape != north.shape:
        raise CrsError(f"x and y must have the same length, got {east.size} and {north.size}.")
    parsed = parse_crs(crs)
    if parsed.equals(CRS.from_user_input(LONLAT), ignore_axis_order=True):
        lon, lat = east.copy(), north.copy()
    else:
        try:
            lon, lat = _transformer(crs, LONLAT).transform(east, north)
        except ProjError:
            raise CrsError(f"coordinates in {crs} cannot be converted to longitude and latitude.") from None
    lon, lat = np.asarray(lon, dtype=np.float64), np.asarray(lat, dtype=np.float64)
    lost = ~(np.isfinite(lon) & np.isfinite(lat)) | (np.abs(lon) > 180.0) | (np.abs(lat) > 90.0)
    lon[lost], lat[lost] = np.nan, np.nan
    return lon, lat


def project(lonlat: ArrayLike, crs: str) -> NDArray[np.float64]:
    """Convert (n, 2) WGS 84 degrees to a system; metres for those made here. Raise `CrsError` where the
    system is unknown or cannot be converted, or a point has no image, since a domain with an unknown centre
    is no domain."""
    points = np.asarray(lonlat, dtype=np.float64).reshape(-1, 2)
    x, y = _transformer(LONLAT, crs).transform(points[:, 0], points[:, 1])
    image = np.column_stack([x, y])
    if not np.all(np.isfinite(image)):
        raise CrsError(f"some places have no coordinates in {crs}: choose a smaller region.")
    return image


def local_crs(longitude: float, latitude: float) -> str:
    """Make a Lambert azimuthal equal-area projection in metres around an origin in degrees, rounded to 1e-4
    so that the name is short and reproducible. Chosen over a UTM zone because it has no zone borders and is
    the same kind of map everywhere. A distance is wrong by about (d / R)^2 / 8 of itself at d from the
    origin: 3e-5 at 100 km, 0.3 % at 1,000 km. Raise `CrsError` where the origin is not finite."""
    if not (math.isfinite(longitude) and math.isfinite(latitude)):
        raise CrsError("a local projection needs a finite origin.")
    # + 0.0 turns a rounded -0.0 into 0.0, so that one place has one name.
    lon, lat = round(longitude, 4) + 0.0, round(latitude, 4) + 0.0
    return f"+proj=laea +lat_0={lat:.4f} +lon_0={lon:.4f} +datum=WGS84 +units=m +no_defs"


def accuracy_note(crs: str) -> str:
    """Say in one sentence how well coordinates in a system can be placed, "" where nothing is lost. The
    British National Grid without Ordnance Survey's OSTN15 grid file is about 2 m: far below the size of any
    hexagon this program draws, but it is said rather than hidden. Raise `CrsError` for unknown codes."""
    if is_lonlat(crs) and parse_crs(crs).equals(CRS.from_user_input(LONLAT), ignore_axis_order=True):
        return ""
    group = _group(crs)
    metres = group.transformers[0].accuracy if group.transformers else -1.0
    if metres < 0:
        return f"Coordinates in {crs} are converted to longitude and latitude with unknown accuracy."
    if metres < 0.5:
        return ""
    finer = " (a finer grid file exists but is not installed)" if not group.best_available else ""
    return f"Coordinates in {crs} are converted to longitude and latitude to about {metres:g} m{finer}."


@lru_cache(maxsize=64)
def _transformer(source: str, target: str) -> Transformer:
    try:
        return Transformer.from_crs(parse_crs(source), parse_crs(target), always_xy=True)
    except ProjError:
        raise CrsError(f"no conversion from {source} to {target} is known.") from None


@lru_cache(maxsize=64)
def _group(crs: str) -> TransformerGroup:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # says that a better grid exists: `accuracy_note` says it aloud
        return TransformerGroup(parse_crs(crs), parse_crs(LONLAT), always_xy=True)
