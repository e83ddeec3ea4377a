"""Finds coordinate reference systems by the names people give them: "Dutch grid", "UTM 32N", "OSGB36"."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import lru_cache

from pyproj.database import query_crs_info
from pyproj.enums import PJType

from geo.coordinates.projection import parse_crs
from geo.errors import CrsError

LONGEST = 80  # characters of a name that are looked at
SHOWN = 6  # candidates named in a sentence

# What the database of EPSG does not call so, in words as `_words` makes them; the likeliest code first. More
# than one code is a question to the person.
_EVERYDAY: dict[str, tuple[int, ...]] = {
    "dutch grid": (28992,),
    "dutch national grid": (28992,),
    "netherlands grid": (28992,),
    "rijksdriehoek": (28992,),
    "rijksdriehoekscoordinaten": (28992,),
    "rd": (28992,),
    "bng": (27700,),
    "os grid": (27700,),
    "osgb": (27700,),
    "osgb 36": (27700, 4277),
    "osgb 1936": (27700, 4277),
    "ordnance survey": (27700,),
    "ordnance survey grid": (27700,),
    "ordnance survey national grid": (27700,),
    "irish grid": (29903, 29902, 29901),
    "itm": (2157, 2039),
    "lambert 93": (2154,),
    "rgf 93 lambert 93": (2154,),
    "belgian lambert 72": (31370,),
    "belgian lambert": (31370, 3812),
    "lambert 72": (31370,),
    "lambert 2008": (3812,),
    "swiss grid": (2056, 21781),
    "lv 95": (2056,),
    "lv 03": (21781,),
    "ch 1903 lv 95": (2056,),
    "ch 1903 lv 03": (21781,),
    "swedish grid": (3006,),
    "sweref 99": (3006,),
    "new zealand transverse mercator": (2193,),
    "nztm": (2193,),
    "web mercator": (3857,),
    "google mercator": (3857,),
    "spherical mercator": (3857,),
    "laea europe": (3035,),
    "etrs 89 laea": (3035,),
    "wgs 84": (4326,),
    "wgs 1984": (4326,),
    "gps": (4326,),
    "degrees": (4326,),
    "lat lon": (4326,),
    "lat long": (4326,),
    "lon lat": (4326,),
    "long lat": (4326,),
    "latitude longitude": (4326,),
    "longitude latitude": (4326,),
    "longitude and latitude": (4326,),
    "latitude and longitude": (4326,),
    "etrs 89": (4258,),
    "nad 83": (4269,),
}
_UTM = re.compile(r"utm (?:zone )?(\d{1,2}) ?(n|s|north|south)?")


@dataclass(frozen=True)
class CrsCandidate:
    """A system that a name may mean."""

    code: str  # "EPSG:28992"
    name: str  # what EPSG calls it
    area: str  # where it is used, in EPSG's words


def crs_by_name(text: str) -> str:
    """Find the system that a code or a name means ("28992", "Amersfoort / RD New", "Dutch grid"); a code as
    `parse_crs` takes it comes back as it is. Raise `CrsError`, naming the candidates, for no or several
    systems.

    >>> crs_by_name("Dutch grid")
    'EPSG:28992'
    """
    name = str(text).strip()
    code = re.fullmatch(r"(?:(epsg)[ :]+)?(\d{1,8})", name, re.IGNORECASE)
    if code:
        name = f"EPSG:{code[2]}"
    if code or ":" in name or name.startswith("+"):
        parse_crs(name)
        return name
    found = crs_candidates(name)
    if len(found) == 1:
        return found[0].code
    if found:
        listed = "; ".join(f"{one.code} ({one.name})" for one in found[:SHOWN])
        more = ", among others" if len(found) > SHOWN else ""
        raise CrsError(f"{name[:LONGEST]!r} may mean several systems{more}: give the code of one: {listed}.")
    near = _nearest(name)
    hint = f"; did you mean {near!r}?" if near else ", or its full name."
    raise CrsError(
        f"no coordinate reference system is called {name[:LONGEST]!r}: give an EPSG code such as EPSG:4326 "
        f"(longitude and latitude){hint}"
    )


def crs_candidates(text: str) -> tuple[CrsCandidate, ...]:
    """List the systems that a name may mean, in any capitals and punctuation: the likeliest first, exactly
    one where the name is clear. First everyday names, then zones of UTM without a datum (WGS 84, and what the
    zone's continent uses instead), then the names of EPSG's database: an exact one, or all that contain every
    word."""
    words = _words(text)
    if not words:
        return ()
    if words in _EVERYDAY:
        return tuple(_candidate(code) for code in _EVERYDAY[words])
    zone = _UTM.fullmatch(words)
    if zone:
        return _zones(int(zone[1]), zone[2])
    exact = [one for known, one in _database() if known == words]
    if len(exact) == 1:
        return tuple(exact)
    asked = set(words.split())
    holding = [(len(known.split()), one) for known, one in _database() if asked <= set(known.split())]
    return tuple(
        one for _, one in sorted(holding, key=lambda pair: (pair[0], len(pair[1].code), pair[1].code))
    )


def _words(text: str) -> str:
    """Small letters, digits apart from letters, one blank between: "OSGB36 / BNG" becomes "osgb 36 bng"."""
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
    return {one.code: one for _, one in _database()}


@lru_cache(maxsize=1)
def _database() -> tuple[tuple[str, CrsCandidate], ...]:
    """Words of the name and the system, for every system of EPSG that is not withdrawn."""
    kinds = [PJType.PROJECTED_CRS, PJType.GEOGRAPHIC_2D_CRS]
    found = {
        f"EPSG:{info.code}": (info.name, info.area_of_use.name or "" if info.area_of_use else "")
        for info in query_crs_info(auth_name="EPSG", pj_types=kinds)  # lists some twice
        if not info.deprecated
    }
    return tuple((_words(name), CrsCandidate(code, name, area)) for code, (name, area) in found.items())


def _nearest(name: str) -> str:
    """The everyday name, or EPSG's, that is most like a name; "" where none is."""
    names = {**{known: known for known in _EVERYDAY}, **{known: one.name for known, one in _database()}}
    near = difflib.get_close_matches(_words(name), list(names), n=1, cutoff=0.75)
    return names[near[0]] if near else ""
