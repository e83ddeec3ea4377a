"""The released moments: `sum y k(Z, x)` and `sum k(Z, x) k(Z, x)^T` with noise, and what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.noise import Entropy, rounded_normal
from dpgp_core.posterior.records import RESPONSE_BITS, CollapsedRecords

BITS = 15
"""Features are multiples of 2^-15, so that their products are multiples of 2^-30."""

_UP = 1.0 + 2.0**-40
_MOST_RECORDS = 1 << 31


def paper_sensitivity(response_bound: float, norm: float, balance: float = 1.0) -> float:
    """Honkela and Melkas 2021, Theorem 2: `sqrt(R_y^4/(2c) + 2 R_y^2 R_k^2 + 2 c R_k^4)`.

    `response_bound` R_y is the bound to which responses are clipped, `norm` R_k^2 an upper bound on the
    squared length of `k(Z, x)`, `balance` c the variance of the noise on the first moment over that on
    the second."""
    square, norm, c = positive("response_bound", response_bound) ** 2, positive("norm", norm), balance
    return math.sqrt(square**2 / (2.0 * positive("balance", c)) + 2.0 * square * norm + 2.0 * c * norm**2)


def sensitivity(response_bound: float, norm: float, balance: float = 1.0) -> float:
    """The exact L2 sensitivity of both moments, in units of the first one's noise, rounded upwards.

    Notes
    -----
    With `t = <k, k'>` the squared change is at most `2 R_y^2 R_k^2 + 2 c R_k^4 + 2 R_y^2 |t| - 2 c t^2`. The
    paper takes the maximum over every t; as |t| <= R_k^2, it is `4 R_y^2 R_k^2` where `R_y^2 > 2 c R_k^2`:
    there the second moment costs nothing more than the first.
    """
    square, norm = positive("response_bound", response_bound) ** 2, positive("norm", norm)
    if square >= 2.0 * positive("balance", balance) * norm:
        return math.sqrt(4.0 * square * norm) * _UP
    return paper_sensitivity(response_bound, norm, balance) * _UP


def free_balance(response_bound: float, norm: float) -> float:
    """The largest c at which the second moment costs nothing more: `R_y^2/(2 R_k^2)`."""
    return positive("response_bound", response_bound) ** 2 / (2.0 * positive("norm", norm))


def symmetric_noise(size: int, deviation: float, entropy: Entropy) -> Floats:
    """Symmetric matrix (m, m), independent N(0, s^2) on the diagonal and N(0, s^2/2) above it.

    In the inner product of symmetric matrices this is white noise, so only the Frobenius norm of a
    change matters."""
    matrix = np.zeros((size, size))
    upper = np.triu_indices(size, 1)
    matrix[upper] = deviation / math.sqrt(2.0) * entropy.normal((upper[0].size,))
    matrix += matrix.T
    matrix[np.diag_indices(size)] = deviation * entropy.normal((size,))
    return matrix


@dataclass(frozen=True, eq=False)
class Moments:
    """The released sums, nothing in them private any more: `sum y k(Z, x)` (m,) and `sum k(Z, x) k(Z,
    x)^T` (m, m), each with noise of the stated deviation, symmetric on the second."""

    first: Floats
    second: Floats
    first_noise: float
    second_noise: float

    def __post_init__(self) -> None:
        size = self.first.size
        if self.first.shape != (size,) or self.second.shape != (size, size):
            raise InvalidValue("moments of m inducing points are an m vector and an m by m matrix.")
        if not (np.all(np.isfinite(self.first)) and np.all(np.isfinite(self.second))):
            raise InvalidValue("released moments must be finite.")

    def scaled(self, factor: float) -> Moments:
        """The moments of responses divided by `factor`."""
        return Moments(self.first / factor, self.second, self.first_noise / factor, self.second_noise)


@dataclass(frozen=True, eq=False)
class GriddedFeatures:
    """k(Z, x) of every public cell on a grid: `whole` (N, m), in multiples of 2^-15."""

    whole: NDArray[np.int64]

    @classmethod
    def of(cls, features: Floats) -> GriddedFeatures:
        """Rounded towards zero, so that no vector grows longer. Raises InvalidValue if the features are
        not a matrix (N, m) of values in [-1, 1]."""
        if features.ndim != 2 or not np.all(np.abs(features) <= 1.0 + 1e-9):
            raise InvalidValue("kernels between cells and inducing points must lie in [-1, 1].")
        return cls(np.trunc(np.clip(features, -1.0, 1.0) * 2.0**BITS).astype(np.int64))

    @property
    def values(self) -> Floats:
        """(N, m) the features themselves, in [-1, 1]."""
        return np.asarray(self.whole * 2.0**-BITS, dtype=float)

    @property
    def norm(self) -> float:
        """Largest squared length over all cells, rounded upwards from whole numbers."""
        return float(np.einsum("ij,ij->i", self.whole, self.whole).max()) * 4.0**-BITS * _UP

    def exact(self, records: CollapsedRecords) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First moment (m,) in units of 2^-25 and second moment (m, m) in units of 2^-30, whole numbers.
        PRIVATE.

        Raises InvalidValue if a record is outside the domain, or there are too many for sums of 62 bits."""
        if records.index[-1] >= self.whole.shape[0]:
            raise InvalidValue("a record lies outside the domain.")
        if records.n >= _MOST_RECORDS:
            raise InvalidValue("there are too many records for sums of 62 bits: split them over domains.")
        rows = self.whole[records.index]
        return records.units @ rows, (rows * records.count[:, None]).T @ rows

    def release(
        self, records: CollapsedRecords, first_noise: float, second_noise: float, entropy: Entropy
    ) -> Moments:
        """Both moments with rounded normal noise, once.

        A Gaussian mechanism of parameter `sensitivity(1, norm, c)/first_noise` for one record exchanged,
        place and value, with `c = (first_noise/second_noise)^2`.
        """
        first, second = self.exact(records)
        size = first.size
        unit, square = 2.0 ** -(BITS + RESPONSE_BITS), 4.0**-BITS
        noisy = first + rounded_normal(first_noise / unit, size, entropy)
        matrix = np.zeros((size, size), dtype=np.int64)
        upper = np.triu_indices(size, 1)
        if upper[0].size:
            off = rounded_normal(second_noise / math.sqrt(2.0) / square, upper[0].size, entropy)
            matrix[upper] = second[upper] + off
        matrix += matrix.T
        matrix[np.diag_indices(size)] = second.diagonal() + rounded_normal(
            second_noise / square, size, entropy
        )
        return Moments(
            np.asarray(noisy * unit, dtype=float),
            np.asarray(matrix * square, dtype=float),
            first_noise,
            second_noise,
        )
