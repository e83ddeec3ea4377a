"""A budget is kept to nine digits: one part in a hundred million over it is too much."""

from __future__ import annotations

import pytest

from dpgp_core.accounting.composition import epsilon
from hexcursion.ledger import Budget, BudgetExceeded, Ledger
from tests.hexcursion.ledger.places import charge_for, release


@pytest.mark.parametrize("over", [0.05, 0.01, 1e-3, 1e-6, 1e-8, 1.001e-9])
def test_what_is_over_the_budget_is_refused(over: float) -> None:
    assert not Budget(2.0, 1e-5).covers(2.0 * (1.0 + over))


@pytest.mark.parametrize("epsilon", [1.9, 2.0, 2.000000001])
def test_the_budget_itself_fits_to_the_ninth_digit(epsilon: float) -> None:
    assert Budget(2.0, 1e-5).covers(epsilon)


@pytest.mark.parametrize(("share", "fits"), [(0.96, False), (0.999, False), (1.001, True)])
def test_the_ledger_refuses_a_second_release_that_is_a_little_too_dear(
    ledger: Ledger, dataset: str, share: float, fits: bool
) -> None:
    """The budget is 96 %, 99.9 % or 100.1 % of what two equal releases cost together."""
    charge = charge_for(dataset, 0.1)
    both = epsilon((charge.cost, charge.cost), 1e-5).epsilon
    ledger.set_budget(dataset, "point", share * both, 1e-5)
    release(ledger, charge, "first")
    if fits:
        release(ledger, charge, "second")
        return
    assert not ledger.preview(charge).fits
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge)
    assert len(ledger.account(dataset, "point").charged) == 1
