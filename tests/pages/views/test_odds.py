"""The attacker's odds in words: never below the bound they speak of, and calm about a small epsilon."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from dpgp_core.accounting.gaussian import largest_power, surest_guess
from pages.privacy.question_view import attack_odds
from pages.viewer.reading import belief_html


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0, 10.0, 50.0])
def test_shares_are_rounded_upwards(epsilon: float) -> None:
    odds = attack_odds(epsilon, 1e-5)
    assert [alarms for alarms, _ in odds.rows] == ["1 %", "10 %"]
    for (_, said), power in zip(odds.rows, largest_power(epsilon, 1e-5, [0.01, 0.1]), strict=True):
        assert 100 * power - 1e-9 <= float(said.removesuffix(" %")) <= min(100.0, 110 * power)
    right, wrong = map(int, odds.guesses.split(":"))
    assert right + wrong == 100
    assert right >= 100 * surest_guess(epsilon, 1e-5) - 1e-9


def test_the_words_at_epsilon_one() -> None:
    odds = attack_odds(1.0, 1e-5)
    assert odds.factor == "2.72 times"
    assert odds.rows == (("1 %", "2.72 %"), ("10 %", "27.2 %"))
    assert (odds.guesses, odds.gaussian) == ("74:26", "56:44")
    assert attack_odds(1.0, 1e-5, "add-or-remove").gaussian == "61:39"


def test_the_curve_climbs_from_corner_to_corner_above_guessing() -> None:
    curve = attack_odds(0.5, 1e-5).curve
    assert curve[0] == (0.0, 0.0)
    assert curve[-1] == (1.0, 1.0)
    assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(curve))
    assert all(power >= rate for rate, power in curve)


def test_without_a_bound_everything_is_possible() -> None:
    odds = attack_odds(math.inf, 1e-5)
    assert (odds.factor, odds.gaussian) == ("without limit", "100:0")
    assert [power for _, power in odds.rows] == ["100 %", "100 %"]


def test_the_bar_of_a_guess_says_its_bound_as_it_is_written() -> None:
    """A half before, and the bound after; no backslash stands before the point."""
    drawn = belief_html(0.7311)
    assert 'aria-label="50:50 before, at most 74:26 after"' in drawn
    assert 'class="after" style="width: 23.1%"' in drawn
    assert "\\" not in drawn
    assert "width: 50.0%" in belief_html(1.0)
