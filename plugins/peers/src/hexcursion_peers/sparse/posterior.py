"""Reading released moments: the sparse posterior at the inducing points, and at every other place."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpgp_core._checks import positive
from dpgp_core.linalg import Floats, cholesky, solve_lower
from hexcursion_peers.sparse.moments import Moments

Regularisation = Literal["bound", "raised"]
"""Where lambda comes from: the paper's bound on the noise, or the released matrix's least eigenvalue."""

REFUSED = 0.01
_SWEEPS, _DAMPING = 50, 0.5


def regularisation_bound(second_noise: float, variance: float, size: int, failure: float = REFUSED) -> float:
    """lambda of Honkela and Melkas 2021, equation 13: above the noise's eigenvalues with probability 1 -
    rho.

    `second_noise` is the deviation of the noise on the second moment, `variance` that of an observation
    around the field, `size` the number m of inducing points, `failure` rho."""
    spread = size * math.log(2.0 * size**2 / failure) * (size + 1) / (2.0 * size)
    return positive("second_noise", second_noise) / positive("variance", variance) * math.sqrt(spread)


@dataclass(frozen=True, eq=False)
class InducingPosterior:
    """The field at the inducing points: N(mean, covariance), shapes (m,) and (m, m)."""

    mean: Floats
    covariance: Floats

    def at(self, projection: Floats, between: Floats, prior_variance: Floats) -> tuple[Floats, Floats]:
        """Mean and variance (P,) of the field at P places, by the projection `k(V, Z) K^-1` (P, m), the
        correlations K (m, m) and the prior variance (P,) at the places."""
        change = self.covariance - between
        variance = prior_variance + np.einsum("ij,jk,ik->i", projection, change, projection)
        return projection @ self.mean, np.maximum(variance, 0.0)


def private_posterior(
    between: Floats, moments: Moments, variance: float, regularisation: float
) -> InducingPosterior:
    """The paper's posterior given noisy moments, with the covariance of its noise corrected.

    `between` (m, m) is K, the prior covariance of the inducing points; `variance` is that of an observation
    around the field; `regularisation` lambda >= 0 is raised where the matrix is not positive definite:
    free, as it is released.

    `Q = K + B/v + lambda I`, `St = Q^-1`, mean `K St A/v`, covariance `K St K` plus what the noises add:
    `s_a^2/v^2 K St^2 K`, and with `w = St A`, `s_b^2/(2 v^4) K St (|w|^2 I + w w^T) St K`. The paper's
    equation 17 has the squares of w on the diagonal in place of `w w^T`: it forgets that the noise on
    the second moment is symmetric, so that each number of it stands in two places."""
    size = moments.first.size
    matrix, step = between + moments.second / variance, regularisation
    matrix = 0.5 * (matrix + matrix.T)
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest + step <= 1e-9:
        step = -smallest * (1.0 + 1e-6) + 1e-6
    inverse = np.linalg.inv(matrix + step * np.eye(size))
    w = inverse @ moments.first
    left = between @ inverse
    noise = (moments.first_noise / variance) ** 2 * (left @ left.T)
    inner = float(w @ w) * np.eye(size) + np.outer(w, w)
    noise += moments.second_noise**2 / (2.0 * variance**4) * (left @ inner @ left.T)
    covariance = left @ between + noise
    return InducingPosterior(left @ moments.first / variance, 0.5 * (covariance + covariance.T))


def chosen_regularisation(rule: Regularisation, moments: Moments, variance: float) -> float:
    """lambda by a rule: the paper's bound, or just enough for the released matrix to be no less than 0."""
    if rule == "bound":
        return regularisation_bound(moments.second_noise, variance, moments.first.size)
    return max(0.0, -float(np.linalg.eigvalsh(moments.second)[0]) / variance)


def errors_in_variables(between: Floats, moments: Moments, variance: float) -> InducingPosterior:
    """The posterior that treats the second moment as observed with errors: calibrated, but further off.

    `A = B w + e` with `u = K w`, `w ~ N(0, K^-1)`, B the released matrix without its negative part and
    `Cov e = v B + s_a^2 I + s_b^2/2 (E|w|^2 I + E w w^T)`; the last expectation is found by iteration.
    `between` (m, m) is K, `variance` v that of an observation around the field. Raises NumericalFailure
    if K is not positive definite to working precision."""
    size = moments.first.size
    value, vector = np.linalg.eigh(0.5 * (moments.second + moments.second.T))
    second = (vector * np.maximum(value, 0.0)) @ vector.T
    factor = cholesky(between, "the covariance of the inducing points", "space them wider apart")
    half = solve_lower(factor, np.eye(size))
    expected = half.T @ half  # E w w^T, at first that of the prior
    mean, spread = np.zeros(size), expected
    for _ in range(_SWEEPS):
        error = variance * second + moments.first_noise**2 * np.eye(size)
        error += 0.5 * moments.second_noise**2 * (np.trace(expected) * np.eye(size) + expected)
        gain = np.linalg.solve(error, second)
        spread = np.linalg.inv(between + second @ gain)
        spread = 0.5 * (spread + spread.T)
        mean = spread @ (gain.T @ moments.first)
        expected = _DAMPING * expected + (1.0 - _DAMPING) * (np.outer(mean, mean) + spread)
    covariance = between @ spread @ between
    return InducingPosterior(between @ mean, 0.5 * (covariance + covariance.T))
