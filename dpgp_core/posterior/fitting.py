"""Posteriors of collapsed records: dense by correlation, banded by a sparse precision."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import BandedCholesky, Floats, Ints, cholesky, solve_lower
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import GraphPrior, Prior


class Posterior(ABC):
    """A Gaussian posterior on the N cells of the domain, given k observed cells.

    `mean` (N,) is in response units, and so are draws.
    """

    prior: Prior
    mean: Floats

    @property
    @abstractmethod
    def variance(self) -> Floats:
        """(N,) posterior variance in units of scale^2, between 0 and 1."""

    @abstractmethod
    def log_determinant(self) -> float:
        """`log det (I + K_cc R^-1)`, R the noise variances of the observed cells over scale^2."""

    @abstractmethod
    def mean_of(self, observed: Floats) -> Floats:
        """(N,) or (N, R) posterior means of other values (k,) or (k, R) at the observed cells."""

    @abstractmethod
    def residuals(self, paths: int, entropy: Entropy) -> Floats:
        """Exact draws (N, L) of N(0, k_D): the posterior at scale 1 around its mean."""

    def draw(self, scale: float, paths: int, entropy: Entropy, noise_scale: float = 0.0) -> Floats:
        """Draws (L, N) of `N(mean, scale^2 k_D + noise_scale^2 k)`; InvalidValue without noise."""
        if not (np.isfinite(scale) and scale >= 0 and np.isfinite(noise_scale) and noise_scale >= 0):
            raise InvalidValue("scale and noise_scale must be finite and not negative.")
        if scale == 0 and noise_scale == 0:
            raise InvalidValue(
                "scale and noise_scale are both 0: that is the exact posterior mean, not a draw."
            )
        if paths < 1:
            raise InvalidValue(f"the number of paths must be at least 1, got {paths}.")
        values = np.repeat(self.mean[:, None], paths, axis=1)
        if scale > 0:
            values += scale * self.residuals(paths, entropy)
        if noise_scale > 0:
            values += noise_scale * self.prior.colour(entropy.normal((self.prior.white_size, paths)))
        return np.ascontiguousarray(values.T)


@dataclass(frozen=True, eq=False)
class DensePosterior(Posterior):
    """Posterior with any prior, by its correlation; see `Posterior` for the units.

    With observed cells c, noise variances R and `C = K_cc + R = L L^T`: mean = K_.c C^-1 y,
    variance = diag(K) - |L^-1 K_c.|^2 column by column.
    """

    prior: Prior  # on the N cells of the domain
    index: Ints  # positions of the observed cells, shape (k,)
    noise_variance: Floats  # in units of scale^2, shape (k,)
    factor: Floats  # L, shape (k, k)
    mean: Floats  # (N,) response units

    @classmethod
    def fit(cls, prior: Prior, index: Ints, observed: Floats, noise_variance: Floats) -> DensePosterior:
        """Condition on k cells: increasing positions, values and noise variances over scale^2, (k,).

        Raises NumericalFailure if the covariance of the records is not positive definite to working
        precision.
        """
        cross = prior.correlation()[:, index]
        matrix = cross[index] + np.diag(noise_variance)
        factor = cholesky(matrix, "the covariance of the records", "use a larger ridge")
        weights = solve_lower(factor, solve_lower(factor, observed), transposed=True)
        return cls(prior, index, noise_variance, factor, cross @ weights)

    def mean_of(self, observed: Floats) -> Floats:
        weights = solve_lower(self.factor, solve_lower(self.factor, observed), transposed=True)
        return np.asarray(self.prior.correlation()[:, self.index] @ weights)

    @cached_property
    def variance(self) -> Floats:
        correlation = self.prior.correlation()
        explained = solve_lower(self.factor, correlation[self.index])
        variance = correlation.diagonal() - np.einsum("ij,ij->j", explained, explained)
        return np.asarray(np.maximum(variance, 0.0))

    def log_determinant(self) -> float:
        return float(2.0 * np.sum(np.log(self.factor.diagonal())) - np.sum(np.log(self.noise_variance)))

    def residuals(self, paths: int, entropy: Entropy) -> Floats:
        """(N, L) `g - K_.c C^-1 (g_c + e)` for a prior draw g and e ~ N(0, R), by Matheron's rule.

        The covariance is K - K_.c C^-1 K_c., without factoring that nearly singular matrix.
        """
        prior_draw = self.prior.colour(entropy.normal((self.prior.white_size, paths)))
        noise = np.sqrt(self.noise_variance)[:, None] * entropy.normal((self.index.size, paths))
        data = solve_lower(self.factor, prior_draw[self.index] + noise)
        weights = solve_lower(self.factor, data, transposed=True)
        return np.asarray(prior_draw - self.prior.correlation()[:, self.index] @ weights)


@dataclass(frozen=True, eq=False)
class SparsePosterior(Posterior):
    """Posterior with a prior of sparse precision; see `Posterior` for the units.

    With data precisions W at the observed cells and `A + W = L L^T`: mean = (A + W)^-1 W y,
    variance = diag (A + W)^-1 (docs/mathematics.md, section 8).
    """

    prior: GraphPrior  # on the P padded cells, N of them in the domain
    index: Ints  # positions of the observed cells, shape (k,)
    noise_variance: Floats  # in units of scale^2, shape (k,)
    factor: BandedCholesky  # L, of the P padded cells
    mean: Floats  # (N,) response units

    @classmethod
    def fit(cls, prior: GraphPrior, index: Ints, observed: Floats, noise_variance: Floats) -> SparsePosterior:
        """Condition on k cells: increasing positions, values and noise variances over scale^2, (k,).

        Raises NumericalFailure if the precision is not positive definite to working precision.
        """
        nodes = prior.lattice.inside[index]
        weight = np.zeros(prior.lattice.centres.shape[0])
        weight[nodes] = 1.0 / noise_variance
        factor = BandedCholesky.factor(prior.precision, prior.lattice.ordering, extra=weight)
        mean = _mean(prior, factor, index, observed, noise_variance)
        return cls(prior, index, noise_variance, factor, mean)

    def mean_of(self, observed: Floats) -> Floats:
        return _mean(self.prior, self.factor, self.index, observed, self.noise_variance)

    @cached_property
    def variance(self) -> Floats:
        return self.factor.variance()[self.prior.lattice.inside]

    def log_determinant(self) -> float:
        return self.factor.log_determinant() - self.prior.factor.log_determinant()

    def residuals(self, paths: int, entropy: Entropy) -> Floats:
        """(N, L) `L^-T z` at the cells of the domain."""
        return self.factor.colour(entropy.normal((self.prior.white_size, paths)))[self.prior.lattice.inside]


def _mean(
    prior: GraphPrior, factor: BandedCholesky, index: Ints, observed: Floats, noise_variance: Floats
) -> Floats:
    right = np.zeros((prior.lattice.centres.shape[0], *observed.shape[1:]), order="F")
    right[prior.lattice.inside[index]] = (observed.T / noise_variance).T
    return factor.solve(right)[prior.lattice.inside]


def fit(prior: Prior, records: CollapsedRecords, ridge: float) -> Posterior:
    """Posterior of collapsed records with ridge r > 0: a cell mean has noise variance `r^2 / m_s`.

    Equal, to rounding, to the posterior of the n single records with noise r^2 each
    (docs/mathematics.md, sections 0 and 9); the ridge is a record's deviation around its cell in
    units of the field's. The mean (N,) is in response units, the variance (N,) in units of scale^2.
    Raises InvalidValue if the ridge is not positive and finite, NumericalFailure if a factorisation
    fails.
    """
    if not (np.isfinite(ridge) and ridge > 0):
        raise InvalidValue(f"the ridge must be a positive finite number, got {ridge!r}.")
    return fit_cells(prior, records.index, records.mean, ridge**2 / records.count)


def mean_about(posterior: Posterior, records: CollapsedRecords, usual: float) -> Floats:
    """(N,) posterior mean of the records of `fit`, but around `usual` and not 0, response units."""
    return np.asarray(posterior.mean_of(records.mean - usual) + usual) if usual else posterior.mean


def fit_cells(
    prior: Prior, index: Any, mean: Any, noise_variance: Any, signal_scale: float = 1.0
) -> Posterior:
    """Posterior of a field of deviation `signal_scale`, observed per cell with separate noise.

    `index` (k,) are increasing positions of observed cells, possibly none; values (k,) are in
    response units, noise variances (k,) in their square. The posterior's variance is in units of
    signal_scale^2: draw with `scale=signal_scale`. Raises InvalidValue for numbers out of range or
    cells out of order, NumericalFailure if a factorisation fails.
    """
    if not (np.isfinite(signal_scale) and signal_scale > 0):
        raise InvalidValue(f"the prior standard deviation must be a positive number, got {signal_scale!r}.")
    cells: Ints = np.asarray(index, dtype=np.int64)
    observed = np.asarray(mean, dtype=np.float64)
    noise = np.asarray(noise_variance, dtype=np.float64) / signal_scale**2
    if not (cells.ndim == 1 and cells.shape == observed.shape == noise.shape):
        raise InvalidValue("index, mean and noise_variance must be one-dimensional and of equal length.")
    if cells.size and (cells[0] < 0 or cells[-1] >= prior.size or np.any(np.diff(cells) <= 0)):
        raise InvalidValue("index must be strictly increasing and name cells of the prior's domain.")
    if not (np.all(np.isfinite(observed)) and np.all(np.isfinite(noise)) and np.all(noise > 0)):
        raise InvalidValue("observed values must be finite and their noise variances positive and finite.")
    if prior.graph is not None:
        return SparsePosterior.fit(prior.graph, cells, observed, noise)
    return DensePosterior.fit(prior, cells, observed, noise)
