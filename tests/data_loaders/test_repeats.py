"""A record counts once, however often it is listed: in tables, sales, points, and what other loaders read."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_loaders import LOADERS, DataError, Loader, LoadReport, Observations, load_sales
from data_loaders.house_prices.postcodes import load_postcodes
from data_loaders.repeats import LISTED_AGAIN, bits_of, clashes_dropped, find_repeats, hashed_names, mixed
from hexcursion.project.load import load_source
from hexcursion.settings.data_settings import SourceSettings
from tests.data_loaders.material import load_sensors, reasons, refused, sale, sales_file

ROWS = ("S1,-0.1,51.5,20,2024-01-01", "S2,-0.1,51.5,20,2024-01-02", "S3,-0.2,51.5,21,2024-01-01")
EQUAL, EQUAL_TIMED = (
    "equal to an earlier row in place and value",
    "equal to an earlier row in place, value and time",
)


def load(*rows: str, **columns: str) -> tuple[Observations, LoadReport]:
    table = "\n".join(("sample,lon,lat,value,time", *rows, ""))
    return load_sensors(table.encode(), value="value", x="lon", y="lat", unit="mg/kg", **columns)


def test_a_sample_that_is_listed_three_times_is_one_record() -> None:
    made, report = load(*ROWS, *ROWS, *ROWS, identifier="sample", time="time")
    assert (made.size, report.rows_read, reasons(report)) == (3, 9, {LISTED_AGAIN: 6})
    assert made.identifier is not None
    assert made.identifier.tolist() == [b"S1", b"S2", b"S3"]


def test_equal_rows_without_an_identifier_are_one_record() -> None:
    made, report = load(*ROWS, *ROWS, time="time")
    assert (made.size, reasons(report)) == (3, {EQUAL_TIMED: 3})
    assert any("name the column of an identifier if they are different ones" in note for note in report.notes)
    untimed, report = load(*ROWS)
    assert (untimed.size, reasons(report)) == (2, {EQUAL: 1})
    assert any("name the column of their time, or an identifier, if" in note for note in report.notes)


def test_equal_rows_are_records_of_their_own_where_that_is_said() -> None:
    blank = [row[2:] for row in ROWS]
    made, report = load(*ROWS, *ROWS, equal_rows="each")
    assert (made.size, reasons(report)) == (6, {})
    assert "Each of 4 rows that equal an earlier one is a record, as was said." in report.notes
    named = (*blank, *blank, ROWS[0], ROWS[0])
    made, report = load(*named, identifier="sample", time="time", equal_rows="each")
    assert (made.size, reasons(report)) == (7, {LISTED_AGAIN: 1})


def test_equal_answers_are_asked_about() -> None:
    """Two wells in one building are equal in place and answer: nothing tells whether one is listed twice."""
    rows = ("S1,-0.1,51.5,1,2024-01-01", "S2,-0.1,51.5,1,2024-01-02", "S3,-0.2,51.5,0,2024-01-01")
    message = refused(lambda: load(*rows))
    assert message.startswith("1 row of")
    assert "--equal-rows each, or once" in message
    made, report = load(*rows, equal_rows="each")
    assert made.size == 3
    assert "1 row that equals an earlier one is a record, as was said." in report.notes
    assert load(*rows, equal_rows="once")[0].size == 2
    assert load(*rows, time="time")[0].size == 3
    assert load(rows[0], rows[2])[0].size == 2
    counted = b"lon,lat\n1,51\n1,51\n2,51\n"
    assert "--equal-rows" in refused(lambda: load_sensors(counted, value=None, x="lon", y="lat", unit=""))


def test_equal_rows_of_one_month_and_equal_answers_of_one_day_are_asked_about() -> None:
    def of(values: str, time: str) -> bytes:
        rows = [f"0.1,51.5,{value},{time}" for value in values.split()]
        return "\n".join(["lon,lat,v,when", *rows, f"0.2,51.5,7.5,{time}"]).encode()

    said_of: dict[str, Any] = {"value": "v", "unit": "u", "x": "lon", "y": "lat", "time": "when"}
    for month in ("2023-05", "2023-Q2", "2023"):
        data = of("7 7", month)
        assert "`equal_rows`" in refused(lambda data=data: load_sensors(data, **said_of))  # type: ignore[misc]
        assert load_sensors(data, **said_of, equal_rows="each")[0].size == 3
        assert load_sensors(of("7 8", month), **said_of)[0].size == 3
    assert load_sensors(of("7 7", "2023-05-01"), **said_of)[0].size == 2, "one measurement, listed twice"
    cases = b"lon,lat,when\n0.1,51.5,2023-05-01\n0.1,51.5,2023-05-01\n0.2,51.5,2023-05-01\n"
    assert "2 rows" not in (said := refused(lambda: load_sensors(cases, **{**said_of, "value": None})))
    assert "1 row of the table equals an earlier one" in said


@pytest.mark.parametrize(
    ("one", "other", "records"),
    [
        ("1. Mai 2023 12 Uhr", "1. Mai 2023 13 Uhr", 2), ("1. Mai 2023 12:00", "1. Mai 2023 12:00:00", 1),
        ("2023-05-01 early", "2023-05-01 late", 2), ("2023-05-01/2023-05-02", "2023-05-01/2023-05-03", 2),
        ("2023-10-29T02:30:00+02:00", "2023-10-29T02:30:00+01:00", 2),
        ("2023-05-01 12:00:00.25", "2023-05-01 12:00:00.75", 2),
        ("2023-05-01T12:00:00Z", "2023-05-01 12:00", 1), ("3/14/2023 1:05 PM", "3/14/2023 13:05", 1),
        ("2023-05-01 12", "2023-05-01 13", 2), ("20240501T0800", "20240501080000", 1),
    ],
)  # fmt: skip
def test_what_stands_behind_a_time_tells_records_apart(one: str, other: str, records: int) -> None:
    data = f"lon,lat,v,when\n0.1,51.5,7.5,{one}\n0.1,51.5,7.5,{other}\n"
    made, _ = load_sensors(data.encode(), value="v", unit="u", x="lon", y="lat", time="when", day_first=False)
    assert made.size == records


def test_rows_of_two_owners_or_two_names_are_two_records() -> None:
    assert load(*ROWS, identifier="sample")[0].size == 3
    assert load(*ROWS, sensor="sample")[0].size == 3


def test_a_blank_identifier_names_nothing() -> None:
    blank = [row[2:] for row in ROWS]
    made, report = load(*blank, *blank, ROWS[0], ROWS[0], identifier="sample", time="time")
    assert (made.size, reasons(report)) == (4, {LISTED_AGAIN: 1, EQUAL_TIMED: 3})


@pytest.mark.parametrize(
    "other",
    [
        "S1,-0.1,51.5,21,2024-01-01",
        "S1,-0.1,51.6,20,2024-01-01",
        "S1,-0.2,51.5,20,2024-01-01",
        "S1,-0.1,51.5,20,2024-01-02",
    ],
    ids=["value", "latitude", "longitude", "time"],
)
def test_rows_that_differ_under_one_identifier_are_refused(other: str) -> None:
    message = refused(lambda: load(*ROWS, other, identifier="sample", time="time"))
    assert "--owner" in message
    assert "leave the identifier out" in message
    assert "S1" not in message


def test_an_identifier_is_one_whatever_its_braces_and_letters() -> None:
    assert load(*ROWS, "{s1},-0.1,51.5,20,2024-01-01", identifier="sample", time="time")[0].size == 3


def test_equal_sales_without_an_identifier_are_one_sale() -> None:
    table = load_postcodes(b"pcds,lat,long\nAA1 1AA,51.5,-0.1\n")[0]
    row = sale("", "100", postcode="AA1 1AA")
    made, report = load_sales(sales_file(row, row, sale("", "200", postcode="AA1 1AA"), row), table)
    assert made.value.tolist() == [200.0, 100.0]
    assert reasons(report) == {
        "equal to another row in place, price and date, without a transaction identifier": 2
    }


def test_points_of_a_layer_are_records_too(tmp_path: Path) -> None:
    point = {"type": "Point", "coordinates": [-0.1, 51.5]}
    feature = {"type": "Feature", "geometry": point, "properties": {"value": 3.5, "sample": "S1"}}
    place = tmp_path / "points.geojson"
    place.write_text(json.dumps({"type": "FeatureCollection", "features": [feature] * 4}))
    for identifier in (None, "sample"):
        made, report = load_sensors(place, value="value", unit="mg/kg", identifier=identifier)
        assert (made.size, report.rows_dropped) == (1, 3)


def test_what_another_loader_lists_twice_is_left_out_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(said: object, unit: str, owner: str | None) -> tuple[Observations, LoadReport]:
        found = Observations([0.1, 0.2, 0.1], [51.0] * 3, "EPSG:4326", [1.0] * 3, "m", "reading", "triples")
        return found, LoadReport("triples", 4, 3, (("no number", 1),))

    monkeypatch.setitem(LOADERS, "triples", Loader("triples", "triples", read))
    (tmp_path / "a.txt").write_text("")
    made, report = load_source(SourceSettings(str(tmp_path / "a.txt"), loader="triples"))
    assert made.x.tolist() == [0.1, 0.2]
    assert (report.kept, report.dropped) == (2, (("no number", 1), (EQUAL, 1)))


# Neighbours stay neighbours

RECORDS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([b"", b"A", b"B"])), max_size=9
)


def _set(rows: list[tuple[int, int, bytes]]) -> set[tuple[int, int, bytes]]:
    """The records that are kept of some rows; of an identifier that names two the first value counts."""
    known: dict[bytes, tuple[int, int, bytes]] = {}
    rows = [known.setdefault(row[2], row) if row[2] else row for row in rows]
    x, value = (np.array([row[at] for row in rows], dtype=float) for at in (0, 1))
    names = np.array([row[2] for row in rows], dtype="S1")
    kept = find_repeats({"x": x, "y": 0 * x, "value": value, "identifier": names}).kept
    chosen = [row for row, one in zip(rows, kept, strict=True) if one]
    assert len(chosen) == len(set(chosen))
    assert set(chosen) == set(rows)
    return set(chosen)


@given(
    RECORDS, st.tuples(st.integers(0, 3), st.integers(0, 3)), st.tuples(st.integers(0, 3), st.integers(0, 3))
)
def test_one_row_exchanged_exchanges_one_record_at_most(
    others: list[tuple[int, int, bytes]], one: tuple[int, int], two: tuple[int, int]
) -> None:
    """Lemma 2 of docs/proofs/owners.md."""
    first, second = _set([*others, (*one, b"C")]), _set([*others, (*two, b"D")])
    assert (len(first - second), len(second - first)) == (1, 1), "records that were named apart"
    first, second = _set([*others, (*one, b"")]), _set([*others, (*two, b"")])
    assert len(first - second) <= 1
    assert len(second - first) <= 1


def _left(rows: list[tuple[int, int, bytes]]) -> set[tuple[int, int, bytes]]:
    """The records that are kept where rows that differ under one identifier are left out."""
    x, value = (np.array([row[at] for row in rows], dtype=float) for at in (0, 1))
    names = np.array([row[2] for row in rows], dtype="S1")
    with clashes_dropped(True):
        found = find_repeats({"x": x, "y": 0 * x, "value": value, "identifier": names})
    assert sum(count for _, count in found.reasons) == len(rows) - found.kept.sum()
    return {row for row, one in zip(rows, found.kept, strict=True) if one}


@given(RECORDS, st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([b"", b"A", b"B"])))
def test_one_row_more_is_one_record_more_or_one_less(
    others: list[tuple[int, int, bytes]], one: tuple[int, int, bytes]
) -> None:
    """Lemma 2 where the number of records is hidden: nothing is refused, and nothing is exchanged."""
    first, second = _left(others), _left([one, *others])
    assert len(first ^ second) <= 1
    assert _left([*others, one]) == second
    for row in first:
        assert len({(x, value) for x, value, name in others if name == row[2]}) == 1 or row[2] == b""


def test_a_name_has_one_hash_beside_longer_ones() -> None:
    alone = hashed_names(np.array([b"S1"]))
    beside = hashed_names(np.array([b"S1", b"A" * 64]))
    assert alone[0] == beside[0] != beside[1]


def test_a_negative_zero_is_a_zero() -> None:
    x = np.array([0.0, -0.0])
    assert find_repeats({"x": x, "y": x, "value": x}).kept.tolist() == [True, False]


def test_rows_are_numbered_as_they_stand_in_the_file() -> None:
    made, _ = load(*ROWS, where={"sample": ["S2", "S3"]})  # type: ignore[arg-type]
    assert made.row is not None
    assert made.row.tolist() == [1, 2]
    assert dataclasses.replace(made, row=None).row is None
    with pytest.raises(DataError):
        dataclasses.replace(made, row=[1])


def test_nobody_can_choose_two_rows_that_collide() -> None:
    """Hashes that begin alike everywhere let a row be made for any other one that is taken for it."""
    first = np.array([[100.0, 200.0, 5.0]])
    inner = mixed(np.zeros(1, np.uint64), *(bits_of(column) for column in first.T[:2]))
    for x in range(300, 2_000):  # a row whose last number makes the hash of the first, if it is one
        other = mixed(np.zeros(1, np.uint64), bits_of(np.array([float(x)])), bits_of(np.array([400.0])))
        value = (inner ^ other ^ bits_of(first[:, 2])).view(np.float64)[0]
        if np.isfinite(value) and 1e-3 < abs(value) < 1e9:
            break
    columns = {"x": np.array([100.0, x]), "y": np.array([200.0, 400.0]), "value": np.array([5.0, value])}
    zero = [mixed(np.zeros(2, np.uint64), *(bits_of(column) for column in columns.values()))]
    assert zero[0][0] == zero[0][1], "so it would be with a public beginning"
    assert find_repeats(columns).kept.tolist() == [True, True]
