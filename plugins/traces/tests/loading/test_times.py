"""Times, null fixes and headers of trips: what `data_loaders.columns` decides, seen through their reader."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from data_loaders import DataError
from hexcursion_traces.loading import load_traces
from hexcursion_traces.loading.instants import OrderWanted, ZoneWanted


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


def at(year: int, month: int, day: int, hour: int, minute: int = 0) -> float:
    return datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()


WHOLE = b"time,lat,lon\n3/4/2018 8:30:00 PM,51.5,-0.1\n3/5/2018 12:15:00 AM,51.5,-0.1\n"
APART = (
    b"Date,Time,lat,lon\n3/4/2018 12:00:00 AM,8:30:00 PM,51.5,-0.1\n3/5/2018 12:00:00 AM,12:15 AM,51.5,-0.1\n"
)


@pytest.mark.parametrize("rows", [WHOLE, APART])
def test_dates_that_leave_their_order_open_are_read_as_is_said(rows: bytes) -> None:
    with pytest.raises(OrderWanted, match="do not tell whether the day or the month comes first"):
        load_traces(rows)
    (trace,), report = load_traces(rows, day_first=False)
    assert trace.time.tolist() == [at(2018, 3, 4, 20, 30), at(2018, 3, 5, 0, 15)]
    assert "Dates such as 3/4/2018 were read with the month first." in report.notes
    (trace,), report = load_traces(rows, day_first=True)
    assert trace.time.tolist() == [at(2018, 4, 3, 20, 30), at(2018, 5, 3, 0, 15)]
    assert "Dates such as 3/4/2018 were read with the day first." in report.notes


def test_two_dates_tell_the_order_for_all_trips_of_a_file() -> None:
    one = b"id,time,lat,lon\na,3/4/2018 8 AM,51.5,-0.1\nb,3/14/2018 8 AM,51.5,-0.1\n"
    with pytest.raises(DataError, match="say which"):
        load_traces(one)
    rows = one + b"b,3/14/2018 8 AM,51.5,-0.1\n"
    traces, _ = load_traces(rows)
    assert [list(trace.time) for trace in traces] == [[at(2018, 3, 4, 8)], [at(2018, 3, 14, 8)]]
    with pytest.raises(DataError, match="Some dates have the month first"):
        load_traces(rows, day_first=True)


@pytest.mark.parametrize("said", [None, True, False])
def test_times_of_gpx_take_no_order(said: bool | None) -> None:
    point = b'<trkpt lat="51.5" lon="-0.1"><time>2018-03-04T20:30:00Z</time></trkpt>'
    (trace,), report = load_traces(b"<gpx><trk><trkseg>" + point + b"</trkseg></trk></gpx>", day_first=said)
    assert trace.time.tolist() == [at(2018, 3, 4, 20, 30)]
    assert report.notes == ()


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
