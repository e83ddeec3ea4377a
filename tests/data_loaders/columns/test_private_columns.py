"""Identifiers, times and owners: read where the source has them, and equal for one record everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from data_loaders import DataError, Observations, guess_columns, load_postcodes, load_sales
from data_loaders.columns.times import parse_times
from data_loaders.repeats import OwnerNumbers, as_bytes, numbered_again, record_names
from tests.data_loaders.material import (
    CANARY_PRICE,
    POSTCODES,
    load_sensors,
    reasons,
    refused,
    sale,
    sales_file,
)

TABLE = load_postcodes(POSTCODES)[0]
READINGS = b"""sample_id,station,person,when,lat,lon,value
s1, A1 ,p,2023-02-01,51.5,-0.1,3
s2,A1,q,2023-01-01 06:30,51.5,-0.1,4
s3,,p,2023-01-02,51.5,-0.1,5
s4,B2,r,soon,51.6,-0.2,6
s5,B2,r,2023-01-03,51.6,-0.2,none
s6,a1,r,2023-01-04,51.6,-0.2,8
"""


def load(data: bytes, **changes: object) -> Observations:
    given: dict[str, object] = {"value": "value", "x": "lon", "y": "lat", "unit": "ug/m3"} | changes
    return load_sensors(data, **given)[0]  # type: ignore[arg-type]


def test_sales_carry_transaction_identifier_and_date() -> None:
    lines = sale(1, date="2018-03-01 00:00"), sale(2, date="2018-12-31 00:00"), sale(" ", date="2018-05-05")
    made = load_sales(sales_file(*lines), TABLE)[0]
    assert made.identifier is not None
    assert made.time is not None
    assert made.identifier.tolist() == [
        b"00000001-0000-0000-0000-000000000000",
        b"00000002-0000-0000-0000-000000000000",
        b"",
    ]
    assert made.time.astype("M8[D]").astype(str).tolist() == ["2018-03-01", "2018-12-31", "2018-05-05"]
    assert made.owner is None


def test_sales_of_one_postcode_have_one_spot() -> None:
    lines = [sale(number, postcode=code) for number, code in enumerate(("E1 0AA", "E1 0AD", "e10aa"))]
    made = load_sales(sales_file(*lines), TABLE)[0]
    assert made.spot is not None
    assert made.spot.tolist() == [made.spot[0], made.spot[1], made.spot[0]]
    assert made.x[0] == made.x[2] != made.x[1]


def test_one_sale_has_one_identifier_in_both_formats_and_counts_once() -> None:
    """The report builder writes identifiers without braces."""
    name = "f887f88e-7d15-4415-804e-52eac2f10958"
    plain = sales_file(sale("{" + name.upper() + "}", "200000"))
    header = "unique_id,price_paid,deed_date,postcode,property_type,new_build,estate_type,district,county,"
    report = f"{header}transaction_category\n{name},300000,2018-03-01,E1 0AA,F,N,L,X,Y,A\n".encode()
    made = load_sales([plain, report], TABLE)[0]
    assert made.value.tolist() == [300000.0]
    assert made.identifier is not None
    assert made.identifier.tolist() == [name.upper().encode()]


def test_the_identifier_stays_with_its_row_through_filters_and_replacements() -> None:
    lines = (
        sale(1, "100000"),
        sale(2, "200000", kind="D"),
        sale(3, "300000"),
        sale(1, "150000", status="C"),
        sale(3, status="D"),
        sale(4, "400000", postcode="ZZ1 1ZZ"),
        sale(5, "500000", postcode="SW1A 1AA"),
    )
    made = load_sales(sales_file(*lines), TABLE, segment="existing-flats")[0]
    assert made.identifier is not None
    names = [name[:8] for name in made.identifier.tolist()]
    assert dict(zip(names, made.value.tolist(), strict=True)) == {
        b"00000001": 150000.0,
        b"00000005": 500000.0,
    }


def test_readings_carry_what_columns_are_named_for_it() -> None:
    made = load(READINGS, identifier="sample_id", time="when", person="person")
    assert made.identifier is not None
    assert made.time is not None
    assert made.owner is not None
    assert made.identifier.tolist() == [b"S1", b"S2", b"S3", b"S4", b"S6"]
    assert made.time[:3].astype(str).tolist() == [
        "2023-02-01T00:00:00",
        "2023-01-01T06:30:00",
        "2023-01-02T00:00:00",
    ]
    assert np.isnat(made.time).tolist() == [False, False, False, True, False]
    assert (made.owner.tolist(), made.owner_word, made.owners) == ([0, 1, 0, 2, 2], "person", 3)


def test_without_an_owner_column_a_reading_is_only_a_reading() -> None:
    made = load(READINGS)
    assert (made.kind, made.owner, made.owner_word, made.owners) == ("reading", None, None, None)
    assert (made.identifier, made.time) == (None, None)


def test_rows_without_an_owner_are_dropped_and_counted() -> None:
    made, report = load_sensors(READINGS, value="value", x="lon", y="lat", unit="u", sensor="station")
    assert made.owner is not None
    assert made.owner.tolist() == [0, 0, 1, 2], "blanks around a name do not count, capitals do"
    assert reasons(report) == {"value missing": 1, "sensor not named": 1}
    assert "The readings belong to 3 sensors." in report.notes


def test_an_owners_column_that_is_not_there_is_refused() -> None:
    assert "did you mean 'station'" in refused(lambda: load(READINGS, sensor="sttion"))


def test_dates_that_leave_the_order_open_are_said() -> None:
    data = b"when,lat,lon,value\n3/4/2018,51,0,1\n5/6/2018,52,0,2\n"
    made, report = load_sensors(data, value="value", x="lon", y="lat", unit="u", time="when")
    assert made.time is not None
    assert made.time.astype("M8[D]").astype(str).tolist() == ["2018-04-03", "2018-06-05"]
    assert any("(--no-day-first)" in note for note in report.notes)
    for said, months in ((True, ["2018-04", "2018-06"]), (False, ["2018-03", "2018-05"])):
        made, report = load_sensors(
            data, value="value", x="lon", y="lat", unit="u", time="when", day_first=said
        )
        assert made.time is not None
        assert made.time.astype("M8[M]").astype(str).tolist() == months
        assert not any("day first" in note for note in report.notes)


@pytest.mark.parametrize(
    ("date", "said", "word"), [("13/4/2018", False, "day"), ("4/13/2018", True, "month")]
)
def test_an_order_of_dates_that_the_dates_contradict_is_refused(date: str, said: bool, word: str) -> None:
    data = f"when,lat,lon,value\n{date},51,0,1\n5/6/2018,52,0,2\n".encode()

    def read(day_first: bool) -> str:
        made, _ = load_sensors(
            data, value="value", x="lon", y="lat", unit="u", time="when", day_first=day_first
        )
        assert made.time is not None
        return str(made.time.astype("M8[D]")[0])

    assert f"have the {word} first" in refused(lambda: read(said))
    assert read(not said) == "2018-04-13"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2018-03-01", "2018-03-01T00:00:00"),
        ("2018/3/1 4:05", "2018-03-01T04:05:00"),
        ("2018-03-01T12:30:59Z", "2018-03-01T12:30:59"),
        ("2018-03-01 12:30:59.25", "2018-03-01T12:30:59"),
        ("1.3.2018", "2018-03-01T00:00:00"),
        ("20180301", "2018-03-01T00:00:00"),
        ("2018", "2018-01-01T00:00:00"),
        ("29.2.2020", "2020-02-29T00:00:00"),
        ("29.2.2019", "NaT"),
        ("2018-13-01", "NaT"),
        ("2018-00-01", "NaT"),
        ("2018-03-00", "NaT"),
        ("2018-03-01 24:00", "NaT"),
        ("31/6/2018", "NaT"),
        ("3 March 2018", "2018-03-03T00:00:00"),
        ("05-JAN-2023", "2023-01-05T00:00:00"),
        ("05-JAN-2023 23:59:59", "2023-01-05T23:59:59"),
        ("05-JAN-2023 23:60", "NaT"),
        ("2023-05", "2023-05-01T00:00:00"),
        ("2023-Q2", "2023-04-01T00:00:00"),
        ("1683000000", "2023-05-02T04:00:00"),
        ("1683000000123", "2023-05-02T04:00:00"),
        ("45000.5", "2023-03-15T12:00:00"),
        ("240501080000", "2024-05-01T08:00:00"),
        ("200501080000", "NaT"),  # 2005 or 2020
        ("", "NaT"),
        ("201", "NaT"),
    ],
)
def test_times_as_written(written: str, read: str) -> None:
    assert str(parse_times(pa.array([written]))[0]) == read


def test_the_month_stands_first_only_where_a_date_proves_it() -> None:
    def months(*dates: str, **known: bool) -> list[str]:
        return parse_times(pa.array(dates), **known).astype("M8[M]").astype(str).tolist()

    assert months("3/14/2018", "3/15/2018", "3/4/2018") == ["2018-03"] * 3
    with pytest.raises(DataError, match="say so"):
        months("3/14/2018", "3/4/2018")  # one date alone would turn the other
    assert months("14/3/2018", "3/4/2018") == ["2018-03", "2018-04"]
    with pytest.raises(DataError, match="say so"):
        months("14/3/2018", "3/14/2018")
    assert months("14/3/2018", "3/14/2018", day_first=True) == ["2018-03", "NaT"]
    assert months("3/14/2018", "3/4/2018", day_first=True) == ["NaT", "2018-04"]


def test_identifiers_are_bounded_and_never_cut() -> None:
    long = [f"{'x' * 100}{k}" for k in range(2)]
    names = as_bytes(record_names(pa.array([*long, "a\0", "a", "é", "y" * 64])))
    assert len(set(names.tolist())) == 6
    assert names.dtype.itemsize == 64
    assert names[-1] == b"Y" * 64
    assert all(name.isascii() for name in names.tolist()), "numpy makes text of ASCII only"
    cut = as_bytes(record_names(pa.array(["a\0", "a", "b"])))
    assert [len(name) for name in cut.tolist()] == [64, 1, 1], "a zero byte at the end would be lost"


def test_owners_are_numbered_by_first_appearance() -> None:
    numbers = OwnerNumbers()
    assert numbers.of(pa.array(["b", " a", "b ", "A"])).tolist() == [0, 1, 0, 2]
    assert numbers.of(pa.array(["A", "c", "a"])).tolist() == [2, 3, 1]  # the next block of the same table
    assert numbers.of(pa.array([], pa.string())).tolist() == []
    assert numbered_again(np.array([2, 5, 2, 0])).tolist() == [0, 1, 0, 2]


def test_owners_whose_names_differ_in_writing_only_are_counted() -> None:
    numbers = OwnerNumbers()
    numbers.of(pa.array(["S1", "s1", "S 1", "S01", "07", "7", "8", "x"]))
    assert numbers.alike == 3  # "S01" is another name: its zero does not lead
    assert OwnerNumbers().alike == 0


def test_nothing_private_is_printed() -> None:
    made = load_sales(sales_file(sale(1, CANARY_PRICE)), TABLE)[0]
    assert repr(made) == "Observations(1 x sale, crs=EPSG:4326, unit='GBP')"


def test_taking_rows_takes_all_columns() -> None:
    made = load(READINGS, identifier="sample_id", time="when", person="person")
    part = made.take([3, 0])
    assert part.identifier is not None
    assert part.time is not None
    assert part.owner is not None
    assert part.identifier.tolist() == [b"S4", b"S1"]
    assert part.owner.tolist() == [2, 0]
    assert part.value.tolist() == [6.0, 3.0]
    spots = replace(made, spot=np.arange(7, 7 + made.size, dtype=np.int32)).take([3, 0]).spot
    assert spots is not None
    assert spots.tolist() == [10, 7]
    assert np.isnat(part.time[0])
    assert made.take(made.value > 5).size == 2
    with pytest.raises(DataError, match="no observations"):
        made.take(made.value > 99)


def observations(**changes: object) -> Observations:
    given: dict[str, object] = {
        "x": [0.0, 1.0],
        "y": [0.0, 1.0],
        "crs": "EPSG:4326",
        "value": [1.0, 2.0],
        "unit": "u",
        "kind": "reading",
        "title": "t",
    } | changes
    return Observations(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"kind": "sensor"}, "kind 'sale' or 'reading'"),
        ({"owner": [0, 1]}, "belong together"),
        ({"owner_word": "sensor"}, "belong together"),
        ({"owner": [0, 1], "owner_word": "cell"}, "'sensor' or a 'person'"),
        ({"owner": [0, -1], "owner_word": "sensor"}, "needs its owner"),
        ({"owner": [0], "owner_word": "sensor"}, "one length"),
        ({"identifier": [b"a"]}, "one length"),
        ({"time": ["2018-01-01"]}, "one length"),
    ],
)
def test_invalid_observations_do_not_exist(changes: dict[str, object], word: str) -> None:
    with pytest.raises(DataError, match=word):
        observations(**changes)


def test_columns_cannot_be_changed_from_outside() -> None:
    owner = np.array([0, 1])
    made = observations(owner=owner, owner_word="sensor", identifier=[b"a", b"b"], time=["2018", "2019"])
    owner[0] = 5
    assert made.owner is not None
    assert made.owner.tolist() == [0, 1]
    for column in (made.x, made.identifier, made.time, made.owner):
        assert column is not None
        assert not column.flags.writeable


@pytest.mark.parametrize(
    ("header", "owner", "word"),
    [
        ("SiteCode,lat,lon,value", "SiteCode", "sensor"),
        ("station,lat,lon,value", "station", "sensor"),
        ("device_id,lat,lon,value", "device_id", "sensor"),
        ("Sensor ID,lat,lon,value", "Sensor ID", "sensor"),
        ("participant,lat,lon,value", "participant", "person"),
        ("site,user_id,lat,lon,value", "user_id", "person"),
        ("sitetype,lat,lon,value", None, None),
        ("species,lat,lon,value", None, None),
    ],
)
def test_the_owner_is_guessed_and_asked_about(header: str, owner: str | None, word: str | None) -> None:
    fill = ["a", "b"][: header.count(",") - 2]
    rows = "".join(",".join([*fill, "51.5", f"0.{k}", "3"]) + "\n" for k in range(5))
    guess = guess_columns(f"{header}\n{rows}".encode())
    assert (guess.owner, guess.owner_word) == (owner, word)
    assert guess.question.startswith(
        f"Does column {owner!r} name the {word}" if owner else "Does a column name"
    )
    assert "each reading is protected on its own" in guess.question.replace("\n", " ")
    if owner:
        assert "(1 different in the first 5 rows)" in guess.question


def test_identifier_and_time_are_guessed() -> None:
    guess = guess_columns(READINGS)
    assert (guess.identifier, guess.time, guess.owner) == ("sample_id", "when", "person")
    repeated = READINGS.replace(b"s2,", b"s1,")
    assert guess_columns(repeated).identifier is None, "a name that two rows share names neither"


@pytest.mark.parametrize(
    ("entries", "seconds"),
    [
        (["1970-01-02 00:01", "1970-01-01 00:00"], [86_460, 0]),
        (["1970-01-02 00:01", "1970-01-01"], [86_460, 0]),
        (["1970-01-02 00:01", "1970-01-01T01+02"], [86_460, 0]),  # no clock that is known: the day alone
        (["1970-01-02 00:01", "1970-01-01 00:61"], [86_460, None]),
    ],
)
def test_times_of_sixteen_letters_read_as_others_do(entries: list[str], seconds: list[int | None]) -> None:
    found = parse_times(pa.array(entries, pa.string()), day_first=True)
    assert [None if np.isnat(time) else int(time.astype(np.int64)) for time in found] == seconds


def test_a_name_of_ascii_is_the_same_beside_one_that_is_not() -> None:
    plain = record_names(pa.array([" {a-1}\n", "b", ""], pa.string())).to_pylist()
    assert plain == ["A-1", "B", ""]
    assert record_names(pa.array([" {a-1}\n", "b", "", "\u00e9"], pa.string())).to_pylist()[:3] == plain
