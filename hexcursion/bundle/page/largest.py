"""The largest connected regions of a published set, as rows that can be read aloud."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from geo import Domain
from geo.context.surroundings import Place
from geo.coordinates.projection import project
from hexcursion.bundle.page.facts import area, coordinates, hexagon_area

MOST = 8
_EAST = ("west", "", "east")
_NORTH = ("south", "", "north")


@dataclass(frozen=True)
class LargeRegion:
    """One connected region of the set.

    Parameters
    ----------
    cells
        its hexagons
    size
        its area, in words
    where
        its part of the map and its middle, in words
    """

    cells: int
    size: str
    where: str


def largest_regions(
    domain: Domain, members: NDArray[np.bool_], most: int = MOST, places: Sequence[Place] = ()
) -> tuple[LargeRegion, ...]:
    """The largest regions of hexagons that touch each other, largest first.

    Parameters
    ----------
    members
        (N,) the set
    most
        how many at most
    places
        named places: each region is told by the one nearest to its middle
    """
    inside = np.flatnonzero(members)
    if inside.size == 0:
        return ()
    count, label = connected_components(domain.adjacency[inside][:, inside], directed=False)
    sizes = np.bincount(label, minlength=count)
    order = np.argsort(-sizes, kind="stable")[:most]
    return tuple(_region(domain, inside[label == one], places) for one in order.tolist())


def where(domain: Domain, members: NDArray[np.bool_], places: Sequence[Place] = ()) -> str:
    """Where the largest region of a set lies, in one sentence; "" for an empty or a whole map.

    Parameters
    ----------
    members
        (N,) the set
    places
        as for `largest_regions`
    """
    regions = largest_regions(domain, members, 1, places)
    if not regions or members.all():
        return ""
    return f"Its largest region, {regions[0].size}, lies here: {regions[0].where}."


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
    return LargeRegion(int(cells.size), size, where)


def _nearest_name(domain: Domain, cell: int, places: Sequence[Place]) -> str:
    """The nearest place within a quarter of the map; "" where there is none."""
    if not places:
        return ""
    where = project([(place.longitude, place.latitude) for place in places], domain.crs)
    far = np.hypot(*(where - domain.centres[cell]).T)
    reach = max(0.25 * float(np.ptp(domain.centres, axis=0).max()), 2.0 * domain.spacing)
    return places[int(far.argmin())].name if far.min() <= reach else ""


def _part_of_map(domain: Domain, cell: int) -> str:
    """In which ninth of the map a hexagon lies: "north-west", "middle"."""
    low, high = domain.centres.min(axis=0), domain.centres.max(axis=0)
    share = (domain.centres[cell] - low) / np.maximum(high - low, 1e-9)
    east, north = np.minimum(2, (3 * share).astype(int)).tolist()
    return "-".join(word for word in (_NORTH[north], _EAST[east]) if word) or "middle"
