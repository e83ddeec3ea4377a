"""A budget is kept to nine digits: one part in a hundred million over it is too much."""

from __future__ import annotations

import pytest

from hexcursion.ledger import Budget


@pytest.mark.parametrize("over", [0.05, 0.01, 1e-3, 1e-6, 1e-8, 1.001e-9])
def test_what_is_over_the_budget_is_refused(over: float) -> None:
    assert not Budget(2.0, 1e-5).covers(2.0 * (1.0 + over))


@pytest.mark.parametrize("epsilon", [1.9, 2.0, 2.000000001])
def test_the_budget_itself_fits_to_the_ninth_digit(epsilon: float) -> None:
    assert Budget(2.0, 1e-5).covers(epsilon)
