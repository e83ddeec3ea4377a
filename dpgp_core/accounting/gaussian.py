"""The exact privacy of a Gaussian mechanism, rounded upwards, and the best attack on it."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx

from dpgp_core._checks import non_negative, open_unit, positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.noise import RELEASE_DISTANCE

_EPS = 2.0**-52
_HALF_ROOT = math.sqrt(0.5)

LEAST_DELTA = 1e-300
"""Smaller deltas are raised to this, which is below every delta in use and a normal double."""

PART_LESS = 1e-9
"""Share by which each part of a divided budget is reduced, to cover rounding of their sum."""


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Least delta at which a mechanism that is mu-Gaussian-DP is (epsilon, delta)-DP, rounded
    upwards.

    Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2), mu > 0 being the L2 sensitivity
    over the noise's standard deviation. Both terms share exp(-(epsilon/mu - mu/2)^2/2), taken out
    because their difference is otherwise lost for small mu. Source: Balle and Wang 2018, Theorem 8;
    Dong, Roth, Su 2022; docs/mathematics.md, section 4. Raises InvalidValue if a number is out of
    its range.
    """
    epsilon, mu = non_negative("epsilon", epsilon), positive("mu", mu)
    near, far = epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0
    if not math.isfinite(far) or near > 1e8:
        return LEAST_DELTA
    # Delta is within 1e-88 of 1 here, and erfcx would overflow.
    if near < -20.0:
        return 1.0
    # erfcx(x) = exp(x^2) erfc(x): the factor that both terms share is taken out.
    left, right = float(erfcx(near * _HALF_ROOT)), float(erfcx(far * _HALF_ROOT))
    slack = 16.0 * _EPS * (left + right) + 4.0 * _EPS * near * near * max(0.0, left - right)
    # near itself carries a rounding error of about eps * far, which the exponential magnifies by
    # |near|.
    shift = 1.0 + 8.0 * _EPS * far * (1.0 + abs(near))
    value = 0.5 * math.exp(-0.5 * near * near) * (max(0.0, left - right) + slack) * shift
    return min(1.0, max(LEAST_DELTA, value))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Least epsilon >= 0 with `gaussian_delta(epsilon, mu) <= delta`, rounded upwards, by
    bisection.

    mu > 0, delta in (0, 1), else InvalidValue.

    Examples
    --------
    >>> round(gaussian_epsilon(0.5, 1e-5), 4)
    1.9931
    """
    mu, delta = positive("mu", mu), open_unit("delta", delta)
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0
    low, high = 0.0, mu
    while math.isfinite(high) and gaussian_delta(high, mu) > delta:
        low, high = high, high * 2.0
    if not math.isfinite(high):
        return math.inf
    # Bisection ends when no double remains between; `high` keeps the safe side throughout.
    while low < (middle := 0.5 * (low + high)) < high:
        if gaussian_delta(middle, mu) <= delta:
            high = middle
        else:
            low = middle
    return high


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu with `gaussian_delta(epsilon, mu) <= delta`, rounded downwards; noise
    is D/mu.

    Raises InvalidValue unless epsilon >= 0, delta in (0, 1) and some positive mu reaches them.

    Examples
    --------
    >>> round(2.0 / gaussian_mu(1.0, 1e-5), 3)  # noise for a sum of values in [-1, 1]
    7.461
    """
    epsilon, delta = non_negative("epsilon", epsilon), open_unit("delta", delta)
    low, high = 0.0, 1.0
    while gaussian_delta(epsilon, high) <= delta:
        low, high = high, high * 2.0
    # The invariant is that `low` fits the budget, so the result errs towards more noise.
    while low < (middle := 0.5 * (low + high)) < high:
        if gaussian_delta(epsilon, middle) <= delta:
            low = middle
        else:
            high = middle
    if low <= 0.0:
        raise InvalidValue("no positive mu reaches this epsilon and delta: ask for a larger delta.")
    return low


@lru_cache(256)
def allowed_mu(epsilon: float, delta: float) -> float:
    """`gaussian_mu` less a share of 2^-40, which covers the rounding of released noise."""
    return gaussian_mu(provable_epsilon(epsilon, delta), delta) * (1.0 - 2.0**-40)


