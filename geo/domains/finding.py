"""Finds the cells of many points at once: hexagons of a lattice on each face of an icosahedron."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import repeat

import h3
import numpy as np
import pandas as pd
from h3.api import basic_int
from numpy.typing import NDArray

FEW = 5_000
"""Points up to which H3 itself is as quick."""

_AT_ONCE = 1 << 13
_CLEAR = 1.0 - 2e-3  # of the way from a centre to an edge: nearer to it, H3 itself decides
_TURN = math.asin(math.sqrt(3.0 / 28.0))  # between the lattices of even and of odd resolutions

Floats = NDArray[np.float64]


def numbers_at(lon: Floats, lat: Floats, resolution: int) -> NDArray[np.uint64]:
    """Return the number of the cell of each of n points in finite degrees, as `hexagons.as_integers` gives
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
