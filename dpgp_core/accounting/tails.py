"""Privacy profiles delta(epsilon) of any curve and, sharper, of Gaussian pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpgp_core._checks import open_unit, whole
from dpgp_core.accounting.gaussian import LEAST_DELTA
from dpgp_core.accounting.rdp import ORDERS, RdpCurve, covariance_term, rdp_from_shift
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

_EPS = 2.0**-52
_RATES = ORDERS - 1.0


@dataclass(frozen=True, eq=False)
class Tails:
    """delta(epsilon) <= min(1, exp(logs[k] - rates[k] epsilon)) for every k and epsilon >= 0."""

    rates: Floats  # (K,) alpha - 1 > 0
    logs: Floats  # (K,) `inf` where nothing is proved

    def deltas(self, epsilons: Floats) -> Floats:
        """Upper bounds on delta at each epsilon >= 0, same shape, from `LEAST_DELTA` to 1."""
        finite = np.isfinite(self.logs)
        # Every order is valid alone, so the least exponent is; it starts at log 1 = 0.
        best = np.zeros(epsilons.shape)
        for rate, log in zip(self.rates[finite].tolist(), self.logs[finite].tolist(), strict=True):
            exponent = log - rate * epsilons
            np.minimum(best, exponent + 4.0 * _EPS * (abs(log) + rate * epsilons), out=best)
        return np.asarray(np.clip(np.exp(best) * (1.0 + 4.0 * _EPS), LEAST_DELTA, 1.0))

    def epsilon(self, delta: float) -> tuple[float, float | None]:
        """Upper bound on epsilon at `delta`, and its order; (inf, None) if nothing is proved."""
        log = math.log(open_unit("delta", delta))
        values = (self.logs - log + 8.0 * _EPS * (np.abs(self.logs) - log)) / self.rates
        best = int(np.argmin(values))
        if not math.isfinite(values[best]):
            return math.inf, None
        return max(0.0, float(values[best])), float(1.0 + self.rates[best])

    def reach(self, delta: float) -> float:
        """An epsilon from which on the profile is below `delta`; `inf` without one."""
        return self.epsilon(delta)[0]


def renyi_tails(curve: RdpCurve) -> Tails:
    """The profile that follows from Renyi divergences alone.

    delta(epsilon) <= exp((alpha-1) (R(alpha) - epsilon)) (1 - 1/alpha)^(alpha-1)/alpha.
    Source: Canonne, Kamath, Steinke 2020, Prop. 12; docs/accounting.md, section 2.
    """
    peak = -_RATES * np.log1p(1.0 / _RATES) - np.log(ORDERS)
    return Tails(_RATES, rounded_up(_RATES * curve.values, peak))


def rounded_up(main: Floats, correction: Floats) -> Floats:
    """main + correction, of one shape, plus their rounding error; `inf` in place of NaN."""
    with np.errstate(invalid="ignore"):
        total = main + correction + 32.0 * _EPS * (np.abs(main) + np.abs(correction) + 1.0)
    return np.asarray(np.where(np.isnan(total), np.inf, total))


_LOW = 1.0 - 1e-12
_CELLS = 800


@dataclass(frozen=True)
class GaussianPairs:
    """Facts of a release whose neighbouring outputs are Gaussian vectors: posterior sampling."""

    # p in [0, 1): whitened together, the two covariances are I - p' g g^T and I - q' h h^T with
    # unit vectors g, h and p', q' <= p (docs/mathematics.md, sections 2 and 4; `rdp.leverage`)
    leverage: float
    paths: int = 1  # L >= 1 independent paths of the same release

    def __post_init__(self) -> None:
        if not 0.0 <= self.leverage < 1.0:
            raise InvalidValue(f"the leverage lies in [0, 1), got {self.leverage!r}.")
        whole("paths", self.paths)


@lru_cache(maxsize=256)
def pair_tails(curve: RdpCurve, pairs: GaussianPairs) -> Tails:
    """The profile of one release of Gaussian pairs: sharper than `renyi_tails`, never above it.

    The curve bounds the divergences of all paths of exactly this release together; any larger
    leverage is valid too. The upper bounds, read-only, hold for every pair of the release, without
    a search over pairs. Kept for the last releases asked about: a receipt, its groups, a preview of
    the ledger and the bundle's own check ask for the same one up to fifty times.
    """
    sharper = pair_logs(ORDERS, curve.values, pairs, _shift_bound(curve.values))
    coarser = renyi_tails(curve)
    logs = np.minimum(coarser.logs, sharper)
    logs.setflags(write=False)
    return Tails(coarser.rates, logs)


def pair_logs(orders: Floats, values: Floats, pairs: GaussianPairs, first: float) -> Floats:
    """(K,) numbers l such that delta(epsilon) <= exp(l - (alpha-1) epsilon), one per order.

    `values` (K,) are R(alpha), `inf` where nothing is proved; `first` bounds L s^2 at the lowest
    public order: 2 R(alpha_0)/alpha_0. With c = alpha - 1, m^2 = c alpha, A = 2 (R - L
    C_alpha(p))/alpha, each pair has a linear variance B and a mean term (alpha/2) a with a <= A,
    and delta(epsilon) <= exp(c (L C_alpha(p) + alpha a/2 - epsilon)) J(B). Three groups of pairs,
    by the ratio xi by which a falls with the order, cover all: xi <= 0 has B >= a; 0 < xi <= turn
    has B >= (1 - alpha xi)(1 - c xi) a; beyond, a <= first/(1 + turn (alpha - alpha_0)). In every
    pair B >= kappa a. The exponent plus log J is convex in a, so its ends decide. Source:
    docs/accounting.md, Theorem 4.
    """
    p, paths = pairs.leverage, pairs.paths
    rates = orders - 1.0
    covariance = covariance_term(orders, np.asarray(p))
    usable = np.isfinite(values) & np.isfinite(covariance)
    value, term = np.where(usable, values, 1.0), np.where(usable, covariance, 0.0)
    half = 0.5 * orders * rates  # c alpha/2
    shift = np.maximum(0.0, value * _LOW - paths * term / _LOW) * 2.0 / orders  # A, rounded down
    worst = _LOW / ((1.0 + rates * p) * (1.0 + orders * p / (1.0 - p)))  # kappa
    bent = 0.5 * p / np.where(usable, 1.0 - orders * p, 1.0) / _LOW  # lambda
    middle = np.sqrt(rates * orders)  # m

    def tilted(mean_term: Floats, factor: Floats) -> Floats:
        return half * mean_term + np.log(inversion(middle, factor * mean_term * _LOW, bent))

    # In the second and third group the mean term falls with the order, so `first` bounds it too.
    near = np.minimum(shift, first)
    target = near + np.log(worst) / (2.0 * half)  # what a third group would have to fall to
    gap = orders - float(ORDERS[0])
    able = (target > 0.0) & (gap > 0.0) & math.isfinite(first)
    with np.errstate(over="ignore"):  # infinite where there is no such group
        fall = min(first, 1e300) / np.where(able, target, 1.0) - 1.0
        turn = np.where(able, fall / np.where(able, gap, 1.0), 0.0)  # xi
    able &= turn < 1.0 / orders
    turn = np.where(able, turn, 0.0)
    factor = np.where(able, np.maximum(worst, (1.0 - orders * turn) * (1.0 - rates * turn) * _LOW), worst)
    far = np.minimum(near, np.where(able, first / (1.0 + turn * gap) / _LOW, near))
    # The exponent plus log J is convex in the mean term, so the ends of each group decide.
    largest = np.maximum(tilted(shift, np.ones_like(shift)), -np.log(2.0 * middle))
    largest = np.maximum(largest, np.maximum(tilted(near, factor), tilted(far, worst)))
    slack = 8e-12 * rates * value  # shift and near were rounded down, which belongs inside J only
    return np.where(usable, rounded_up(rates * paths * term + slack, largest), np.inf)


def inversion(middle: Floats, linear: Floats, bent: Floats) -> Floats:
    """J(B) = (1/(pi m)) int_0^(pi/2) e^(-B tau/2) d theta with t = m tan(theta).

    Here tau = t^2/(1 + 4 lambda^2 t^2). (K,) upper bounds, at most 1/(2m), for `middle` m > 0,
    `linear` B >= 0 and `bent` lambda >= 0. The integrand decreases from 1, so the sum of its values
    at the cells' left ends is an upper bound. Equal cells cover the range that matters, one
    further cell the remainder.
    """
    last = np.minimum(0.5 * math.pi, 8.0 / np.maximum(middle * np.sqrt(linear), 1e-300))
    places = last[:, None] * np.linspace(0.0, 1.0, _CELLS + 1)[None, :]
    t = middle[:, None] * np.tan(places) * _LOW
    tau = t * t / (1.0 + (2.0 * bent[:, None] * t) ** 2)
    values = np.exp(-0.5 * linear[:, None] * tau)
    total = values[:, :-1].sum(axis=1) * (last / _CELLS) + values[:, -1] * (0.5 * math.pi - last)
    return np.asarray(np.minimum(0.5 / middle, total / (math.pi * middle)) * (1.0 + 1e-11))


def _shift_bound(values: Floats) -> float:
    """L s^2 <= 2 D/alpha at the lowest public order: a divergence's covariance part is never
    negative."""
    return 2.0 * float(values[0]) / float(ORDERS[0]) / _LOW


def least_total(
    epsilon: float, delta: float, *, shift: Floats, covariance: Floats, pairs: GaussianPairs, start: float
) -> float:
    """Return the least total scale sqrt(sigma^2 + eta^2), response units, within (epsilon, delta).

    `shift` and `covariance`, (K,) on `ORDERS`, are S(alpha) and one path's covariance term; `start`
    is a total that is enough by the Renyi conversion alone, or `inf`. At most `start`, feasible in
    the forward computation `pair_tails`, and minimal to about 1 part in 10^7 within the orders that
    matter; `start` where nothing is proved.
    """
    if not math.isfinite(start):
        return math.inf

    def curve(total: float) -> RdpCurve:
        return RdpCurve(rdp_from_shift(ORDERS, shift, covariance, np.asarray(total), pairs.paths))

    order = renyi_tails(curve(start)).epsilon(delta)[1]
    if order is None:
        return start
    # The best order moves little between the two conversions: a window around it is enough, and
    # any subset of orders gives a valid bound.
    best = int(np.searchsorted(ORDERS, order))
    window = slice(max(0, best - 30), best + 31)

    def fits(total: float) -> bool:
        values = curve(total).values
        logs = pair_logs(ORDERS[window], values[window], pairs, _shift_bound(values))
        return Tails(ORDERS[window] - 1.0, logs).epsilon(delta)[0] <= epsilon

    low, high = 0.5 * start, start
    while high > low * (1.0 + 1e-7):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
