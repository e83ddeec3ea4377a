"""The posterior of a trace after its noisy release: adversary's interval and reader's estimate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve

from dpgp_core.errors import NumericalFailure
from hexcursion_traces.mathematics.prior import Floats
from hexcursion_traces.mathematics.secret import Secret


def posterior_covariance(covariance: NDArray[np.float64], noise: NDArray[np.float64]) -> Floats:
    """Return S - S (S + G)^-1 S (n, n), the covariance of the trace given its release under a prior.

    `covariance` S and `noise` G (n, n) are in square metres. The noise may be singular; raise
    `NumericalFailure` if the sum is, to working precision."""
    gain = _gain(covariance, noise)
    posterior = covariance - gain @ covariance
    return np.asarray(0.5 * (posterior + posterior.T))


def _gain(covariance: NDArray[np.float64], noise: NDArray[np.float64]) -> Floats:
    try:
        return np.asarray(cho_solve(cho_factor(covariance + noise, lower=True), covariance)).T
    except np.linalg.LinAlgError:
        raise NumericalFailure(
            "prior and noise together leave some combination of records without any variance: give every "
            "record a floor of noise, or state the receiver's error."
        ) from None


def interval(covariance: NDArray[np.float64], noise: NDArray[np.float64], secret: Secret) -> float:
    """Return the width of the adversary's central 68 % interval for a secret, metres per axis.

    `covariance` and `noise` (n, n) are in square metres. It is 2 sqrt of the smallest posterior variance
    over combinations of the secret's records (the paper's measure), or of their mean if they move
    together."""
    index = np.array(secret.records)
    inner = posterior_covariance(covariance, noise)[np.ix_(index, index)]
    if secret.moves == "together":
        return 2.0 * math.sqrt(max(float(inner.mean()), 0.0))
    return 2.0 * math.sqrt(max(float(np.linalg.eigvalsh(inner)[0]), 0.0))


def uniform_noise(n: int, budget: float) -> Floats:
    """The same independent noise on every record, for comparison: (n, n), of trace `budget`."""
    return np.eye(n) * (budget / n)


def concentrated_noise(n: int, budget: float, secrets: tuple[Secret, ...]) -> Floats:
    """Independent noise on the secrets' records alone, for comparison: (n, n), of trace
    `budget`."""
    records = sorted({record for secret in secrets for record in secret.records})
    noise = np.zeros((n, n))
    noise[records, records] = budget / len(records)
    return noise


@dataclass(frozen=True, eq=False)
class Estimate:
    """A reader's estimate of the places behind a release, one axis: mean (n,) in metres and covariance
    (n, n) in square metres."""

    mean: Floats
    covariance: Floats


def estimate(released: ArrayLike, covariance: NDArray[np.float64], noise: NDArray[np.float64]) -> Estimate:
    """Estimate the places from a release (n,) of one axis, metres, with known noise, under a prior with an
    unknown mean; `covariance` and `noise` (n, n) are in square metres.

    The mean is found by generalised least squares, and its uncertainty is part of the covariance. Raise
    `NumericalFailure` if prior and noise together are singular."""
    z = np.asarray(released, dtype=np.float64)
    try:
        factor = cho_factor(covariance + noise, lower=True)
    except np.linalg.LinAlgError:
        raise NumericalFailure(
            "prior and noise together are singular: give every record a floor of noise."
        ) from None
    ones = np.ones(len(z))
    weights = cho_solve(factor, ones)
    precision = float(ones @ weights)
    level = float(weights @ z) / precision
    gain = _gain(covariance, noise)
    left = ones - gain @ ones
    spread = covariance - gain @ covariance + np.outer(left, left) / precision
    return Estimate(level + gain @ (z - level), 0.5 * (spread + spread.T))
