"""The exact loss of Gaussian noise on a trace, rounded towards privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from dpgp_core._checks import open_unit
from dpgp_core.accounting.gaussian import gaussian_delta, gaussian_epsilon
from dpgp_core.accounting.rdp import odds_factor
from dpgp_core.errors import InvalidValue, NumericalFailure
from hexcursion_traces.mathematics.prior import Floats
from hexcursion_traces.mathematics.secret import Secret, conditional

_UP = 1.0 + 2.0**-30  # error of a solve beyond the slack that the matrix loses


def loss_matrix(
    covariance: NDArray[np.float64], noise: NDArray[np.float64], secret: Secret, *, exact: bool = False
) -> Floats:
    """Return Q = At' (D + G)^-1 At (m, m), how well a release distinguishes two hypotheses about a secret,
    per square metre of difference: those that differ by v metres are as distinct as two normal
    distributions of variance 1 at distance sqrt(v' Q v); the Renyi divergence of order a is a/2 v' Q v.

    `covariance` (n, n) is the trace's under the adversary's prior; `noise` (n, n) may be correlated between
    secret and rest; both in square metres. `exact` leaves out the allowance for rounding, for comparisons;
    with it eigenvalues are upper bounds. Raise `NumericalFailure` if some combination of records has too
    little noise to compute the loss.

    Meehan and Chaudhuri (2021), Theorem 3.4 without its assumption that the noise of the secret is
    independent of the rest. Q falls as D grows, so subtracting the rounding of D errs towards privacy."""
    condition = conditional(covariance, secret)
    total = condition.spread + np.asarray(noise, dtype=np.float64)
    if not exact:
        total = total - condition.slack * np.eye(len(total))
    try:
        factor = cho_factor(total, lower=True)
    except np.linalg.LinAlgError:
        raise NumericalFailure(
            "the noise leaves some combination of records without any: give every record a floor of noise."
        ) from None
    q = condition.at.T @ cho_solve(factor, condition.at)
    return np.asarray((1.0 if exact else _UP) * 0.5 * (q + q.T))


def loss(
    covariance: NDArray[np.float64], noise: NDArray[np.float64], secret: Secret, *, exact: bool = False
) -> float:
    """Return the largest eigenvalue of `loss_matrix`, which designs minimise, for covariance and noise
    (n, n): per square metre, an upper bound unless `exact`."""
    return float(np.linalg.eigvalsh(loss_matrix(covariance, noise, secret, exact=exact))[-1])


@dataclass(frozen=True)
class Certificate:
    """The guarantee of the drawn noise for a secret, computed from this noise and not by a solver.

    Two hypotheses at most `radius` metres apart are no more distinct than two normal distributions of
    variance 1 at distance `mu`, for any mean of the adversary and any candidate prior. This is not
    differential privacy: it compares hypotheses about the secret under a Gaussian-process prior from a
    stated set, not data with and without a person's records."""

    mu: float
    radius: float

    def __post_init__(self) -> None:
        if not (self.mu >= 0.0 and self.radius > 0.0):
            raise InvalidValue("a certificate has a loss of at least 0 and a positive radius.")

    def epsilon(self, delta: float) -> float:
        """The epsilon at which the two hypotheses are (epsilon, delta)-indistinguishable, rounded
        up."""
        return math.inf if math.isinf(self.mu) else gaussian_epsilon(self.mu, delta)

    def delta(self, epsilon: float) -> float:
        """The delta of an epsilon."""
        return 1.0 if math.isinf(self.mu) else gaussian_delta(epsilon, self.mu)

    def renyi(self, order: float) -> float:
        """The Renyi divergence of an order above 1: order / 2 mu^2, the paper's epsilon at
        lambda."""
        return 0.5 * order * self.mu**2

    def odds(self, delta: float) -> float:
        """Greatest factor of the odds of the two hypotheses, except with probability delta; raise
        `InvalidValue` for a delta outside (0, 1).

        Under either hypothesis, the change of the logarithm of the odds is normal with variance mu'^2
        and mean mu'^2/2 for some mu' <= mu, since both have one covariance. Its size exceeds mu^2/2 + mu
        z with probability at most delta, for the normal quantile z at 1 - delta/2. The factor e^epsilon
        of `epsilon(delta)` is no such bound: it is exceeded with a probability above delta
        (plugins/traces/docs/traces.md)."""
        if math.isinf(self.mu):
            return math.inf
        far = -float(ndtri(0.5 * open_unit("delta", delta)))
        return odds_factor(self.mu * (0.5 * self.mu + far) * (1.0 + 1e-12))


def certify(
    covariances: tuple[NDArray[np.float64], ...],
    noise: NDArray[np.float64],
    secret: Secret,
    radius: float,
) -> Certificate:
    """Return the guarantee of two independent axes, both with noise (n, n) of this covariance per axis,
    square metres.

    `covariances` are those (n, n) of the trace under every candidate prior, the same for both axes; the
    worst counts. `radius` is the largest distance of the two hypotheses in the plane, metres: raise
    `InvalidValue` unless it is positive. For a disc the two axes need no sum: r^2 max(q_x, q_y)."""
    if not (math.isfinite(radius) and radius > 0.0):
        raise InvalidValue(f"the radius of a secret must be a positive number of metres, got {radius!r}.")
    square = max(secret.square(loss_matrix(covariance, noise, secret)) for covariance in covariances)
    return Certificate(math.sqrt(square) * radius * (1.0 + 2.0**-50), radius)


def joined(noises: tuple[NDArray[np.float64], ...]) -> Floats:
    """Return the noise (n, n) of several stacked releases, block diagonal, as it is independent between
    them.

    `noises` (n_i, n_i) are of traces whose times are concatenated in the same order. The loss of all
    together is that of this noise under the prior of all these times; losses are never added."""
    size = sum(len(noise) for noise in noises)
    stacked, at = np.zeros((size, size)), 0
    for noise in noises:
        stacked[at : at + len(noise), at : at + len(noise)] = noise
        at += len(noise)
    return stacked
