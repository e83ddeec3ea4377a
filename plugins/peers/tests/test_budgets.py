"""Budgets that the peers with a Gaussian mu meet."""

from __future__ import annotations

import pytest

from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.registry import MECHANISMS
from tests.dpgp_core.mechanisms.designs.test_impossible_designs import ASK, PUBLIC


@pytest.mark.parametrize("name", ["cloaking", "functional", "sparse-gp"])
def test_a_budget_is_met_from_below_by_a_part_in_a_million_million(name: str) -> None:
    mechanism = MECHANISMS[name]
    design = mechanism.search.given(PUBLIC, ASK, 1500.0, 2.0)
    found = mechanism.calibrate(design, PUBLIC, Budget(1.0, 1e-5))
    assert found is not None
    exact = 0.26805112321129176  # of epsilon 1 at delta 1e-5
    assert 5e-13 < 1.0 - found.mu / exact < 2e-12  # type: ignore[attr-defined]
