"""The posterior of a prior given collapsed records: mean, variance and exact draws behind one interface."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, Ints
from dpgp_core.noise import Entropy
from dpgp_core.posterior.dense import DensePosterior
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.posterior.sparse import SparsePosterior
from dpgp_core.priors.lattice import Prior


class Posterior(Protocol):
    """A Gaussian posterior on the N cells of the domain."""

    @property
    def mean(self) -> Floats:
        """(N,) response units."""
        ...

    @property
    def variance(self) -> Floats:
        """(N,) in units of scale^2, so between 0 and 1."""
        ...

    def log_determinant(self) -> float:
        """`log det (I + K_cc R^-1)` for the noise variances R of the observed cells, in units of scale^2."""
        ...

    def mean_of(self, observed: Floats) -> Floats:
        """(N,) or (N, R) posterior means of other values (k,) or (k, R) at the observed cells."""
        ...

    def draw(self, scale: float, paths: int, entropy: Entropy, noise_scale: float = 0.0) -> Floats:
        """Exact draws (L, N) of `N(mean, scale^2 k_D + noise_scale^2 k)`, response units."""
        ...


def fit(prior: Prior, records: CollapsedRecords, ridge: float) -> Posterior:
    """Posterior of collapsed records with ridge r > 0: each cell mean has noise variance `r^2 / m_s`.

    Equal, to rounding, to the posterior of the n single records with noise r^2 each
    (docs/mathematics.md, sections 0 and 9).

    Raises
    ------
    InvalidValue
        If the ridge is not positive and finite.
    NumericalFailure
        If a factorisation fails.
    """
    if not (np.isfinite(ridge) and ridge > 0):
        raise InvalidValue(f"the ridge must be a positive finite number, got {ridge!r}.")
    return fit_cells(prior, records.index, records.mean, ridge**2 / records.count)


def fit_cells(
    prior: Prior, index: Any, mean: Any, noise_variance: Any, signal_scale: float = 1.0
) -> Posterior:
    """Posterior of a field with standard deviation `signal_scale`, observed per cell with its own noise.

    `index` (k,) are increasing positions of observed cells, possibly none; values (k,) are in response units,
    noise variances (k,) in their square. The posterior's variance is in units of signal_scale^2: draw with
    `scale=signal_scale`. Raises InvalidValue for numbers out of range or cells out of order, NumericalFailure
    if a factorisation fails.
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
