"""Collapsed records: the number of records of each cell and their mean response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Bools, Floats, Ints

RESPONSE_BITS = 10
"""Responses are rounded to multiples of 2^-10 of a response unit before they are added."""

UNIT = 2.0**-RESPONSE_BITS  # that public step, response units
FINE = 2.0**-32
"""Step, response units, to which responses are rounded before their mean is taken."""


@dataclass(frozen=True, eq=False, repr=False)
class CollapsedRecords:
    """Records at cell centres, collapsed per non-empty cell (docs/mathematics.md, sections 0, 9).

    Raises `InvalidValue` for no records, unequal lengths, cells out of order, an empty cell, or a
    response beyond -1 and 1.
    """

    index: Ints  # (k,) positions in the domain's cell array, strictly increasing
    count: Ints  # (k,) records per cell, >= 1; a cell record has count 1
    mean: Floats  # (k,) mean clipped response per cell, in [-1, 1]
    # (k,) sum of the responses, each rounded to a multiple of 2^-10, in these units: whole numbers,
    # so the same for every order of the records; None if only means are known
    grid_total: Ints | None = None
    # (n,) the rounded response of every record in these units, cell by cell, for a second look;
    # None if only means are known
    singles: NDArray[np.int16] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", np.asarray(self.index, dtype=np.int64))
        object.__setattr__(self, "count", np.asarray(self.count, dtype=np.int64))
        object.__setattr__(self, "mean", np.asarray(self.mean, dtype=np.float64))
        if not (self.index.ndim == 1 and self.index.shape == self.count.shape == self.mean.shape):
            raise InvalidValue("index, count and mean must be one-dimensional and of equal length.")
        if self.index.size == 0:
            raise InvalidValue("there are no records: at least one record must lie inside the domain.")
        if self.index[0] < 0 or np.any(np.diff(self.index) <= 0):
            raise InvalidValue("index must be strictly increasing and not negative.")
        if np.any(self.count < 1):
            raise InvalidValue("every listed cell needs at least one record.")
        if not np.all(np.abs(self.mean) <= 1.0 + 1e-12):
            raise InvalidValue("responses must be finite and clipped to [-1, 1].")

    @property
    def n(self) -> int:
        """Number of records (taken as public)."""
        return int(self.count.sum())

    @property
    def units(self) -> Ints:
        """Sums (k,) of responses per cell in units of 2^-10; from means without single records."""
        if self.grid_total is not None:
            return self.grid_total
        return np.rint(self.mean * self.count / UNIT).astype(np.int64)

    def refuse_outside(self, cells: int) -> None:
        """Raise InvalidValue for a record outside the domain's cells."""
        if self.index[-1] >= cells:
            raise InvalidValue("a record lies outside the prior's domain.")

    @classmethod
    def from_records(cls, index: Any, response: Any) -> CollapsedRecords:
        """Collapse records in any order: cell positions (n,) and clipped responses (n,).

        Raises InvalidValue for no records, a negative position, or a response that is not finite.
        """
        index = np.asarray(index, dtype=np.int64)
        response = np.asarray(response, dtype=np.float64)
        if not np.all(np.isfinite(response)):
            raise InvalidValue("responses must be finite and clipped to [-1, 1].")
        order = np.argsort(index, kind="stable")
        cells, first, count = np.unique(index[order], return_index=True, return_counts=True)
        # Sums of floating-point numbers depend on the order of the rows in their last bits, sums of
        # whole numbers do not.
        fine = np.rint(response / FINE).astype(np.int64)[order]
        total = np.add.reduceat(fine, first) * FINE if first.size else np.zeros(0)
        units = np.rint(np.clip(response, -1.0, 1.0) / UNIT).astype(np.int16)[order]
        rounded = np.add.reduceat(units, first, dtype=np.int64) if first.size else np.zeros(0, dtype=np.int64)
        return cls(cells, count, np.clip(total / np.maximum(count, 1), -1.0, 1.0), rounded, units)

    def part(self, mask: Bools) -> CollapsedRecords:
        """The records of some of the k cells, for a mask (k,)."""
        totals = None if self.grid_total is None else self.grid_total[mask]
        singles = None if self.singles is None else self.singles[np.repeat(mask, self.count)]
        return CollapsedRecords(self.index[mask], self.count[mask], self.mean[mask], totals, singles)
