"""Posteriors of many simulated datasets on a shared evaluation grid, for all ridges at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from dpgp_core.excursion import agreed, agreed_each

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
CUTOFFS = np.linspace(0.05, 0.95, 91)


@dataclass(frozen=True, eq=False)
class Spectrum:
    """One eigendecomposition of a dataset's correlation matrix serves every ridge.

    Parameters
    ----------
    values
        (n,) eigenvalues of K_xx = U diag(values) U^T
    rotation
        (n, n) U
    features
        (G, n) K_gx U
    """

    values: Floats
    rotation: Floats
    features: Floats

    @staticmethod
    def of(among: Floats, across: Floats) -> Spectrum:
        """From K_xx (n, n) and K_gx (G, n)."""
        values, rotation = np.linalg.eigh(among)
        return Spectrum(np.maximum(values, 0.0), rotation, across @ rotation)

    def shrink(self, ridges: Floats) -> Floats:
        """(n, R) inverse eigenvalues of K_r."""
        return np.asarray(1.0 / (self.values[:, None] + np.asarray(ridges) ** 2))

    def variance(self, ridges: Floats) -> Floats:
        """(G, R) posterior variances at unit scale."""
        return np.maximum(1.0 - np.square(self.features) @ self.shrink(ridges), 1e-12)

    def mean(self, response: Floats, ridges: Floats) -> Floats:
        """(G, R) posterior means of (n,) responses."""
        return np.asarray(self.features @ (self.shrink(ridges) * (self.rotation.T @ response)[:, None]))

    def residuals(self, draws_grid: Floats, draws_data: Floats, noise: Floats, ridge: float) -> Floats:
        """(D, G) zero-mean posterior paths at unit scale, from joint prior draws by Matheron's rule.

        Parameters
        ----------
        draws_grid, draws_data
            (D, G) and (D, n) joint prior draws on the grid and at the data
        noise
            (D, n) standard normal
        ridge
            noise-to-signal ratio
        """
        shrink = self.shrink(np.array([ridge]))[:, 0]
        data = (draws_data + ridge * noise) @ self.rotation
        return np.asarray(draws_grid - (data * shrink) @ self.features.T)

    def effective_dimension(self, ridge: float) -> float:
        """`tr K (K + r^2)^-1`."""
        return float(np.sum(self.values / (self.values + ridge**2)))


def losses(mean: Floats, variance: Floats, scales: Floats, truth: Bools, weight: Floats) -> Floats:
    """(R, S) binary cross-entropy of normal marginals (G, R) at scales (R, S); weight (G,) sums to 1.

    `inf` where a scale is not finite.
    """
    signed = np.where(truth, 1.0, -1.0)[:, None] * mean / np.sqrt(variance)
    finite = np.where(np.isfinite(scales), scales, 1.0)
    value = -np.einsum("g,grs->rs", weight, log_ndtr(signed[:, :, None] / finite))
    return np.where(np.isfinite(scales), value, np.inf)


def probability(mean: Floats, variance: Floats, scale: float) -> Floats:
    """(G,) excursion probability above 0 of normal marginals: mean (G,), unit-scale variance (G,)."""
    return np.asarray(ndtr(mean / (scale * np.sqrt(variance))))


def weighted_ious(sets: Bools, truth: Bools, weight: Floats) -> Floats:
    """(D,) IoU of sets (D, G) with a truth (G,) by weighted volume; 1 where both are empty."""
    both = (sets & truth) @ weight
    either = (sets | truth) @ weight
    return np.where(either > 0.0, both / np.maximum(either, 1e-300), 1.0)


def best_cutoff(probabilities: Floats, truths: Bools, weight: Floats) -> float:
    """The cutoff with the largest mean IoU over worlds, (W, G) each."""
    shape = (CUTOFFS.size, weight.size)
    value = np.mean(
        [
            weighted_ious(agreed_each(np.broadcast_to(p, shape), CUTOFFS), t, weight)
            for p, t in zip(probabilities, truths, strict=True)
        ],
        axis=0,
    )
    return float(CUTOFFS[int(np.argmax(value))])


def ious_at(probabilities: Floats, truths: Bools, weight: Floats, cutoff: float) -> Floats:
    """(W,) IoU by weighted volume of each world's map cut at `cutoff` with its truth, (W, G) each."""
    return np.array(
        [
            weighted_ious(agreed(p, cutoff)[None], t, weight)[0]
            for p, t in zip(probabilities, truths, strict=True)
        ]
    )


def spread(values: Floats, digits: int = 3) -> str:
    """Median and interquartile range of values (W,), in words."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
