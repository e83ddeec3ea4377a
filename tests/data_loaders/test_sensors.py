"""Sensor tables: separators, marks, filters, coordinate systems, and the guesses a person confirms."""

from __future__ import annotations

import numpy as np
import pytest

from data_loaders import guess_columns
from data_loaders.observations import LoadReport, Observations
from tests.data_loaders.material import (
    CANARY_PRICE,
    load_sensors,
    packed,
    packed_zip,
    reasons,
    refused,
    sale,
    sales_file,
)

AIR = (
    "site,lat,lon,species,year,value\n"
    "A,51.5,-0.1,NO2,2023,31.5\n"
    "B,51.6,-0.2,NO2,2023,\n"
    "C,51.7,-0.3,NO2,2022,20\n"
    "D,51.8,-0.4,PM10,2023,18\n"
    "E,,-0.4,NO2,2023,18\n"
    "F,51.4,-0.5,NO2,2023,broken\n"
    "G,51.3,x,NO2,2023,19\n"
    "H,51.2,-0.6,NO2,2023,-9999\n"
    "I,151.2,-0.6,NO2,2023,17\n"
    "J,51.1,-0.7,NO2,2023,17,9\n"
    "K,51.0,-0.8,NO2,2023.0,16\n"
)


def load(data: str | bytes, **changes: object) -> tuple[Observations, LoadReport]:
    given: dict[str, object] = {"value": "value", "x": "lon", "y": "lat", "unit": "ug/m3"} | changes
    raw = data.encode() if isinstance(data, str) else data
    return load_sensors(raw, **given)  # type: ignore[arg-type]


def test_rows_are_filtered_and_dropped_by_reason() -> None:
    made, report = load(AIR, where={"species": "NO2", "year": 2023})
    assert made.value.tolist() == [31.5, 16.0]
    assert (made.x.tolist(), made.y.tolist()) == ([-0.1, -0.8], [51.5, 51.0])
    assert (made.unit, made.kind, made.crs, made.title) == ("ug/m3", "reading", "EPSG:4326", "value (ug/m3)")
    assert report.rows_read == 11
    assert reasons(report) == {
        "wrong number of columns": 1,
        "species is not NO2": 1,
        "year is not 2023": 1,
        "coordinate missing": 1,
        "coordinate is not a number": 1,
        "value missing": 2,
        "value is not a number": 1,
        "coordinates outside the range of longitude and latitude": 1,
    }


def test_a_filter_may_list_several_values() -> None:
    assert load(AIR, where={"species": ["NO2", "PM10"], "year": "2023"})[0].size == 3


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_sniffed_and_said(delimiter: str) -> None:
    data = "site,lat,lon,value\nÉcole,51.5,-0.1,3.5\nB,51.6,-0.2,4.5\n".replace(",", delimiter)
    said = {"utf-8": "utf-8.", "utf-8-sig": "utf-8.", "cp1252": "utf-8, other bytes as windows-1252."}
    for encoding, words in said.items():
        made, report = load(packed(data.encode(encoding)))
        assert made.value.tolist() == [3.5, 4.5]
        assert f"encoding {words}" in report.notes[0]
        assert "decimal point" in report.notes[0]


def test_decimal_commas_and_thousands() -> None:
    made, report = load("lat;lon;value\n51,5;-0,1;1.234,5\n51,6;-0,2;7\n")
    assert made.value.tolist() == [1234.5, 7.0]
    assert "decimal comma" in report.notes[0]
    assert any("1 numbers were written with thousands" in note for note in report.notes)
    more = 'lat,lon,value\n51.5,-0.1,"1,234"\n51.6,-0.2,12.5\n51.7,-0.3,0.5\n'
    assert load(more)[0].value.tolist() == [1234.0, 12.5, 0.5]


def test_an_open_decimal_mark_is_asked_for() -> None:
    data = "lat;lon;value\n51;1;1,234\n52;2;5,678\n"
    assert "decimal mark" in refused(lambda: load(data))
    assert load(data, decimal=",")[0].value.tolist() == [1.234, 5.678]
    assert load(data, decimal=".")[0].value.tolist() == [1234.0, 5678.0]


def test_projected_coordinates_need_their_code() -> None:
    data = "x,y,lead\n181072,333611,299\n181025,333558,277\n"
    made, _ = load(data, value="lead", x="x", y="y", unit="mg/kg", crs=28992)
    assert made.crs == "EPSG:28992"
    said = refused(lambda: load(data, value="lead", x="x", y="y"))
    assert "set the EPSG code" in said
    assert "EPSG:4326" in refused(lambda: load(AIR, crs="EPSG:27700", where={"year": 2023}))


def test_swapped_columns_are_refused() -> None:
    assert "exchange" in refused(lambda: load(AIR, x="lat", y="lon"))
    far = "a,b,value\n51.5,-120,1\n52.5,-121,2\n"
    assert "exchange" in refused(lambda: load(far, x="a", y="b"))
    np.testing.assert_array_equal(load(far, x="b", y="a")[0].x, [-120.0, -121.0])


