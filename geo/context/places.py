"""Areas by a place's name: the place that is meant, and the box around it."""

from __future__ import annotations

import math
import re

from geo.context.surroundings import Place, find_places, folder
from geo.domains.framing import Box
from geo.domains.hexagons import EARTH_RADIUS
from geo.errors import DomainError

LEAST_KM, MOST_KM = 0.5, 500.0
_AT = re.compile(r"(.+?)@\s*(-?\d{1,3}(?:\.\d+)?)\s*,\s*(-?\d{1,2}(?:\.\d+)?)\s*")
_LARGER = 10  # times as many people make one of two places of a name the one that is meant


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
    place; west lies east of east where it crosses the date line. Raise `DomainError` for another distance, or
    a box that reaches beyond the latitudes of web maps.

    >>> box_around(Place("Greenwich", 0.0, 51.5, 1), 10.0)
    (-0.1445, 51.4101, 0.1445, 51.5899)
    """
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
