"""Reading noisy posterior means: the field given what was released, with its exceedance probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core.excursion import Direction, exceedance_probability
from dpgp_core.linalg import Floats, Ints, cholesky, solve_lower


@dataclass(frozen=True, eq=False)
class Reading:
    """The field at P places given released numbers."""

    mean: Floats  # (P,) its mean
    covariance: Floats  # (P, P) its covariance

    @property
    def deviation(self) -> Floats:
        """(P,) standard deviations."""
        return np.sqrt(np.maximum(self.covariance.diagonal(), 0.0))

    def probability(self, level: float, direction: Direction = "above") -> Floats:
        """(P,) probability that the field lies on the asked side of `level`."""
        return exceedance_probability(self.mean, self.deviation, level, direction)


@dataclass(frozen=True, eq=False)
class SumsReading:
    """The field on all cells given noisy sums `T = F^T totals + s w` over the occupied ones: `read_sums`."""

    gain: Floats  # (N, p) the field's mean is `gain @ T`
    variance: Floats  # (N,) its variance, response units squared

    def mean(self, sums: Floats) -> Floats:
        """(N,) mean of the field, response units."""
        return np.asarray(self.gain @ sums)

    @property
    def deviation(self) -> Floats:
        """(N,) standard deviation of the field, response units."""
        return np.sqrt(self.variance)


def read_sums(
    features: Floats,
    prior_variance: Floats,
    cross: Floats,
    index: Ints,
    count: Floats,
    scatter: Floats,
    noise: Floats,
) -> SumsReading:
    """The reading of noisy sums, for any features: one p x p factorisation, shared by all releases.

    `features` (k, p) F: what a unit of response in each of k occupied cells contributes. `prior_variance`
    (N,) of all cells and `cross` (N, k) with the occupied ones, and `scatter` (k,), the variance of cells'
    totals around `count * field`, are in response units squared; `noise` (p,) are variances > 0.
    """
    loads = features * count[:, None]
    gain = cross @ loads
    inner = loads.T @ gain[index] + (features.T * scatter) @ features + np.diag(noise)
    factor = cholesky(0.5 * (inner + inner.T), "the covariance of the released sums", "use a larger ridge")
    half = solve_lower(factor, gain.T)
    explained = np.einsum("ij,ij->j", half, half)
    weights = solve_lower(factor, half, transposed=True).T
    return SumsReading(np.ascontiguousarray(weights), np.maximum(prior_variance - explained, 0.0))
