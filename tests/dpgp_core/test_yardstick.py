"""The yardstick: the judged hexagons, what a map promises there, and records on the right side."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.yardstick import Sides, judged_domain, promise_of, shown_side


@pytest.mark.parametrize(
    ("expected", "judged"),
    [
        ([60.0, 30.0, 5.0, 4.0, 1.0], [True, True, True, False, False]),  # 95 of 100 are held by three
        ([60.0, 30.0, 4.9, 4.1, 1.0], [True, True, True, True, False]),
        ([1.0, 4.0, 5.0, 30.0, 60.0], [False, False, True, True, True]),
        ([0.3, 0.3, 0.3, 0.0], [True, True, True, False]),  # few records, and no half of one
        ([90.0, 3.0, 3.0, 2.0, 2.0], [True, True, True, False, False]),
        ([90.0, 2.5, 2.5, 2.5, 2.5], [True, True, True, True, True]),  # alike hexagons are judged alike
        ([0.0, 0.0], [True, True]),
    ],
)
def test_the_judged_hexagons_are_the_fewest_with_95_of_100_expected_records(
    expected: list[float], judged: list[bool]
) -> None:
    assert judged_domain(np.array(expected)).tolist() == judged


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_numbers_of_records_that_cannot_be_are_refused(wrong: float) -> None:
    with pytest.raises(InvalidValue, match="finite and at least 0"):
        judged_domain(np.array([1.0, wrong]))


CHANCE = np.array([0.9, 0.8, 0.6, 0.3, 0.99])
JUDGED = np.array([True, True, True, True, False])


def test_a_promise_counts_the_judged_hexagons_alone() -> None:
    """Shown .9 and .8 of 2.6 expected; the last hexagon would add .99."""
    found = promise_of(CHANCE, CHANCE >= 0.8, JUDGED)
    assert found.orange == pytest.approx(0.85)
    assert found.finds == pytest.approx(1.7 / 2.6)
    assert found.right == pytest.approx((0.9 + 0.8 + 0.6 + 0.7) / 4.0)
    weighed = promise_of(CHANCE, CHANCE >= 0.8, JUDGED, np.array([9.0, 1.0, 0.0, 0.0, 50.0]))
    assert weighed.right == pytest.approx((9.0 * 0.9 + 0.8) / 10.0)
    nothing = promise_of(CHANCE, CHANCE >= 2.0, JUDGED)
    assert math.isnan(nothing.orange)
    assert nothing.finds == 0.0


def test_no_other_map_has_more_records_on_their_right_side() -> None:
    """Proposition (yardstick) of docs/report, over all maps of four hexagons."""
    chance, expected = CHANCE[:4], np.array([9.0, 1.0, 2.0, 4.0])
    maps = np.array(list(itertools.product([False, True], repeat=4)))
    right = np.where(maps, chance, 1.0 - chance) @ expected / expected.sum()
    assert maps[right.argmax()].tolist() == shown_side(chance, np.full(4, True)).tolist()
    told = promise_of(chance, shown_side(chance, np.full(4, True)), np.full(4, True), expected)
    assert told.right == pytest.approx(right.max())


def test_the_side_shown_begins_at_one_half_and_ends_with_the_judged_hexagons() -> None:
    chance = np.array([0.5, 0.4999, 0.9])
    assert shown_side(chance, np.array([True, True, False])).tolist() == [True, False, False]


def test_records_are_right_where_the_map_shows_their_side() -> None:
    """Hexagons with 3 of 4, 1 of 4 and 2 of 2 records inside; the last is not judged."""
    cell = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
    inside = np.array([True, True, True, False, True, False, False, False, True, True])
    sides, judged = Sides.of(cell, inside, 3), np.array([True, True, False])
    assert sides.total(judged) == 8
    assert sides.right(np.array([True, False, False]), judged) == 6 / 8
    assert sides.right(np.array([False, True, True]), judged) == 2 / 8
    assert sides.one_colour(judged) == 4 / 8
    assert sides.one_colour(np.ones(3, dtype=bool)) == 6 / 10
    assert math.isnan(sides.right(np.zeros(3, dtype=bool), np.zeros(3, dtype=bool)))