def test_repeated_places_are_said() -> None:
    _, report = load("lat,lon,value\n51,0,1\n51,0,2\n52,0,3\n")
    assert any("1 row shares its" in note and "keep the rows of one" in note for note in report.notes)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"value": "vallue"}, "did you mean 'value'"),
        ({"x": "east"}, "no column 'east': name one of its header."),
        ({"where": {"specie": "NO2"}}, "did you mean 'species'"),
        ({"where": {"species": "SO2"}}, "'species'"),
        ({"value": "site"}, "a number in 'site'"),
        ({"unit": " "}, "`value_unit` (--value-unit)"),
        ({"crs": "degrees"}, "EPSG"),
        ({"decimal": "x"}, "decimal"),
        ({"x": "lat"}, "both coordinates"),
        ({"value": "lat"}, "for two things"),
        ({"place_sd": "value"}, "for two things"),
    ],
)
def test_unusable_settings_are_refused(changes: dict[str, object], word: str) -> None:
    assert word in refused(lambda: load(AIR, **changes))


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ("", "empty"),
        ("lat,lon,value\n", "no rows"),
        ("51.5,-0.1,3\n51.6,-0.2,4\n", "numbers in its first row"),
        ("value\n3\n", "single column"),
        ("lat,lon,value,value\n1,2,3,4\n", "more than one column"),
        ("lat,lon,value\n,,\n", "most were dropped as: coordinate missing"),
        ("lat,lon,value\n51,5,yes\n52,4,no\n", "not a number; write answers as 1 for yes and 0 for no"),
        ("lat,lon,value\n51,5,12%\n52,4,12 %\n", "as: value has a percent sign: state % as its unit"),
        ("lat,lon,value\n51,5,(12)\n52,4,(1.5)\n", "as: value is in brackets: write -12 or 12 for (12)"),
        ("PK\x03\x04", "damaged"),
    ],
)
def test_unusable_tables_are_refused(data: str, word: str) -> None:
    assert word in refused(lambda: load(data))


def test_numbers_and_years_that_are_written_otherwise_are_told_apart() -> None:
    """Two of five values are read; of three dates those with two digits are unknown, and a blank is blank."""
    rows = ("12%,01/02/18", "(3),2018-02-01", "x,", "4,01/02/18", "5,")
    lines = (f"{51 + k},5,{row}" for k, row in enumerate(rows))
    found, report = load("\n".join(["lat,lon,value,day", *lines]), time="day")
    assert found.value.tolist() == [4.0, 5.0]
    assert dict(report.dropped) == {
        "value has a percent sign: state % as its unit": 1,
        "value is in brackets: write -12 or 12 for (12)": 1,
        "value is not a number": 1,
    }
    (told,) = (note for note in report.notes if "time" in note)
    assert told.startswith("1 time could not be read, 1 like `9/9/9`: write years with four digits")


def test_sales_handed_in_as_sensors_are_refused_without_showing_them() -> None:
    data = sales_file(sale(1, CANARY_PRICE, "ZE1 0QQ"), sale(2, CANARY_PRICE, "ZE1 0QQ"))
    assert "load it as sales" in refused(lambda: load(data))
    assert "load it as sales" in refused(lambda: guess_columns(data))


def test_guesses_for_degrees() -> None:
    guess = guess_columns(AIR.encode())
    assert (guess.x, guess.y, guess.crs, guess.value) == ("lon", "lat", "EPSG:4326", "value")
    assert guess.unit is None
    assert "year" in guess.numeric
    assert any("unit" in reason for reason in guess.reasons)
    assert (guess.specification.delimiter, guess.decimal) == (",", ".")


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        (
            "Site;Easting;Northing;NO2 (µg/m³)",
            "A;535267;181084;31,5",
            ("Easting", "Northing", "EPSG:27700", "µg/m³"),
        ),
        ("id,x,y,lead_mg_kg", "7,181072,333611,299.5", ("x", "y", None, "mg/kg")),
        (
            "start latitude,start longitude,pm25_ugm3",
            "40.7,-74.0,7.5",
            ("start longitude", "start latitude", "EPSG:4326", "ug/m3"),
        ),
        ("x,y,level", "12.5,41.9,60", ("x", "y", None, None)),
        ("put;y_rd;x_rd;lood (mg/kg)", "A;487000,5;121000,5;80", ("x_rd", "y_rd", "EPSG:28992", "mg/kg")),
        ("RDX,RDY,no2 (ppb)", "121000,487000,20", ("RDX", "RDY", "EPSG:28992", "ppb")),
        ("x rd,y rd,no2 (ppb)", "121000,87000,20", ("x rd", "y rd", None, "ppb")),
        ("NO_x,y_rd,ppm", "20,487000,1", (None, None, None, "ppm")),
        ("town,height", "Rome,170.5", (None, None, None, None)),
    ],
)
def test_guesses(header: str, row: str, expected: tuple[str | None, ...]) -> None:
    guess = guess_columns(f"{header}\n{row}\n{row}\n".encode())
    assert (guess.x, guess.y, guess.crs, guess.unit) == expected
    assert guess.reasons