def provable_epsilon(epsilon: float, delta: float) -> float:
    """The epsilon to aim at where `epsilon` is allowed: no larger than exactly rounded noise can
    prove.

    A release within total variation d of a Gaussian mechanism adds (1 + e^epsilon) d to delta; here
    that is at most a share of 2^-42. A delta too small for any epsilon leaves it as it is. Source:
    docs/accounting.md, section 6.
    """
    largest = math.log(open_unit("delta", delta)) - math.log(RELEASE_DISTANCE) - 42.0 * math.log(2.0)
    return min(epsilon, largest) if largest > 0.0 else epsilon


def period_epsilons(total: float, delta: float, periods: int, *, front_loaded: bool = False) -> list[float]:
    """Return one epsilon a period; the Gaussian releases together cost `total` at one delta.

    Their mu^2 add up to that of `total`: the same for each period, or half of it for the first
    (`front_loaded`). Raises InvalidValue where a part would be 0: delta alone pays for it.
    """
    mu = gaussian_mu(total, delta)
    shares = [1.0 / periods] * periods
    if front_loaded and periods > 1:
        shares = [0.5] + [0.5 / (periods - 1)] * (periods - 1)
    epsilons = {
        share: gaussian_epsilon(mu * math.sqrt(share), delta) * (1.0 - PART_LESS)
        for share in dict.fromkeys(shares)
    }
    if min(epsilons.values()) <= 0.0:
        raise InvalidValue("so small a budget cannot be divided at this delta: ask for a smaller delta.")
    return [epsilons[share] for share in shares]


_UP = 1.0 + 8.0 * float(np.finfo(np.float64).eps)


def largest_power(epsilon: float, delta: float, false_alarms: ArrayLike) -> Floats:
    """Upper bound on the true-positive rate of any test at rates of false alarms (any shape, in [0,
    1]).

    The least of e^epsilon a + delta, 1 - e^-epsilon (1 - delta - a) and 1, rounded upwards; some
    mechanism attains it. `epsilon` >= 0 may be `inf`. Source: Wasserman and Zhou 2010, Theorem 2.4;
    Kairouz, Oh and Viswanath 2015, Theorem 2.1. Raises InvalidValue if a number is out of its
    range.
    """
    epsilon, delta = _guarantee(epsilon, delta)
    rates = np.asarray(false_alarms, dtype=np.float64)
    if not np.all((rates >= 0.0) & (rates <= 1.0)):
        raise InvalidValue("rates of false alarms lie between 0 and 1.")
    if math.isinf(epsilon):
        return np.ones_like(rates)
    with np.errstate(over="ignore", invalid="ignore"):
        steep = np.where(rates > 0.0, np.exp(epsilon) * rates, 0.0) + delta
    flat = 1.0 - math.exp(-epsilon) * np.maximum(0.0, 1.0 - delta - rates) / _UP
    return np.asarray(np.minimum(1.0, np.minimum(steep, flat) * _UP))


def surest_guess(epsilon: float, delta: float) -> float:
    """Upper bound on the chance of telling rightly, at even odds, which of two neighbours was used.

    (e^epsilon + delta) / (1 + e^epsilon), where the two lines of `largest_power` meet; delta may be
    0.
    """
    if delta != 0.0:
        delta = open_unit("delta", delta)
    lost = math.exp(-epsilon if epsilon == math.inf else -non_negative("epsilon", epsilon))
    return min(1.0, (1.0 + delta * lost) / (1.0 + lost) * _UP)


def surest_gaussian_guess(mu: float, distance: float = 0.0) -> float:
    """The same of a mu-Gaussian mechanism from which the release is at most `distance` away, total
    variation.

    Phi(mu/2) + distance, rounded upwards: Theorem 8 of docs/accounting.md for two candidates. A
    claim about a record that many values fit is a mixture of such pairs, so no claim at even odds
    is guessed better.
    """
    mu, distance = non_negative("mu", mu), non_negative("distance", distance)
    return min(1.0, (0.5 * math.erfc(-0.5 * mu * _HALF_ROOT) + distance) * _UP)


def _guarantee(epsilon: float, delta: float) -> tuple[float, float]:
    epsilon = float(epsilon)
    return (epsilon if epsilon == math.inf else non_negative("epsilon", epsilon)), open_unit("delta", delta)
