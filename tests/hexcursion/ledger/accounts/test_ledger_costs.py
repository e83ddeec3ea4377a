"""Costs in the ledger: stored whole, composed exactly where that is proved, old entries beside new ones."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import pytest

from dpgp_core.accounting.composition import Cost, epsilon
from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.accounting.rdp import RdpCurve
from dpgp_core.accounting.tails import GaussianPairs
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign, path_guarantee
from hexcursion.ledger import Budget, BudgetExceeded, Charge, Ledger, LedgerError
from hexcursion.ledger.account import read_cost, written_cost
from tests.hexcursion.ledger.places import release

DELTA = 1e-5
DATASET = "ab" * 32


@dataclass(frozen=True)
class Facts:
    name: str = "car"
    kappa: float = 0.0
    bounds: tuple[str, ...] = ("joint-sharp",)


def sampled() -> Cost:
    """One posterior path of 11,000 records that costs epsilon .9152 at 1e-5, 1.0002 by its curve alone."""
    design = PosteriorSamplingDesign("car", 1000.0, 10.0, 0.2724, bound="joint-sharp")
    return path_guarantee(design, 11_000, Facts()).cost


def spent(ledger: Ledger, *costs: Cost) -> float:
    dataset = ledger.fingerprint([1.0])
    ledger.set_budget(dataset, "point", 50.0, DELTA)
    for number, cost in enumerate(costs):
        release(ledger, Charge(dataset, "point", cost), f"release {number}")
    assert ledger.verify() == []
    return ledger.account(dataset, "point").spent


def test_three_gaussian_releases_compose_to_the_exact_epsilon(ledger: Ledger) -> None:
    """sqrt(3) .3 = .5196; the sum of their curves proves 2.23."""
    found = spent(ledger, *[Cost.gaussian(0.3)] * 3)
    assert found == pytest.approx(2.08066590136, rel=1e-9)
    assert found >= gaussian_epsilon(0.3 * math.sqrt(3.0), DELTA) * (1 - 1e-12)


def test_gaussian_and_posterior_sampling_compose_through_their_losses(ledger: Ledger) -> None:
    """1.131 and .915 alone; the sum of the curves proves 1.64."""
    found = spent(ledger, Cost.gaussian(0.3), sampled())
    assert found == pytest.approx(1.5057236, rel=1e-6)
    assert (Cost.gaussian(0.3).curve + sampled().curve).epsilon(DELTA).epsilon > 1.63


def test_one_release_of_posterior_sampling_is_charged_its_sharper_price(ledger: Ledger) -> None:
    assert spent(ledger, sampled()) == pytest.approx(0.91519726, rel=1e-6)


def test_the_budget_check_uses_the_composed_epsilon(ledger: Ledger) -> None:
    """A budget of 2.09 holds three releases of mu .3 and not four; by curves it would hold two."""
    dataset = ledger.fingerprint([1.0])
    ledger.set_budget(dataset, "point", 2.09, DELTA)
    charge = Charge(dataset, "point", Cost.gaussian(0.3))
    for name in ("one", "two", "three"):
        release(ledger, charge, name)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge)


def test_pure_releases_add_where_nothing_better_is_proved(ledger: Ledger) -> None:
    assert spent(ledger, Cost.pure(0.5), Cost.pure(0.25)) == pytest.approx(0.75, rel=1e-3)


COSTS = [
    Cost.gaussian(0.1 + 0.2, distance=2.0**-150),
    Cost.pure(1 / 3),
    Cost.renyi(RdpCurve.gaussian(0.7), GaussianPairs(1 / 101, 7)),
    Cost.renyi(RdpCurve.gaussian(0.7)),
    Cost.pure(1 / 3).among("values-only"),
    Cost.gaussian(0.1 + 0.2).among("add-or-remove", 1 / 3),
]


@pytest.mark.parametrize("cost", COSTS)
def test_a_cost_is_stored_to_the_last_bit(cost: Cost) -> None:
    assert read_cost(cost.curve.values, {"cost": written_cost(cost)}) == cost


@pytest.mark.parametrize(
    "changed",
    [
        {"gaussian_mu": 0.3},
        {"gaussian_mu": "0x0p+0"},
        {"pure_epsilon": "-0x1p+0"},
        {"pairs": {"leverage": "0x1p+0", "paths": 1}},
        {"pairs": {"leverage": "0x1p-4", "paths": 0}},
        {"pairs": {"paths": 1}},
        {"distance": "0x1p+0"},
        {"distance": "much"},
    ],
)
def test_a_damaged_cost_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(LedgerError):
        read_cost(COSTS[3].curve.values, {"cost": {**written_cost(COSTS[3]), **changed}})


def test_no_release_makes_an_account_cheaper() -> None:
    """But for the grid on which losses are composed: one part in 10^5."""
    before, costs = 0.0, [COSTS[2], COSTS[0], sampled(), COSTS[3], COSTS[1]]
    for number in range(1, 6):
        after = epsilon(costs[:number], DELTA).epsilon
        assert after >= before * (1 - 1e-5)
        coarse = epsilon([replace(cost, pairs=None) for cost in costs[:number]], DELTA).epsilon
        assert after <= coarse * (1 + 1e-5)
        before = after


def test_of_two_budgets_the_smaller_epsilon_and_the_smaller_delta_hold() -> None:
    """Whichever of the two has which, and in whichever order they are met."""
    one, other = Budget(2.0, 1e-5), Budget(3.0, 1e-7)
    assert one.or_less(other) == other.or_less(one) == Budget(2.0, 1e-7)
    assert one.or_less(one) == one
