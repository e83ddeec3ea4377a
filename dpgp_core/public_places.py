"""Records at public places, whose values alone are private, and the reading of noisy sums over
them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, Ints, cholesky, solve_lower
from dpgp_core.priors.lattice import Prior


@dataclass(frozen=True, eq=False)
class SumsReading:
    """The field on all cells given noisy sums `T = F^T totals + s w` over the occupied ones:
    `read_sums`."""

    gain: Floats  # (N, p) the field's mean is `gain @ T`
    variance: Floats  # (N,) its variance, response units squared

    def mean(self, sums: Floats) -> Floats:
        """(N,) mean of the field, response units."""
        return np.asarray(self.gain @ sums)

    @property
    def deviation(self) -> Floats:
        """(N,) standard deviation of the field, response units."""
        return np.sqrt(self.variance)


@dataclass(frozen=True, eq=False)
class FieldCovariance:
    """The prior covariance of a field that noisy sums are read with, response units squared."""

    variance: Floats  # (N,) of all cells
    cross: Floats  # (N, k) of all cells with the occupied ones
    index: Ints  # (k,) the occupied cells among all


def read_sums(
    features: Floats, prior: FieldCovariance, count: Floats, scatter: Floats, noise: Floats
) -> SumsReading:
    """The reading of noisy sums, for any features: one p x p factorisation, shared by all releases.

    `features` (k, p) F: the contribution of a unit of response in each of k occupied cells.
    `count` (k,) are their records, and `scatter` (k,) is the variance of cells' totals around
    `count * field`, in response units squared; `noise` (p,) are variances > 0.
    """
    loads = features * count[:, None]
    gain = prior.cross @ loads
    inner = loads.T @ gain[prior.index] + (features.T * scatter) @ features + np.diag(noise)
    factor = cholesky(0.5 * (inner + inner.T), "the covariance of the released sums", "use a larger ridge")
    half = solve_lower(factor, gain.T)
    explained = np.einsum("ij,ij->j", half, half)
    weights = solve_lower(factor, half, transposed=True).T
    return SumsReading(np.ascontiguousarray(weights), np.maximum(prior.variance - explained, 0.0))


MOST_CELLS = 6_000  # largest domain: its covariance is a dense matrix


@dataclass(frozen=True, eq=False)
class PublicPlaces:
    """The public places of the records, and the prior correlation of the cells."""

    prior: Prior  # of the field, correlation at most 1
    index: Ints  # (k,) occupied cells, increasing
    count: Ints  # (k,) records in each, >= 1

    def __post_init__(self) -> None:
        if self.prior.size > MOST_CELLS:
            raise InvalidValue(
                f"mechanisms for public places keep a dense matrix and take at most {MOST_CELLS:,} cells, "
                f"got {self.prior.size:,}: choose a coarser resolution or another mechanism."
            )
        if self.index[-1] >= self.prior.size:
            raise InvalidValue("a record lies outside the prior's domain.")

    @cached_property
    def cross(self) -> Floats:
        """(N, k) prior correlation of all cells with the occupied ones."""
        return self._correlation[:, self.index]

    @cached_property
    def variance(self) -> Floats:
        """(N,) prior variance of all cells, at most 1."""
        return self._correlation.diagonal().copy()

    @cached_property
    def _correlation(self) -> Floats:
        return self.prior.correlation()

    def noise(self, ridge: float) -> Floats:
        """(k,) variance of an occupied cell's mean around the field, in units of the field's
        variance."""
        return np.asarray(positive("ridge", ridge) ** 2 / self.count)


def read_label_sums(
    places: PublicPlaces, rows: Floats, ridge: float, scale: float, variance: Floats
) -> SumsReading:
    """The field given noisy sums of any rows (k, p) over public places, with noise of variance
    (p,).

    `ridge` is the scatter of a record in units of the field's deviation `scale`, response units.
    """
    square = positive("scale", scale) ** 2
    count = places.count.astype(np.float64)
    prior = FieldCovariance(square * places.variance, square * places.cross, places.index)
    return read_sums(rows, prior, count, square * positive("ridge", ridge) ** 2 * count, variance)
