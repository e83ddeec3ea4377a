"""Prices: the least noise that meets a budget under the best proved bound of a prior."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from dpgp_core.bounds import BOUNDS
from dpgp_core.conversion import epsilon_from_rdp
from dpgp_core.design import Design
from dpgp_core.guarantee import PriorFacts, guarantee
from dpgp_core.orders import ORDERS
from dpgp_core.rdp import covariance_rdp
from dpgp_core.scale import smallest_scale_for
from dpgp_core.variance import variance_bound
from workflow.errors import WorkflowError


@dataclass(frozen=True)
class Price:
    """The least scales that meet a budget, response units, and the bound that proves it."""

    scale: float
    noise_scale: float
    bound: str


def proved_bounds(facts: PriorFacts, bound: str | None) -> tuple[str, ...]:
    """Bounds to try for a prior: the one asked for, or every proved one that holds.

    Raises `WorkflowError` where the one asked for does not hold for the prior or is not proved.
    """
    holding = tuple(name for name in facts.bounds if name in BOUNDS and BOUNDS[name].proved)
    if bound is None:
        return _without_dominated(holding)
    if bound not in holding:
        raise WorkflowError(
            f"The bound {bound!r} is not proved for the {facts.name} prior: "
            f"choose one of {', '.join(holding)}."
        )
    return (bound,)


def _without_dominated(names: tuple[str, ...]) -> tuple[str, ...]:
    """Drop bounds that another one in the list never exceeds, so that the search asks only the sharpest."""
    dominated = {"triangle": "separate", "separate": "sharp", "sharp": "joint-sharp",
                 "maximum-principle": "joint-maximum-principle"}  # fmt: skip
    return tuple(name for name in names if dominated.get(name) not in names)


def cheapest_price(
    facts: PriorFacts, n: int, ridge: float, epsilon: float, delta: float, paths: int, share: float,
    bound: str | None = None,
) -> Price | None:  # fmt: skip
    """The least scale over the bounds that hold for the prior; None where no scale meets the budget."""
    prices = [
        _price(name, n, ridge, facts.kappa, epsilon, delta, paths, share)
        for name in proved_bounds(facts, bound)
    ]
    feasible = [price for price in prices if math.isfinite(price.scale)]
    return min(feasible, key=lambda price: price.scale) if feasible else None


@lru_cache(maxsize=20_000)
def _price(
    name: str, n: int, ridge: float, kappa: float, epsilon: float, delta: float, paths: int, share: float
) -> Price:
    solved = smallest_scale_for(
        name, epsilon, delta, n=n, ridge=ridge, kappa=kappa, paths=paths, noise_share=share
    )
    return Price(float(solved.scale), float(solved.noise_scale), name)


def priced(
    design: Design, n: int, facts: PriorFacts, delta: float, bound: str | None
) -> tuple[Design, float]:
    """The design under the bound that prices it lowest, and its epsilon at `delta` (upper bound)."""
    offers = []
    for name in proved_bounds(facts, bound):
        offer = replace(design, bound=name)
        offers.append((guarantee(offer, n, facts).epsilon(delta).epsilon, name, offer))
    epsilon, _, best = min(offers, key=lambda item: item[:2])
    return best, epsilon


def smallest_feasible_epsilon(facts: PriorFacts, n: int, ridge: float, delta: float, paths: int) -> float:
    """What remains at infinite scale: the covariance term of `paths` paths, converted at `delta`."""
    variance = variance_bound(n, ridge, facts.kappa)
    return epsilon_from_rdp(ORDERS, paths * covariance_rdp(ORDERS, ridge, variance), delta).epsilon
