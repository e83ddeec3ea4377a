"""Renyi differential privacy: orders, curves, the cost of posterior paths, and epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core._checks import (
    non_negative,
    open_unit,
    positive,
    positive_array,
    renyi_orders,
    ridge_array,
    variance_array,
    whole,
)
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

_PER_DECADE = 75
_LOWEST, _HIGHEST = -3, 5  # decimal exponents of alpha - 1


def _grid() -> Floats:
    """Decimal powers, the same on every processor, since ledgers move between machines."""
    steps = range((_HIGHEST - _LOWEST) * _PER_DECADE + 1)
    with localcontext(prec=30):
        ten = Decimal(10).ln()  # by exponentials: a third of the time of powers, at every start
        powers = [float((ten * Decimal(_LOWEST + step / _PER_DECADE)).exp()) for step in steps]
    grid: Floats = 1.0 + np.array(powers)
    grid.setflags(write=False)
    return grid


ORDERS: Floats = _grid()
"""(601,) orders, log-spaced in alpha - 1 from 1e-3 to 1e5; fixed, so that curves can be added.

Any subset of valid orders gives a valid epsilon (docs/mathematics.md, section 5), so the spacing
only costs tightness: neighbouring points differ by 3.1 % in alpha - 1, which costs about 0.1 % of
epsilon at most.
"""


_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class EpsilonBound:
    """An epsilon at some delta, and where it comes from."""

    epsilon: float  # proved upper bound, >= 0, `inf` where nothing is proved
    # Renyi order that gave it; None for an exact Gaussian conversion or where epsilon is `inf`
    order: float | None
    # whether the best order is the first or last one with a finite value: others might do better
    at_edge: bool


def conversion_cost(orders: Floats, delta: float) -> Floats:
    """(K,) what turning an RDP value into epsilon adds at each order; it can be negative.

    log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1), rounded upwards.
    Source: Canonne, Kamath, Steinke 2020, Prop. 12; docs/mathematics.md, section 5.
    """
    less_one = orders - 1.0
    # log((alpha-1)/alpha) by log1p keeps full precision at every order.
    first = -np.log1p(1.0 / less_one)
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

    The minimum over orders of rdp + log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1), at
    least 0; every order alone is valid. Source: Canonne, Kamath, Steinke 2020, Prop. 12 (tighter
    than Mironov 2017, Prop. 3).

    Parameters
    ----------
    orders, rdp
        (K,) Renyi orders > 1, and upper bounds >= 0, `inf` where nothing is proved
    delta
        in (0, 1)

    Raises
    ------
    InvalidValue
        For arrays of different length, or a number out of its range.
    """
    grid = renyi_orders(orders)
    values = _checked_rdp(grid, rdp)
    if values.ndim != 1:
        raise InvalidValue("rdp must be one-dimensional; use epsilons_from_rdp for many curves.")
    # Every order gives a valid epsilon, so the least one is valid too.
    total = _rounded_up_sum(values, conversion_cost(grid, open_unit("delta", delta)))
    best = int(np.argmin(total))
    if not math.isfinite(total[best]):
        return EpsilonBound(math.inf, None, True)
    neighbours = total[max(0, best - 1) : best + 2]
    edge = neighbours.size < 3 or not bool(np.all(np.isfinite(neighbours)))
    return EpsilonBound(max(0.0, float(total[best])), float(grid[best]), edge)


