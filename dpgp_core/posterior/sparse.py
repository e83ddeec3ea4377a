"""The sparse posterior: one banded Cholesky factorisation of prior precision plus data precision."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpgp_core.linalg import BandedCholesky, Floats, Ints
from dpgp_core.noise import Entropy
from dpgp_core.posterior.dense import check_draw
from dpgp_core.priors.lattice import GraphPrior


@dataclass(frozen=True, eq=False)
class SparsePosterior:
    """Posterior with a prior of sparse precision; see `Posterior` for the units.

    With data precisions W at the observed cells and `A + W = L L^T`: mean = (A + W)^-1 W y, variance = diag
    (A + W)^-1 (docs/mathematics.md, section 8).
    """

    prior: GraphPrior  # on the P padded cells, N of them in the domain
    index: Ints  # positions of the observed cells, shape (k,)
    noise_variance: Floats  # in units of scale^2, shape (k,)
    factor: BandedCholesky  # L, of the P padded cells
    mean: Floats  # (N,) response units

    @classmethod
    def fit(cls, prior: GraphPrior, index: Ints, observed: Floats, noise_variance: Floats) -> SparsePosterior:
        """Condition the prior on k observed cells: increasing positions, values, noise variances > 0, all
        (k,).

        Values in response units, noise variances in units of scale^2. Raises NumericalFailure if the
        precision is not positive definite to working precision.
        """
        nodes = prior.lattice.inside[index]
        weight = np.zeros(prior.lattice.centres.shape[0])
        weight[nodes] = 1.0 / noise_variance
        factor = BandedCholesky.factor(prior.precision, prior.lattice.ordering, extra=weight)
        mean = _mean(prior, factor, index, observed, noise_variance)
        return cls(prior, index, noise_variance, factor, mean)

    def mean_of(self, observed: Floats) -> Floats:
        """(N,) or (N, R) posterior means of other values (k,) or (k, R) at the observed cells."""
        return _mean(self.prior, self.factor, self.index, observed, self.noise_variance)

    @cached_property
    def variance(self) -> Floats:
        """(N,) posterior variance in units of scale^2, between 0 and 1."""
        return self.factor.variance()[self.prior.lattice.inside]

    def log_determinant(self) -> float:
        return self.factor.log_determinant() - self.prior.factor.log_determinant()

    def draw(self, scale: float, paths: int, entropy: Entropy, noise_scale: float = 0.0) -> Floats:
        """Exact draws (L, N): `mean + scale L^-T z`, plus `noise_scale` times a prior draw; response
        units.
        """
        check_draw(scale, paths, noise_scale)
        values = np.repeat(self.mean[:, None], paths, axis=1)
        if scale > 0:
            white = entropy.normal((self.prior.white_size, paths))
            values += scale * self.factor.colour(white)[self.prior.lattice.inside]
        if noise_scale > 0:
            values += noise_scale * self.prior.colour(entropy.normal((self.prior.white_size, paths)))
        return np.ascontiguousarray(values.T)


def _mean(
    prior: GraphPrior,
    factor: BandedCholesky,
    index: Ints,
    observed: Floats,
    noise_variance: Floats,
) -> Floats:
    right = np.zeros((prior.lattice.centres.shape[0], *observed.shape[1:]), order="F")
    right[prior.lattice.inside[index]] = (observed.T / noise_variance).T
    return factor.solve(right)[prior.lattice.inside]
