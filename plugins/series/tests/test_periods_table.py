"""The table of a budget for several periods."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from dpgp_core.accounting.gaussian import allowed_mu, gaussian_epsilon
from hexcursion.cli.main import build_parser
from hexcursion.search.task import Utility
from hexcursion_series.periods import _shown, period_lines, run_periods
from tests.hexcursion.cli.test_periods import planned


def test_the_command_takes_the_options_of_a_release() -> None:
    found = build_parser("periods").parse_args(["periods", "--periods", "4", "--budget", "2.155"])
    assert (found.periods, found.budget, found.run) == ("4", "2.155", run_periods)


@pytest.mark.parametrize(("budget", "periods"), [(2.155, 4), (3.0, 7), (1.0, 3)])
@pytest.mark.parametrize("shares", ["equal", "front-loaded"])
def test_what_is_typed_from_the_table_costs_no_more_than_the_whole(
    budget: float, periods: int, shares: str
) -> None:
    settings = planned(budget=budget, periods=periods, period_shares=shares)
    parts = settings.parts_of_periods
    table = period_lines(settings, dict.fromkeys((*parts, budget), "0.5"))
    printed = [float(line.split()[-2]) for line in table[1 : 1 + len(set(parts))]]
    typed = [printed[sorted(set(parts), reverse=True).index(part)] for part in parts]
    mu = sum(allowed_mu(each, 1e-5) ** 2 for each in typed) ** 0.5
    assert gaussian_epsilon(mu, 1e-5) <= budget
    assert typed == pytest.approx(parts, rel=1e-3)


def test_what_a_part_shows_is_what_its_best_design_shows_of_records() -> None:
    """Whatever the agreement over all hexagons is: there the worst of them leads."""

    def point(epsilon: float, records: float, agreement: float = 0.5) -> Any:
        utility = Utility(agreement, 0.0, records=records)
        return SimpleNamespace(epsilon=epsilon, scored=SimpleNamespace(utility=utility))

    points = [point(1.0, 0.61, 0.9), point(1.0, 0.72), point(1.0, math.nan), point(2.155, 0.83)]
    points.append(point(4.0, math.nan))
    tuned: Any = SimpleNamespace(result=SimpleNamespace(frontier=points), few="")
    assert [_shown(tuned, epsilon) for epsilon in (1.0, 2.155, 3.0, 4.0)] == [
        "72 of 100 records",
        "83 of 100 records",
        "not known",
        "not known",
    ]
    tuned.few = "149 records are too few to say how right the map will be"
    assert [_shown(tuned, epsilon) for epsilon in (1.0, 3.0)] == ["not told", "not told"]


def test_the_table_joins_equal_periods_and_says_what_holds_for_whom() -> None:
    settings = planned(period_shares="front-loaded")
    first, later = settings.parts_of_periods[:2]
    head, one, others, whole, always, once = period_lines(
        settings, {first: "0.7", later: "0.5", 2.155: "0.8"}
    )
    assert head.split() == ["period", "epsilon", *"expected on their right side".split()]
    assert one.split() == ["1", "1.465", "0.7"]
    assert others.split()[:3] == ["2", "to", "4"]
    assert others.endswith(" 0.5")
    assert whole.split()[:3] == ["all", "2.155", "0.8"]
    assert whole.endswith("0.8 (read together, if nothing changes)")
    assert always.startswith("A station that is in every period: epsilon 2.155 for all 4 releases together")
    assert "pays once: each may then take the whole, --epsilon 2.155, which shows 0.8" in once
