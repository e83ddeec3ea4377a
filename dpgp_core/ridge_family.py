"""Posteriors of one prior and one set of records for many ridges: what the search asks hundreds of times."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .car import CarPrior
from .entropy import Entropy
from .numerics import Floats
from .posterior import fit
from .priors import Prior
from .records import CollapsedRecords
from .sparse_posterior import SparsePosterior


class RidgeSlice(NamedTuple):
    """The posterior at one ridge.

    mean            (N,) response units
    variance        (N,) units of scale^2
    residual_paths  (S, N) simulated zero-mean posterior paths at scale 1: `mean + scale * residual_paths`
                    are draws; the same white noise stands behind every ridge, so that ridges are compared
                    on common random numbers
    """

    mean: Floats
    variance: Floats
    residual_paths: Floats


class RidgeFamily:
    """All ridges of one (prior, records) pair, sharing the expensive part. For searches, not for releases.

    Dense priors: with counts D, one eigendecomposition `D^1/2 K_cc D^1/2 = U diag(lam) U^T` serves every
    ridge, because `(K_cc + r^2 D^-1)^-1 = D^1/2 U diag(1/(lam + r^2)) U^T D^1/2`. With
    `F = K_.c D^1/2 U` the mean is `F (lam + r^2)^-1 U^T D^1/2 y`, the variance
    `diag(K) - F^2 (lam + r^2)^-1`, and Matheron's rule gives paths
    `g - F (lam + r^2)^-1 (U^T D^1/2 g_c + r z)`: a matrix product per ridge.
    Lattice priors are refactored per ridge, which is as cheap.
    """

    def __init__(self, prior: Prior, records: CollapsedRecords, basis_paths: int, entropy: Entropy) -> None:
        if basis_paths < 1:
            raise ValueError(f"at least one simulated path is needed, got {basis_paths}.")
        self.prior = prior
        self.records = records
        self._white = entropy.normal((prior.white_size, basis_paths))
        if isinstance(prior, CarPrior):
            return
        index, weight = records.index, np.sqrt(records.count.astype(np.float64))
        correlation = prior.correlation()
        values, vectors = np.linalg.eigh(weight[:, None] * correlation[np.ix_(index, index)] * weight)
        self._values = np.maximum(values, 0.0)
        rotation = weight[:, None] * vectors
        self._features = correlation[:, index] @ rotation
        self._squared = np.square(self._features)
        self._response = rotation.T @ records.mean
        self._prior_draws = prior.colour(self._white)
        self._rotated_draws = rotation.T @ self._prior_draws[index]
        self._noise = entropy.normal((index.size, basis_paths))

    def at(self, ridge: float) -> RidgeSlice:
        """Posterior mean, variance and simulated unit-scale residual paths at ridge r > 0."""
        if not (np.isfinite(ridge) and ridge > 0):
            raise ValueError(f"the ridge must be a positive finite number, got {ridge!r}.")
        if isinstance(self.prior, CarPrior):
            posterior = fit(self.prior, self.records, ridge)
            assert isinstance(posterior, SparsePosterior)
            paths = posterior.factor.colour(self._white)[self.prior.lattice.inside]
            return RidgeSlice(posterior.mean, posterior.variance, np.ascontiguousarray(paths.T))
        shrink = 1.0 / (self._values + ridge**2)
        mean = self._features @ (shrink * self._response)
        variance = np.maximum(1.0 - self._squared @ shrink, 0.0)
        correction = self._features @ (shrink[:, None] * (self._rotated_draws + ridge * self._noise))
        return RidgeSlice(mean, variance, np.ascontiguousarray((self._prior_draws - correction).T))

    def effective_dimension(self, ridge: float) -> float:
        """`tr K (K + r^2 I)^-1` over the records, in (0, n)."""
        if isinstance(self.prior, CarPrior):
            variance = fit(self.prior, self.records, ridge).variance[self.records.index]
            return float(np.sum(self.records.count * variance) / ridge**2)
        return float(np.sum(self._values / (self._values + ridge**2)))
