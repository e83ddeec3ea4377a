"""The regular lattice that the network sees: a fixed public window, and the way from cells to it and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

SIDE = 32
"""Pixels along each axis of the window."""

PIXEL = 2.0 / SIDE
"""Side of one pixel in window units: the window is the square from -1 to 1 on both axes."""

REACH = 0.9
"""The domain's longer side fills so much of the window; the rest is margin."""

AXIS: Floats = np.asarray(-1.0 + PIXEL * (np.arange(SIDE) + 0.5), dtype=np.float64)
"""(SIDE,) middles of the pixels along either axis, window units."""


@dataclass(frozen=True, eq=False)
class Window:
    """The square window of a public domain, and where its cells lie in it.

    Made from the centres of the domain's cells alone, so that it is public and the same for all records.
    `centre` (2,): middle of the domain's bounding box, metres. `half`: half the side of the window,
    metres. `places` (N, 2): the cells' centres in window units, within `REACH` of 0. `spacing`: distance
    between neighbouring cells, window units."""

    centre: Floats
    half: float
    places: Floats
    spacing: float

    @classmethod
    def of(cls, centres: Floats, spacing: float) -> Window:
        """The window of cells with the given centres (N, 2) and distance between neighbours, metres.
        Raises InvalidValue if the centres are not finite pairs, or the spacing is not positive."""
        if centres.ndim != 2 or centres.shape[1] != 2 or not np.all(np.isfinite(centres)):
            raise InvalidValue("a window needs finite cell centres, two numbers each, in metres.")
        low, high = centres.min(axis=0), centres.max(axis=0)
        centre = (low + high) / 2.0
        half = max(float((high - low).max()) / 2.0, positive("spacing", spacing)) / REACH
        return cls(centre, half, (centres - centre) / half, spacing / half)

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """(SIDE, SIDE) pixels that belong to the domain: a cell is within 3/4 of a pixel, or of a cell."""
        first, second = np.meshgrid(AXIS, AXIS, indexing="ij")
        apart, _ = cKDTree(self.places).query(np.column_stack([first.ravel(), second.ravel()]))
        return np.asarray(apart <= 0.75 * max(PIXEL, self.spacing)).reshape(SIDE, SIDE)

    @cached_property
    def reading(self) -> sparse.csr_matrix:
        """(N, SIDE^2) weights >= 0 with row sums 1 that carry values at pixels to cells: bilinear."""
        at = np.clip((self.places + 1.0) / PIXEL - 0.5, 0.0, SIDE - 1.0)
        low = np.minimum(np.floor(at).astype(np.int64), SIDE - 2)
        share = at - low
        rows = np.repeat(np.arange(at.shape[0]), 4)
        columns, weights = [], []
        for i in (0, 1):
            for j in (0, 1):
                columns.append((low[:, 0] + i) * SIDE + low[:, 1] + j)
                first = share[:, 0] if i else 1.0 - share[:, 0]
                second = share[:, 1] if j else 1.0 - share[:, 1]
                weights.append(first * second)
        shape = (at.shape[0], SIDE * SIDE)
        entries = (np.column_stack(weights).ravel(), (rows, np.column_stack(columns).ravel()))
        return sparse.csr_matrix(sparse.coo_array(entries, shape=shape))
