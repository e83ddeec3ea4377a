"""Bins on a line: each one's mean value with Laplace noise, and the Gaussian process on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, Ints, cholesky, solve_lower
from dpgp_core.mechanisms.bin_means import noise_variance
from hexcursion_peers.labels.plan import Reading


def bin_of(places: ArrayLike, edges: ArrayLike) -> Ints:
    """Bin (n,), 0 to b - 1, of each place on a line, -1 outside; b + 1 public edges, strictly increasing.

    Bins are closed on the left and open on the right: a place on an edge is in one bin only, so that bins are
    disjoint data and one value moves one bin (with both ends closed it could be counted twice). Raises
    InvalidValue for a place that is not finite, or edges that do not increase.
    """
    at, cut = np.asarray(places, dtype=np.float64), np.asarray(edges, dtype=np.float64)
    if cut.ndim != 1 or cut.size < 2 or not np.all(np.isfinite(cut)) or np.any(np.diff(cut) <= 0):
        raise InvalidValue("the edges of the bins must be finite and strictly increasing.")
    if not np.all(np.isfinite(at)):
        raise InvalidValue("places must be finite.")
    bins = np.searchsorted(cut, at, side="right").astype(np.int64) - 1
    return np.where(bins < cut.size - 1, bins, -1)


@dataclass(frozen=True, eq=False)
class BinMeans:
    """Released means of the bins; nothing in them is private any more."""

    mean: Floats  # (b,) noisy means; 0 in bins without a record
    variance: Floats  # (b,) public variance of the noise; infinite in bins without a record


def means_of_sums(sums: Floats, count: Floats, epsilon: float, change: float) -> BinMeans:
    """Divide noisy sums (b,) by the public counts (b,) of the bins.

    The sums were released with pure epsilon-DP for values that change by at most `change`.
    """
    occupied = count > 0
    safe = np.where(occupied, count, 1.0)
    variance = np.where(occupied, noise_variance(epsilon, change) / safe**2, np.inf)
    return BinMeans(np.where(occupied, sums / safe, 0.0), variance)


def read_bins(
    means: BinMeans,
    between: Floats,
    cross: Floats,
    prior: Floats,
    scatter: Floats,
) -> Reading:
    """The field at P test places given noisy bin means: a Gaussian process on averages ("integral kernel").

    Prior covariances: `between` (b, b) of the bins' averages, `cross` (P, b) of the test places with these,
    `prior` (P, P) of the places. `scatter` (b,) is the variance of a bin's mean of the values around its
    average of the field: records' noise over count. The noise of a bin mean has a known variance, `2
    (change/(n epsilon))^2`, which enters as it is; the Laplace law is taken for the normal law of that
    variance (Smith et al. 2018, section 4).
    """
    usable = np.flatnonzero(np.isfinite(means.variance))
    if usable.size == 0:
        return Reading(np.zeros(prior.shape[0]), prior)
    noise = means.variance[usable] + scatter[usable]
    factor = cholesky(
        between[np.ix_(usable, usable)] + np.diag(noise), "the covariance of the bins", "use fewer"
    )
    half = solve_lower(factor, cross[:, usable].T)
    return Reading(half.T @ solve_lower(factor, means.mean[usable]), prior - half.T @ half)
