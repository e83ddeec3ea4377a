"""Composition of costs: any releases together, and their cost as epsilon and delta."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Literal, get_args

import numpy as np

from dpgp_core._checks import non_negative, open_unit, positive
from dpgp_core.accounting.gaussian import gaussian_delta, gaussian_epsilon
from dpgp_core.accounting.pld import NEGLIGIBLE, PrivacyLoss, gaussian_loss, gaussian_reach, response_loss
from dpgp_core.accounting.rdp import ORDERS, RdpCurve
from dpgp_core.accounting.tails import GaussianPairs, Tails, pair_tails, renyi_tails
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

Neighbours = Literal["values-only", "replace-one", "add-or-remove"]
"""Neighbouring relation of a cost, weakest first; costs for different relations do not add.

values-only    one record has another value; its place and the number of records are equal, and not
protected replace-one    one record has another place and another value; the number of records is
equal add-or-remove  one record more or less; two such steps make an exchange
"""

HIDING: tuple[Neighbours, ...] = get_args(Neighbours)
"""The relations in order: a release that is private under one is private under those before it, at
a cost."""

Method = Literal["nothing", "gaussian", "pure", "renyi", "gaussian-pairs", "privacy-loss", "unproved"]

_UP = 1.0 + 2.0**-48
_POINTS = 4096  # grid points of the part with the widest losses
_MOST_POINTS = 16384  # grid points, about, of all parts together
_SEPARATE = 8  # releases of Gaussian pairs that are composed one by one; more are merged as Renyi curves
_WIDEST = 250.0  # larger losses are covered by the Renyi curve alone


@dataclass(frozen=True)
class Cost:
    """The proved cost of one release, or of several together."""

    curve: RdpCurve  # RDP of the whole on the public orders
    gaussian_mu: float | None = None  # the whole is mu-Gaussian-DP (0 for nothing at all)
    pure_epsilon: float | None = None  # the whole is (epsilon, 0)-DP
    # the whole is one release of posterior paths with this leverage: its conversion is sharper
    pairs: GaussianPairs | None = None
    # upper bound on the total variation between the release and the ideal mechanism of the other
    # fields; 0 if the ideal itself is charged
    distance: float = 0.0
    parts: tuple[Cost, ...] = ()  # the single releases of a composition, empty for one release. See `compose`
    neighbours: Neighbours = "replace-one"  # the neighbouring relation of all fields above
    # Gaussian-DP parameter for one exchanged record. Stated only for "add-or-remove", if the
    # mechanism proves less than the cost of two steps; see `guarantee.priced_for`
    exchange_mu: float | None = None

    def __post_init__(self) -> None:
        if self.neighbours not in HIDING:
            names = ", ".join(HIDING)
            raise InvalidValue(f"unknown neighbours {self.neighbours!r}: choose one of {names}.")
        if self.exchange_mu is not None and self.neighbours != "add-or-remove":
            raise InvalidValue("the price of an exchange is stated beside that of one record more or less.")
        for name in ("gaussian_mu", "pure_epsilon", "exchange_mu"):
            if getattr(self, name) is not None:
                non_negative(name, getattr(self, name))
        if not 0.0 <= self.distance < 1.0:
            raise InvalidValue(f"a total variation lies in [0, 1), got {self.distance!r}.")

    @classmethod
    def nothing(cls) -> Cost:
        """The cost of releasing nothing."""
        return cls(RdpCurve.zero(), 0.0, 0.0)

    @classmethod
    def gaussian(cls, mu: float, distance: float = 0.0) -> Cost:
        """A Gaussian mechanism: L2 sensitivity mu > 0 in units of its noise."""
        return cls(RdpCurve.gaussian(mu), positive("mu", mu), distance=distance)

    @classmethod
    def pure(cls, epsilon: float, curve: RdpCurve | None = None, distance: float = 0.0) -> Cost:
        """A pure epsilon-DP mechanism, epsilon > 0; pass a `curve` that is sharper than
        `pure_curve`."""
        epsilon = positive("epsilon", epsilon)
        return cls(pure_curve(epsilon) if curve is None else curve, None, epsilon, distance=distance)

    @classmethod
    def renyi(cls, curve: RdpCurve, pairs: GaussianPairs | None = None, distance: float = 0.0) -> Cost:
        """A mechanism with an RDP curve, and for posterior sampling its leverage."""
        return cls(curve, pairs=pairs, distance=distance)

    def among(self, neighbours: Neighbours, exchange_mu: float | None = None) -> Cost:
        """Set the neighbouring relation; the caller has the proof."""
        return replace(self, neighbours=neighbours, exchange_mu=exchange_mu)

    @property
    def releases(self) -> tuple[Cost, ...]:
        """The single releases with a cost."""
        if self.parts:
            return self.parts
        return () if self.gaussian_mu == 0.0 or self.pure_epsilon == 0.0 else (self,)


@dataclass(frozen=True)
class Composed:
    """An upper bound on epsilon at some delta, and its method."""

    epsilon: float
    method: Method  # the valid bound with the least epsilon; "unproved" if epsilon is `inf`
    order: float | None = None  # the Renyi order of "renyi" and "gaussian-pairs", else None


def pure_curve(epsilon: float) -> RdpCurve:
    """RDP of every pure epsilon-DP mechanism: that of randomised response, which dominates them
    all.

    log(cosh((alpha - 1/2) epsilon)/cosh(epsilon/2))/(alpha - 1), at most epsilon; rounded upwards.
    """
    epsilon = positive("epsilon", epsilon)
    less_one = ORDERS - 1.0
    wide = ORDERS * epsilon > 1.0
    small = np.where(wide, 0.0, ORDERS) * epsilon  # the difference of the two cosh's, without cancellation
    narrow = np.where(wide, 0.0, less_one) * epsilon
    near = np.log1p(2.0 * np.sinh(0.5 * small) * np.sinh(0.5 * narrow) / math.cosh(min(0.5 * epsilon, 0.5)))
    far = (
        less_one * epsilon
        + np.log1p(np.exp(-(2.0 * ORDERS - 1.0) * epsilon))
        - math.log1p(math.exp(-epsilon))
    )
    values = np.where(wide, far, near) / less_one * (1.0 + 1e-12) + np.where(wide, 1e-15, 0.0) / less_one
    return RdpCurve(np.minimum(epsilon, values))


def selection_curve(epsilon: float) -> RdpCurve:
    """RDP of an exponential mechanism of bounded range epsilon: `min(epsilon, alpha epsilon^2 / 8)`.

    Candidate j is chosen with probability proportional to `exp(lam u_j)`, `lam = epsilon / (2 S)`, where one
    record moves a score `u_j` by at most S, so the log ratio Z of two choice probabilities, `lam d_j` less a
    constant, has range at most epsilon. Under Q, `phi(a) = log E exp(a Z)` has phi(0) = phi(1) = 0, and phi''
    is the variance of Z under a tilted law, at most epsilon^2/4 (Popoviciu). The interpolation error at the
    nodes 0 and 1 gives `phi(a) <= a (a-1) epsilon^2 / 8`, so the Renyi divergence `phi(a)/(a-1)` is at most
    `a epsilon^2/8` (Cesar and Rogers 2021). It is also at most max Z <= epsilon: exp(Z) has mean 1, so Z
    changes sign.
    """
    epsilon = positive("epsilon", epsilon)
    return RdpCurve(np.minimum(epsilon, ORDERS * epsilon**2 / 8.0) * (1.0 + 1e-14))


def compose(costs: Iterable[Cost]) -> Cost:
    """The cost of all releases together, also if later ones were chosen after seeing earlier ones.

    Curves add order by order, mu as sqrt(sum mu^2) while all are Gaussian, pure epsilons and
    distances add. The result contains the single releases, so composition is associative and loses
    nothing. Raises InvalidValue for costs with different relations; `guarantee.together` prices
    them for a common one first.
    """
    parts = tuple(part for cost in costs for part in cost.releases)
    if not parts:
        return Cost.nothing()
    if len(parts) == 1:
        return parts[0]
    neighbours = {part.neighbours for part in parts}
    if len(neighbours) > 1:
        raise InvalidValue(
            f"costs for different neighbours ({', '.join(sorted(neighbours))}) do not add: price them for "
            "the same ones first."
        )
    with np.errstate(over="ignore"):  # an overflow gives inf: no bound at that order
        total = np.sum([part.curve.values for part in parts], axis=0)
    curve = RdpCurve(total * (1.0 + len(parts) * 2.0**-50))
    mus = [part.gaussian_mu for part in parts]
    pures = [part.pure_epsilon for part in parts]
    return Cost(
        curve,
        None if None in mus else merged_mu(mu for mu in mus if mu is not None),
        None if None in pures else math.fsum(value for value in pures if value is not None) * _UP,
        None,
        min(1.0 - 2.0**-53, math.fsum(part.distance for part in parts) * _UP),
        parts,
        neighbours.pop(),
    )


def merged_mu(mus: Iterable[float]) -> float:
    """sqrt(sum mu^2), rounded upwards: Gaussian mechanisms compose exactly to a Gaussian mechanism.

    Source: Dong, Roth, Su 2022, Corollary 2 (adaptive choices included).
    """
    return math.hypot(*mus) * _UP


def epsilon(costs: Cost | Iterable[Cost], delta: float) -> Composed:
    """The least proved epsilon at `delta`, in (0, 1), of all releases together, rounded upwards.

    All Gaussian: exact, through sqrt(sum mu^2). Otherwise the least of the sum of RDP curves, the
    sum of pure epsilons, and the composed privacy-loss distribution. In the latter Gaussian
    releases are merged exactly, pure ones are randomised responses, and a release with an RDP curve
    alone enters through the profile that follows from the curve. If releases differ from the ideal
    mechanism, (1 + e^epsilon) times their distance is subtracted from delta first. Source:
    docs/accounting.md, Theorems 1 to 4.
    """
    cost, delta = _one(costs), open_unit("delta", delta)
    if not cost.releases:
        return Composed(0.0, "nothing")
    spared = delta
    for _ in range(60):
        bound = _ideal_epsilon(cost, spared)
        lost = lost_delta(cost, bound.epsilon)
        if spared + lost <= delta:
            return bound
        spared = (delta - lost) * (1.0 - 2.0**-50)
        if not spared > 0.0:
            break
    return Composed(math.inf, "unproved")


def delta(costs: Cost | Iterable[Cost], epsilon: float) -> float:
    """The least proved delta at `epsilon` >= 0 of all releases together, rounded upwards, at most
    1."""
    cost, epsilon = _one(costs), non_negative("epsilon", epsilon)
    if not cost.releases:
        return 0.0
    lost = lost_delta(cost, epsilon)
    if cost.gaussian_mu is not None:
        return min(1.0, (gaussian_delta(epsilon, cost.gaussian_mu) + lost) * _UP)
    if cost.pure_epsilon is not None and epsilon >= cost.pure_epsilon:
        return min(1.0, lost)
    epsilons = np.array([epsilon])
    deltas = [float(_tails(cost).deltas(epsilons)[0])]
    deltas += [loss.delta(epsilon) for loss in _losses(cost)]
    return min(1.0, (min(deltas) + lost) * _UP)


def lost_delta(cost: Cost, epsilon: float) -> float:
    """Part of delta that a distance to the ideal mechanism uses: (1 + e^epsilon) times the distance."""
    return 0.0 if cost.distance == 0.0 else cost.distance * _odds(epsilon) * _UP


def _one(costs: Cost | Iterable[Cost]) -> Cost:
    return costs if isinstance(costs, Cost) else compose(costs)


def _odds(epsilon: float) -> float:
    return 1.0 + math.exp(epsilon) if epsilon < 700.0 else math.inf


def _ideal_epsilon(cost: Cost, delta: float) -> Composed:
    if cost.gaussian_mu is not None:
        return Composed(gaussian_epsilon(cost.gaussian_mu, delta), "gaussian")
    curve = cost.curve.epsilon(delta)
    bounds = [Composed(curve.epsilon, "renyi", curve.order)]
    if cost.pairs is not None:
        sharper, order = pair_tails(cost.curve, cost.pairs).epsilon(delta)
        bounds.append(Composed(sharper, "gaussian-pairs", order))
    if cost.pure_epsilon is not None:
        bounds.append(Composed(cost.pure_epsilon, "pure"))
    bounds += [Composed(loss.epsilon(delta), "privacy-loss") for loss in _losses(cost)]
    best = min(bounds, key=lambda bound: bound.epsilon)
    return best if math.isfinite(best.epsilon) else Composed(math.inf, "unproved")


def _tails(cost: Cost) -> Tails:
    return renyi_tails(cost.curve) if cost.pairs is None else pair_tails(cost.curve, cost.pairs)


@lru_cache(maxsize=64)
def _losses(cost: Cost) -> tuple[PrivacyLoss, ...]:
    """Privacy-loss distributions that may be sharper than the sum of the curves; empty if none can
    be."""
    parts = cost.releases
    merged = merged_mu(part.gaussian_mu for part in parts if part.gaussian_mu is not None)
    pures = [part for part in parts if part.gaussian_mu is None and part.pure_epsilon is not None]
    curves_only = [part for part in parts if part.gaussian_mu is None and part.pure_epsilon is None]
    choices: list[list[Tails]] = []
    if pures or merged > 0.0:
        choices.append([_tails(compose(curves_only))] if curves_only else [])
    if 1 < len(curves_only) <= _SEPARATE and any(part.pairs is not None for part in curves_only):
        choices.append([_tails(part) for part in curves_only])
    epsilons = [part.pure_epsilon for part in pures if part.pure_epsilon is not None]
    losses = [_composed(merged, epsilons, tails) for tails in choices]
    return tuple(loss for loss in losses if loss is not None)


def _composed(mu: float, pures: list[float], tails: list[Tails]) -> PrivacyLoss | None:
    """The composed loss, or None if the losses of a part are too wide for a grid."""
    reaches = [*pures, *(tail.reach(NEGLIGIBLE) for tail in tails)]
    if mu > 0.0:
        reaches.append(gaussian_reach(mu))
    widest = max(reaches)
    if not 0.0 < widest <= _WIDEST:
        return None
    together = min(math.fsum(reaches), 7.0 * math.hypot(*reaches))
    step = 2.0 ** math.ceil(math.log2(max(widest / _POINTS, together / _MOST_POINTS)))
    responses = {value: response_loss(value, step) for value in set(pures)}
    losses = [gaussian_loss(mu, step)] if mu > 0.0 else []
    losses += [responses[value] for value in pures]
    losses += [_tail_loss(tail, step) for tail in tails]
    return reduce(PrivacyLoss.compose, losses)


def _tail_loss(tails: Tails, step: float) -> PrivacyLoss:
    last = math.ceil(tails.reach(NEGLIGIBLE) / step)
    losses: Floats = step * np.arange(last + 1, dtype=np.float64)
    return PrivacyLoss.from_profile(step, tails.deltas(losses))
