"""The proved cost of one release of any mechanism, also for groups and other neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from dpgp_core._checks import open_unit, whole
from dpgp_core.accounting.composition import (
    HIDING,
    Composed,
    Cost,
    Method,
    Neighbours,
    compose,
    epsilon,
    lost_delta,
    pure_curve,
)
from dpgp_core.accounting.rdp import ORDERS, EpsilonBound, RdpCurve
from dpgp_core.accounting.tails import GaussianPairs, Tails, pair_tails, renyi_tails
from dpgp_core.errors import BoundRefused
from dpgp_core.linalg import Floats

_RATES = ORDERS - 1.0
_SPLITS = 1.0 + np.geomspace(1e-2, 1e2, 241)
_ROUNDING = 1.0 + 1e-12
_STEPS = 400  # grid of the chain of hockey-stick steps


def group_curve(curve: RdpCurve, q: int) -> RdpCurve:
    """Return the RDP of datasets that differ in at most q >= 1 records, from the curve for one.

    Upper bounds, `inf` if a required order has no finite value. Between the ends P, Q of a chain
    and a member M, by Hoelder's inequality with 1/s + 1/t = 1, (alpha-1) D_alpha(P||Q) <= (1/s)
    Lambda(s alpha; P, M) + (1/t) Lambda(1 + t (alpha-1); M, Q) with Lambda(x; ., .) = (x-1)
    D_x(.||.), convex in x, so that chords between the orders are upper bounds. The least over a
    grid of s is taken. Source: Mironov 2017, Prop. 11; docs/accounting.md, Theorem 5.
    """
    curves = {1: curve}

    # Halving the chain needs log2(q) joins, each of which loses a little by Hoelder's inequality.
    def chain(length: int) -> RdpCurve:
        if length not in curves:
            half = length // 2
            curves[length] = _joined(chain(half), chain(length - half))
        return curves[length]

    return chain(whole("q", q))


def group_cost(cost: Cost, q: int) -> Cost:
    """The cost of all releases of `cost` for datasets that differ in at most q records.

    Each release is turned into its group version, then they compose as usual: mu becomes q mu, a
    pure epsilon becomes q epsilon, a curve becomes `group_curve`. Distances to the ideal do not
    change.
    """
    q = whole("q", q)
    if q == 1 or not cost.releases:
        return cost
    return compose(_group_release(part, q) for part in cost.releases)


def priced_for(cost: Cost, neighbours: Neighbours) -> Cost:
    """The cost of the same releases for other neighbours; `inf` without a guarantee.

    Under a weaker relation the numbers do not change. The price of an exchange, from a proof for
    one record more or less, is the smaller of the mechanism's own price of an exchange and that of
    two steps. Under a relation without a proof it is a curve of `inf`. Source: docs/accounting.md,
    section 7.
    """
    if cost.neighbours == neighbours:
        return cost
    return compose(_priced_release(part, neighbours) for part in cost.releases)


def weakest(costs: Iterable[Cost]) -> Neighbours:
    """The weakest relation among these releases; "add-or-remove" without a release."""
    ranks = [HIDING.index(part.neighbours) for cost in costs for part in cost.releases]
    return HIDING[min(ranks, default=len(HIDING) - 1)]


def together(costs: Iterable[Cost]) -> Cost:
    """The cost of all releases together, each priced for the weakest `neighbours` among them."""
    all_costs = tuple(costs)
    neighbours = weakest(all_costs)
    return compose(priced_for(cost, neighbours) for cost in all_costs)


def group_epsilon(cost: Cost, q: int, delta: float) -> Composed:
    """The least proved epsilon at the same `delta` for a person with up to q >= 1 records.

    Exact for Gaussian releases (q mu). Otherwise the least of the composed group costs and of a
    chain of hockey-stick steps: H_(e_1 + ... + e_q) <= delta(e_1) + e^(e_1) delta(e_2) + ... with
    the best steps e_i. `inf` without a proof.
    """
    q, delta = whole("q", q), open_unit("delta", delta)
    if q == 1:
        return epsilon(cost, delta)
    composed = epsilon(group_cost(cost, q), delta)
    # A sampler at total variation d from the ideal adds (1 + e^epsilon) d to delta. The smaller
    # epsilon that the chain may prove makes that term smaller, so this subtraction is safe.
    left = math.nextafter(delta - lost_delta(cost, composed.epsilon), 0.0)
    if cost.gaussian_mu is None and left > 0.0 and cost.releases:
        pairs = cost.pairs
        tails = renyi_tails(cost.curve) if pairs is None else pair_tails(cost.curve, pairs)
        method: Method = "renyi" if pairs is None else "gaussian-pairs"
        chained = chain_epsilon(tails, q, left, composed.epsilon)
        if chained < composed.epsilon:
            return Composed(chained, method)
    return composed


def chain_epsilon(tails: Tails, q: int, delta: float, most: float) -> float:
    """Least epsilon below `most` for which q hockey-stick steps prove `delta`, else `inf`.

    G_1 = the profile, G_(i+j)(e) = min over splits e = a + b of G_i(a) + e^a G_j(b), on a grid of
    epsilons.
    """
    if not 0.0 < most < 300.0:
        return math.inf
    grid = most / _STEPS * np.arange(_STEPS + 1)
    # Deltas are taken at grid points rounded down: delta falls with epsilon, so they are upper
    # bounds.
    profiles = {1: tails.deltas(np.floor(grid * 2.0**40) * 2.0**-40)}

    def chain(length: int) -> Floats:
        if length not in profiles:
            first, second = chain(length // 2), chain(length - length // 2)
            odds = np.exp(grid)
            sums = np.full(grid.shape, np.inf)
            # Each split of epsilon into grid[i] and the rest is valid, so the least of them is too.
            for i in range(grid.size):
                np.minimum(sums[i:], first[i] + odds[i] * second[: grid.size - i], out=sums[i:])
            profiles[length] = sums * _ROUNDING
        return profiles[length]

    fits = np.flatnonzero(chain(q) <= delta)
    return float(grid[fits[0]]) * _ROUNDING if fits.size else math.inf


def _group_release(part: Cost, q: int) -> Cost:
    exchange = None if part.exchange_mu is None else q * part.exchange_mu * _ROUNDING
    if part.gaussian_mu is not None:
        group = Cost.gaussian(q * part.gaussian_mu * _ROUNDING, part.distance)
        return group.among(part.neighbours, exchange)
    curve = group_curve(part.curve, q)
    if part.pure_epsilon is not None:
        pure = q * part.pure_epsilon * _ROUNDING
        curve = RdpCurve(np.minimum(curve.values, pure_curve(pure).values))
        return Cost.pure(pure, curve, part.distance).among(part.neighbours, exchange)
    return Cost.renyi(curve, distance=part.distance).among(part.neighbours, exchange)


def _priced_release(part: Cost, neighbours: Neighbours) -> Cost:
    """One release for another neighbouring relation; see `priced_for`."""
    if HIDING.index(neighbours) > HIDING.index(part.neighbours):
        return Cost(RdpCurve(np.full(ORDERS.shape, np.inf)), neighbours=neighbours)
    if part.neighbours != "add-or-remove":
        return replace(part, neighbours=neighbours)
    steps = _group_release(part, 2)
    exchange = part.exchange_mu
    if exchange is not None and (steps.gaussian_mu is None or exchange < steps.gaussian_mu):
        steps = Cost.gaussian(exchange, part.distance)
    return steps.among(neighbours)


@lru_cache(maxsize=256)
def _joined(first: RdpCurve, second: RdpCurve) -> RdpCurve:
    """The curve of a chain whose two pieces have these curves, by Hoelder with the best of
    `_SPLITS`."""
    best = np.full(ORDERS.shape, np.inf)
    for s in _SPLITS.tolist():
        t = s / (s - 1.0)
        total = _moments(first, s * ORDERS) / s + _moments(second, 1.0 + t * _RATES) / t
        np.minimum(best, total / _RATES, out=best)
    return RdpCurve(best * _ROUNDING)


def _moments(curve: RdpCurve, orders: Floats) -> Floats:
    """Upper bounds on (x - 1) R(x) at any orders x > 1: chords of a convex function that vanishes
    at 1."""
    places = np.concatenate([[1.0], ORDERS])
    pushed = orders * (1.0 + 4e-16)  # rounding of an order must not make its bound smaller
    inside = pushed < ORDERS[-1]
    above = np.minimum(np.searchsorted(places, pushed, side="right"), ORDERS.size)
    low, high = places[above - 1], places[above]
    share = (pushed - low) / (high - low)  # in [0, 1) inside
    # An overflow gives inf: no bound at that order.
    with np.errstate(invalid="ignore", over="ignore"):
        values = np.concatenate([[0.0], _RATES * curve.values])
        mixed = (1.0 - share) * values[above - 1] + share * values[above]
    return np.where(inside & ~np.isnan(mixed), mixed, np.inf)


class PriorFacts(Protocol):
    """The public facts on a prior that the accountant needs."""

    @property
    def name(self) -> str: ...

    @property
    def kappa(self) -> float:
        """Lower bound on the prior correlation between any two cells, in [0, 1]."""

    @property
    def bounds(self) -> tuple[str, ...]:
        """Names of the bounds that hold for this prior."""


@dataclass(frozen=True)
class Guarantee:
    """The proved cost of one release.

    Raises `BoundRefused` if `proved` is False.
    """

    curve: RdpCurve  # RDP of the release on `ORDERS`, upper bounds
    bound: str  # name of the bound that priced it
    source: str  # document or paper with its proof
    proved: bool  # always True: an unproved guarantee does not exist
    # mu if the release is a plain Gaussian mechanism, else None
    exact_gaussian_mu: float | None = None
    # leverage and paths of posterior sampling, whose curve converts more sharply; or None
    pairs: GaussianPairs | None = None
    # upper bound on the total variation between the computer's release and the ideal of the other
    # fields
    distance: float = 0.0
    # epsilon if the release is (epsilon, 0)-DP, as with Laplace noise, else None
    pure_epsilon: float | None = None
    neighbours: Neighbours = "replace-one"  # the neighbouring relation of the cost
    # mu for one exchanged record under "add-or-remove", if known
    exchange_mu: float | None = None

    def __post_init__(self) -> None:
        if not self.proved:
            raise BoundRefused(f"the bound {self.bound!r} is not proved and cannot back a release.")

    @classmethod
    def gaussian(cls, cost: Cost, source: str) -> Guarantee:
        """The guarantee of a Gaussian mechanism with this cost, proved in `source`."""
        return cls(
            cost.curve,
            "gaussian-mechanism",
            source,
            True,
            cost.gaussian_mu,
            distance=cost.distance,
            neighbours=cost.neighbours,
            exchange_mu=cost.exchange_mu,
        )

    @classmethod
    def pure(
        cls, epsilon: float, bound: str, source: str, neighbours: Neighbours = "replace-one"
    ) -> Guarantee:
        """The guarantee of a pure epsilon-DP mechanism, named `bound` and proved in `source`."""
        return cls(pure_curve(epsilon), bound, source, True, pure_epsilon=epsilon, neighbours=neighbours)

    @property
    def cost(self) -> Cost:
        """The proved cost of the release, for composition with others and for groups."""
        mu = self.exact_gaussian_mu
        pairs = None if mu is not None else self.pairs
        return Cost(
            self.curve,
            mu,
            self.pure_epsilon,
            pairs,
            self.distance,
            neighbours=self.neighbours,
            exchange_mu=self.exchange_mu,
        )

    def of_owner(self, q: int, apart: float | None = None) -> Guarantee:
        """The cost of this release if all records of an owner, at most q >= 1, may change.

        Under "add-or-remove" an owner's records may also be present or absent: each of them costs
        the larger of one record more or less and of an exchange. `apart` is the proved mu for q
        records in different cells, or None. Source: docs/accounting.md, section 7.
        """
        steps = 1 if self.neighbours != "add-or-remove" else 2
        mu = self.exact_gaussian_mu
        if mu is None:
            cost = self.cost if q * steps == 1 else group_cost(self.cost, q * steps)
        else:
            exchange = steps * mu if self.exchange_mu is None else self.exchange_mu
            largest = q * max(mu, exchange)
            mu = largest if apart is None else min(largest, apart)
            cost = Cost.gaussian(mu if q == steps == 1 else mu * _ROUNDING, self.distance)
        exchanged = cost.gaussian_mu if steps == 2 else None
        return replace(
            self,
            curve=cost.curve,
            exact_gaussian_mu=cost.gaussian_mu,
            pairs=cost.pairs,
            pure_epsilon=cost.pure_epsilon,
            exchange_mu=exchanged,
        )

    def epsilon(self, delta: float) -> EpsilonBound:
        """The least proved epsilon at `delta`, in (0, 1), rounded upwards.

        Its `order` is the Renyi order that gave it, or None. Exact for a Gaussian mechanism and a
        pure one; for posterior sampling by the sharper conversion of its pairs; else from the
        curve.
        """
        composed = epsilon(self.cost, delta)
        if composed.method == "renyi" and self.distance == 0.0:
            return self.curve.epsilon(delta)
        finite = ORDERS[np.isfinite(self.curve.values)]
        edge = composed.order is not None and composed.order in (finite[0], finite[-1])
        return EpsilonBound(composed.epsilon, composed.order, edge)

    def group(self, delta: float, q: int) -> EpsilonBound:
        """The least proved epsilon at the same `delta` for a person with up to `q` records."""
        return EpsilonBound(group_epsilon(self.cost, q, delta).epsilon, None, False)
