"""Traces from files: every format gives the same records, every bad file a sentence."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_loaders import DataError
from data_loaders.files.guarded import Limits
from hexcursion_traces.loading import Trace, load_traces

START = 1_224_730_384.0  # 2008-10-23 02:53:04 UTC
PLT = b"""Geolife trajectory
WGS 84
Altitude is in Feet
Reserved 3
0,2,255,My Track,0,0,2,8421376
0
39.984702,116.318417,0,492,39744.1201851852,2008-10-23,02:53:04
39.984683,116.31845,0,492,39744.1202546296,2008-10-23,02:53:10
39.984686,116.318417,0,492,39744.1203125,2008-10-23,02:53:15
"""
GPX = b"""<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1"><trk><name>Walk</name><trkseg>
<trkpt lat="39.984702" lon="116.318417"><ele>150</ele><time>2008-10-23T02:53:04Z</time></trkpt>
<trkpt lat="39.984683" lon="116.31845"><time>2008-10-23T04:53:10+02:00</time></trkpt></trkseg><trkseg>
<trkpt lat="39.984686" lon="116.318417"><time>2008-10-23T02:53:15.000Z</time></trkpt></trkseg></trk></gpx>"""
TCX = b"""<TrainingCenterDatabase xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"><Activities>
<Activity Sport="Running"><Id>2008-10-23T02:53:04Z</Id><Lap><Track>
<Trackpoint><Time>2008-10-23T02:53:04Z</Time><Position><LatitudeDegrees>39.984702</LatitudeDegrees>
<LongitudeDegrees>116.318417</LongitudeDegrees></Position></Trackpoint>
<Trackpoint><Time>2008-10-23T02:53:10Z</Time><Position><LatitudeDegrees>39.984683</LatitudeDegrees>
<LongitudeDegrees>116.31845</LongitudeDegrees></Position></Trackpoint>
<Trackpoint><Time>2008-10-23T02:53:15Z</Time><Position><LatitudeDegrees>39.984686</LatitudeDegrees>
<LongitudeDegrees>116.318417</LongitudeDegrees></Position></Trackpoint>
</Track></Lap></Activity></Activities></TrainingCenterDatabase>"""
CSV = b"""id;time;lat;lon
a;2008/10/23 02:53:04;39,984702;116,318417
a;2008/10/23 02:53:10;39,984683;116,31845
a;2008/10/23 02:53:15;39,984686;116,318417
"""
EPOCHS = (
    b"lat,lon,timestamp\n39.984702,116.318417,1224730384\n39.984683,116.31845,1224730390000\n"
    b"39.984686,116.318417,1224730395\n"
)
LINE = json.dumps(
    {
        "type": "Feature",
        "properties": {
            "coordTimes": ["2008-10-23T02:53:04Z", "2008-10-23T02:53:10Z", "2008-10-23T02:53:15Z"]
        },
        "geometry": {
            "type": "LineString",
            "coordinates": [[116.318417, 39.984702], [116.31845, 39.984683, 30.0], [116.318417, 39.984686]],
        },
    }
).encode()


@pytest.mark.parametrize("data", [PLT, GPX, TCX, CSV, EPOCHS, LINE, gzip.compress(GPX)])
def test_every_format_gives_the_same_trace(data: bytes) -> None:
    (trace,), report = load_traces(data)
    assert (report.rows_read, report.kept, report.dropped) == (3, 3, ())
    assert list(trace.time - START) == [0.0, 6.0, 11.0]
    assert list(trace.latitude) == [39.984702, 39.984683, 39.984686]
    assert list(trace.longitude) == [116.318417, 116.31845, 116.318417]


def test_zones_are_said() -> None:
    assert load_traces(CSV)[1].notes == ("Times without a zone were read as UTC.",)
    assert load_traces(GPX)[1].notes == ()


def test_names_and_several_movers() -> None:
    (walk,), _ = load_traces(GPX)
    assert walk.name == "Walk"
    traces, report = load_traces(CSV.replace(b"a;2008/10/23 02:53:15", b"b;2008/10/23 02:53:15"))
    assert [(trace.name, trace.size) for trace in traces] == [("a", 2), ("b", 1)]
    assert report.kept == 3


def test_every_record_has_its_reason() -> None:
    rows = [
        "time,lat,lon",
        "2020-01-01T00:00:20Z,50,8",
        "2020-01-01T00:00:00Z,50,8",
        "2020-01-01T00:00:00Z,50.1,8",
        "yesterday,50,8",
        "2020-01-01T00:00:30Z,,8",
        "2020-01-01T00:00:40Z,95,8",
        "2020-01-02T00:00:00Z,50,nan",
        "2020-01-02T00:00:00Z,50,8",
        "",
    ]
    (trace,), report = load_traces("\n".join(rows).encode())
    assert (report.rows_read, report.kept) == (8, 3)
    assert dict(report.dropped) == {
        "no time that can be read": 1,
        "no place that can be read": 2,
        "a place that is not on Earth": 1,
        "a second record of the same instant": 1,
    }
    assert list(trace.time - trace.time[0]) == [0.0, 20.0, 86_400.0]
    assert trace.latitude[0] == 50.0  # the first of two
    assert report.notes == (
        "Some records were not in the order of their times and were sorted.",
        "1 gap of ten minutes or more without a record.",
    )


FIRST = 1_000_000_000  # seconds of FIT's own clock
PLACES = ((0, 0x40000000, 0x20000000), (6, -0x40000000, 0x20001000), (11, 0x40000001, -0x20000000))


def checksum(data: bytes) -> int:
    """CRC-16/ARC, bit by bit."""
    found = 0
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = (found >> 1) ^ (0xA001 if found & 1 else 0)
    return found


def fit_file(places: tuple[tuple[int, int, int], ...] = PLACES) -> bytes:
    """A FIT file: one definition of records with time, latitude and longitude (half circles), then these."""
    body = bytes([0x40, 0, 0]) + struct.pack("<HB", 20, 3)  # a definition, of message 20 (record)
    body += bytes([253, 4, 0x86, 0, 4, 0x85, 1, 4, 0x85])  # field, bytes, type
    for seconds, longitude, latitude in places:
        body += b"\0" + struct.pack("<Iii", FIRST + seconds, latitude, longitude)
    head = struct.pack("<BBHI4s", 14, 0x20, 2132, len(body), b".FIT")
    whole = head + struct.pack("<H", checksum(head)) + body
    return whole + struct.pack("<H", checksum(whole))


def test_a_watch_s_file_has_half_circles_and_a_clock_of_its_own() -> None:
    (trace,), report = load_traces(fit_file())
    assert (report.rows_read, report.kept, report.notes) == (3, 3, ())
    assert list(trace.time) == [1_631_065_600.0, 1_631_065_606.0, 1_631_065_611.0]  # 2021-09-08 01:46:40 UTC
    assert list(trace.longitude) == [90.0, -90.0, 90.0 + 180.0 / 2**31]
    assert list(trace.latitude) == [45.0, 45.0 + 180.0 * 4096 / 2**31, -45.0]
    two, report = load_traces(gzip.compress(fit_file() + fit_file(PLACES[:2])))  # chained, packed
    assert [trace.size for trace in two] == [3, 2]
    unknown = (*PLACES, (20, 0x7FFFFFFF, 0x7FFFFFFF))  # what FIT writes before the first fix
    assert dict(load_traces(fit_file(unknown))[1].dropped) == {"no place that can be read": 1}


BAD = {
    "empty": (b"  \n", "is empty"),
    "fit": (b"\x0e\x10\x43\x08\0\0\0\0.FIT", "broken FIT"),
    "cut fit": (fit_file()[:-9], "broken FIT"),
    "changed fit": (fit_file().replace(b"\0\x10\0\x20", b"\0\x11\0\x20"), "broken FIT"),
    "fit without a place": (fit_file(((0, 0x7FFFFFFF, 0x7FFFFFFF),)), "no place that can be read"),
    "binary": (b"PK\0\0", "binary but no FIT"),
    "entities": (b'<!DOCTYPE gpx [<!ENTITY a "b">]><gpx>&a;</gpx>', "declares entities"),
    "cut": (GPX[:300], "broken XML"),
    "deep": (b"<gpx>" + b"<a>" * 100 + b"</a>" * 100 + b"</gpx>", "broken XML"),
    "kml": (b"<kml></kml>", "neither GPX nor TCX"),
    "no times": (GPX.replace(b"time>", b"tome>"), "no time that can be read"),
    "json": (b'{"type": "FeatureCollection", ', "broken JSON"),
    "no line": (b'{"type": "FeatureCollection", "features": []}', "holds no line"),
    "times": (LINE.replace(b"coordTimes", b"clock"), "without one time for each place"),
    "columns": (b"time,lat\n2020-01-01,5\n", "no column for the longitude"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gets_one_sentence(name: str) -> None:
    data, words = BAD[name]
    with pytest.raises(DataError, match=words) as caught:
        load_traces(data)
    assert str(caught.value).count(".") <= 2


def test_a_file_cannot_unpack_without_end(tmp_path: Path) -> None:
    packed = tmp_path / "bomb.gpx.gz"
    packed.write_bytes(gzip.compress(b" " * 3_000_000))
    with pytest.raises(DataError, match="possible zip bomb"):
        load_traces(packed, Limits(free_bytes=1000, max_ratio=5.0))
    with pytest.raises(DataError, match="more than 100 bytes"):
        load_traces(GPX, Limits(max_bytes=100))
    with pytest.raises(DataError, match=r"absent\.gpx cannot be opened"):
        load_traces(tmp_path / "absent.gpx")


def test_thinning_looks_at_times_only() -> None:
    trace = Trace("t", np.array([0.0, 4.0, 9.0, 10.0, 19.0, 31.0]), np.arange(6.0), np.arange(6.0))
    assert list(trace.thinned(10.0).time) == [0.0, 10.0, 31.0]
    assert trace.thinned(0.0) is trace


@given(
    st.binary(max_size=300)
    | st.builds(lambda a, b: GPX[:a] + b + GPX[a:], st.integers(0, 600), st.binary(max_size=9))
    | st.builds(
        lambda a, b: b"\x0c\x10\x54\x08" + a.to_bytes(4, "little") + b".FIT" + b,
        st.integers(0, 90),
        st.binary(max_size=99),
    )
)
def test_no_bytes_end_in_anything_but_a_trace_or_a_sentence(data: bytes) -> None:
    try:
        traces, report = load_traces(data)
    except DataError:
        return
    assert report.kept == sum(trace.size for trace in traces)


def test_real_trajectories(shared_data: Path) -> None:
    (trace,), report = load_traces(
        shared_data / "traces" / "geolife" / "000" / "Trajectory" / "20081023025304.plt"
    )
    assert (report.rows_read, report.kept) == (908, 908)
    assert trace.time[0] == START
