"""The posterior of a prior known by its correlation: one Cholesky factorisation over the observed cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, Ints, cholesky, solve_lower
from dpgp_core.noise import Entropy
from dpgp_core.priors.lattice import Prior


def check_draw(scale: float, paths: int, noise_scale: float) -> None:
    """Raise InvalidValue for a negative or infinite scale, a mean without any noise, or no path."""
    if not (np.isfinite(scale) and scale >= 0 and np.isfinite(noise_scale) and noise_scale >= 0):
        raise InvalidValue("scale and noise_scale must be finite and not negative.")
    if scale == 0 and noise_scale == 0:
        raise InvalidValue("scale and noise_scale are both 0: that is the exact posterior mean, not a draw.")
    if paths < 1:
        raise InvalidValue(f"the number of paths must be at least 1, got {paths}.")


@dataclass(frozen=True, eq=False)
class DensePosterior:
    """Posterior with any prior, by its correlation; see `Posterior` for the units.

    With observed cells c, noise variances R and `C = K_cc + R = L L^T`: mean = K_.c C^-1 y, variance =
    diag(K) - |L^-1 K_c.|^2 column by column.
    """

    prior: Prior  # on the N cells of the domain
    index: Ints  # positions of the observed cells, shape (k,)
    noise_variance: Floats  # in units of scale^2, shape (k,)
    factor: Floats  # L, shape (k, k)
    mean: Floats  # (N,) response units

    @classmethod
    def fit(cls, prior: Prior, index: Ints, observed: Floats, noise_variance: Floats) -> DensePosterior:
        """Condition the prior on k observed cells: increasing positions, values, noise variances > 0, all
        (k,).

        Values in response units, noise variances in units of scale^2. Raises NumericalFailure if the
        covariance of the records is not positive definite to working precision.
        """
        cross = prior.correlation()[:, index]
        matrix = cross[index] + np.diag(noise_variance)
        factor = cholesky(matrix, "the covariance of the records", "use a larger ridge")
        weights = solve_lower(factor, solve_lower(factor, observed), transposed=True)
        return cls(prior, index, noise_variance, factor, cross @ weights)

    def mean_of(self, observed: Floats) -> Floats:
        """(N,) or (N, R) posterior means of other values (k,) or (k, R) at the observed cells."""
        weights = solve_lower(self.factor, solve_lower(self.factor, observed), transposed=True)
        return np.asarray(self.prior.correlation()[:, self.index] @ weights)

    @cached_property
    def variance(self) -> Floats:
        """(N,) posterior variance in units of scale^2, between 0 and 1."""
        correlation = self.prior.correlation()
        explained = solve_lower(self.factor, correlation[self.index])
        variance = correlation.diagonal() - np.einsum("ij,ij->j", explained, explained)
        return np.asarray(np.maximum(variance, 0.0))

    def log_determinant(self) -> float:
        return float(2.0 * np.sum(np.log(self.factor.diagonal())) - np.sum(np.log(self.noise_variance)))

    def draw(self, scale: float, paths: int, entropy: Entropy, noise_scale: float = 0.0) -> Floats:
        """Exact draws (L, N): `g - K_.c C^-1 (g_c + e)` for a prior draw g and e ~ N(0, R) (Matheron).

        Its covariance is K - K_.c C^-1 K_c., without factoring that nearly singular matrix.
        """
        check_draw(scale, paths, noise_scale)
        values = np.repeat(self.mean[:, None], paths, axis=1)
        if scale > 0:
            prior_draw = self.prior.colour(entropy.normal((self.prior.white_size, paths)))
            noise = np.sqrt(self.noise_variance)[:, None] * entropy.normal((self.index.size, paths))
            data = solve_lower(self.factor, prior_draw[self.index] + noise)
            weights = solve_lower(self.factor, data, transposed=True)
            values += scale * (prior_draw - self.prior.correlation()[:, self.index] @ weights)
        if noise_scale > 0:
            values += noise_scale * self.prior.colour(entropy.normal((self.prior.white_size, paths)))
        return np.ascontiguousarray(values.T)
