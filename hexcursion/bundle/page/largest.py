"""The largest connected regions of a published set, as rows that can be read aloud."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from geo import Domain
from geo.context.surroundings import Place
from geo.crs import project
from hexcursion.bundle.page.facts import area, coordinates, hexagon_area

MOST = 8
NAMED = 3  # regions that one sentence names
PEOPLE = 4_000  # of a city's square kilometre, roughly
_EAST = ("west", "", "east")
_NORTH = ("south", "", "north")


@dataclass(frozen=True)
class LargeRegion:
    """One connected region of the set."""

    cells: int  # its hexagons
    size: str  # its area, in words
    where: str  # its part of the map and its middle, in words
    near: str = ""  # the named place nearest to its middle; "" where none is near


def largest_regions(
    domain: Domain, members: NDArray[np.bool_], most: int = MOST, places: Sequence[Place] = ()
) -> tuple[LargeRegion, ...]:
    """The largest regions of hexagons that touch each other, largest first. `members`: (N,) the set; `most`:
    how many at most; `places`: named places: each region is told by the one nearest to its middle."""
    inside = np.flatnonzero(members)
    if inside.size == 0:
        return ()
    count, label = connected_components(domain.adjacency[inside][:, inside], directed=False)
    sizes = np.bincount(label, minlength=count)
    order = np.argsort(-sizes, kind="stable")[:most]
    return tuple(_region(domain, inside[label == one], places) for one in order.tolist())


def where(domain: Domain, members: NDArray[np.bool_], places: Sequence[Place] = ()) -> str:
    """Where the largest regions of a set lie, in one sentence; "" for an empty or a whole map. `members`:
    (N,) the set; `places`: as for `largest_regions`."""
    regions = largest_regions(domain, members, NAMED, places)
    if not regions or members.all():
        return ""
    named = {one.near: one.size for one in reversed(regions) if one.near}  # the largest of a name
    said = [f"{name} ({named[name]})" for name in dict.fromkeys(one.near for one in regions if one.near)]
    if said:
        return f"The largest regions lie around {listed(said)}."
    return f"The largest region, {regions[0].size}, lies here: {regions[0].where}."


def listed(texts: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _region(domain: Domain, cells: NDArray[np.int64], places: Sequence[Place]) -> LargeRegion:
    centres = domain.centres[cells]
    # The hexagon nearest to the region's mean: a mean itself may lie outside a bent region.
    nearest = int(cells[np.argmin(((centres - centres.mean(axis=0)) ** 2).sum(axis=1))])
    lon, lat = domain.centres_lonlat[nearest].tolist()
    size = area(cells.size * hexagon_area(domain))
    name = _nearest_name(domain, nearest, places)
    where = ", ".join(
        [_part_of_map(domain, nearest), *([f"near {name}"] if name else []), coordinates(lon, lat)]
    )
    return LargeRegion(int(cells.size), size, where, name)


def _nearest_name(domain: Domain, cell: int, places: Sequence[Place]) -> str:
    """The nearest place within a quarter of the map; "" where there is none. A city that fills the map, such
    as London on a map of London, tells nothing about where on it."""
    extent = float(np.ptp(domain.centres, axis=0).max())
    places = [one for one in places if 2.0 * _radius(one) < 0.5 * extent]
    if not places:
        return ""
    where = project([(place.longitude, place.latitude) for place in places], domain.crs)
    far = np.hypot(*(where - domain.centres[cell]).T)
    reach = max(0.25 * extent, 2.0 * domain.spacing)
    return places[int(far.argmin())].name if far.min() <= reach else ""


def _radius(place: Place) -> float:
    """About how far a place reaches around its middle, metres."""
    return 1e3 * math.sqrt(place.population / (math.pi * PEOPLE))


def _part_of_map(domain: Domain, cell: int) -> str:
    """In which ninth of the map a hexagon lies: "north-west", "middle"."""
    low, high = domain.centres.min(axis=0), domain.centres.max(axis=0)
    share = (domain.centres[cell] - low) / np.maximum(high - low, 1e-9)
    east, north = np.minimum(2, (3 * share).astype(int)).tolist()
    return "-".join(word for word in (_NORTH[north], _EAST[east]) if word) or "middle"
