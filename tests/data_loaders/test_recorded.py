"""Tables, numbers, times and places as they were read and found right: each guess, note, row and refusal.

After a change that is meant: `RECORD=1 python -m pytest tests/data_loaders/test_recorded.py -n 0`, then read
the difference.
"""

from __future__ import annotations

import gzip
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from data_loaders import (
    DataError,
    Observations,
    bound_contributions,
    count_entries,
    demo_data,
    guess_columns,
    load_postcodes,
    load_sales,
    load_sensors,
    write_demo,
)
from data_loaders.columns.coordinates import parse_degrees
from data_loaders.columns.numbers import missing_of, parse_censored, parse_numbers, suspects
from data_loaders.columns.times import read_times
from data_loaders.wanted import Wanted
from tests.data_loaders.material import POSTCODES, sale
from tests.data_loaders.tables import TABLES
from tests.records import agrees, hash_of, recorded_lines

PLACE = Path(__file__).with_name("recorded.txt")


def said(value: Any) -> str:
    """A value as text, numbers to nine digits."""
    if isinstance(value, np.ndarray):
        shown = value.tolist() if value.dtype.kind != "M" else value.astype(str).tolist()
        return f"{value.dtype.kind}{said(shown)}"
    if isinstance(value, float | np.floating):
        return f"{float(value):.9g}"
    if isinstance(value, list | tuple):
        items = [said(one) for one in value]
        if len(items) > 12:
            return f"[{len(items)}: {', '.join(items[:3])} … {hash_of(' '.join(items))}]"
        return f"[{', '.join(items)}]"
    return repr(value)


def rows(found: Observations) -> list[str]:
    about = ("crs", "unit", "kind", "title", "generated", "owner_word", "attribution")
    columns = ("x", "y", "value", "identifier", "time", "owner", "place_sd", "row", "spot")
    named = [(name, getattr(found, name)) for name in (*about, *columns)]
    return [f"{name} {said(value)}" for name, value in named if value is not None]


def tried(call: Any) -> list[str]:
    """What a call gives, line by line, or the sentence with which it is refused."""
    try:
        return list(call())
    except DataError as error:
        return [f"refused: {error}"]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_guessed_counted_and_loaded_as_before(name: str, tmp_path: Path) -> None:
    text, given = TABLES[name]
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode("latin-1" if "Latin" in name else "utf-8"))
    given = {"crs": "EPSG:4326", "unit": "ug/m3", "owner": None, **given}
    unit, owner, row = given.pop("unit"), given.pop("owner"), given.get("header_row")

    def guess() -> list[str]:
        found = guess_columns(path, header_row=row)
        told = [(one.name, getattr(found, one.name)) for one in fields(found) if one.name != "known"]
        return [f"guess {key} {said(value)}" for key, value in told if value not in (None, (), False, "")]

    def entries() -> list[str]:
        first = guess_columns(path, header_row=row).columns[-1]
        found = count_entries(path, [first], dict(given.get("where", ())), header_row=row)
        return [f"entries {found.rows} {found.kept} {said(found.counts[first])} {found.crowded}"]

    def load() -> list[str]:
        made, report = load_sensors(path, Wanted("", **given), unit, owner)
        return [*report.lines(), *rows(made)]

    shown = [line for call in (guess, entries, load) for line in tried(call)]
    agrees(PLACE, ORDER, f"table: {name}", shown)


ENTRIES = (
    "1",
    "-1",
    "+1.5",
    "1.5e3",
    "1e-3",
    ".5",
    "5.",
    "1,5",
    "1,500",
    "1.500",
    "1,234,567",
    "1.234.567,8",
    "1,234.5",
    "1 234",
    "1’234",
    "1'234.5",
    "0,123",
    "0.123",
    "−5",
    "--",
    "n/a",
    "NaN",
    "inf",
    "1e400",
    "-999",
    "-999.0",
    "-9999",
    "-99",
    "1e31",
    "12 %",
    "<0.5",
    "< 0.5",
    "<=3",
    "≤3",
    "less than 3",
    ">200",
    "≥200",
    "more than 9",
    "0.5 U",
    "0.5U",
    "nd",
    "n.d.",
    "not detected",
    "BDL",
    "<LOD",
    "trace",
    "u",
    "abc",
    "",
    " 7 ",
    "1_000",
    "0x10",
    "1,23,456",
    "12345,678",
    "01,234",
    "(5)",
    "5-",
    "1..2",
    "=4",
    "~5",
)
DEGREES = (
    "51.5",
    "-0.12",
    "51,5",
    "51°30'",
    "51°30'15\"",
    "51° 30' 15.5\" N",
    "0°07'30\"W",
    "N 51.5",
    "51.5 S",
    "51d30m",
    "51 30 15",
    "51:30:15",
    "181",
    "91",
    "361",
    "12°75'",
    "E 10",
    "10 E",
    "-10 W",
    "",
    "x",
)
TIMES = (
    "2018",
    "2018-02-01",
    "2018-2-1",
    "2018/02/01",
    "01.02.2018",
    "3/4/2018",
    "25/3/2018",
    "3/25/2018",
    "2018-02-01 13:14",
    "2018-02-01T13:14:15Z",
    "2018-02-01 13:14:15.5",
    "3/4/18",
    "1 Feb 2018",
    "Feb 1, 2018",
    "2018-13-01",
    "2018-02-30",
    "20180201",
    "13:14",
    "",
    "x",
    "1/2/2018 3:04 PM",
    "2018-02-01 24:00",
    "2018-02-01T13:14:15+02:00",
    "31/12/1999 23:59:59",
    "0000-01-01",
    "9999-12-31",
)


