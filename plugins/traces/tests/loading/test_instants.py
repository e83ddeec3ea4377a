"""Times to the second, with zones: compact ones are no counts, and a clock that goes back is asked about."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from data_loaders import DataError
from hexcursion_traces.loading.instants import OrderWanted, ZoneWanted, read_instants, time_zone

MAY = datetime(2024, 5, 1, 8, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("written", "seconds", "zoned"),
    [
        ("2024-05-01T08:00:00Z", 0.0, True),
        ("2024-05-01 08:00:00.25", 0.25, False),
        ("2024/05/01 08:00", 0.0, False),
        ("2024-05-01T10:00:00+02:00", 0.0, True),
        ("2024-05-01 02:30:00-0530", 0.0, True),
        ("2024-05-01T08:00:00,5 UTC", 0.5, True),
        ("20240501080000", 0.0, False),
        ("20240501T080007Z", 7.0, True),
        ("202405010801", 60.0, False),
        ("2024050109", 3600.0, False),
        ("1714550400", 0.0, True),
        ("1714550400.5", 0.5, True),
        ("1714550400000", 0.0, True),
        ("01/05/2024 08:00:00", 0.0, False),
        ("1/5/2024 8:00:00 PM", 43_200.0, False),
        ("1/5/2024 12:00:30 AM", -28_770.0, False),
        ("1/5/2024, 8:00:00\u202fPM", 43_200.0, False),
        ("1/5/2024 8 pm", 43_200.0, False),
        ("1/5/2024 8:00:00 a.m. UTC", 0.0, True),
        ("1/5/2024 8:00:00.5 PM", 43_200.5, False),
        ("2024-05-01", -28_800.0, False),
    ],
)
def test_a_time_is_read(written: str, seconds: float, zoned: bool) -> None:
    found = read_instants([written], day_first=True)
    assert found.seconds[0] - MAY == seconds
    assert bool(found.zoned[0]) is zoned


@pytest.mark.parametrize(
    "written", ["yesterday", "", "99999999999999", "20241301080000", "12", "nan", "\ud800"]
)
def test_what_is_no_time_is_none(written: str) -> None:
    assert np.isnan(read_instants([written]).seconds[0])


def test_the_order_of_dates_is_told_or_said_and_never_guessed() -> None:
    def minutes(*dates: str, said: bool | None = None) -> list[float]:
        return list((read_instants(dates, said).seconds - MAY) / 60.0)

    eight = "5/1/2024 8:00 AM"
    with pytest.raises(OrderWanted, match=r"say which \(--day-first or --no-day-first on the command line\)"):
        minutes(eight)
    assert minutes(eight, said=False) == [0.0]
    assert minutes(eight, said=True) == [-117.0 * 1440.0]  # the fifth of January
    assert minutes(eight, *2 * ["5/13/2024 8:00 AM"]) == [0.0, *2 * [12.0 * 1440.0]]
    with pytest.raises(OrderWanted):
        minutes(eight, "5/13/2024 8:00 AM")  # one date alone would turn the other
    assert minutes("1/5/2024 8:00 AM", "13/5/2024 8:00 AM") == [0.0, 12.0 * 1440.0]
    with pytest.raises(DataError, match=r"have the month first.*: leave --day-first out"):
        minutes(eight, "5/13/2024 8:00 AM", said=True)
    with pytest.raises(DataError, match=r"have the day first.*: leave --no-day-first out"):
        minutes("1/5/2024", "13/5/2024", said=False)
    with pytest.raises(OrderWanted):
        minutes("1/13/2024", "13/1/2024")
    for said in (None, True, False):
        assert minutes("2024-05-01T08:00:00Z", said=said) == [0.0]


def london(*clocks: str) -> list[str]:
    """What a clock showed in London on the day when summer time ended, as UTC."""
    found = read_instants([f"2024-10-27 {clock}" for clock in clocks]).in_utc(time_zone("Europe/London"))
    return [datetime.fromtimestamp(one, UTC).strftime("%H:%M") for one in found]


def test_the_order_of_rows_tells_which_of_two_equal_hours_it_was() -> None:
    clocks = ("00:30", "01:10", "01:11", "01:49", "01:50", "01:10", "01:11", "01:50", "02:10")
    right = ["23:30", "00:10", "00:11", "00:49", "00:50", "01:10", "01:11", "01:50", "02:10"]
    assert london(*clocks) == right
    assert london(*clocks[::-1]) == right[::-1]  # newest first
    assert london("01:10", "01:50", "02:10", "02:11") == ["01:10", "01:50", "02:10", "02:11"]
    assert london("00:49", "00:50", "01:10", "01:50") == ["23:49", "23:50", "00:10", "00:50"]
    clocks = ("00:49", "00:50", "01:10", "01:11", "01:50", "01:51", "02:00", "02:01")
    right = ["23:49", "23:50", "00:10", "00:11", "01:50", "01:51", "02:00", "02:01"]
    assert london(*clocks) == right
    for single in ("00:30", "01:10", "01:50", "01:10", "01:50"), ("00:50", "01:10", "01:50", "02:00"):
        with pytest.raises(DataError, match="A single row tells where the clock went back"):
            london(*single)
    with pytest.raises(DataError, match="not in the order of their times"):
        london("01:50", "01:10", "01:55", "01:20", "01:40", "01:59")


def test_times_that_a_zone_skips_or_that_nobody_knows_are_refused() -> None:
    spring = read_instants(["2024-03-31 00:30", "2024-03-31 01:30", "2024-03-31 02:30"])
    with pytest.raises(DataError, match="1 times fall into the hour that Europe/London skips"):
        spring.in_utc(time_zone("Europe/London"))
    for name in ("Europe/Nowhere", "../etc/passwd", ""):
        with pytest.raises(DataError, match="There is no time zone"):
            time_zone(name)


@pytest.mark.parametrize(
    ("back", "asked"), [(59.0, False), (61.0, True), (3599.0, True), (7200.0, True), (7300.0, False)]
)
def test_a_clock_that_goes_back_wants_a_zone(back: float, asked: bool) -> None:
    clock = [1.7e9, 1.7e9 + 8000.0, 1.7e9 + 8000.0 - back, 1.7e9 + 8001.0]
    bare = [datetime.fromtimestamp(one, UTC).strftime("%Y-%m-%d %H:%M:%S") for one in clock]
    for rows in (bare, bare[::-1]):
        if asked:
            with pytest.raises(ZoneWanted, match="state the zone of the times"):
                read_instants(rows).in_utc(None)
        else:
            assert np.all(np.isfinite(read_instants(rows).in_utc(None)))
    assert np.all(np.isfinite(read_instants([f"{one}Z" for one in bare]).in_utc(None)))  # a zone is named
