"""Stays of a trip: one fix that strays, scatter indoors or a gap hides none of them."""

from __future__ import annotations

import numpy as np
import pytest

from hexcursion.errors import WorkflowError
from hexcursion_traces.plan import on_a_plane, secret_spans
from hexcursion_traces.settings import TraceSettings, Window
from hexcursion_traces.stops import Stop, find_stops, left_open, stay_around
from plugins.traces.tests.wandering import median_stays, share_hidden, wandering_trip


def line(*x: float) -> np.ndarray:
    """Places on a line east."""
    return np.column_stack([np.array(x, dtype=float), np.zeros(len(x))])


def test_stops_are_found_where_one_stays() -> None:
    time = np.arange(12) * 60.0
    places = line(0, 500, 1000, 1010, 990, 1005, 1000, 1500, 2000, 2500, 2510, 2520)
    assert find_stops(time, places, 4.0, 50.0) == (Stop(2, 6, 240.0),)
    assert find_stops(time, places, 2.0, 50.0) == (Stop(2, 6, 240.0), Stop(9, 11, 120.0))
    assert find_stops(time, places, 4.01, 50.0) == ()
    assert find_stops(time[:2], np.zeros((2, 2)), 1.0, 50.0) == (Stop(0, 1, 60.0),)
    assert find_stops(time[:1], np.zeros((1, 2)), 1.0, 50.0) == ()


def test_a_fix_that_strays_ends_no_stay_and_begins_none() -> None:
    time = np.arange(16) * 60.0
    still = [0, 300, 600, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 900, 1200, 1500]
    assert find_stops(time, line(*still), 10.0, 50.0) == (Stop(3, 13, 600.0),)
    for strayed in range(4, 13):
        moved = list(still)
        moved[strayed] = 5000
        assert find_stops(time, line(*moved), 10.0, 50.0) == (Stop(3, 13, 600.0),), strayed


def test_a_way_out_and_back_is_part_of_a_stay_when_it_is_shorter() -> None:
    time = np.arange(26) * 60.0
    out = (
        [0.0] * 8 + [400.0, 800.0, 1200.0, 800.0, 400.0] + [0.0] * 8 + [500.0, 1000.0, 1500.0, 2000.0, 2500.0]
    )
    assert find_stops(time, line(*out), 10.0, 50.0) == (Stop(0, 20, 1200.0),)
    long = [0.0] * 11 + [400.0, 2000.0, 2500.0, 3000.0, 3500.0, 4000.0] + [0.0] * 9
    assert find_stops(time, line(*long), 4.0, 50.0) == (Stop(0, 10, 600.0), Stop(17, 25, 480.0))


def test_a_receiver_that_is_switched_off_at_a_place_stays_there() -> None:
    time = np.array([0.0, 30.0, 60.0, 5000.0, 5030.0, 5060.0])
    assert find_stops(time, line(-80, -40, 0, 5, 45, 90), 10.0, 50.0) == (Stop(1, 4, 5000.0),)
    assert find_stops(time, line(-80, -40, 0, 500, 540, 590), 10.0, 50.0) == ()


@pytest.mark.parametrize("speed", [0.7, 1.4, 5.0])
def test_who_walks_on_does_not_stay(speed: float) -> None:
    time = np.arange(200) * 20.0
    assert find_stops(time, line(*(speed * time)), 10.0, 100.0) == ()


def test_the_stay_around_a_record_goes_on_across_a_stray() -> None:
    time, places = np.arange(9) * 60.0, line(0, 300, 310, 290, 900, 305, 300, 600, 1200)
    assert stay_around(time, places, 2, 50.0) == (1, 6)
    assert stay_around(time, places, 5, 50.0) == (1, 6)
    assert stay_around(time, places, 0, 50.0) == (0, 0)
    assert stay_around(time, places, 4, 50.0) == (4, 4)
    assert stay_around(time, places, 3, 1000.0) == (0, 8)


def test_what_nearly_is_secret_is_said() -> None:
    """8 and 9 minutes at a place, ten and more within 150 m, and a gap between two places."""
    time = np.arange(80) * 60.0
    x = np.arange(80) * 400.0
    x[10:19], x[30:40] = x[10], x[30]
    said = left_open(time, line(*x), 10.0, 50.0, ())
    assert said == (
        "2 stays of 8 and 9 minutes are not protected: lower the least length of a stop, or name the span.",
    )
    assert left_open(time, line(*x), 10.0, 50.0, (Window(600.0, 1080.0), Window(1700.0, 2400.0))) == ()
    x[50:63] = x[50] + np.tile([0.0, 130.0], 7)[:13]
    assert (
        "1 stay of 12 minutes is not protected, since the places scatter"
        in left_open(time, line(*x), 10.0, 50.0, (Window(0.0, 2400.0),))[0]
    )
    gap = np.array([0.0, 30.0, 3630.0, 3660.0])
    (only,) = left_open(gap, line(0, 40, 1500, 1540), 10.0, 100.0, ())
    assert only.startswith("1 gap of 60 minutes is not protected: the trip goes on elsewhere")
    assert left_open(gap, line(0, 40, 40_000, 40_040), 10.0, 100.0, ()) == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_every_stay_that_another_detector_finds_is_secret(seed: int) -> None:
    """The law: whoever looks for stays by medians and brute force finds none that no secret covers."""
    trace, made = wandering_trip(seed)
    thin = trace.thinned(30.0)
    settings = TraceSettings(stops=10.0)
    try:
        secrets = secret_spans(trace, thin, settings)
    except WorkflowError:
        secrets = []
    known = [span for span in made if span[1] - span[0] >= 660.0]
    seen = median_stays(thin.time, on_a_plane(thin)[1], 10.0)
    for span in [*known, *seen]:
        assert share_hidden(span, secrets) >= 0.9, span


@pytest.mark.parametrize("apart", [80.0, 105.0, 140.0, 220.0])
def test_the_second_of_two_neighbouring_stays_is_secret_too(apart: float) -> None:
    """One fix of the second strays towards the first, which took all up to it and left too little."""
    time = np.arange(0.0, 1600.0, 10.0)
    x = np.where(time < 630.0, 0.0, apart)
    x[time == 900.0] = apart - 6.0
    x[time >= 1290.0] = apart + 8.0 * (time[time >= 1290.0] - 1290.0)
    (covered,) = [
        sum(min(time[stop.last], 1290.0) - max(time[stop.first], 630.0) for stop in stops)
        for stops in [[stop for stop in find_stops(time, line(*x), 10.0, 100.0) if time[stop.last] > 630.0]]
    ]
    assert covered >= 0.95 * 660.0
