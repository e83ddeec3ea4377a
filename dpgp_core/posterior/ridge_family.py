"""All ridges of one prior and records at once, and a cache of such shared work for a search."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.noise import Entropy, SimulationEntropy
from dpgp_core.posterior.fitting import SparsePosterior
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import GraphPrior, Lattice, Prior
from dpgp_core.priors.registry import make_prior


@dataclass(frozen=True, eq=False)
class RidgeSlice:
    """The posterior at one ridge, computed lazily; unpacks as (mean, variance, residual_paths)."""

    mean: Floats  # (N,) response units
    # variance_of, paths_of: make what `variance` and `residual_paths` hold
    variance_of: Callable[[], Floats]
    paths_of: Callable[[], Floats]

    @cached_property
    def variance(self) -> Floats:
        """(N,) in units of scale^2."""
        return self.variance_of()

    @cached_property
    def residual_paths(self) -> Floats:
        """(S, N) zero-mean posterior paths at scale 1; draws are `mean + scale * residual_paths`.

        All ridges use the same white noise, so that they are compared on common random numbers.
        """
        return self.paths_of()

    def __iter__(self) -> Iterator[Floats]:
        return iter((self.mean, self.variance, self.residual_paths))


KEPT = 1
"""Sparse factors that one family keeps: searches use one ridge after the other."""


class RidgeFamily:
    """All ridges of one (prior, records) pair, sharing the expensive part. For searches, not for
    releases.

    Priors known by their correlation: with counts D, one eigendecomposition
    `D^1/2 K_cc D^1/2 = U diag(lam) U^T` serves every ridge, because
    `(K_cc + r^2 D^-1)^-1 = D^1/2 U diag(1/(lam + r^2)) U^T D^1/2`. With
    `F = K_.c D^1/2 U` the mean is `F (lam + r^2)^-1 U^T D^1/2 y`, the variance
    `diag(K) - F^2 (lam + r^2)^-1`, and Matheron's rule gives paths
    `g - F (lam + r^2)^-1 (U^T D^1/2 g_c + r z)`: a matrix product per ridge.
    Priors of sparse precision are refactored per ridge, which is as cheap.
    """

    def __init__(self, prior: Prior, records: CollapsedRecords, basis_paths: int, entropy: Entropy) -> None:
        if basis_paths < 1:
            raise InvalidValue(f"at least one simulated path is needed, got {basis_paths}.")
        self.prior = prior
        self.records = records
        self._white = entropy.normal((prior.white_size, basis_paths))
        self._factored: dict[float, SparsePosterior] = {}
        if prior.graph is not None:
            return
        index, weight = records.index, np.sqrt(records.count.astype(np.float64))
        correlation = prior.correlation()
        # Eigenvalues that are negative by rounding alone would make a variance negative.
        values, vectors = np.linalg.eigh(weight[:, None] * correlation[np.ix_(index, index)] * weight)
        self._values = np.maximum(values, 0.0)
        self._rotation = rotation = weight[:, None] * vectors
        self._features = correlation[:, index] @ rotation
        self._squared = np.square(self._features)
        self._prior_variance = correlation.diagonal()
        self._response = rotation.T @ records.mean
        self._prior_draws = prior.colour(self._white)
        self._rotated_draws = rotation.T @ self._prior_draws[index]
        self._noise = entropy.normal((index.size, basis_paths))

    def with_means(self, mean: Floats) -> RidgeFamily:
        """The family of the same cells and counts with other mean responses (k,), in [-1, 1]."""
        sibling = copy(self)
        sibling.records = CollapsedRecords(self.records.index, self.records.count, mean)
        if self.prior.graph is None:
            sibling._response = self._rotation.T @ sibling.records.mean
        return sibling

    def at(self, ridge: float) -> RidgeSlice:
        """Mean, variance and unit-scale residual paths at ridge r; InvalidValue unless r > 0."""
        if not (np.isfinite(ridge) and ridge > 0):
            raise InvalidValue(f"the ridge must be a positive finite number, got {ridge!r}.")
        if self.prior.graph is not None:
            return self._sparse_slice(self.prior.graph, ridge)
        shrink = 1.0 / (self._values + ridge**2)

        def variance() -> Floats:
            return np.asarray(np.maximum(self._prior_variance - self._squared @ shrink, 0.0))

        def paths() -> Floats:
            data = shrink[:, None] * (self._rotated_draws + ridge * self._noise)
            return np.ascontiguousarray((self._prior_draws - self._features @ data).T)

        return RidgeSlice(self._features @ (shrink * self._response), variance, paths)

    def _sparse_slice(self, prior: GraphPrior, ridge: float) -> RidgeSlice:
        if ridge not in self._factored:
            records = self.records
            fitted = SparsePosterior.fit(prior, records.index, records.mean, ridge**2 / records.count)
            if len(self._factored) >= KEPT:
                self._factored.pop(next(iter(self._factored)))
            self._factored[ridge] = fitted
        # It may be a sibling's: the factor and the variances do not depend on the means.
        posterior = self._factored[ridge]
        mean = posterior.mean_of(self.records.mean)

        def paths() -> Floats:
            return np.ascontiguousarray(posterior.factor.colour(self._white)[prior.lattice.inside].T)

        return RidgeSlice(mean, lambda: posterior.variance, paths)

    def effective_dimension(self, ridge: float) -> float:
        """`tr K (K + r^2 I)^-1` over the records, in (0, n)."""
        if self.prior.graph is not None:
            variance = self.at(ridge).variance[self.records.index]
            return float(np.sum(self.records.count * variance) / ridge**2)
        return float(np.sum(self._values / (self._values + ridge**2)))


FAMILY_CELLS = 60_000  # cells times kept families: about half a gigabyte of features
FEWEST = 2  # families kept of however many cells
FEW = 4  # other shared things kept at a time, each of them
T = TypeVar("T")


class Cache:
    """The latest results of each kind of shared work; a pickled copy starts empty."""

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self._most = max(FEWEST, min(24, FAMILY_CELLS // lattice.size))
        self._kept: dict[str, OrderedDict[Hashable, Any]] = {}

    def __reduce__(self) -> tuple[type[Cache], tuple[Lattice]]:
        return Cache, (self._lattice,)

    def keep(self, kind: str, key: Hashable, make: Callable[[], T], most: int = FEW) -> T:
        """Return the result of `make` for the key; the latest `most` results of a kind are kept."""
        results = self._kept.setdefault(kind, OrderedDict())
        if key not in results:
            results[key] = make()
            if len(results) > most:
                results.popitem(last=False)
        results.move_to_end(key)
        result: T = results[key]
        return result

    def prior(self, name: str, lengthscale: float) -> Prior:
        """The prior; lengthscale in metres."""
        return self.keep(
            "prior", (name, lengthscale), lambda: make_prior(name, self._lattice, lengthscale), self._most
        )

    def family(
        self, name: str, lengthscale: float, records: CollapsedRecords, draws: int, seed: int
    ) -> RidgeFamily:
        """One eigendecomposition and set of draws for a prior, lengthscale, cells and counts."""
        key = (name, lengthscale, draws, seed, hash((records.index.tobytes(), records.count.tobytes())))

        def make() -> RidgeFamily:
            return RidgeFamily(self.prior(name, lengthscale), records, draws, SimulationEntropy(seed))

        return self.keep("family", key, make, self._most).with_means(records.mean)
