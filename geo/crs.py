"""Coordinate reference systems by code and by the names people give them; degrees to metres and
back.

The only module of this room that knows them.
"""

from __future__ import annotations

import difflib
import math
import re
import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pyproj import CRS, Transformer
from pyproj.database import query_crs_info
from pyproj.enums import PJType
from pyproj.exceptions import CRSError, ProjError
from pyproj.transformer import TransformerGroup

from geo.errors import CrsError

LONLAT = "EPSG:4326"

_NAME = re.compile(
    r"[A-Za-z]{2,10}:\d{1,8}|OGC:CRS84|urn:ogc:def:crs:[\w:.]{1,40}|\+proj=laea [\w+=. -]{1,100}"
)

LONGEST = 80  # characters of a name that are looked at
SHOWN = 6  # candidates named in a sentence
# What the database of EPSG does not call so, in words as `_words` makes them; the likeliest code
# first. More than one code is a question to the person.
_NAMED: tuple[tuple[tuple[int, ...], str], ...] = (
    (
        (28992,),
        "dutch grid, dutch national grid, netherlands grid, rijksdriehoek, rijksdriehoekscoordinaten, rd",
    ),
    ((27700,), "bng, os grid, osgb, ordnance survey, ordnance survey grid, ordnance survey national grid"),
    ((27700, 4277), "osgb 36, osgb 1936"),
    ((29903, 29902, 29901), "irish grid"),
    ((2157, 2039), "itm"),
    ((2154,), "lambert 93, rgf 93 lambert 93"),
    ((31370,), "belgian lambert 72, lambert 72"),
    ((31370, 3812), "belgian lambert"),
    ((3812,), "lambert 2008"),
    ((2056, 21781), "swiss grid"),
    ((2056,), "lv 95, ch 1903 lv 95"),
    ((21781,), "lv 03, ch 1903 lv 03"),
    ((3006,), "swedish grid, sweref 99"),
    ((2193,), "new zealand transverse mercator, nztm"),
    ((3857,), "web mercator, google mercator, spherical mercator"),
    ((3035,), "laea europe, etrs 89 laea"),
    (
        (4326,),
        "wgs 84, wgs 1984, gps, degrees, lat lon, lat long, lon lat, long lat, latitude longitude, "
        "longitude latitude, longitude and latitude, latitude and longitude",
    ),
    ((4258,), "etrs 89"),
    ((4269,), "nad 83"),
)
_EVERYDAY = {name: codes for codes, names in _NAMED for name in names.split(", ")}
_UTM = re.compile(r"utm (?:zone )?(\d{1,2}) ?(n|s|north|south)?")


@lru_cache(maxsize=64)
def parse_crs(text: str) -> CRS:
    """Parse "EPSG:27700", "27700", a URN, or a projection made by `local_crs`. Raise `CrsError` for
    unknown codes and for systems without horizontal coordinates on Earth."""
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
    """Tell whether coordinates in a system are degrees of longitude and latitude; raise `CrsError`
    for unknown codes."""
    return bool(parse_crs(crs).is_geographic)


