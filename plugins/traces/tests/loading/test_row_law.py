"""Whatever one row of a trip or of a sensor's table holds, the others are read as without it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from data_loaders import DataError
from hexcursion.errors import WorkflowError
from hexcursion_traces.loading.reading import load_traces
from hexcursion_traces.readings import read_readings
from tests.data_loaders.test_row_law import Records, law

ROWS = 60
START = datetime(2023, 5, 1, 8, tzinfo=UTC)


def at(k: int) -> datetime:
    return START + timedelta(minutes=k)


def fixes(text: str, **said: Any) -> Records:
    made, _ = load_traces(text.encode("utf-8", "surrogateescape"), **said)
    return Counter(
        (trace.name, *map(float, row))
        for trace in made
        for row in zip(trace.time, trace.longitude, trace.latitude, strict=True)
    )


HEAD = "time,lat,lon,trip"
TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "UTC": ("%Y-%m-%dT%H:%M:%SZ", {}),
    "no zone": ("%Y-%m-%d %H:%M:%S", {}),
    "London": ("%Y-%m-%d %H:%M:%S", {"zone": "Europe/London"}),
    "day first": ("%d/%m/%Y %H:%M:%S", {}),
    "month first": ("%m/%d/%Y %H:%M:%S", {}),
}
ODD = {
    "an open quote": '2023-05-01T09:00:30Z,51.5,"0.1,a',
    "an open quote at the end": '2023-05-01T09:00:30Z,51.5,0.1,"a',
    "words": "when,north,east,b",
    "blanks": ",,,",
    "two cells": "2023-05-01T09:00:30Z,51.5",
    "more cells": "2023-05-01T09:00:30Z,51.5,0.1,a,x,y",
    "the month first": "05/25/2023 09:00:30,51.5,0.1,a",
    "the day first": "25/05/2023 09:00:30,51.5,0.1,a",
    "a decimal comma": '2023-05-01T09:00:30Z,"51,5","0,1",a',
    "another day": "2023-05-01T23:00:30Z,51.5,0.1,a",
    "seconds": "1682931630,51.5,0.1,a",
    "other bytes": "2023-05-01T09:00:30Z,51.5,0.1,\udcff\udc81",
    "semicolons": "2023-05-01T09:00:30Z;51.5;0.1;a",
    "no Earth": "2023-05-01T09:00:30Z,151.5,500,a",
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_trips(kind: str, odd: str) -> None:
    form, said = TABLES[kind]
    days = 30 if "first" in kind else 0  # dates above 12 say which number is the day
    base = [
        f"{at(k + 1440 * (k % days if days else 0)):{form}},{51 + k / 100},{k / 100},a" for k in range(ROWS)
    ]
    law(base, ODD[odd], lambda rows: fixes("\n".join([HEAD, *rows]) + "\n", **said))


@pytest.mark.parametrize(
    "odd",
    [
        "51.5,0.1,0,100,45047,2023-05-01,09:00:30",
        "51.5",
        "a,b,c,d,e,f,g",
        '51.5,"0.1,0,100,45047,2023-05-01,09:00:30',
    ],
)
def test_geolife(odd: str) -> None:
    head = ["Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3", "0,2,255,My Track", "0"]
    base = [f"{51 + k / 100},{k / 100},0,100,45047,{at(k):%Y-%m-%d,%H:%M:%S}" for k in range(ROWS)]
    law(base, odd, lambda rows: fixes("\n".join([*head, *rows]) + "\n"))


@pytest.mark.parametrize("odd", [("never", [0.1, 51.5]), ("2023-05-01T09:00:30Z", ["x", 51.5]), ("", [None])])
def test_lines_and_points(odd: tuple[str, list[Any]]) -> None:
    base = [(f"{at(k):%Y-%m-%dT%H:%M:%SZ}", [k / 100, 51.0 + k / 100]) for k in range(ROWS)]

    def line(rows: Sequence[Any]) -> Records:
        shape = {"type": "LineString", "coordinates": [place for _, place in rows]}
        said = {"coordTimes": [time for time, _ in rows]}
        return fixes(json.dumps({"type": "Feature", "geometry": shape, "properties": said}))

    def gpx(rows: Sequence[Any]) -> Records:
        points = [
            f'<trkpt lat="{(*place, 0)[1]}" lon="{place[0]}"><time>{time}</time></trkpt>'
            for time, place in rows
        ]
        return fixes(
            f'<gpx xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>{"".join(points)}</trkseg></trk></gpx>'
        )

    assert law(base, odd, line) == law(base, odd, gpx) == 3


@pytest.mark.parametrize(
    "odd",
    ["2023-05-01T09:00:30Z,9", '2023-05-01T09:00:30Z,"9', '"2023-05-01T09:00:30Z,9', "never,9",
     "2023-05-01T09:00:30Z", "25/05/2023 09:00:30,9", "05/25/2023 09:00:30,9",
     "2023-05-01T09:00:30Z,9,x,y", ","],
)  # fmt: skip
def test_readings_of_a_sensor(odd: str, tmp_path: Path) -> None:
    """An open quote swallowed all rows behind it."""
    base = [f"{at(k):%Y-%m-%dT%H:%M:%SZ},{k}.5" for k in range(ROWS)]

    def read(rows: Sequence[str]) -> Records:
        path = tmp_path / "sensor.csv"
        path.write_text("\n".join(["time,no2", *rows]) + "\n", encoding="utf-8")
        try:
            made = read_readings(path)
        except WorkflowError as error:
            raise DataError(str(error)) from None
        return Counter(zip(made.time.tolist(), made.values, strict=True))

    law(base, odd, read)


@pytest.mark.parametrize(
    "odd", ["2023-10-29 01:30:30", "2023-10-29 01:10:30", "2023-10-29 00:30:00", "2023-10-29 02:30"]
)
@pytest.mark.parametrize("turning", [True, False], ids=["turned", "within a pause"])
def test_the_hour_that_occurs_twice(turning: bool, odd: str) -> None:
    """Where the clock went back is told by the order of the rows; one that tells it alone is refused."""
    start = datetime(2023, 10, 29, 0, 10) if turning else datetime(2023, 10, 29, 0, 0)
    clock = [start + timedelta(minutes=2 * k) for k in range(55)]  # to 01:58
    more = [datetime(2023, 10, 29, 1, 5) + timedelta(minutes=2 * k) for k in range(40)] if turning else []
    base = [
        f"{moment:%Y-%m-%d %H:%M:%S},{51 + k / 100},{k / 100},a" for k, moment in enumerate([*clock, *more])
    ]
    law(base, f"{odd},51.5,0.1,a", lambda rows: fixes("\n".join([HEAD, *rows]), zone="Europe/London"))
