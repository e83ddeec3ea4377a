"""The one place where costs are composed: any releases together, and what they cost as epsilon and delta."""

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
"""Which datasets a cost compares, those that hide least first: costs for different ones do not add.

values-only    one record has another value; its place and the number of records stay, and are not hidden
replace-one    one record has another place and another value; the number of records stays
add-or-remove  one record more or less; two such steps make an exchange
"""

HIDING: tuple[Neighbours, ...] = get_args(Neighbours)
"""The neighbours in order: a release that hides one of them hides those before it, at some cost."""

Method = Literal["nothing", "gaussian", "pure", "renyi", "gaussian-pairs", "privacy-loss", "unproved"]

_UP = 1.0 + 2.0**-48
_POINTS = 4096  # grid points of the part with the widest losses
_MOST_POINTS = 16384  # grid points, about, of all parts together
_SEPARATE = 8  # releases of Gaussian pairs that are composed one by one; more are merged as Renyi curves
_WIDEST = 250.0  # losses beyond are left to the Renyi curve


@dataclass(frozen=True)
class Cost:
    """What one release costs, or several together: everything that is proved about it."""

    curve: RdpCurve  # RDP of the whole on the public orders
    gaussian_mu: float | None = None  # the whole is mu-Gaussian-DP (0 for nothing at all)
    pure_epsilon: float | None = None  # the whole is (epsilon, 0)-DP
    # the whole is one release of posterior paths with this leverage: its conversion is sharper
    pairs: GaussianPairs | None = None
    # total variation, at most, between what is released and the ideal mechanism that the rest describes; 0
    # where the ideal itself is charged
    distance: float = 0.0
    parts: tuple[Cost, ...] = ()  # the single releases of a composition, empty for one release. See `compose`
    neighbours: Neighbours = "replace-one"  # the datasets that all of the above compares
    # the whole is this-Gaussian-DP for one exchanged record. Stated only for "add-or-remove", where the
    # mechanism proves less than the two steps that an exchange always takes; see `guarantee.priced_for`
    exchange_mu: float | None = None

    def __post_init__(self) -> None:
        if self.neighbours not in HIDING:
            known = ", ".join(HIDING)
            raise InvalidValue(f"unknown neighbours {self.neighbours!r}: choose one of {known}.")
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
        """A pure epsilon-DP mechanism, epsilon > 0; give `curve` where more is proved than `pure_curve`."""
        epsilon = positive("epsilon", epsilon)
        return cls(pure_curve(epsilon) if curve is None else curve, None, epsilon, distance=distance)

    @classmethod
    def renyi(cls, curve: RdpCurve, pairs: GaussianPairs | None = None, distance: float = 0.0) -> Cost:
        """A mechanism of which an RDP curve is known, and for posterior sampling its leverage."""
        return cls(curve, pairs=pairs, distance=distance)

    def among(self, neighbours: Neighbours, exchange_mu: float | None = None) -> Cost:
        """The same numbers as a statement about these neighbours; the caller has the proof."""
        return replace(self, neighbours=neighbours, exchange_mu=exchange_mu)

    @property
    def releases(self) -> tuple[Cost, ...]:
        """The single releases that cost anything."""
        if self.parts:
            return self.parts
        return () if self.gaussian_mu == 0.0 or self.pure_epsilon == 0.0 else (self,)


@dataclass(frozen=True)
class Composed:
    """An upper bound on epsilon at some delta, and how it was reached."""

    epsilon: float
    method: Method  # which of the valid bounds was the least; "unproved" where epsilon is `inf`
    order: float | None = None  # the Renyi order of "renyi" and "gaussian-pairs", else None


def pure_curve(epsilon: float) -> RdpCurve:
    """RDP of every pure epsilon-DP mechanism: that of randomised response, which dominates them all.

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


def compose(costs: Iterable[Cost]) -> Cost:
    """The cost of all releases together, also if later ones were chosen after seeing earlier ones.

    Curves add order by order, mu as sqrt(sum mu^2) while all are Gaussian, pure epsilons and distances add.
    The single releases are kept, so composing is associative and loses nothing. Raises InvalidValue for costs
    that compare different neighbours; `guarantee.together` prices them for common ones first.
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
    with np.errstate(over="ignore"):  # what overflows is inf: nothing is proved there
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
    values = list(mus)
    return math.hypot(*values) * _UP if values else 0.0


