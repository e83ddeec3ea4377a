"""From Renyi differential privacy to (epsilon, delta), and what such a pair means for groups and odds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core._checks import non_negative, open_unit, renyi_orders, whole
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class EpsilonBound:
    """An epsilon at some delta, and where it comes from."""

    epsilon: float  # proved upper bound, >= 0, `inf` where nothing is proved
    # Renyi order that gave it; None for an exact Gaussian conversion or where epsilon is `inf`
    order: float | None
    at_edge: bool  # the best order is the first or last one with a finite value: other orders might do better


def conversion_cost(orders: Floats, delta: float) -> Floats:
    """(K,) what turning an RDP value into epsilon adds at each order; it can be negative.

    log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1), rounded upwards.
    Source: Canonne, Kamath, Steinke 2020, Prop. 12; docs/mathematics.md, section 5.
    """
    less_one = orders - 1.0
    first = -np.log1p(1.0 / less_one)  # log((alpha-1)/alpha), to full precision at every order
    second = -(math.log(delta) + np.log(orders)) / less_one
    return first + second + 8.0 * _EPS * (np.abs(first) + (abs(math.log(delta)) + np.log(orders)) / less_one)


def _checked_rdp(orders: Floats, rdp: ArrayLike) -> Floats:
    values = np.asarray(rdp, dtype=np.float64)
    if values.shape[-1:] != orders.shape:
        raise InvalidValue("rdp needs one value per order.")
    if np.any(np.isnan(values) | (values < 0.0)):
        raise InvalidValue("rdp values must be >= 0 and not NaN: a Renyi divergence is never negative.")
    return values


def _rounded_up_sum(values: Floats, cost: Floats) -> Floats:
    return np.asarray(np.nextafter(values + cost, np.inf))


def epsilons_from_rdp(orders: ArrayLike, rdp: ArrayLike, delta: float) -> Floats:
    """Vectorised `epsilon_from_rdp`: `rdp` (..., K) gives epsilons (...)."""
    grid = renyi_orders(orders)
    values = _checked_rdp(grid, rdp)
    total = _rounded_up_sum(values, conversion_cost(grid, open_unit("delta", delta)))
    return np.asarray(np.maximum(0.0, np.min(total, axis=-1)), dtype=np.float64)


def epsilon_from_rdp(orders: ArrayLike, rdp: ArrayLike, delta: float) -> EpsilonBound:
    """Upper bound on epsilon at `delta` from RDP values at some orders.

    The minimum over orders of rdp + log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1), at least 0.
    Every order alone is valid, so a poor grid is loose but never wrong.
    Source: Canonne, Kamath, Steinke 2020, Prop. 12 (tighter than Mironov 2017, Prop. 3).

    Parameters
    ----------
    orders
        (K,) Renyi orders > 1
    rdp
        (K,) RDP upper bounds, >= 0, `inf` where nothing is proved
    delta
        in (0, 1)

    Raises
    ------
    InvalidValue
        For arrays of different length, orders of at most 1, negative RDP values, or a delta outside (0,
        1).
    """
    grid = renyi_orders(orders)
    values = _checked_rdp(grid, rdp)
    if values.ndim != 1:
        raise InvalidValue("rdp must be one-dimensional; use epsilons_from_rdp for many curves.")
    total = _rounded_up_sum(values, conversion_cost(grid, open_unit("delta", delta)))
    best = int(np.argmin(total))
    if not math.isfinite(total[best]):
        return EpsilonBound(math.inf, None, True)
    neighbours = total[max(0, best - 1) : best + 2]
    edge = neighbours.size < 3 or not bool(np.all(np.isfinite(neighbours)))
    return EpsilonBound(max(0.0, float(total[best])), float(grid[best]), edge)


def group_privacy(epsilon: float, delta: float, q: int) -> tuple[float, float]:
    """(epsilon, delta) for a person with up to `q` records, from the guarantee for one record.

    (q epsilon, q e^((q-1) epsilon) delta); the second number is capped at 1, where it promises nothing.
    Source: docs/mathematics.md, section 9.

    Examples
    --------
    >>> epsilon, delta = group_privacy(1.0, 1e-5, 2)
    >>> round(epsilon, 3), round(delta, 7)
    (2.0, 5.44e-05)
    """
    epsilon, delta, q = non_negative("epsilon", epsilon), open_unit("delta", delta), whole("q", q)
    log_delta = math.log(q) + (q - 1) * epsilon + math.log(delta)
    if q == 1:
        return epsilon, delta
    return math.nextafter(q * epsilon, math.inf), min(1.0, math.exp(min(0.0, log_delta)) * (1.0 + 1e-12))


def odds_factor(epsilon: float) -> float:
    """e^epsilon, rounded upwards: how much a release can change odds about one record, but for delta.

    Raises InvalidValue if epsilon is negative or no number.
    """
    epsilon = float(epsilon)
    if not epsilon >= 0.0:
        raise InvalidValue(f"epsilon must be >= 0, got {epsilon!r}.")
    if epsilon == 0.0:
        return 1.0
    return math.exp(epsilon) * (1.0 + 2.0**-51) if epsilon < 709.0 else math.inf
