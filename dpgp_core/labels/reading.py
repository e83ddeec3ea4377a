"""Reading noisy posterior means: the field given what was released, with its exceedance probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion.scores import exceedance_probability
from dpgp_core.excursion.sets import Direction
from dpgp_core.linalg.numerics import Floats, cholesky, solve_lower


@dataclass(frozen=True, eq=False)
class Reading:
    """The field at P places given released numbers.

    Parameters
    ----------
    mean : ndarray, shape (P,)
        Its mean.
    covariance : ndarray, shape (P, P)
        Its covariance.
    """

    mean: Floats
    covariance: Floats

    @property
    def deviation(self) -> Floats:
        """(P,) standard deviations."""
        return np.sqrt(np.maximum(self.covariance.diagonal(), 0.0))

    def probability(self, level: float, direction: Direction = "above") -> Floats:
        """(P,) probability that the field lies on the asked side of `level`."""
        return exceedance_probability(self.mean, self.deviation, level, direction)


@dataclass(frozen=True, eq=False)
class SumsReading:
    """The field on all cells given noisy sums `T = F^T totals + s w` over the occupied ones; see `read_sums`.

    Parameters
    ----------
    gain : ndarray, shape (N, p)
        The field's mean is `gain @ T`.
    variance : ndarray, shape (N,)
        Its variance, response units squared.
    """

    gain: Floats
    variance: Floats

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
    index: NDArray[np.int64],
    count: Floats,
    scatter: Floats,
    noise: Floats,
) -> SumsReading:
    """The reading of noisy sums, for any features: one p x p factorisation, shared by all releases.

    Parameters
    ----------
    features : ndarray, shape (k, p)
        F: what a unit of response in each occupied cell contributes.
    prior_variance : ndarray, shape (N,)
        Prior variance of all cells, response units squared.
    cross : ndarray, shape (N, k)
        Prior covariance of all cells with the occupied ones, response units squared.
    index : ndarray of int, shape (k,)
        Places of the occupied cells among all cells.
    count : ndarray, shape (k,)
        Records per occupied cell, public.
    scatter : ndarray, shape (k,)
        Variance of the cells' totals around `count * field`, response units squared.
    noise : ndarray, shape (p,)
        Variances of the noise on the sums, > 0.
    """
    loads = features * count[:, None]
    gain = cross @ loads
    inner = loads.T @ gain[index] + (features.T * scatter) @ features + np.diag(noise)
    factor = cholesky(0.5 * (inner + inner.T), "the covariance of the released sums", "use a larger ridge")
    half = solve_lower(factor, gain.T)
    explained = np.einsum("ij,ij->j", half, half)
    weights = solve_lower(factor, half, transposed=True).T
    return SumsReading(np.ascontiguousarray(weights), np.maximum(prior_variance - explained, 0.0))
