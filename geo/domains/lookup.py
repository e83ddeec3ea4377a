"""Finds the cells of many points at once, and how probable each is for places known up to normal noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import repeat

import h3
import numpy as np
from h3.api import basic_int
from numpy.typing import NDArray

from geo.domains.hexagons import EARTH_RADIUS
from geo.errors import DomainError

Floats = NDArray[np.float64]

_ANGLES, _RINGS = 16, 12  # places of equal probability that stand for an estimate
_SHARED_AT_ONCE = 2000  # places that are looked up together
_POLAR = 0.01  # least cosine of a latitude: a degree of longitude has no length at a pole


def numbers_at(lon: Floats, lat: Floats, resolution: int) -> NDArray[np.uint64]:
    """Return the number of the cell of each of (n,) points in finite degrees, as `hexagons.as_integers`
    does."""
    found = map(basic_int.latlng_to_cell, lat.tolist(), lon.tolist(), repeat(resolution))
    return np.fromiter(found, np.uint64, lon.size)


def cell_shares(
    longitude: Floats, latitude: Floats, deviation: Floats, resolution: int
) -> list[dict[str, float]]:
    """Share each of (n,) uncertain places among the hexagons where it may be: hexagon to probability, summing
    to 1. A place is normal, with `deviation` >= 0 metres per axis, around its finite estimate in WGS 84
    degrees. From 192 places of equal probability, so to about 1 %. Raise `DomainError` for columns of
    different lengths, or a deviation that is negative or not finite."""
    lon, lat, sd = (np.asarray(column, dtype=np.float64) for column in (longitude, latitude, deviation))
    if not (lon.shape == lat.shape == sd.shape) or lon.ndim != 1:
        raise DomainError("uncertain places have one longitude, latitude and deviation each.")
    if not np.all(np.isfinite(sd) & (sd >= 0.0)):
        raise DomainError("the deviation of a place is a number of metres, at least 0.")
    return [
        share for at in range(0, lon.size, _SHARED_AT_ONCE) for share in _shares(lon, lat, sd, at, resolution)
    ]


def _shares(lon: Floats, lat: Floats, sd: Floats, at: int, resolution: int) -> Iterator[dict[str, float]]:
    part = slice(at, at + _SHARED_AT_ONCE)
    # A normal distribution in the plane: squared radii are exponential, angles uniform and turned ring by
    # ring.
    radii = np.sqrt(-2.0 * np.log1p(-(np.arange(_RINGS) + 0.5) / _RINGS))
    turns = (np.arange(_ANGLES)[None, :] + np.arange(_RINGS)[:, None] * 0.5) * (2.0 * np.pi / _ANGLES)
    degrees = np.degrees(sd[part] / EARTH_RADIUS)[:, None]
    north = lat[part, None] + degrees * (radii[:, None] * np.sin(turns)).ravel()
    narrow = np.maximum(np.cos(np.radians(lat[part])), _POLAR)[:, None]
    east = lon[part, None] + degrees / narrow * (radii[:, None] * np.cos(turns)).ravel()
    east, north = (east.ravel() + 180.0) % 360.0 - 180.0, np.clip(north, -90.0, 90.0).ravel()
    cells = [h3.int_to_str(number) for number in numbers_at(east, north, resolution).tolist()]
    each = _ANGLES * _RINGS
    for first in range(0, len(cells), each):
        counts = Counter(cells[first : first + each])
        yield {cell: count / each for cell, count in counts.items()}


def likeliest(shares: Iterable[dict[str, float]]) -> list[tuple[str, float]]:
    """The hexagon of each place, with its probability: what a map counts an uncertain place in."""
    return [max(share.items(), key=lambda item: (item[1], item[0])) for share in shares]
