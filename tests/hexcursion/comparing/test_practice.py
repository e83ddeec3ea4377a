"""Today's rules and their attacks: small tables by hand, and the sales of Lucas County that ship."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest

from data_loaders.lucas_county import SALES
from dpgp_core.accounting.composition import Cost
from hexcursion.comparing.attacks import (
    OneMore,
    as_it_happens,
    changes,
    most_told_apart,
    one_more,
    told_apart,
    two_editions,
)
from hexcursion.comparing.practice import (
    Records,
    Rule,
    filled,
    minimum,
    smoothed,
)
from hexcursion.project.load import load_project
from pages.compare.view import Line, edition_sentences, release_sentence
from studies.agreement.practice import lucas_settings
from studies.attacks.table_rules import own_medians

ROW = Records(
    np.array([0, 0, 0, 1, 1, 3]),
    np.array([10.0, 12.0, 50.0, 40.0, 60.0, 35.0]),
    30.0,
    np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [9.0, 0.0]]),
    1.0,
)
"""Five hexagons in a row, the last far away: 3, 2, 0, 1 and 0 records."""


@pytest.fixture(scope="module")
def lucas() -> Records:
    return Records.of(load_project(lucas_settings()))


def test_the_shipped_sales_are_those_of_the_note(lucas: Records) -> None:
    count = lucas.count
    assert SALES.stat().st_size < 400_000
    assert (lucas.cell.size, lucas.size) == (4_206, 888)
    assert [int((count == k).sum()) for k in (1, 2)] == [63, 42]
    assert [int((count >= k).sum()) for k in (1, 3, 5, 10)] == [414, 309, 252, 170]


def test_the_shipped_columns_and_years() -> None:
    sales = pandas.read_csv(SALES)
    assert list(sales.columns) == ["price", "lon", "lat", "year"]
    assert sales["year"].value_counts().sort_index().tolist() == [3260, 3719, 4130, 4838, 5032, 4378]


@pytest.mark.parametrize(
    ("least", "held", "exact", "own"),
    [(3, 0.96505, 0.94508, 0.7171), (5, 0.9175, 0.88778, 0.5268), (10, 0.78626, 0.74822, 0.3415)],
)
def test_minimum_counts_on_lucas_county(
    lucas: Records, least: int, held: float, exact: float, own: float
) -> None:
    table = minimum(lucas, least)
    assert float(table.shown[lucas.cell].mean()) == pytest.approx(held, abs=1e-5)
    assert two_editions(lucas, Rule("minimum", least)) == pytest.approx(exact, abs=1e-5)
    assert own_medians(table, lucas) == pytest.approx(own, abs=1e-4)


def test_classes_alone_change_for_few(lucas: Records) -> None:
    assert changes(lucas, Rule("minimum", 5, numbers=False)) == pytest.approx(0.049, abs=2e-3)
    assert changes(lucas, Rule("smoothed", 10, numbers=False)) == pytest.approx(0.111, abs=2e-3)
    assert told_apart(0.049) == pytest.approx(0.5245)


def test_a_minimum_count_blanks_hexagons_and_shows_medians() -> None:
    table = minimum(ROW, 2)
    assert table.shown.tolist() == [True, True, False, False, False]
    assert table.inside.tolist() == [False, True, False, False, False]
    assert table.mean is not None
    assert table.mean[:2].tolist() == [24.0, 50.0]
    assert filled(table, ROW).tolist() == [False, True, True, True, True]
    assert two_editions(ROW, Rule("minimum", 2)) == 0.5  # the three of the first hexagon
    assert two_editions(ROW, Rule("minimum", 1)) == 1.0
    assert changes(ROW, Rule("minimum", 2)) == pytest.approx(5 / 6)
    # The first hexagon turns without the 10 alone (the median of 12 and 50 is 31); the second gets blank.
    assert changes(ROW, Rule("minimum", 2, numbers=False)) == pytest.approx(3 / 6)


def test_a_kernel_weighs_neighbours_and_ends() -> None:
    table = smoothed(ROW, 1.0)
    assert table.count is not None
    assert table.count[2] == pytest.approx(3 * np.exp(-2.0) + 2 * np.exp(-0.5) + np.exp(-0.5))
    assert table.count[4] == 0.0
    assert not table.shown[4]
    assert two_editions(ROW, Rule("smoothed", 1.0)) == 1.0
    assert two_editions(ROW, Rule("smoothed", 100.0)) == 0.0
    assert changes(ROW, Rule("smoothed", 1.0)) == 1.0


@pytest.mark.parametrize("below", [False, True])
def test_classes_turn_for_those_without_whom_the_median_changes_its_side(below: bool) -> None:
    rng = np.random.default_rng(5)
    cell, value = rng.integers(0, 12, 60), rng.integers(0, 9, 60).astype(np.float64)
    centres = np.stack([np.arange(12.0), np.zeros(12)], axis=1)
    town = Records(cell, value, 4.0, centres, 1.0, below)
    full, least = minimum(town, 3), 3
    changed = 0
    for record in range(60):
        rest = np.arange(60) != record
        other = minimum(Records(cell[rest], value[rest], 4.0, centres, 1.0, below), least)
        changed += bool(np.any((other.shown != full.shown) | (other.inside != full.inside)))
    assert 0 < changed < 60
    assert changes(town, Rule("minimum", 3.0, numbers=False)) == pytest.approx(changed / 60)


def test_below_the_threshold_is_the_other_side() -> None:
    town = Records(ROW.cell, ROW.value, ROW.threshold, ROW.centres, ROW.spacing, below=True)
    assert minimum(town, 2).inside.tolist() == [True, False, False, False, False]
    assert smoothed(ROW, 1.0).inside.tolist() == [True, True, True, True, False]
    assert not smoothed(town, 1.0).inside.any()  # of the first, 2 of 4.2 weighted records are below
    assert own_medians(minimum(town, 2), town) == 1.0


def test_answers_count_by_their_share_not_by_their_median() -> None:
    """Shares of yes of 1/3, 1/2 and 0 in three hexagons; the question is where more than 20 % say yes."""
    value = np.array([0.0, 0.0, 100.0, 0.0, 100.0, 0.0])
    town = Records(ROW.cell, value, 20.0, ROW.centres, 1.0, shares=True)
    table = minimum(town, 1)
    assert table.inside.tolist() == [True, True, False, False, False]
    assert table.median == pytest.approx([100 / 3, 50.0, np.nan, 0.0, np.nan], nan_ok=True)
    assert smoothed(town, 0.5).inside.tolist() == [True, True, True, False, False]
    assert minimum(replace(town, below=True), 1).inside.tolist() == [False, False, False, True, False]
    assert smoothed(replace(town, threshold=45.0), 0.5).inside.tolist() == [False] * 5
    assert smoothed(replace(town, threshold=45.0, below=True), 0.5).inside[:4].all()
    # Without a yes both hexagons turn; without one of the no's none does.
    assert changes(town, Rule("minimum", 1.0, numbers=False)) == pytest.approx((1 + 1 + 1) / 6)
    assert (one_more(town, 2, 2).side_before, one_more(town, 2, 2).side_after) == (False, True)


def test_a_hexagon_at_the_threshold_is_at_most_it() -> None:
    town = Records(np.array([0]), np.array([30.0]), 30.0, ROW.centres[:1], 1.0)
    assert not minimum(town, 1).inside.any()
    assert minimum(replace(town, below=True), 1).inside.all()


def test_one_record_more_is_solved_where_both_editions_show_its_hexagon() -> None:
    seen = one_more(ROW, 2, 2)  # 10 and 12, then 50 beside them
    assert seen == OneMore(50.0, (2, 11.0), (3, 24.0), side_before=False, side_after=False)
    assert seen.found == pytest.approx(50.0)
    blank = one_more(ROW, 2, 3)  # 60 alone is hidden
    assert (blank.before, blank.after, blank.found) == (None, (2, 50.0), None)
    assert (blank.side_before, blank.side_after) == (None, True)
    assert one_more(ROW, 2, 5).after is None


def test_a_growing_table_exposes_who_comes_alone() -> None:
    """Two in a hexagon, two periods: each is exposed where it comes second and the other first, 1 in 4."""
    pair = Records(np.array([0, 0]), np.array([1.0, 2.0]), 0.0, ROW.centres, 1.0)
    assert as_it_happens(pair, 1, 1) == 0.0
    assert as_it_happens(pair, 1, 2) == pytest.approx(0.25)
    assert as_it_happens(pair, 2, 2) == 0.0
    # Three in four periods, shown from two on: nobody beside it, both before it: (0 + 1 + 4 + 9)/(4 * 16).
    three = Records(np.array([0, 0, 0]), np.array([1.0, 2.0, 3.0]), 0.0, ROW.centres, 1.0)
    assert as_it_happens(three, 2, 4) == pytest.approx(14 / 64)
    assert as_it_happens(three, 4, 4) == 0.0  # never shown before the last of them
    both = Records(np.array([0, 0, 0, 1, 1]), np.arange(5.0), 0.0, ROW.centres, 1.0)
    assert as_it_happens(both, 1, 2) == pytest.approx((3 * 0.125 + 2 * 0.25) / 5)


def test_nobody_tells_apart_more_than_the_bound() -> None:
    """By the normal curve Phi(mu / sqrt 2); by epsilon and delta the area above two lines."""
    assert most_told_apart(Cost.gaussian(0.5), 9.0, 1e-5) == pytest.approx(0.638163, abs=1e-6)
    pure = Cost.pure(1.0)
    assert pure.gaussian_mu is None
    assert most_told_apart(pure, 0.0, 0.0) == pytest.approx(0.5)
    # Randomised response at epsilon 1 is right with e / (1 + e) and reaches the bound: 1 - 1 / (1 + e).
    assert most_told_apart(pure, 1.0, 0.0) == pytest.approx(0.731059, abs=1e-6)
    assert most_told_apart(pure, 1.0, 0.1) > 0.731059
    assert most_told_apart(pure, 800.0, 0.0) == 1.0


def released(**changes: Any) -> Any:
    """A release at mu 0.8 whose guarantee says so."""
    guarantee = {
        "relation": "replace-one",
        "protects": "values and places",
        "unit": "point",
        "unit_word": "sale",
        "epsilon": 3.3341,
        "delta": 1e-5,
        "curve": None,
        "cost": {"gaussian_mu": 0.8, "distance": 0.0},
    } | changes
    return SimpleNamespace(bundle=SimpleNamespace(statement={"guarantee": guarantee}))


@pytest.mark.parametrize(
    ("changes", "both", "times"),
    [
        ({}, "one with the sale and one with any other instead, wherever it lies", "6.9"),
        ({"protects": "values"}, "one with the sale and one with any other value in its place", "6.9"),
        ({"relation": "add-or-remove"}, "one with the sale and one without", "3.4"),
        ({"unit": "cell"}, "one with the hexagon’s whole record and one with any other instead", "6.9"),
    ],
)
def test_a_bound_is_said_of_what_the_guarantee_compares(changes: Any, both: str, times: str) -> None:
    viewer = released(**changes)
    said = edition_sentences(ROW, 2, 4, viewer)[1]
    assert both in said
    assert "at ε 3.34 are ε" in said  # rounded up
    assert "at most 88 % of the time" in said  # Phi(1.6 / sqrt 2) = .8711
    assert f"at least {times} times as wide" in str(release_sentence(viewer))


def test_an_exchange_that_costs_less_than_two_steps_bounds_what_a_value_moves() -> None:
    cost = {"gaussian_mu": 0.8, "distance": 0.0, "exchange_mu": 1.2}
    assert "at least 4.6 times" in str(release_sentence(released(relation="add-or-remove", cost=cost)))


@pytest.mark.parametrize(
    ("apart", "bound", "said"),
    [
        (0.5713, True, "at most 58 %"),
        (0.5713, False, "57 %"),
        (0.99996, True, "at most 100 %"),
        (0.99962, False, "99.96 %"),
        (0.0031, False, "0.31 %"),
        (1.0, False, "100 %"),
    ],
)
def test_shares_are_written_as_shares_and_bounds_upwards(apart: float, bound: bool, said: str) -> None:
    line = Line("a rule", 1.0, 0.5, 0.5, 0.0, None, apart, bound=bound)
    assert line.cells()["was it in?"] == said
