"""The exact loss of Gaussian noise on a trace, as a number that a reader may rely on."""

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

_UP = 1.0 + 2.0**-30  # what a solve may lose beyond the slack taken off the matrix


def loss_matrix(
    covariance: NDArray[np.float64], noise: NDArray[np.float64], secret: Secret, *, exact: bool = False
) -> Floats:
    """How well a release tells two hypotheses about a secret apart, per square metre of difference.

    Parameters
    ----------
    covariance : (n, n)
        Of the trace under the adversary's prior, square metres.
    noise : (n, n)
        Covariance of the noise that is added, square metres; any, also correlated with the secret's own.
    secret : Secret
    exact : bool
        Without the allowance for rounding, for comparisons; otherwise every eigenvalue is an upper bound.

    Returns
    -------
    (m, m) float64
        Q = At' (D + G)^-1 At: two hypotheses that differ by v metres are told apart as two normal
        distributions of variance 1 at distance sqrt(v' Q v); the Renyi divergence of order a is a/2 v' Q v.

    Raises
    ------
    NumericalFailure
        Where the noise leaves some combination of records so bare that the loss cannot be computed.

    Notes
    -----
    Meehan and Chaudhuri (2021), Theorem 3.4 without its assumption that the noise of the secret is
    independent of the rest. Since Q falls as D grows, taking the rounding of D off it errs towards privacy.
    """
    given = conditional(covariance, secret)
    whole = given.spread + np.asarray(noise, dtype=np.float64)
    if not exact:
        whole = whole - given.slack * np.eye(len(whole))
    try:
        factor = cho_factor(whole, lower=True)
    except np.linalg.LinAlgError:
        raise NumericalFailure(
            "the noise leaves some combination of records without any: give every record a floor of noise."
        ) from None
    q = given.at.T @ cho_solve(factor, given.at)
    return np.asarray((1.0 if exact else _UP) * 0.5 * (q + q.T))


def loss(
    covariance: NDArray[np.float64], noise: NDArray[np.float64], secret: Secret, *, exact: bool = False
) -> float:
    """The largest eigenvalue of `loss_matrix`: the number that a design makes small.

    Parameters
    ----------
    covariance, noise : (n, n)
    secret : Secret
    exact : bool
        As for `loss_matrix`.

    Returns
    -------
    float
        Per square metre; an upper bound unless `exact`.
    """
    return float(np.linalg.eigvalsh(loss_matrix(covariance, noise, secret, exact=exact))[-1])


@dataclass(frozen=True)
class Certificate:
    """What the noise that was drawn guarantees about a secret: computed from that noise, never by a solver.

    Parameters
    ----------
    mu : float
        Two hypotheses at most `radius` apart are told apart no better than two normal distributions of
        variance 1 at this distance, whatever the adversary's mean and whichever candidate prior is his.
    radius : float
        Metres.

    Notes
    -----
    This is not differential privacy: it speaks of hypotheses about the secret under a Gaussian-process prior
    from a stated set, not of exchanging a person's records.
    """

    mu: float
    radius: float

    def __post_init__(self) -> None:
        if not (self.mu >= 0.0 and self.radius > 0.0):
            raise InvalidValue("a certificate has a loss of at least 0 and a positive radius.")

    def epsilon(self, delta: float) -> float:
        """The epsilon at which the two hypotheses are (epsilon, delta)-indistinguishable, rounded up."""
        return math.inf if math.isinf(self.mu) else gaussian_epsilon(self.mu, delta)

    def delta(self, epsilon: float) -> float:
        """The delta that belongs to an epsilon."""
        return 1.0 if math.isinf(self.mu) else gaussian_delta(epsilon, self.mu)

    def renyi(self, order: float) -> float:
        """The Renyi divergence of an order above 1: order / 2 mu^2, the paper's epsilon at lambda."""
        return 0.5 * order * self.mu**2

    def odds(self, delta: float) -> float:
        """How many times the odds of the two hypotheses change at most, except with probability delta.

        Raises
        ------
        InvalidValue
            For a delta outside (0, 1).

        Notes
        -----
        Whichever of the two is true, the logarithm by which the odds move is normal with variance mu'^2 and
        mean mu'^2/2 for some mu' <= mu: the two have one covariance. It exceeds mu^2/2 + mu z in size with
        probability delta at most, z being the normal law's quantile at 1 - delta/2. The factor e^epsilon of
        `epsilon(delta)` does not do: it is exceeded more often than delta says
        (plugins/traces/docs/traces.md).
        """
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
    """The guarantee of two axes with independent noise of this covariance each.

    Parameters
    ----------
    covariances : tuple of (n, n)
        Of the trace under every candidate prior, the same for both axes.
    noise : (n, n)
        Covariance per axis, square metres.
    secret : Secret
    radius : float
        Largest distance of the two hypotheses, metres, in the plane.

    Returns
    -------
    Certificate
        The worst over the candidates. For a disc the two axes need no sum: r^2 max(q_x, q_y).

    Raises
    ------
    InvalidValue
        If the radius is not positive.
    """
    if not (math.isfinite(radius) and radius > 0.0):
        raise InvalidValue(f"the radius of a secret must be a positive number of metres, got {radius!r}.")
    square = max(secret.square(loss_matrix(covariance, noise, secret)) for covariance in covariances)
    return Certificate(math.sqrt(square) * radius * (1.0 + 2.0**-50), radius)


def joined(noises: tuple[NDArray[np.float64], ...]) -> Floats:
    """The noise of several releases stacked one below the other: independent from release to release.

    Parameters
    ----------
    noises : tuple of (n_i, n_i)
        Of traces whose times are put one after another in the same order. The loss of all of them together is
        that of this noise under the prior of all these times; losses are never added.

    Returns
    -------
    (n, n) float64
        Block diagonal.
    """
    size = sum(len(noise) for noise in noises)
    whole, at = np.zeros((size, size)), 0
    for noise in noises:
        whole[at : at + len(noise), at : at + len(noise)] = noise
        at += len(noise)
    return whole
