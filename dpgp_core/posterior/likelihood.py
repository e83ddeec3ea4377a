"""A Gaussian field fitted to records by marginal likelihood, without privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from dpgp_core.linalg import Floats
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import UNIT, CollapsedRecords
from dpgp_core.priors.car import CarPrior
from dpgp_core.priors.lattice import Lattice, Prior

RANGES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Candidate lengthscales, in spacings of the lattice."""
RIDGES = (0.05, 30.0)
"""Bounds of the ridge; at the upper end the map is flat at its level."""
STEP = 0.05  # tolerance of the log ridge


@dataclass(frozen=True, eq=False)
class LikeliestField:
    """The field that makes records likeliest, in response units; as private as the records."""

    lengthscale: float  # metres
    ridge: float  # standard deviation of a record about its hexagon, in units of `scale`
    scale: float  # standard deviation of the field about its level
    level: float
    mean: Floats  # (N,) posterior mean
    sd: Floats  # (N,) its standard deviation, with that of the level
    loss: float  # -2 log restricted likelihood, up to a constant of the records


def fit_by_likelihood(lattice: Lattice, records: CollapsedRecords) -> LikeliestField:
    """Fit level, scale, ridge and lengthscale of a neighbour graph's field on N cells to n records.

    Raises NumericalFailure if a factorisation fails.
    """
    log_ridges = [math.log(ridge) for ridge in RIDGES]
    fields = list[LikeliestField]()
    for spacings in RANGES:
        prior = CarPrior.make(lattice, spacings * lattice.spacing)

        def loss(log_ridge: float, prior: Prior = prior) -> float:
            return _fitted(prior, records, math.exp(log_ridge)).loss

        best = minimize_scalar(loss, bounds=log_ridges, method="bounded", options={"xatol": STEP})
        fields.append(_fitted(prior, records, math.exp(best.x)))
    return min(fields, key=lambda field: field.loss)


def _fitted(prior: Prior, records: CollapsedRecords, ridge: float) -> LikeliestField:
    """Profile level and scale out of the restricted likelihood (Patterson and Thompson 1971).

    The n records are k means of cells, of covariance `s^2 C`, `C = K + diag(ridge^2 / count)`, and
    deviations from these means, of variance `(ridge s)^2` and sum of squares W. The level is that
    of generalised least squares and `s^2 = (Q + W / ridge^2) / (n - 1)`, where Q is the squared
    distance of the means from the level in `C^-1`.
    """
    posterior = fit(prior, records, ridge)
    noise, cells = ridge**2 / records.count, records.index
    ones = np.ones(prior.size)[cells]
    smooth = posterior.mean_of(np.stack([records.mean, ones], axis=1))  # K_.c C^-1 (means, 1)
    # C^-1 (means, 1), without another factorisation
    solved = (np.stack([records.mean, ones], axis=1) - smooth[cells]) / noise[:, None]
    weight = float(solved[:, 1].sum())
    level = float(solved[:, 0].sum()) / weight
    distance = float((solved[:, 0] - level * solved[:, 1]) @ (records.mean - level))
    n, freedom = records.n, max(records.n - 1, 1)
    # Responses are rounded to a public step: equal records have the scatter of that rounding.
    within = max(_squares_within(records), n * UNIT**2 / 12.0)
    variance = (distance + within / ridge**2) / freedom
    log_determinant = posterior.log_determinant() + float(np.log(noise).sum())
    loss = (
        log_determinant
        + (n - cells.size) * math.log(ridge**2)
        + math.log(weight)
        + freedom * math.log(variance)
    )
    spread = posterior.variance + (1.0 - smooth[:, 1]) ** 2 / weight
    scale = math.sqrt(variance)
    mean = level + smooth[:, 0] - level * smooth[:, 1]
    return LikeliestField(prior.lengthscale, ridge, scale, level, mean, scale * np.sqrt(spread), loss)


def _squares_within(records: CollapsedRecords) -> float:
    """Sum of squares of the records about the means of their cells; 0 if only means are known."""
    if records.singles is None:
        return 0.0
    total = float(np.square(records.singles.astype(np.float64) * UNIT).sum())
    return total - float(records.count @ np.square(records.mean))