def group_privacy(epsilon: float, delta: float, q: int) -> tuple[float, float]:
    """(epsilon, delta) for a person with up to `q` records, from the guarantee for one record.

    (q epsilon, q e^((q-1) epsilon) delta); the second number is capped at 1, where it promises
    nothing. Source: docs/mathematics.md, section 9. Raises InvalidValue if a number is out of its
    range.

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
    """e^epsilon, rounded upwards: the largest change of odds about one record, apart from delta.

    Raises InvalidValue if epsilon is negative or no number.
    """
    epsilon = float(epsilon)
    if not epsilon >= 0.0:
        raise InvalidValue(f"epsilon must be >= 0, got {epsilon!r}.")
    if epsilon == 0.0:
        return 1.0
    return math.exp(epsilon) * (1.0 + 2.0**-51) if epsilon < 709.0 else math.inf


@dataclass(frozen=True, eq=False)
class RdpCurve:
    """Upper bounds on the Renyi divergence between neighbouring outputs, one per order of `ORDERS`.

    Adding curves composes releases (adaptively chosen ones too), order by order (Mironov 2017,
    Prop. 1). Raises `InvalidValue` for another length, a negative value or NaN.
    """

    values: Floats  # (len(ORDERS),) float64, >= 0, `inf` where nothing is proved

    def __post_init__(self) -> None:
        values = np.array(self.values, dtype=np.float64)
        if values.shape != ORDERS.shape:
            raise InvalidValue(f"a curve has one value for each of the {ORDERS.size} public orders.")
        if np.any(np.isnan(values) | (values < 0.0)):
            raise InvalidValue("a curve has no negative and no NaN value: divergences are never negative.")
        values = values + 0.0  # no negative zero, so that equal curves have equal bytes
        values.setflags(write=False)
        object.__setattr__(self, "values", values)

    def __add__(self, other: RdpCurve) -> RdpCurve:
        return RdpCurve(self.values + other.values) if isinstance(other, RdpCurve) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RdpCurve) and bool(np.array_equal(self.values, other.values))

    def __hash__(self) -> int:
        return hash(self.values.tobytes())

    def __reduce__(self) -> tuple[type[RdpCurve], tuple[Floats]]:
        # Unpickling checks the values again and makes them read-only.
        return RdpCurve, (self.values,)

    def times(self, count: int) -> RdpCurve:
        """The cost of `count` >= 1 releases of this one's kind."""
        return RdpCurve(whole("count", count) * self.values)

    def epsilon(self, delta: float) -> EpsilonBound:
        """Upper bound on epsilon at `delta` in (0, 1); `inf` where nothing is proved."""
        return epsilon_from_rdp(ORDERS, self.values, delta)

    @classmethod
    def zero(cls) -> RdpCurve:
        """The cost of releasing nothing: the neutral element of addition."""
        return cls(np.zeros(ORDERS.shape))

    @classmethod
    def gaussian(cls, mu: float) -> RdpCurve:
        """alpha mu^2/2: a Gaussian mechanism with L2 sensitivity mu > 0 in units of its noise."""
        mu = positive("mu", mu)
        with np.errstate(over="ignore"):  # what overflows is inf: nothing is proved there
            return cls(0.5 * ORDERS * mu * mu * (1.0 + 1e-15))


def leverage(ridge: ArrayLike, variance: ArrayLike, noise_share: ArrayLike = 0.0) -> Floats:
    """Return p = (1 - share) V_n/(V_n + r^2), in [0, 1), rounded upwards: the leverage of one record.

    Orders are admissible while alpha p < 1 (paper, Prop. 2). The share, eta^2/(sigma^2 + eta^2) in
    [0, 1], is that of prior noise in the released variance. Scalars or arrays that broadcast.
    Raises InvalidValue for r outside [1e-6, 1e9], V_n outside (0, 1] or a share outside [0, 1].
    """
    r2 = ridge_array(ridge) ** 2
    v = variance_array(variance)
    share = np.asarray(noise_share, dtype=np.float64)
    if not np.all((share >= 0.0) & (share <= 1.0)):
        raise InvalidValue("noise_share must lie in [0, 1].")
    return (1.0 - share) * (v / (v + r2)) * (1.0 + 64.0 * _EPS)


def covariance_term(orders: Floats, p: Floats) -> Floats:
    """f1 + f2 at leverage p, shape p.shape + (K,): upper bound, `inf` where alpha p >= 1.

    f1 = -[log(1+(alpha-1)p) + (alpha-1) log(1-p)] / (2(alpha-1))
    f2 = -[log(1-alpha p) - alpha log(1-p)] / (2(alpha-1))
    Together they are one logarithm of 1 - alpha (alpha-1) p^2/(1-p), because
    (1+(alpha-1)p)(1-alpha p) = (1-p) - alpha (alpha-1) p^2; nothing cancels, however small p or alpha - 1.
    Source: docs/mathematics.md, section 7; at most 2 psi_alpha(tau) of the paper's Theorem 3.1.
    """
    p = np.asarray(p, dtype=np.float64)[..., None]
    less_one = orders - 1.0
    part = orders * less_one * (p * p / (1.0 - p))
    inside = (orders * p < 1.0) & (part < 1.0)
    return np.where(inside, -np.log1p(-np.where(inside, part, 0.0)) / (2.0 * less_one), np.inf)


