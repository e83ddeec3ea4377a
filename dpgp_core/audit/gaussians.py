"""Two normal laws: their exact Renyi divergence, and the likelihood ratio learned from samples of both."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpgp_core.linalg import Floats


def renyi_divergence(mean_a: Floats, cov_a: Floats, mean_b: Floats, cov_b: Floats, order: float) -> float:
    """Exact D_order(N(mean_a, cov_a) || N(mean_b, cov_b)), order > 1; inf where infinite (Gil et al. 2013).

    Means (k,), positive definite covariances (k, k). Source: paper, appendix A.
    """
    mixed = order * cov_b + (1.0 - order) * cov_a
    if float(np.linalg.eigvalsh(mixed)[0]) <= 0.0:
        return math.inf
    shift = mean_a - mean_b
    logs = [float(np.linalg.slogdet(matrix)[1]) for matrix in (mixed, cov_a, cov_b)]
    square = float(shift @ np.linalg.solve(mixed, shift))
    return 0.5 * order * square - (logs[0] - (1.0 - order) * logs[1] - order * logs[2]) / (
        2.0 * (order - 1.0)
    )


@dataclass(frozen=True, eq=False)
class NormalLaw:
    """A normal law of k numbers, estimated from samples."""

    mean: Floats  # shape (k,)
    precision: Floats  # inverse covariance, shape (k, k)
    log_determinant: float  # of the covariance

    @staticmethod
    def of(samples: Floats) -> NormalLaw:
        """From S samples of k numbers each, shape (S, k)."""
        covariance = np.cov(samples, rowvar=False).reshape(samples.shape[1], samples.shape[1])
        precision: Floats = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        return NormalLaw(samples.mean(axis=0), precision, float(np.linalg.slogdet(covariance)[1]))

    def log_density(self, values: Floats) -> Floats:
        """Log density of values (..., k), shape (...), up to the constant that all laws share."""
        shift = values - self.mean
        square = np.einsum("...i,ij,...j->...", shift, self.precision, shift)
        return np.asarray(-0.5 * (square + self.log_determinant))
