"""A release says what a person with 2, 5 and 10 records may count on."""

from __future__ import annotations

import pytest

from dpgp_core.accounting.guarantee import group_epsilon
from hexcursion.ledger import open_ledger
from hexcursion.project.model import Project
from hexcursion.releasing.transaction import plan_release
from hexcursion.search.tuning import Tuned


def test_the_group_lines_of_a_plan(hamlet: Project, hamlet_tuned: Tuned) -> None:
    """At the delta of one record, by the sharpest that is proved of the release."""
    privacy = plan_release(hamlet, hamlet_tuned.choice, open_ledger()).privacy
    assert privacy.epsilon == pytest.approx(2.0, rel=1e-6)
    assert [records for records, _, _ in privacy.group] == [2, 5, 10]
    assert [delta for _, _, delta in privacy.group] == [1e-5] * 3
    found = [epsilon for _, epsilon, _ in privacy.group]
    assert found == pytest.approx([4.4811, 14.2903, 39.5631], rel=1e-4)
    assert privacy.cost is not None
    assert found == [group_epsilon(privacy.cost, q, 1e-5).epsilon for q in (2, 5, 10)]
