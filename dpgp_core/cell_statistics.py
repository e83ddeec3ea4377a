"""Noisy cell statistics: what is released per cell, once, with the model of the field behind it, free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx

from dpgp_core.entropy import Entropy
from dpgp_core.gaussian import gaussian_mu
from dpgp_core.lattice import Lattice
from dpgp_core.numerics import Floats
from dpgp_core.posterior import Posterior, fit_cells
from dpgp_core.priors import Prior
from dpgp_core.records import CollapsedRecords
from dpgp_core.smoothing import smooth

STATISTIC_SENSITIVITY = 2.0
"""L2 sensitivity of all cells' (sum, count) for responses in [-1, 1], one record replaced.

With M = 1 a record (x, y) contributes the vector (y, w), |y| <= M, to the two coordinates of its cell, with
count weight w. Replacing it by (x', y') moves the statistics by the difference of two such contributions:

* same cell: (y - y', 0), squared length at most (2M)^2 = 4 M^2;
* two cells: (y, w) leaves and (y', w) enters disjoint coordinates, squared length at most 2 (M^2 + w^2).

The maximum is 4 M^2 for every w <= M, so w = M is the most precise count that costs nothing, and the
sensitivity is 2M. Both extremes are attained (docs/mathematics.md, section 11).
"""

GRID = 2.0**-20
"""Released numbers are rounded to multiples of this public step, about a millionth of a response unit."""

COUNT_SMOOTHING = 5
"""Rounds of neighbour averaging behind the local mean count."""

LEAST_SHARE = 0.02
"""Least local mean count, before scaling, as a share of n/N: averages of noise can be negative."""

FAR_BELOW = -50.0
"""Standardised noisy count below which the truncated normal's moments come from their asymptotic series."""

LEAST_INFORMATION = 1e-3
"""Cells whose estimated count is below this share of the noise are treated as unobserved."""


@dataclass(frozen=True, eq=False)
class NoisyStatistics:
    """What is released: nothing in it is private any more, everything computed from it is free.

    sums   (N,) clipped response sums plus N(0, s^2); cells without records carry noise as well
    counts (N,) record counts plus N(0, s^2); may be negative
    noise  s > 0
    n      public number of records
    """

    sums: Floats
    counts: Floats
    noise: float
    n: int

    def __post_init__(self) -> None:
        if self.sums.ndim != 1 or self.sums.shape != self.counts.shape or self.sums.size == 0:
            raise ValueError("sums and counts must be one-dimensional and of equal length.")
        if not (np.all(np.isfinite(self.sums)) and np.all(np.isfinite(self.counts))):
            raise ValueError("noisy statistics must be finite.")
        if not (np.isfinite(self.noise) and self.noise > 0 and self.n >= 1):
            raise ValueError("noisy statistics need a noise s > 0 and at least one record.")


def statistic_noise_for(epsilon: float, delta: float) -> float:
    """Standard deviation s that makes the statistics (epsilon, delta)-private, exactly."""
    mu = gaussian_mu(epsilon, delta)
    if not mu > 0:
        raise ValueError(f"no noise gives epsilon {epsilon:g} at delta {delta:g}; raise one of them.")
    return STATISTIC_SENSITIVITY / float(mu) * (1.0 + 1e-15)


def statistic_mu(statistic_noise: float) -> float:
    """Gaussian-DP parameter `mu = 2M/s` of one release of the statistics, M = 1."""
    return STATISTIC_SENSITIVITY / statistic_noise if statistic_noise > 0 else float("inf")


def release_statistics(
    records: CollapsedRecords, size: int, statistic_noise: float, entropy: Entropy
) -> NoisyStatistics:
    """Add N(0, s^2) to every cell's sum and count, over all `size` cells of the domain.

    The cost is that of a Gaussian mechanism with `statistic_mu(s)`. Called on private records only through
    `mechanisms.draw_release`.
    """
    if not (np.isfinite(statistic_noise) and statistic_noise > 0):
        raise ValueError(f"the statistic noise must be a positive finite number, got {statistic_noise!r}.")
    if records.index[-1] >= size:
        raise ValueError("a record lies outside the domain.")
    exact = np.zeros((2, size))
    exact[0, records.index] = records.count * records.mean
    exact[1, records.index] = records.count
    noisy = exact + statistic_noise * entropy.normal((2, size))
    noisy = np.round(noisy / GRID) * GRID
    return NoisyStatistics(noisy[0], noisy[1], float(statistic_noise), records.n)


def estimated_counts(statistics: NoisyStatistics, lattice: Lattice) -> tuple[Floats, Floats]:
    """Posterior mean and variance, (N,) each, of the true counts given the noisy ones: always positive.

    A cell's count has an exponential prior, the law of largest entropy on [0, inf) with a given mean c: the
    noisy counts' average around the cell, kept positive and scaled so that all c sum to the public n. Times
    the noise's normal density this is a normal density with mean `count - s^2/c` and variance s^2, cut off
    at 0, whose moments are closed formulas.
    """
    least = LEAST_SHARE * statistics.n / statistics.counts.size
    around = np.maximum(smooth(lattice, statistics.counts, COUNT_SMOOTHING), least)
    around *= statistics.n / around.sum()
    noise = statistics.noise
    score = (statistics.counts - noise**2 / around) / noise
    hazard = np.sqrt(2.0 / np.pi) / erfcx(-score / np.sqrt(2.0))
    mean, variance = score + hazard, 1.0 - hazard * (score + hazard)
    # Far below the cut these cancel; their series in 1/|score| is then exact to a part in 10^8.
    far = np.minimum(score, FAR_BELOW) ** -2
    mean = np.where(score < FAR_BELOW, np.sqrt(far) * (1.0 - far * (2.0 - 10.0 * far)), mean)
    variance = np.where(score < FAR_BELOW, far * (1.0 - far * (6.0 - 50.0 * far)), variance)
    return noise * mean, noise**2 * variance


def cell_observations(
    statistics: NoisyStatistics, lattice: Lattice, ridge: float, scale: float
) -> tuple[np.ndarray, Floats, Floats]:
    """Cells that carry information, their estimated mean response and its noise variance, (k,) each.

    With estimated count m and its variance q the noisy sum is `m f + (noise of m records) +
    (error of m) f + N(0, s^2)` for a cell value f with prior variance scale^2 and records' noise
    variance (ridge scale)^2. So `sum / m` observes f with variance
    `(m (ridge scale)^2 + q scale^2 + s^2) / m^2`.
    """
    count, doubt = estimated_counts(statistics, lattice)
    cells = np.flatnonzero(count > LEAST_INFORMATION * statistics.noise)
    m, q = count[cells], doubt[cells]
    variance = (m * (ridge * scale) ** 2 + q * scale**2 + statistics.noise**2) / np.square(m)
    return cells, statistics.sums[cells] / m, variance


def noise_aware_posterior(statistics: NoisyStatistics, prior: Prior, ridge: float, scale: float) -> Posterior:
    """Posterior of the field given the released statistics only: free, whatever prior, ridge or scale.

    scale  prior standard deviation of the field, response units; draw the posterior's paths with it
    ridge  standard deviation of one record around its cell's value, in units of scale
    """
    if statistics.sums.size != prior.size:
        raise ValueError("the statistics and the prior must be over the same cells.")
    cells, mean, variance = cell_observations(statistics, prior.lattice, ridge, scale)
    return fit_cells(prior, cells, mean, variance, signal_scale=scale)


def log_evidence(statistics: NoisyStatistics, prior: Prior, ridge: float, scale: float) -> float:
    """Log marginal likelihood of the estimated cell means: ranks (prior, ridge, scale) for free."""
    cells, mean, variance = cell_observations(statistics, prior.lattice, ridge, scale)
    posterior = fit_cells(prior, cells, mean, variance, signal_scale=scale)
    misfit = float(np.sum(mean * (mean - posterior.mean[cells]) / variance))
    spread = float(np.sum(np.log(variance))) + posterior.log_determinant()
    return -0.5 * (misfit + spread + cells.size * float(np.log(2.0 * np.pi)))


def reference_records(
    statistics: NoisyStatistics, prior: Prior, ridge: float, scale: float
) -> CollapsedRecords:
    """Public stand-ins for the records, to tune a design on: estimated counts, noise-aware posterior means.

    For an analyst without reference data: pay for pilot statistics once, then search on these for free.
    """
    count = np.rint(estimated_counts(statistics, prior.lattice)[0]).astype(np.int64)
    mean = noise_aware_posterior(statistics, prior, ridge, scale).mean
    cells = np.flatnonzero(count >= 1)
    if cells.size == 0:
        raise ValueError("the pilot statistics are too noisy to show any record; spend more on them.")
    return CollapsedRecords(cells, count[cells], np.clip(mean[cells], -1.0, 1.0))
