"""Inner products of features over all pairs of nodes, exactly: the public facts that price a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core._checks import whole
from dpgp_core.errors import InvalidValue
from dpgp_core.features.gridded import GRID_BITS, Features

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
        if not self.widest_square >= 0.0 or not self.least <= self.largest_square:
            raise InvalidValue("these numbers are no extremes of inner products.")

    @property
    def kappa(self) -> float:
        """`max(0, -min K_ij)`: how far any two features point apart."""
        return max(0.0, -self.least)


def inner_products(features: Features, block: int = BLOCK) -> InnerProducts:
    """Extremes over all pairs, in blocks of `block` rows, so that memory is bounded by block^2 numbers.

    Features are whole numbers in units of 2^-20 with squared length at most 2^40. By Cauchy and Schwarz every
    partial sum of an inner product is at most 2^40 in size, far below 2^53, so double precision adds them
    without any rounding, in whatever order the library chooses. Nothing needs rounding outward.
    """
    rows, block = features.scaled, whole("block", block)
    squares = np.einsum("ij,ij->i", rows, rows)
    least, widest = float(squares.min()), 0.0
    starts = range(0, rows.shape[0], block)
    for left in starts:
        one = slice(left, left + block)
        for right in range(left, rows.shape[0], block):
            other = slice(right, right + block)
            product = rows[one] @ rows[other].T
            least = min(least, float(product.min()))
            product -= 0.5 * squares[other]  # halves of whole numbers below 2^41: exact, too
            closest = product.min(axis=1) - 0.5 * squares[one]
            widest = max(widest, -2.0 * float(closest.min()))
    return InnerProducts(float(squares.max()) * _UNIT, least * _UNIT, widest * _UNIT)


def sampled_products(features: Features, step: int) -> InnerProducts:
    """For simulations only: extremes over every `step`-th node against all, so a little too mild to price."""
    rows = features.scaled
    squares = np.einsum("ij,ij->i", rows, rows)
    some = slice(None, None, whole("step", step))
    product = rows[some] @ rows.T
    least = min(float(product.min()), float(squares.min()))
    product -= 0.5 * squares
    closest = product.min(axis=1) - 0.5 * squares[some]
    return InnerProducts(float(squares.max()) * _UNIT, least * _UNIT, -2.0 * float(closest.min()) * _UNIT)