def to_lonlat(x: ArrayLike, y: ArrayLike, crs: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Convert n places, easting or longitude first whatever axis order the authority states, to WGS
    84 degrees: two (n,) arrays, NaN in both for points without an answer (NaN, or outside the
    system's validity). `accuracy_note` says how accurate. Raise `CrsError` where the two are not
    equally long, or the system is unknown or cannot be converted at all."""
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
    """Convert (n, 2) WGS 84 degrees to a system; metres for those made here. Raise `CrsError` where
    the system is unknown or cannot be converted, or a point has no image, since a domain with an
    unknown centre is no domain."""
    points = np.asarray(lonlat, dtype=np.float64).reshape(-1, 2)
    x, y = _transformer(LONLAT, crs).transform(points[:, 0], points[:, 1])
    image = np.column_stack([x, y])
    if not np.all(np.isfinite(image)):
        raise CrsError(f"some places have no coordinates in {crs}: choose a smaller region.")
    return image


def local_crs(longitude: float, latitude: float) -> str:
    """Make a Lambert azimuthal equal-area projection in metres around an origin in degrees, rounded
    to 1e-4 so that the name is short and reproducible. Chosen over a UTM zone because it has no
    zone borders and is the same kind of map everywhere. A distance is wrong by about (d / R)^2 / 8
    of itself at d from the origin: 3e-5 at 100 km, 0.3 % at 1,000 km. Raise `CrsError` where the
    origin is not finite."""
    if not (math.isfinite(longitude) and math.isfinite(latitude)):
        raise CrsError("a local projection needs a finite origin.")
    # + 0.0 turns a rounded -0.0 into 0.0, so that one place has one name.
    lon, lat = round(longitude, 4) + 0.0, round(latitude, 4) + 0.0
    return f"+proj=laea +lat_0={lat:.4f} +lon_0={lon:.4f} +datum=WGS84 +units=m +no_defs"


def accuracy_note(crs: str) -> str:
    """Say in one sentence how well coordinates in a system can be placed, "" where nothing is lost.
    The British National Grid without Ordnance Survey's OSTN15 grid file is about 2 m: far below the
    size of any hexagon this program draws, but it is said rather than hidden. Raise `CrsError` for
    unknown codes."""
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


@dataclass(frozen=True)
class CrsCandidate:
    """A system that a name may mean."""

    code: str  # "EPSG:28992"
    name: str  # what EPSG calls it
    area: str  # where it is used, in EPSG's words


def crs_by_name(text: str) -> str:
    """Find the system that a code or a name means ("28992", "Amersfoort / RD New", "Dutch grid"); a
    code as `parse_crs` takes it comes back as it is. Raise `CrsError`, naming the candidates, for
    no or several systems."""
    name = str(text).strip()
    code = re.fullmatch(r"(?:(epsg)[ :]+)?(\d{1,8})", name, re.IGNORECASE)
    if code:
        name = f"EPSG:{code[2]}"
    if code or ":" in name or name.startswith("+"):
        parse_crs(name)
        return name
    candidates = crs_candidates(name)
    if len(candidates) == 1:
        return candidates[0].code
    if candidates:
        listed = "; ".join(f"{candidate.code} ({candidate.name})" for candidate in candidates[:SHOWN])
        ending = ", among others" if len(candidates) > SHOWN else ""
        raise CrsError(
            f"{name[:LONGEST]!r} may mean several systems{ending}: give the code of one: {listed}."
        )
    near = _nearest(name)
    hint = f"; did you mean {near!r}?" if near else ", or its full name."
    raise CrsError(
        f"no coordinate reference system is called {name[:LONGEST]!r}: give an EPSG code such as EPSG:4326 "
        f"(longitude and latitude){hint}"
    )


def crs_candidates(text: str) -> tuple[CrsCandidate, ...]:
    """List the systems that a name may mean, in any capitals and punctuation: the likeliest first,
    exactly one where the name is clear. First everyday names, then zones of UTM without a datum
    (WGS 84, and what the zone's continent uses instead), then the names of EPSG's database: an
    exact one, or all that contain every word."""
    words = _words(text)
    if not words:
        return ()
    if words in _EVERYDAY:
        return tuple(_candidate(code) for code in _EVERYDAY[words])
    zone = _UTM.fullmatch(words)
    if zone:
        return _zones(int(zone[1]), zone[2])
    exact = [candidate for name_words, candidate in _database() if name_words == words]
    if len(exact) == 1:
        return tuple(exact)
    required = set(words.split())
    holding = [
        (len(name_words.split()), candidate)
        for name_words, candidate in _database()
        if required <= set(name_words.split())
    ]
    return tuple(
        candidate
        for _, candidate in sorted(holding, key=lambda pair: (pair[0], len(pair[1].code), pair[1].code))
    )


def _words(text: str) -> str:
    """Small letters, digits apart from letters, one blank between: "OSGB36 / BNG" becomes "osgb 36
    bng"."""
    bare = re.sub(r"[^a-z0-9]+", " ", str(text)[:LONGEST].lower())
    bare = re.sub(r"(?<=[a-z])(?=\d)", " ", bare)
    bare = re.sub(r"(?<=\d)(?=[a-z])", " ", bare)
    return " ".join(word for word in bare.split() if word != "the")


def _zones(zone: int, side: str | None) -> tuple[CrsCandidate, ...]:
    if not 1 <= zone <= 60:
        return ()
    codes = []
    if side is None or side.startswith("n"):
        codes.append(32600 + zone)
        codes += [25800 + zone] if 28 <= zone <= 38 else []
        codes += [26900 + zone] if zone <= 23 else []
    if side is None or side.startswith("s"):
        codes.append(32700 + zone)
        codes += [28300 + zone] if 49 <= zone <= 56 else []
    return tuple(_candidate(code) for code in codes)


def _candidate(code: int) -> CrsCandidate:
    return _by_code()[f"EPSG:{code}"]


@lru_cache(maxsize=1)
def _by_code() -> dict[str, CrsCandidate]:
    return {candidate.code: candidate for _, candidate in _database()}


@lru_cache(maxsize=1)
def _database() -> tuple[tuple[str, CrsCandidate], ...]:
    """Words of the name and the system, for every system of EPSG that is not withdrawn."""
    kinds = [PJType.PROJECTED_CRS, PJType.GEOGRAPHIC_2D_CRS]
    systems = {
        f"EPSG:{info.code}": (info.name, info.area_of_use.name or "" if info.area_of_use else "")
        for info in query_crs_info(auth_name="EPSG", pj_types=kinds)  # lists some twice
        if not info.deprecated
    }
    return tuple((_words(name), CrsCandidate(code, name, area)) for code, (name, area) in systems.items())


def _nearest(name: str) -> str:
    """The everyday name, or EPSG's name, closest to a name; "" if none is close."""
    names = {
        **{words: words for words in _EVERYDAY},
        **{words: candidate.name for words, candidate in _database()},
    }
    near = difflib.get_close_matches(_words(name), list(names), n=1, cutoff=0.75)
    return names[near[0]] if near else ""
