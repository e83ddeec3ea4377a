"""Finds the cells of many points at once, and how probable each is for places known up to normal noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import repeat

import h3
import numpy as np
import pandas as pd
from h3.api import basic_int
from numpy.typing import NDArray

from geo.domains.hexagons import EARTH_RADIUS
from geo.errors import DomainError

FEW = 5_000
"""Points up to which H3 itself is as quick."""

_AT_ONCE = 1 << 13
_CLEAR = 1.0 - 2e-3  # of the way from a centre to an edge: nearer to it, H3 itself decides
_TURN = math.asin(math.sqrt(3.0 / 28.0))  # between the lattices of even and of odd resolutions

Floats = NDArray[np.float64]

_ANGLES, _RINGS = 16, 12  # places of equal probability that stand for an estimate
_SHARED_AT_ONCE = 2000  # places that are looked up together
_POLAR = 0.01  # least cosine of a latitude: a degree of longitude has no length at a pole


def numbers_at(lon: Floats, lat: Floats, resolution: int) -> NDArray[np.uint64]:
    """Return the number of the cell of each of (n,) points in finite degrees, as `hexagons.as_integers` gives
    it. H3 assigns a point to the face whose centre is nearest, projects it there along straight lines from
    the middle of the earth, and takes the nearest point of a triangular lattice. Of many points all those of
    one face and lattice point have one cell, so that H3 is asked about one of them, and about each that lies
    near an edge of its cell, where rounding may decide."""
    if lon.size <= FEW:
        return _asked(lon, lat, resolution)
    keys, near_edge = np.empty(lon.size, np.int64), np.empty(lon.size, bool)
    for start in range(0, lon.size, _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        keys[rows], near_edge[rows] = _keys(_vectors(lon[rows], lat[rows]), resolution)
    clear = np.flatnonzero(~near_edge)
    group, met = pd.factorize(keys[clear])
    one = np.empty(met.size, np.int64)
    one[group] = clear
    found = np.empty(lon.size, np.uint64)
    found[clear] = _asked(lon[one], lat[one], resolution)[group]
    found[near_edge] = _asked(lon[near_edge], lat[near_edge], resolution)
    return found


def _asked(lon: Floats, lat: Floats, resolution: int) -> NDArray[np.uint64]:
    """What `numbers_at` gives, by H3 itself; half the time of the names."""
    found = map(basic_int.latlng_to_cell, lat.tolist(), lon.tolist(), repeat(resolution))
    return np.fromiter(found, np.uint64, lon.size)


def _keys(points: Floats, resolution: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(n,) a number of face and lattice point each, and whether the point lies near an edge of a cell."""
    centres, ahead, aside, unit = _faces()
    nearness = points @ centres.T
    face = np.argmax(nearness, axis=1)
    away = unit / math.sqrt(7.0) ** resolution * nearness[np.arange(face.size), face]
    x = np.einsum("ij,ij->i", points, ahead[face]) / away
    y = np.einsum("ij,ij->i", points, aside[face]) / away
    if resolution % 2:
        cos, sin = math.cos(_TURN), math.sin(_TURN)
        x, y = cos * x + sin * y, cos * y - sin * x
    cube = np.empty((3, face.size))
    cube[1] = y * (2.0 / math.sqrt(3.0))
    cube[0] = x - cube[1] / 2.0
    cube[2] = -cube[0] - cube[1]
    whole = np.rint(cube)
    left = cube - whole
    off = np.abs(left)
    first = (off[0] > off[1]) & (off[0] > off[2])
    second = ~first & (off[1] > off[2])
    whole[0] = np.where(first, -whole[1] - whole[2], whole[0])
    whole[1] = np.where(second, -whole[0] - whole[2], whole[1])
    whole[2] = -whole[0] - whole[1]
    left = cube - whole
    near_edge = left.max(axis=0) - left.min(axis=0) > _CLEAR
    lattice = whole[:2].astype(np.int64)
    return (face << 56) + (lattice[0] << 28) + lattice[1], near_edge


def _vectors(lon: Floats, lat: Floats) -> Floats:
    """(n, 3) points of the unit sphere."""
    lon, lat = np.radians(lon), np.radians(lat)
    flat = np.cos(lat)
    return np.column_stack([flat * np.cos(lon), flat * np.sin(lon), np.sin(lat)])


@lru_cache(maxsize=1)
def _faces() -> tuple[Floats, Floats, Floats, float]:
    """Return (20, 3) centres of the faces, towards a corner of each, a quarter turn from there; the lattice's
    step. The corners of the icosahedron are the centres of the twelve pentagons, two steps of resolution 0
    from the centre of a face."""
    lat, lon = np.array([h3.cell_to_latlng(cell) for cell in h3.get_pentagons(0)]).T
    corners = _vectors(lon, lat)
    near = corners @ corners.T > 0.4  # neighbours have 1 / sqrt 5, others less
    triples = [
        (a, b, c)
        for a in range(12)
        for b in range(a)
        for c in range(b)
        if near[a, b] and near[b, c] and near[a, c]
    ]
    centres = np.array([corners[list(one)].sum(axis=0) for one in triples])
    centres /= np.linalg.norm(centres, axis=1)[:, None]
    first = corners[[one[0] for one in triples]]
    cosine = np.einsum("ij,ij->i", centres, first)
    ahead = first - cosine[:, None] * centres
    ahead /= np.linalg.norm(ahead, axis=1)[:, None]
    unit = math.tan(math.acos(float(np.mean(cosine)))) / 2.0
    return centres, ahead, np.cross(centres, ahead), unit


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