def test_entries_are_numbers_limits_places_and_times_as_before() -> None:
    shown = []
    for entry in ENTRIES:
        column = pa.array([entry], pa.string())
        read = []
        for decimal in (".", ","):
            found = parse_numbers(column, decimal)  # type: ignore[arg-type]
            beyond = parse_censored(column, found, decimal, missing_of(None))  # type: ignore[arg-type]
            read.append(
                f"{said(found.value)} {bool(found.missing[0])} {found.grouped} | "
                f"{said(beyond.value)} {bool(beyond.missing[0])} {bool(beyond.below[0])} "
                f"{bool(beyond.above[0])}"
            )
        shown.append(f"{entry!r} {' / '.join(read)}")
    for entry in DEGREES:
        column = pa.array([entry], pa.string())
        for latitude in (True, False):
            value, more = parse_degrees(
                column, parse_numbers(column), "lat" if latitude else "lon", of_latitude=latitude
            )
            shown.append(f"{entry!r} {latitude} {said(value)} {said(more)}")
    for entry in TIMES:
        read_time = read_times(pa.array([entry], pa.string()))
        shown.append(
            f"{entry!r} {said(read_time.as_day_first)} {said(read_time.as_month_first)} {read_time.order}"
        )
    agrees(PLACE, ORDER, "entries", shown)


NUMBERS: tuple[tuple[float, ...], ...] = (
    (1, 2, 3, 4, 5, 9999),
    (1, 2, 3, 4, 9999),
    (1, 2, 3, 4, 5, 99),
    (1, 2, 3, 4, 5, 9),
    (-1, -1, 2, 3, 4, 5),
    (-1, 2, 3, 4, 5, 6),
    (-9, -9, 2, 3),
    (1, 2, 3, 4, 5, 17, 17),
    (1, 2, 3, 4, 5, 18, 18),
    (1, 2, 3, 4, 5, 500),
    (1, 2, 3, 4, 5, 404),
    (1, 2, 3, 4, 5, 406),
    (-99.9, 1, 2, 3, 4, 5),
    (32767, 1, 2, 3, 4, 5),
    (1, 1, 1, 1, 1, 9999),
    (5,),
    (99, 100, 101, 102, 103, 104),
    (-500, 1, 2, 3, 4, 5),
    (-11, -11, 1, 2, 3, 4, 5),
    (-12, -12, 1, 2, 3, 4, 5),
    (9.9, 1, 2, 3, 4, 5, 99.9, 999.99),
    (1, 2, 3, 4, 5, 600, 999),
    (1, 2, 3, 4, 5, -600, -999),
    (1, 2, 3, 4, 5, 600, -600, 999),
)


def test_numbers_are_suspected_of_meaning_nothing_as_before() -> None:
    shown = [f"{numbers} {said(suspects(np.array(numbers, dtype=float)))}" for numbers in NUMBERS]
    shown += tried(lambda: [said(missing_of(("-99", "9,5")).numbers)])
    shown += tried(lambda: [said(missing_of(("None",)).numbers)])
    shown += tried(lambda: [said(missing_of(("none", "5")).numbers)])
    agrees(PLACE, ORDER, "suspects", shown)


