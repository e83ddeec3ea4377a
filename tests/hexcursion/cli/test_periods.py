"""A budget for several periods: its parts, and what fits together."""

from __future__ import annotations

from typing import Any

import pytest

from dpgp_core.accounting.gaussian import allowed_mu, gaussian_epsilon, gaussian_mu, period_epsilons
from dpgp_core.errors import InvalidValue
from hexcursion.errors import WorkflowError
from hexcursion.project.example import county_settings
from hexcursion.settings import ReleaseSettings
from hexcursion.settings.model import settings_from_mapping, settings_from_toml, settings_to_toml


def planned(**changes: Any) -> ReleaseSettings:
    asked: dict[str, Any] = {
        "periods": 4,
        "budget": 2.155,
        "delta": 1e-5,
        "record_word": "station",
        **changes,
    }
    return settings_from_mapping(
        {
            "data": {"path": "rows.csv", "value": "no2", "x": "lon", "y": "lat"},
            "threshold": 40.0,
            "bbox": (0.0, 0.0, 1.0, 1.0),
            **asked,
        }
    )


def test_parts_cost_the_whole_together() -> None:
    """Four of epsilon 1 are 2.155 at 1e-5; the first of a front-loaded series has half of mu^2."""
    assert period_epsilons(2.155, 1e-5, 4) == pytest.approx([1.0] * 4, abs=1e-3)
    front = period_epsilons(2.155, 1e-5, 4, front_loaded=True)
    assert front == pytest.approx([1.4654, 0.8008, 0.8008, 0.8008], abs=2e-4)
    mu = sum(gaussian_mu(each, 1e-5) ** 2 for each in front) ** 0.5
    assert gaussian_epsilon(mu, 1e-5) == pytest.approx(2.155, abs=1e-3)
    assert period_epsilons(2.155, 1e-5, 1, front_loaded=True) == pytest.approx([2.155])


@pytest.mark.parametrize(
    ("total", "delta", "periods"), [(1e-3, 1e-9, 1000), (1e-3, 1e-5, 50), (3.0, 1e-5, 8)]
)
@pytest.mark.parametrize("front", [False, True])
def test_what_all_parts_cost_is_never_above_the_whole(
    total: float, delta: float, periods: int, front: bool
) -> None:
    parts = period_epsilons(total, delta, periods, front_loaded=front)
    mu = sum(allowed_mu(each, delta) ** 2 for each in parts) ** 0.5
    assert total * (1.0 - 1e-6) < gaussian_epsilon(mu, delta) <= total


def test_a_budget_that_delta_alone_pays_for_is_not_divided() -> None:
    with pytest.raises(InvalidValue, match="cannot be divided"):
        period_epsilons(1e-3, 1e-3, 50)


def test_a_release_takes_the_part_of_its_period_unless_it_names_its_epsilon() -> None:
    assert planned().epsilon == pytest.approx(1.0, abs=1e-3)
    second = planned(period_shares="front-loaded", period_number=2)
    assert second.epsilon == pytest.approx(0.8008, abs=2e-4)
    assert planned(epsilon=0.4).epsilon == 0.4
    assert planned(period_number=4).epsilon == pytest.approx(1.0, abs=1e-3)  # the last of four
    assert settings_from_toml(settings_to_toml(second)) == second
    assert county_settings().parts_of_periods == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"budget": None}, "give `budget`, the total epsilon, and `delta`"),
        ({"delta": None}, "give `budget`, the total epsilon, and `delta`"),
        ({"period_number": 5}, "There is no period 5 of 4"),
        ({"periods": None, "period_number": 2}, "Say how many `periods` there are"),
        ({"periods": None, "period_shares": "front-loaded"}, "Say how many `periods` there are"),
    ],
)
def test_periods_without_a_budget_or_a_number_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(WorkflowError, match=said):
        planned(**changes)
