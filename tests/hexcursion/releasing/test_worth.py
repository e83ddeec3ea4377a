"""A map that is expected to be poor is stopped, and goes on only with a line that says so."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from hexcursion.record import Expected, Yardsticks, few_words
from hexcursion.releasing.release_guard import LowAgreement, objections, stop_or_state


def expected(records: float | None, gain: float | None = 0.1) -> Expected:
    return Expected(0.4, 0.1, 0.9, "reference data", records=records, gain=gain)


BESIDE = Yardsticks(0.3, 0.4, colour_records=0.7, public_records=0.8)
COLOUR = "a map of one colour would show as many records or more on their right side"
PUBLIC = "the map of public data alone would show as many records or more on their right side"


@pytest.mark.parametrize(
    ("gain", "yardsticks", "words"),
    [
        (0.0, BESIDE, ()),
        (0.05, BESIDE, ()),
        (-0.0001, BESIDE, (PUBLIC,)),
        (-0.1, replace(BESIDE, public_records=None), (COLOUR,)),
        (-0.1, replace(BESIDE, public_records=0.69), (COLOUR,)),
        (-0.1, replace(BESIDE, public_records=0.7), (COLOUR,)),
        (-0.1, replace(BESIDE, colour_records=None), (PUBLIC,)),
        (-0.1, None, (COLOUR,)),
        (-0.1, replace(BESIDE, public_records=None, colour_records=None), (COLOUR,)),
        (None, BESIDE, ()),
    ],
)
def test_a_map_that_gains_less_than_nothing_is_stopped(
    gain: float | None, yardsticks: Yardsticks | None, words: tuple[str, ...]
) -> None:
    assert objections(expected(0.75, gain), yardsticks) == words


def test_a_low_agreement_alone_stops_nothing() -> None:
    guess = Expected(0.2, None, None, "simulated", 0.05, 0.4, little=True, records=0.8, gain=0.01)
    assert objections(guess, Yardsticks(0.9, gain=0.0)) == ()


def test_few_records_without_reference_are_stopped_and_no_figure_is_said() -> None:
    guess = replace(expected(None, None), basis="simulated")
    (said,) = objections(guess, replace(BESIDE, few=130))
    assert said == (
        "130 records are too few to tell where values lie: without reference data it takes more than 130"
    )
    assert objections(guess, replace(BESIDE, few=131)) == ()
    assert objections(replace(guess, records=0.6, gain=-0.1), replace(BESIDE, few=149)) == (PUBLIC,)


def test_few_records_beside_a_reference_are_judged_on_it_although_no_figure_is_said() -> None:
    assert objections(expected(0.75), replace(BESIDE, few=100)) == ()
    assert objections(expected(0.75, -0.1), replace(BESIDE, few=100)) == (PUBLIC,)
    assert few_words(expected(0.75), replace(BESIDE, few=100)) == (
        "100 records are too few to say how right the map will be: it takes 150, or a public map to start "
        "from"
    )
    assert few_words(expected(0.75), BESIDE) == few_words(expected(0.75), None) == ""


def test_a_map_of_one_colour_in_every_simulated_world_is_stopped() -> None:
    with pytest.raises(LowAgreement, match="lies wholly on one side of the threshold"):
        stop_or_state(Expected(None, None, None, "simulated"), Yardsticks(1.0), accepted=False)


def test_a_design_given_by_hand_has_no_objections() -> None:
    assert objections(None, BESIDE) == ()
    assert objections(expected(0.8), None) == ()


@pytest.mark.parametrize("level", [1.0, -1.0, 3.5])
def test_a_threshold_that_no_value_can_pass_is_stopped_whoever_chose_the_design(level: float) -> None:
    words = (
        "no value can lie beyond its threshold, as values are cut to the usual ones (centre and clip): take "
        "a threshold inside of them, or a larger clip",
    )
    assert objections(None, None, level) == words
    assert objections(expected(0.9), BESIDE, level) == words
    with pytest.raises(LowAgreement, match="nothing was charged: no value can lie beyond its threshold"):
        stop_or_state(None, None, accepted=False, level=level)
    assert objections(None, None, 0.999) == objections(None, None, -0.999) == ()


def test_a_threshold_is_out_of_reach_only_where_no_hexagon_can_pass_it() -> None:
    """Values are cut around the public map: 700,000 pounds lie within reach where that map is near them."""
    assert objections(None, None, np.array([2.5, 1.4, 0.999])) == ()
    assert objections(None, None, np.array([-2.5, 1.4, -0.999])) == ()
    assert len(objections(None, None, np.array([2.5, 1.4, -1.0]))) == 1


def test_a_poor_map_is_stopped_unless_it_was_accepted_and_then_says_so() -> None:
    with pytest.raises(LowAgreement, match="nothing was charged: the map of public data alone would show"):
        stop_or_state(expected(0.7, -0.1), BESIDE, accepted=False)
    (line,) = stop_or_state(expected(0.7, -0.1), BESIDE, accepted=True)
    assert line.topic == "Low agreement"
    assert line.warning
    assert line.text == f"Expected to be a poor map: {PUBLIC}. The curator released it anyway."
    assert stop_or_state(expected(0.8), BESIDE, accepted=False) == ()
    assert stop_or_state(expected(0.8), BESIDE, accepted=True) == ()


def test_what_public_maps_reach_is_not_changed_afterwards() -> None:
    with pytest.raises(FrozenInstanceError):
        Yardsticks(0.5).one_colour = 0.9  # type: ignore[misc]
