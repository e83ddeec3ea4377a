"""Finds the cells of many points at once: hexagons of a lattice on each face of an icosahedron."""

from __future__ import annotations

import math
from functools import lru_cache

import h3
import numpy as np
from numpy.typing import NDArray

from geo.domains import hexagons

FEW = 5_000
"""Points up to which H3 itself is as quick."""

_AT_ONCE = 1 << 13
_CLEAR = 1.0 - 2e-3  # of the way from a centre to an edge: nearer to it, H3 itself decides
_TURN = math.asin(math.sqrt(3.0 / 28.0))  # between the lattices of even and of odd resolutions

Floats = NDArray[np.float64]


def asked_one_by_one(
    cells: NDArray[np.uint64], lon: Floats, lat: Floats, resolution: int
) -> NDArray[np.int64]:
    """Find the cell that holds each point by H3 itself; parameters and result as of `CellFinder`."""
    found = hexagons.numbers_at(lon, lat, resolution)
    at = np.minimum(np.searchsorted(cells, found), cells.size - 1)
    return np.where(cells[at] == found, at, -1)


class CellFinder:
    """The places of some cells in the lattices of their faces.

    Parameters
    ----------
    cells : (N,) uint64
        Cells of one resolution, increasing.
    centres : (N, 2) float64
        Their longitudes and latitudes, degrees.
    resolution : int

    Notes
    -----
    H3 assigns a point to the face whose centre is nearest, projects it there along straight lines from the
    middle of the earth, and takes the nearest point of a triangular lattice. So does this class, for all
    points at once. H3 is asked about the points near an edge of a cell, where rounding may decide, and about
    those near an edge of a face, whose cell may have its centre on the next one.
    """

    def __init__(self, cells: NDArray[np.uint64], centres: Floats, resolution: int) -> None:
        self._cells, self._resolution = cells, resolution
        self._step = _faces()[3] / math.sqrt(7.0) ** resolution
        keys = self._keys(_vectors(*centres.T))[0]
        self._order = np.argsort(keys)
        self._keyed = keys[self._order]

    def find(self, lon: Floats, lat: Floats) -> NDArray[np.int64]:
        """Find the cell that holds each point.

        Parameters
        ----------
        lon, lat : (n,) float64
            Finite, degrees.

        Returns
        -------
        (n,) int64
            Positions among the cells, -1 where it is none of them.
        """
        index = np.empty(lon.size, np.int64)
        for start in range(0, lon.size, _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            points = _vectors(lon[rows], lat[rows])
            keys, doubtful = self._keys(points)
            at = np.minimum(np.searchsorted(self._keyed, keys), self._keyed.size - 1)
            found = np.where(self._keyed[at] == keys, self._order[at], -1)
            lost = np.flatnonzero(found < 0)
            doubtful[lost[self._near_edge(points[lost])]] = True
            asked = np.flatnonzero(doubtful)
            found[asked] = asked_one_by_one(self._cells, lon[rows][asked], lat[rows][asked], self._resolution)
            index[rows] = found
        return index

    def _near_edge(self, points: Floats) -> NDArray[np.bool_]:
        """(n,) whether points lie within some cells of an edge of their face."""
        nearness = np.partition(points @ _faces()[0].T, -2, axis=1)
        return np.asarray(nearness[:, -1] - nearness[:, -2] < 4.0 * self._step)

    def _keys(self, points: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """(n,) a number of face and lattice point each, and whether the point lies near an edge of a cell."""
        centres, ahead, aside, _ = _faces()
        nearness = points @ centres.T
        face = np.argmax(nearness, axis=1)
        away = self._step * nearness[np.arange(face.size), face]
        x = np.einsum("ij,ij->i", points, ahead[face]) / away
        y = np.einsum("ij,ij->i", points, aside[face]) / away
        if self._resolution % 2:
            cos, sin = math.cos(_TURN), math.sin(_TURN)
            x, y = cos * x + sin * y, cos * y - sin * x
        cube = np.empty((3, face.size))
        cube[1] = y * (2.0 / math.sqrt(3.0))
        cube[0] = x - cube[1] / 2.0
        cube[2] = -cube[0] - cube[1]
        whole = np.rint(cube)
        off = np.abs(whole - cube)
        first = (off[0] > off[1]) & (off[0] > off[2])
        second = ~first & (off[1] > off[2])
        whole[0] = np.where(first, -whole[1] - whole[2], whole[0])
        whole[1] = np.where(second, -whole[0] - whole[2], whole[1])
        whole[2] = -whole[0] - whole[1]
        left = cube - whole
        doubtful = left.max(axis=0) - left.min(axis=0) > _CLEAR
        lattice = whole[:2].astype(np.int64)
        return (face << 56) + (lattice[0] << 28) + lattice[1], doubtful


def _vectors(lon: Floats, lat: Floats) -> Floats:
    """(n, 3) points of the unit sphere."""
    lon, lat = np.radians(lon), np.radians(lat)
    flat = np.cos(lat)
    return np.column_stack([flat * np.cos(lon), flat * np.sin(lon), np.sin(lat)])


@lru_cache(maxsize=1)
def _faces() -> tuple[Floats, Floats, Floats, float]:
    """(20, 3) centres of the faces, towards a corner of each, a quarter turn from there; the lattice's step.

    The corners of the icosahedron are the centres of the twelve pentagons, two steps of resolution 0 from the
    centre of a face.
    """
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
