"""Features: what one record of a cell contributes to the released sums, exact numbers on a public grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, Ints

GRID_BITS = 20
"""Features are whole multiples of 2^-20."""

_ONE = float(1 << GRID_BITS)


@dataclass(frozen=True, eq=False)
class Features:
    """Public features phi of the nodes of a domain, on the grid.

    Raises InvalidValue if an entry is not a whole number, or a row is longer than 1.
    """

    # name in `STRATEGIES` of what made them; they are priced by what they are, not by their name
    strategy: str
    # (M, p) phi times 2^20: whole numbers, kept as doubles, which hold them and all their inner products
    # exactly
    scaled: Floats

    def __post_init__(self) -> None:
        scaled = self.scaled
        if scaled.ndim != 2 or scaled.size == 0:
            raise InvalidValue("features must be a matrix with one row per node and at least one column.")
        if not (np.all(np.abs(scaled) <= _ONE) and np.array_equal(scaled, np.rint(scaled))):
            raise InvalidValue("features must be multiples of 2^-20 in [-1, 1].")
        if self.largest_square > 1.0:
            raise InvalidValue("features must have length at most 1: divide them by their length.")
        if self.largest_square == 0.0:
            raise InvalidValue("all features are zero: nothing would be released.")

    @classmethod
    def of(cls, strategy: str, rows: Floats) -> Features:
        """Divide each row of (M, p) by its length and round it towards zero to the grid: no length exceeds 1.

        A row of zeros stays zero: records of that node would not be seen at all. Raises InvalidValue for a
        feature that is not finite.
        """
        rows = np.asarray(rows, dtype=np.float64)
        if not np.all(np.isfinite(rows)):
            raise InvalidValue("features must be finite.")
        length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        # Rounding of the length adds less than one unit to a squared length of 2^40, and that is whole.
        return cls(strategy, np.trunc(rows * (_ONE / np.where(length > 0, length, 1.0))))

    @property
    def nodes(self) -> int:
        """Number M of nodes."""
        return int(self.scaled.shape[0])

    @property
    def size(self) -> int:
        """Number p of features."""
        return int(self.scaled.shape[1])

    @cached_property
    def values(self) -> Floats:
        """(M, p) the features themselves."""
        return self.scaled / _ONE

    @cached_property
    def whole(self) -> Ints:
        """(M, p) the features in units of 2^-20."""
        return self.scaled.astype(np.int64)

    @property
    def largest_square(self) -> float:
        """The largest squared length of a row, exact (sums of squares of such integers are below 2^53)."""
        return float(np.einsum("ij,ij->i", self.scaled, self.scaled).max()) / (_ONE * _ONE)
