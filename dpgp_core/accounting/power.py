"""What an attacker can achieve at best against an (epsilon, delta) guarantee: power, error, belief."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core._checks import non_negative, open_unit
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

_UP = 1.0 + 8.0 * float(np.finfo(np.float64).eps)


def largest_power(epsilon: float, delta: float, false_alarms: ArrayLike) -> Floats:
    """Upper bound on the true-positive rate of any test at rates of false alarms (any shape, in [0, 1]).

    The least of e^epsilon a + delta, 1 - e^-epsilon (1 - delta - a) and 1, rounded upwards: the upper edge of
    the region of errors that (epsilon, delta)-DP leaves to a test. It is attained for some mechanism, hence
    cannot be lowered from epsilon and delta alone. Source: Wasserman and Zhou 2010, Theorem 2.4; Kairouz, Oh
    and Viswanath 2015, Theorem 2.1. Raises InvalidValue if a number is out of its range.
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

    delta may be 0 here: then it is the belief that pure epsilon-DP leaves.
    (e^epsilon + delta) / (1 + e^epsilon): the best over all tests of half the sum of the true-positive rate
    and the rate of true rejections, at the corner where the two lines of `largest_power` meet.
    """
    if delta != 0.0:
        delta = open_unit("delta", delta)
    lost = math.exp(-epsilon if epsilon == math.inf else -non_negative("epsilon", epsilon))
    return min(1.0, (1.0 + delta * lost) / (1.0 + lost) * _UP)


def _guarantee(epsilon: float, delta: float) -> tuple[float, float]:
    epsilon = float(epsilon)
    return (epsilon if epsilon == math.inf else non_negative("epsilon", epsilon)), open_unit("delta", delta)