def epsilon(costs: Cost | Iterable[Cost], delta: float) -> Composed:
    """The least proved epsilon at `delta`, in (0, 1), of all releases together, rounded upwards.

    All Gaussian: exact, through sqrt(sum mu^2). Otherwise the least of the sum of RDP curves, the sum of pure
    epsilons, and the composed privacy-loss distribution, in which Gaussian releases are merged exactly, pure
    ones are randomised responses, and what has an RDP curve only enters through the profile that follows from
    the curve. Where releases are not the ideal mechanism, (1 + e^epsilon) times their distance is taken off
    delta first. Source: docs/accounting.md, Theorems 1 to 4.
    """
    cost, delta = _one(costs), open_unit("delta", delta)
    if not cost.releases:
        return Composed(0.0, "nothing")
    spared = delta
    for _ in range(60):
        found = _ideal_epsilon(cost, spared)
        lost = 0.0 if cost.distance == 0.0 else cost.distance * _odds(found.epsilon) * _UP
        if spared + lost <= delta:
            return found
        spared = (delta - lost) * (1.0 - 2.0**-50)
        if not spared > 0.0:
            break
    return Composed(math.inf, "unproved")


def delta(costs: Cost | Iterable[Cost], epsilon: float) -> float:
    """The least proved delta at `epsilon` >= 0 of all releases together, rounded upwards, at most 1."""
    cost, epsilon = _one(costs), non_negative("epsilon", epsilon)
    if not cost.releases:
        return 0.0
    lost = 0.0 if cost.distance == 0.0 else cost.distance * _odds(epsilon)
    if cost.gaussian_mu is not None:
        return min(1.0, (gaussian_delta(epsilon, cost.gaussian_mu) + lost) * _UP)
    if cost.pure_epsilon is not None and epsilon >= cost.pure_epsilon:
        return min(1.0, lost * _UP)
    asked = np.array([epsilon])
    found = [float(_tails(cost).deltas(asked)[0])]
    found += [loss.delta(epsilon) for loss in _losses(cost)]
    return min(1.0, (min(found) + lost) * _UP)


def _one(costs: Cost | Iterable[Cost]) -> Cost:
    return costs if isinstance(costs, Cost) else compose(costs)


def _odds(epsilon: float) -> float:
    return 1.0 + math.exp(epsilon) if epsilon < 700.0 else math.inf


def _ideal_epsilon(cost: Cost, delta: float) -> Composed:
    if cost.gaussian_mu is not None:
        return Composed(gaussian_epsilon(cost.gaussian_mu, delta), "gaussian")
    curve = cost.curve.epsilon(delta)
    found = [Composed(curve.epsilon, "renyi", curve.order)]
    if cost.pairs is not None:
        sharper, order = pair_tails(cost.curve, cost.pairs).epsilon(delta)
        found.append(Composed(sharper, "gaussian-pairs", order))
    if cost.pure_epsilon is not None:
        found.append(Composed(cost.pure_epsilon, "pure"))
    found += [Composed(loss.epsilon(delta), "privacy-loss") for loss in _losses(cost)]
    best = min(found, key=lambda bound: bound.epsilon)
    return best if math.isfinite(best.epsilon) else Composed(math.inf, "unproved")


def _tails(cost: Cost) -> Tails:
    return renyi_tails(cost.curve) if cost.pairs is None else pair_tails(cost.curve, cost.pairs)


@lru_cache(maxsize=64)
def _losses(cost: Cost) -> tuple[PrivacyLoss, ...]:
    """Privacy-loss distributions that may prove more than the sum of the curves; none where none can."""
    parts = cost.releases
    merged = merged_mu(part.gaussian_mu for part in parts if part.gaussian_mu is not None)
    pures = [part for part in parts if part.gaussian_mu is None and part.pure_epsilon is not None]
    rest = [part for part in parts if part.gaussian_mu is None and part.pure_epsilon is None]
    choices: list[list[Tails]] = []
    if pures or merged > 0.0:
        choices.append([_tails(compose(rest))] if rest else [])
    if 1 < len(rest) <= _SEPARATE and any(part.pairs is not None for part in rest):
        choices.append([_tails(part) for part in rest])
    known = [part.pure_epsilon for part in pures if part.pure_epsilon is not None]
    found = [_composed(merged, known, tails) for tails in choices]
    return tuple(loss for loss in found if loss is not None)


def _composed(mu: float, pures: list[float], tails: list[Tails]) -> PrivacyLoss | None:
    """One composed loss, or None where a part's losses are too wide for a grid."""
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
