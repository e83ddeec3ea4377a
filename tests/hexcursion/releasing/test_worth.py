"""A map that is expected to be poor is stopped, and goes on only with a line that says so."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from hexcursion.record import Expected, Yardsticks
from hexcursion.releasing.release_guard import LowAgreement, objections, stop_or_state


def expected(agreement: float | None) -> Expected:
    return Expected(agreement, 0.1, 0.9, "reference data")


@pytest.mark.parametrize(
    ("agreement", "one_colour", "free", "words"),
    [
        (0.499, 0.3, 0.4, ("its expected agreement is 0.499, below 0.5",)),
        (0.4996, 0.3, 0.4, ("its expected agreement is 0.499, below 0.5",)),
        (0.5, 0.3, 0.4, ()),
        (0.7, 0.7, 0.7, ()),
        (0.699, 0.7, None, ("a map of one colour would agree better (0.700 instead of 0.699)",)),
        (0.7109, 0.71123, None, ("a map of one colour would agree better (0.7112 instead of 0.7109)",)),
        (
            0.711231,
            0.711232,
            None,
            ("a map of one colour would agree better (0.711232 instead of 0.711231)",),
        ),
        (0.7112312, 0.7112313, None, ("a map of one colour would agree as well (0.711)",)),
        (
            0.699,
            0.1,
            0.7,
            ("the map of public data alone would agree better (0.700 instead of 0.699)",),
        ),
        (
            None,
            0.1,
            0.9,
            (
                "no agreement can be expected, as the map that it is tried on lies wholly on one side of the "
                "threshold: take a threshold nearer to usual values",
            ),
        ),
    ],
)
def test_what_speaks_against_a_map(
    agreement: float | None, one_colour: float, free: float | None, words: tuple[str, ...]
) -> None:
    assert objections(expected(agreement), Yardsticks(one_colour, free)) == words


@pytest.mark.parametrize(
    ("high", "one_colour", "words"),
    [
        (0.5, 0.4, ()),
        (0.92, 0.6, ()),
        (0.499, 0.4, ("the upper end of its expected agreement is 0.499, below 0.5",)),
        (0.55, 0.551, ("a map of one colour would agree better (0.551 instead of 0.550)",)),
    ],
)
def test_without_reference_data_the_upper_end_of_the_range_is_judged_and_not_the_mean(
    high: float, one_colour: float, words: tuple[str, ...]
) -> None:
    guess = Expected(0.2, None, None, "simulated", 0.05, high, little=True)
    assert objections(guess, Yardsticks(one_colour)) == words
    assert objections(replace(guess, low=None, high=None), None) == (
        "its expected agreement is 0.200, below 0.5",
    )


def test_a_map_of_one_colour_in_every_simulated_world_is_stopped() -> None:
    with pytest.raises(LowAgreement, match="lies wholly on one side of the threshold"):
        stop_or_state(Expected(None, None, None, "simulated"), Yardsticks(1.0), accepted=False)


@pytest.mark.parametrize(
    ("gain", "high", "stopped"),
    [
        (0.0199, None, True),
        (0.02, None, False),
        (None, None, False),
        (0.01, 0.0199, True),
        (0.01, 0.02, False),
        (0.03, 0.0199, True),
    ],
)
def test_what_shuffled_values_show_as_well_is_stopped_over_simulated_worlds_by_the_upper_end(
    gain: float | None, high: float | None, stopped: bool
) -> None:
    said = objections(expected(0.9), Yardsticks(0.3, 0.5, gain, gain_high=high))
    words = (
        "values exchanged among their places would give as good a map, so it would show nothing of where "
        "they lie",
    )
    assert said == (words if stopped else ())


@pytest.mark.parametrize(("times", "stopped"), [(7, False), (8, True)])
def test_what_the_public_map_shows_as_well_in_half_of_the_changes_is_stopped(
    times: int, stopped: bool
) -> None:
    """Beside it the means say nothing: one large change would outweigh many small ones."""
    words = "the map of public data alone would agree as well in 8 of 16 changes that may have come since"
    for free in (0.1, 0.95):
        said = objections(expected(0.9), Yardsticks(0.3, free, 0.4, (times, 16)))
        assert said == ((words,) if stopped else ())
    assert objections(expected(0.9), Yardsticks(0.3, 0.1, 0.4, (1, 3))) == ()


def test_all_three_are_said_together_and_a_design_given_by_hand_has_none() -> None:
    assert len(objections(expected(0.2), Yardsticks(0.3, 0.4))) == 3
    assert objections(None, Yardsticks(0.3, 0.4)) == ()
    assert objections(expected(0.8), None) == ()


@pytest.mark.parametrize("level", [1.0, -1.0, 3.5])
def test_a_threshold_that_no_value_can_pass_is_stopped_whoever_chose_the_design(level: float) -> None:
    words = (
        "no value can lie beyond its threshold, as values are cut to the usual ones (centre and clip): take "
        "a threshold inside of them, or a larger clip",
    )
    assert objections(None, None, level) == words
    assert objections(expected(0.9), Yardsticks(0.3), level) == words
    with pytest.raises(LowAgreement, match="nothing was charged: no value can lie beyond its threshold"):
        stop_or_state(None, None, accepted=False, level=level)
    assert objections(None, None, 0.999) == objections(None, None, -0.999) == ()


def test_a_threshold_is_out_of_reach_only_where_no_hexagon_can_pass_it() -> None:
    """Values are cut around the public map: 700,000 pounds lie within reach where that map is near them."""
    assert objections(None, None, np.array([2.5, 1.4, 0.999])) == ()
    assert objections(None, None, np.array([-2.5, 1.4, -0.999])) == ()
    assert len(objections(None, None, np.array([2.5, 1.4, -1.0]))) == 1


def test_a_poor_map_is_stopped_unless_it_was_accepted_and_then_says_so() -> None:
    with pytest.raises(LowAgreement, match=r"nothing was charged: .* 0\.200, below 0\.5 and a map of one"):
        stop_or_state(expected(0.2), Yardsticks(0.3), accepted=False)
    (line,) = stop_or_state(expected(0.2), Yardsticks(0.3), accepted=True)
    assert line.topic == "Low agreement"
    assert line.warning
    assert line.text.startswith("Expected to be a poor map: its expected agreement is 0.200, below 0.5")
    assert stop_or_state(expected(0.8), Yardsticks(0.3), accepted=False) == ()
    assert stop_or_state(expected(0.8), Yardsticks(0.3), accepted=True) == ()


def test_what_public_maps_reach_is_not_changed_afterwards() -> None:
    with pytest.raises(FrozenInstanceError):
        Yardsticks(0.5).one_colour = 0.9  # type: ignore[misc]
