"""Features of a record on a grid of whole numbers, and the exact inner products that price a
release."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpgp_core._checks import whole
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, Ints

GRID_BITS = 20  # features are whole multiples of 2^-20
_ONE = float(1 << GRID_BITS)


@dataclass(frozen=True, eq=False)
class Features:
    """Public features phi of the nodes of a domain, on the grid.

    Raises InvalidValue if an entry is not a whole number, or a row is longer than 1.
    """

    # name in `STRATEGIES`; the price depends on the numbers alone, not on this name
    strategy: str
    # (M, p) phi times 2^20: whole numbers in doubles, which represent them and their inner products
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
        """Divide each row of (M, p) by its length and round it towards zero to the grid: no length
        exceeds 1.

        A row of zeros remains zero: the sums then ignore records of that node. Raises InvalidValue
        for a feature that is not finite.
        """
        rows = np.asarray(rows, dtype=np.float64)
        if not np.all(np.isfinite(rows)):
            raise InvalidValue("features must be finite.")
        length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
        # Rounding of the length adds less than one unit to a squared length of 2^40, and that is
        # whole. Rounding to nearest could lengthen a row beyond 1;
        # rounding towards 0 cannot.
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
        """(M, p) the features as numbers in [-1, 1]."""
        return self.scaled / _ONE

    @cached_property
    def whole(self) -> Ints:
        """(M, p) the features in units of 2^-20."""
        return self.scaled.astype(np.int64)

    @property
    def largest_square(self) -> float:
        """The largest squared length of a row, exact (sums of squares of such integers are below
        2^53)."""
        return float(np.einsum("ij,ij->i", self.scaled, self.scaled).max()) / (_ONE * _ONE)


BLOCK = 512
_UNIT = 2.0 ** (-2 * GRID_BITS)


@dataclass(frozen=True)
class InnerProducts:
    """Extremes of K_ij = <phi_i, phi_j> over all pairs of nodes; every field is exact."""

    largest_square: float  # max_i K_ii, in (0, 1]
    least: float  # min_ij K_ij; the diagonal takes part, so it is at most the smallest K_ii
    widest_square: float  # max_ij |phi_i - phi_j|^2

    def __post_init__(self) -> None:
        if not 0.0 < self.largest_square <= 1.0:
            raise InvalidValue("squared lengths of features must lie in (0, 1].")
        # `least` includes the diagonal K_ii, so it cannot exceed the largest squared length.
        if not self.widest_square >= 0.0 or not self.least <= self.largest_square:
            raise InvalidValue("these numbers are no extremes of inner products.")

    @property
    def kappa(self) -> float:
        """`max(0, -min K_ij)`: the most by which two features point in opposite directions."""
        return max(0.0, -self.least)


def inner_products(features: Features, block: int = BLOCK) -> InnerProducts:
    """Extremes over all pairs, in blocks of `block` rows, so that memory is bounded by block^2
    numbers.

    Features are whole numbers in units of 2^-20 with squared length at most 2^40. By Cauchy and
    Schwarz every partial sum of an inner product is at most 2^40 in size, far below 2^53, so double
    precision adds them without any rounding, in whatever order the library chooses. Nothing needs
    rounding outward.
    """
    # Theorem C (docs/spectral-statistics.md, section 2) needs two extremes: k = max K_ii and D =
    # max |phi_i - phi_j|^2. They are computed over all pairs instead of derived from the strategy,
    # so an overlooked negative K_ij is priced as it is.
    rows, block = features.scaled, whole("block", block)
    squares = np.einsum("ij,ij->i", rows, rows)
    smallest, widest = float(squares.min()), 0.0
    starts = range(0, rows.shape[0], block)
    for left in starts:
        row_block = slice(left, left + block)
        # K is symmetric: blocks left of the diagonal would repeat these.
        for right in range(left, rows.shape[0], block):
            column_block = slice(right, right + block)
            product = rows[row_block] @ rows[column_block].T
            smallest = min(smallest, float(product.min()))
            # |phi_i - phi_j|^2 = K_ii + K_jj - 2 K_ij: its maximum over j is that of K_jj/2 - K_ij.
            # Halves of whole numbers below 2^41 are exact, too.
            product -= 0.5 * squares[column_block]
            closest = product.min(axis=1) - 0.5 * squares[row_block]
            widest = max(widest, -2.0 * float(closest.min()))
    return InnerProducts(float(squares.max()) * _UNIT, smallest * _UNIT, widest * _UNIT)


def sampled_products(features: Features, step: int) -> InnerProducts:
    """Extremes over every `step`-th node against all nodes: for simulations only, as it may miss
    the worst pair and so understate the price."""
    rows = features.scaled
    squares = np.einsum("ij,ij->i", rows, rows)
    sample = slice(None, None, whole("step", step))
    product = rows[sample] @ rows.T
    smallest = min(float(product.min()), float(squares.min()))
    product -= 0.5 * squares
    closest = product.min(axis=1) - 0.5 * squares[sample]
    return InnerProducts(float(squares.max()) * _UNIT, smallest * _UNIT, -2.0 * float(closest.min()) * _UNIT)
