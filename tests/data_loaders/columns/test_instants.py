"""Times to the second, with zones: compact ones are no counts, and a clock that goes back is asked about."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from data_loaders import DataError
from data_loaders.columns.times import ZoneWanted, read_instants, time_zone
from data_loaders.traces import load_traces

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
        ("2024-05-01", -28_800.0, False),
    ],
)
def test_a_time_is_read(written: str, seconds: float, zoned: bool) -> None:
    found = read_instants([written])
    assert found.seconds[0] - MAY == seconds
    assert bool(found.zoned[0]) is zoned


@pytest.mark.parametrize(
    "written", ["yesterday", "", "99999999999999", "20241301080000", "12", "nan", "\ud800"]
)
def test_what_is_no_time_is_none(written: str) -> None:
    assert np.isnan(read_instants([written]).seconds[0])


def london(*clocks: str) -> list[str]:
    """What a clock showed in London on the day when summer time ended, as UTC."""
    found = read_instants([f"2024-10-27 {clock}" for clock in clocks]).in_utc(time_zone("Europe/London"))
    return [datetime.fromtimestamp(one, UTC).strftime("%H:%M") for one in found]


def test_the_order_of_rows_tells_which_of_two_equal_hours_it_was() -> None:
    clocks = ("00:30", "01:10", "01:50", "01:10", "01:50", "02:10")
    right = ["23:30", "00:10", "00:50", "01:10", "01:50", "02:10"]
    assert london(*clocks) == right
    assert london(*clocks[::-1]) == right[::-1]  # newest first
    assert london("01:10", "01:50", "02:10") == ["01:10", "01:50", "02:10"]
    assert london("00:50", "01:10", "01:50") == ["23:50", "00:10", "00:50"]
    assert london("00:50", "01:10", "01:50", "02:00") == ["23:50", "00:10", "01:50", "02:00"]
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


def test_a_trip_over_the_end_of_summer_time_is_read_with_its_zone() -> None:
    rows = ["time,lat,lon"]
    for minute in range(30, 120):
        rows.append(f"2024-10-27 {minute // 60:02d}:{minute % 60:02d}:00,51.5,-0.1")
    for minute in range(60, 150):
        rows.append(f"2024-10-27 {minute // 60:02d}:{minute % 60:02d}:00,51.5,-0.1")
    data = "\n".join(rows).encode()
    with pytest.raises(ZoneWanted, match="goes back by 59 minutes"):
        load_traces(data)
    with pytest.raises(ZoneWanted, match="by 59 minutes in the zone UTC too: state the zone"):
        load_traces(data, zone="UTC")
    (trace,), report = load_traces(data, zone="Europe/London")
    assert trace.size == 180
    assert set(np.diff(trace.time)) == {60.0}
    assert report.notes == ("Times without a zone were read in Europe/London.",)


def test_date_and_time_stand_in_two_columns() -> None:
    rows = b"Date,Time,lat,lon\n13/05/2024,08:00:00,51.5,-0.1\n13/05/2024,08:00:30,51.5,-0.1\n"
    (trace,), report = load_traces(rows)
    assert trace.time[0] == datetime(2024, 5, 13, 8, tzinfo=UTC).timestamp()
    assert list(np.diff(trace.time)) == [30.0]
    assert "Dates such as 3/4/2018 were read with the day first." in report.notes
    (whole,), _ = load_traces(rows.replace(b"08:00", b"2024-05-14 08:00"))
    assert whole.time[0] == datetime(2024, 5, 14, 8, tzinfo=UTC).timestamp()
    (dated,), _ = load_traces(b"date,lat,lon\n2024-05-13T08:00:00Z,51.5,-0.1\n")
    assert dated.time[0] == trace.time[0]


def test_a_null_fix_is_dropped_and_counted() -> None:
    rows = (
        b"time,lat,lon\n2024-05-13T08:00Z,51.5,-0.1\n2024-05-13T08:01Z,0.0,0.0\n2024-05-13T08:02Z,0.0,0.1\n"
    )
    (trace,), report = load_traces(rows)
    assert trace.size == 2
    assert dict(report.dropped) == {"0, 0, which receivers write without a fix": 1}


@pytest.mark.parametrize("before", [b" " * 10, b"\xef\xbb\xbf  \r\n", b"\n\t"])
def test_blanks_before_the_declaration_are_left_out(before: bytes) -> None:
    point = b'<trkpt lat="51.5" lon="-0.1"><time>2024-05-13T08:00:00Z</time></trkpt>'
    whole = b'<?xml version="1.0"?><gpx><trk><trkseg>' + point + b"</trkseg></trk></gpx>"
    assert load_traces(before + whole)[0][0].size == 1


def test_who_has_no_time_hears_of_its_form() -> None:
    with pytest.raises(DataError, match="write times as 2024-05-01T08:00:00Z"):
        load_traces(b"time,lat,lon\nnoon,51.5,-0.1\n")


def test_trips_are_tables_as_readings_are() -> None:
    """Titles, comments, Excel's order and degrees with letters."""
    rows = "2024-05-01T08:00:00Z;51°30'N;359,75\n2024-05-01T08:00:30Z;51,5 N;0.25W\n"
    for top in ("", "sep=;\n", "# a logger\n", "Trip of May;;\n\n"):
        for names in ("time;lat;lon\n", "Timestamp;Breite;Länge\n"):
            (trace,), report = load_traces((top + names + rows).encode())
            assert trace.longitude.tolist() == [-0.25, -0.25]
            assert trace.latitude.tolist() == [51.5, 51.5]
            assert (report.rows_read, report.kept) == (2, 2)