def covariance_rdp(
    orders: ArrayLike, ridge: ArrayLike, variance: ArrayLike, noise_share: ArrayLike = 0.0
) -> Floats:
    """What one path costs even at infinite scale: the covariance term, shape broadcast + (K,).

    Upper bound, `inf` outside the admissible range; 0 only for noise_share = 1.
    """
    return covariance_term(renyi_orders(orders), leverage(ridge, variance, noise_share))


def classical_shift(orders: Floats, sensitivity: Floats, p: Floats) -> Floats:
    """S(alpha) = Delta_n^2/(1 - alpha p), shape p.shape + (K,).

    The mean term is (alpha/2) S/(sigma^2 + eta^2).

    1/(1 - alpha p) is the paper's (V_n + r^2)/(r^2 - (alpha-1) V_n), and covers its Prop. 2 too.
    """
    room = 1.0 - orders * np.asarray(p, dtype=np.float64)[..., None]
    square = np.asarray(sensitivity, dtype=np.float64)[..., None] ** 2
    with np.errstate(divide="ignore"):
        return np.where(room > 0.0, square / np.where(room > 0.0, room, 1.0), np.inf)


def rdp_from_shift(orders: Floats, shift: Floats, covariance: Floats, total: Floats, paths: int) -> Floats:
    """paths * (covariance + (alpha/2) shift/total^2), rounded upwards; total^2 = sigma^2 + eta^2.

    `shift` (..., K) is the mean shift S(alpha), response units squared; `covariance` (..., K) the
    covariance term of one path, nats; `total` (...) is in response units, ... standing for designs.
    """
    size = np.asarray(total, dtype=np.float64)[..., None]
    # Two divisions in place of one by the square, which may underflow for small totals.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        mean = np.where(np.isinf(shift), np.inf, 0.5 * orders * ((shift / size) / size))
        return paths * (covariance + mean) * (1.0 + 16.0 * _EPS)


def amplitude(scale: float, noise_scale: float) -> tuple[float, float]:
    """(total, noise share) of scale sigma and noise eta: sqrt(sigma^2 + eta^2), eta^2/total^2.

    The share is rounded downwards, which costs more, and is 1 exactly for sigma = 0; an infinite
    scale leaves the covariance term alone. Raises InvalidValue if one is negative or no number.
    """
    for name, value in (("scale", scale), ("noise_scale", noise_scale)):
        if not value >= 0.0:
            raise InvalidValue(f"{name} must be >= 0, got {value!r}.")
    total = math.hypot(scale, noise_scale)
    if scale == 0.0:
        return total, 1.0
    if math.isinf(total):
        return total, 0.0
    return total, min(1.0, (noise_scale / total) ** 2) * (1.0 - 8.0 * _EPS)


def path_rdp(
    orders: ArrayLike,
    *,
    ridge: float,
    scale: float,
    variance: float,
    sensitivity: float,
    noise_scale: float = 0.0,
    paths: int = 1,
) -> Floats:
    """(K,) RDP upper bounds for `paths` posterior paths, `inf` outside the admissible range.

    scale = 0 is a plain Gaussian mechanism: alpha (Delta_n/eta)^2/2 at every order; scale =
    noise_scale = 0 costs `inf`. Source: arXiv:2606.17995 v1, Theorem 3.1 and Prop. 2, with the
    covariance term of docs/mathematics.md, section 7. L paths cost L times one (Mironov 2017, Prop.
    1).

    Parameters
    ----------
    orders
        (K,) Renyi orders > 1
    ridge, variance
        r > 0, V_n in (0, 1]
    scale, noise_scale
        posterior scale sigma and extra prior noise eta, >= 0, response units
    sensitivity
        bound on Delta_n > 0, response units

    Raises
    ------
    InvalidValue
        If a number is out of its range.

    Examples
    --------
    >>> from dpgp_core import ORDERS, epsilon_from_rdp
    >>> rdp = path_rdp(ORDERS, ridge=5.0, scale=0.27, variance=1.0, sensitivity=0.15447)
    >>> round(epsilon_from_rdp(ORDERS, rdp, 1e-5).epsilon, 3)
    3.007
    """
    grid, paths = renyi_orders(orders), whole("paths", paths)
    delta = positive_array("sensitivity", sensitivity)
    total, share = amplitude(scale, noise_scale)
    p = leverage(ridge, variance, share)
    if total == 0.0:
        return np.full(grid.shape, np.inf)
    shift = classical_shift(grid, delta, p)
    return rdp_from_shift(grid, shift, covariance_term(grid, p), np.asarray(total), paths)