def test_a_deviation_of_the_place_is_no_value() -> None:
    """The tables that the trace command writes."""
    guess = guess_columns(b"lon,lat,sd_m,no2,h3,probability\n13.4,52.5,60.1,21,881f1d4881fffff,0.6\n")
    assert (guess.x, guess.y, guess.value) == ("lon", "lat", "no2")


def test_a_table_without_numbers_to_map_says_so() -> None:
    guess = guess_columns(b"lon,lat,lead\n13.4,52.5,n/a\n13.5,52.6,n/a\n")
    assert guess.value is None
    assert "No column looks like measured numbers" in " ".join(guess.reasons)
    assert "measured numbers" not in " ".join(guess_columns(b"lon,lat,lead\n13.4,52.5,7\n").reasons)


def test_a_column_with_percent_signs_is_proposed_as_per_cent() -> None:
    guess = guess_columns(b"lon,lat,share\n13.4,52.5,12 %\n13.5,52.6,7.5%\n13.6,52.6,\n")
    assert (guess.value, guess.unit) == ("share", "%")
    assert "Its numbers have a percent sign, so they are per cent." in guess.reasons
    plain = guess_columns(b"lon,lat,share,note\n13.4,52.5,12,5 % off\n13.5,52.6,7.5,%\n")
    assert "percent" not in " ".join(plain.reasons)


def test_columns_that_may_filter_are_offered() -> None:
    rows = "".join(f"5{i % 2}.5,0.{i},{'NO2' if i % 2 else 'O3'},{2020 + i % 3},{i}.5\n" for i in range(20))
    choices = dict(guess_columns(f"lat,lon,species,year,value\n{rows}".encode()).choices)
    assert choices == {"species": ("NO2", "O3"), "year": ("2020", "2021", "2022")}


@pytest.mark.parametrize(("last", "unit"), [("0", "%"), ("2", None)])
def test_ones_and_zeros_may_be_answers(last: str, unit: str | None) -> None:
    guess = guess_columns(f"lon,lat,value\n13.4,52.5,1\n13.5,52.6,{last}\n".encode())
    assert (guess.value, guess.unit) == ("value", unit)
    assert guess.answers == ("asks for a share of yes" in " ".join(guess.reasons)) == (unit == "%")


@pytest.mark.parametrize("crs", ["EPSG:7844", "EPSG:6318", "EPSG:4203"])
def test_degrees_of_any_geographic_system_are_degrees(crs: str) -> None:
    """GDA2020 has the code 7844: codes of geographic systems are not all between 4000 and 4999."""
    made, report = load("lat,lon,value\n-33.8,151.2,20\n-33.9,151.1,30\n-99,151.1,30\n", crs=crs)
    assert (made.crs, made.y.tolist()) == (crs, [-33.8, -33.9])
    assert report.dropped == (("coordinates outside the range of longitude and latitude", 1),)
    metres = "lat,lon,value\n6250941,334369,20\n6250942,334370,30\n"
    assert "are not degrees but projected" in refused(lambda: load(metres, crs=crs))


@pytest.mark.parametrize("crs", ["EPSG:4647", "EPSG:4499", "ESRI:102100"])
def test_degrees_in_a_projected_system_are_refused_whatever_its_code(crs: str) -> None:
    text = "lat,lon,value\n53.5,10.0,20\n53.6,10.1,30\n"
    assert f"look like degrees, not like {crs}" in refused(lambda: load(text, crs=crs))
    metres = "lat,lon,value\n5934000,32566000,20\n5934100,32566100,30\n"
    assert load(metres, crs=crs)[0].size == 2


def test_a_system_of_grads_and_an_unknown_code_are_not_judged_here() -> None:
    for crs in ("EPSG:4807", "EPSG:99999"):
        assert load("y,x,value\n54.3,2.5,20\n", crs=crs, x="x", y="y")[0].crs == crs


@pytest.mark.parametrize(("read", "found"), [(4, "date"), (3, None)])
def test_a_column_of_times_may_hold_one_in_five_that_cannot_be_read(read: int, found: str | None) -> None:
    rows = [f"A,51.{day},0.1,2,{f'2024-01-1{day}' if day < read else 'soon'}" for day in range(5)]
    assert guess_columns("\n".join(["site,lat,lon,value,date", *rows]).encode()).time == found


def test_the_report_names_the_tables_of_an_archive_that_were_read_as_one() -> None:
    rows = b"lat,lon,value\n51.5,-0.1,20\n"
    said = load(packed_zip({"b.csv": rows, "a.csv": rows}))[1].notes
    assert said[0] == "2 tables were read as one: a.csv, b.csv."
    many = packed_zip({f"{day:02}.csv": rows for day in range(12)})
    assert load(many)[1].notes[0] == (
        "12 tables were read as one: 00.csv, 01.csv, 02.csv, 03.csv, 04.csv, 05.csv, 06.csv, 07.csv, 08.csv, "
        "09.csv and 2 more."
    )
    assert not any("read as one" in note for note in load(packed_zip({"a.csv": rows}))[1].notes)