SALES: dict[str, tuple[str, dict[str, Any]]] = {
    "all": (
        sale(1) + sale(2, "150000", "E1 0AD") + sale(3, postcode="") + sale(4, postcode="ZZ9 9ZZ"),
        {},
    ),
    "segment and years": (
        sale(1)
        + sale(2, new="Y")
        + sale(3, tenure="F")
        + sale(4, kind="O", category="B")
        + sale(5, date="2017-01-02 00:00"),
        {"segment": "existing-leasehold-flats", "years": (2018,)},
    ),
    "bad rows": (
        sale(1)
        + sale(2, "0")
        + sale(3, "x")
        + sale(4, date="x")
        + sale(5, status="D")
        + sale(1, status="C", price="9")
        + sale(6, postcode="E1 9ZZ")
        + "a,b\n",
        {},
    ),
    "nothing left": (sale(1, postcode=""), {}),
    "nothing of the year": (sale(1), {"years": (1995,)}),
    "no sales": ("a,b\n1,2\n", {}),
}


@pytest.mark.parametrize("name", SALES)
def test_sales_are_loaded_as_before(name: str, tmp_path: Path) -> None:
    text, given = SALES[name]
    path, codes = tmp_path / "pp.csv", tmp_path / "codes.csv"
    path.write_bytes(text.encode())
    codes.write_bytes(POSTCODES)

    def load() -> list[str]:
        made, report = load_sales(path, codes, **given)
        return [*report.lines(), *rows(made)]

    agrees(PLACE, ORDER, f"sales: {name}", tried(load))


CODES = {
    "ONS": POSTCODES,
    "terminated": b"pcd,doterm,lat,long\nE1 0AA,202001,51.5,-0.05\nE1 0AA,,51.6,-0.06\n"
    b"E1 0AD,202001,51.7,-0.07\n",
    "Code-Point": b"".join(
        b'"%b","a","b","c","d","e","f"\n' % one
        for one in (b'E1 0AA",10,535267,"181084', b'BT1 1AA",10,1,"1', b'E1 0AD",90,0,"0')
    ),
    "swapped": b"pcds,lat,long\nE1 0AA,-0.05,51.5\n",
    "no degrees": b"pcds,lat,long\nE1 0AA,535267,181084\n",
    "degrees as metres": b"pcds,oseast1m,osnrth1m\nE1 0AA,-0.05,51.5\n",
    "no places": b"pcds,a\nE1 0AA,5\n",
    "other columns": b"a,b\n1,2\n",
    "none with a place": b"pcds,lat,long\nE1 0AA,99.999999,0\n",
}


@pytest.mark.parametrize("name", CODES)
def test_postcodes_are_loaded_as_before(name: str, tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_bytes(CODES[name])

    def load() -> list[str]:
        made, report = load_postcodes(path)
        columns = (made.keys, made.x, made.y, made.unlocated)
        return [*report.lines(), made.crs, *map(said, columns), said(made.attribution), said(made.generated)]

    agrees(PLACE, ORDER, f"postcodes: {name}", tried(load))


@pytest.mark.parametrize(("most", "cells"), [(1, None), (2, None), (1, True), (3, True)])
def test_contributions_are_bounded_as_before(most: int, cells: bool | None) -> None:
    owner = np.array([0, 0, 0, 1, 1, 2, 0, 1])
    made = Observations(
        np.arange(8.0),
        np.arange(8.0),
        "EPSG:4326",
        np.arange(8.0),
        "m",
        "reading",
        "t",
        owner=owner,
        owner_word="sensor",
        row=np.arange(8),
    )
    where = np.array([5, 5, 6, 5, 5, 5, 7, 6]) if cells else None
    found = bound_contributions(made, most, cells=where)
    agrees(PLACE, ORDER, f"contributions: {most} {cells}", [*found.lines(), *rows(found.observations)])


@pytest.mark.parametrize("changed", [False, True])
def test_the_generated_city_is_made_of_these_bytes(
    changed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_data, "_POSTCODES", 1_500)
    made = write_demo(tmp_path, changed=changed)
    packed = (made.price_paid_previous, made.price_paid, made.postcodes)
    shown = [f"{path.name} {hash_of(gzip.decompress(path.read_bytes()).decode())}" for path in packed]
    shown += [f"{path.name} {hash_of(path.read_text())}" for path in (made.region, made.districts)]
    agrees(PLACE, ORDER, f"city: {changed}", shown)


ORDER = (
    *(f"table: {name}" for name in TABLES),
    "entries",
    "suspects",
    *(f"sales: {name}" for name in SALES),
    *(f"postcodes: {name}" for name in CODES),
    *(f"contributions: {most} {cells}" for most, cells in ((1, None), (2, None), (1, True), (3, True))),
    "city: False",
    "city: True",
)


def test_nothing_is_kept_that_no_test_shows() -> None:
    assert set(recorded_lines(PLACE)) == set(ORDER)
