"""Remaining times: right within a factor of two where they are said, and not said where they cannot be."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pages.shared.session.side_jobs import duration
from pages.shared.subprocess_job import seconds_left


def forecasts(pace: Callable[[float], float], whole: float) -> dict[float, float]:
    """What is said at each quarter of a second, over what is true, until two seconds before the end."""
    marks, said = [], {}
    for tick in range(1, int(4 * (whole - 2))):
        now = tick / 4
        marks.append((now, pace(now)))
        left = seconds_left(marks, now)
        if left is not None:
            said[now] = left / (whole - now)
    return said


def test_a_steady_job_is_forecast_from_a_tenth_on() -> None:
    said = forecasts(lambda now: (now + 0.2 * (-1) ** int(now)) / 40.0, 40.0)
    assert min(said) <= 5.0
    assert len(said) > 100
    assert all(0.5 <= ratio <= 2.0 for ratio in said.values())


def test_a_job_that_becomes_ten_times_slower_is_not_forecast_until_it_is_steady_again() -> None:
    said = forecasts(lambda now: now / 8.0 if now < 4 else 0.5 + (now - 4) / 80.0, 44.0)
    late = [now for now in said if now > 4.5]
    assert 5.0 < min(late) < 10.0
    assert all(0.5 <= said[now] <= 2.0 for now in late)


def test_a_job_that_becomes_quicker_is_not_forecast_by_its_slow_part() -> None:
    said = forecasts(lambda now: 0.1 * now / 20 if now < 20 else 0.1 + 0.9 * (now - 20) / 20, 40.0)
    late = [now for now in said if now > 21]
    assert min(late) > 25.0
    assert all(0.5 <= said[now] <= 2.0 for now in late)


def test_nothing_is_said_too_early_or_of_a_job_that_changes_its_pace() -> None:
    assert seconds_left([], 10.0) is None
    assert seconds_left([(1.0, 0.5)], 2.0) is None, "too few seconds"
    assert seconds_left([(1.0, 0.01), (9.0, 0.09)], 10.0) is None, "too little done"
    steady = [(float(now), now / 20) for now in range(9)]
    assert seconds_left(steady, 8.0) == pytest.approx(12.0)
    assert seconds_left([*steady, (12.0, 0.45)], 12.0) is None, "slower than before"
    assert seconds_left(steady, 14.0) is None, "it has said nothing for long"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "5 s"), (12, "10 s"), (28, "30 s"), (44, "40 s"), (95, "2 min"), (600, "10 min")],
)
def test_a_forecast_is_no_finer_than_it_can_be(seconds: float, words: str) -> None:
    assert duration(seconds) == words
