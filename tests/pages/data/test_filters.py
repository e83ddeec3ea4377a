"""Filters of the Data screen: any number, each with counts over the whole file, for the reference as well."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from pages.data.row_filters import filter_words, with_shared
from tests.pages.conftest import press
from tests.pages.data.test_owners import of, with_table, work_of

ROWS = [
    f"{2.1 + at / 100:.2f},54.70,{20 + at},{2022 + at % 2},{('no2', 'o3')[at // 6 % 2]}" for at in range(24)
]


def test_rows_of_two_filters_and_an_earlier_year_of_the_same_file(open_app: Callable[..., AppTest]) -> None:
    app = with_table(open_app, data="\n".join(["lon,lat,level,year,species", *ROWS]).encode())
    of(app, "sensors_unit_", "text_input").set_value("ug/m3").run()  # type: ignore[attr-defined]
    ours, theirs = (one for one in app.multiselect if "_where_" in one.key)
    theirs.set_value(["year"])
    ours.set_value(["year", "species"]).run()
    [year] = [one for one in app.multiselect if one.key == f"{ours.key}_year"]
    assert year.options == ["2022 (12)", "2023 (12)"]
    year.set_value(["2023"]).run()
    [species] = [one for one in app.multiselect if one.key == f"{ours.key}_species"]
    assert species.options == ["no2 (6)", "o3 (6)"]
    species.set_value(["o3"]).run()
    assert [one.value for one in app.caption if "rows pass" in one.value] == ["6 of 24 rows pass."]
    [earlier] = [one for one in app.multiselect if one.key == f"{theirs.key}_year"]
    earlier.set_value(["2022"]).run()
    assert [one.value for one in app.caption if one.value.startswith("As for the private")] == [
        "As for the private data, species is o3."
    ]
    press(app, "Read the data")
    data, reference = work_of(app).choices["data"], work_of(app).choices["reference"]
    assert dict(data.where) == {"year": "2023", "species": "o3"}
    assert dict(reference.where) == {"year": "2022", "species": "o3"}
    assert (work_of(app).private.size, work_of(app).reference.size) == (6, 6)


def test_reference_data_take_over_what_keeps_them_alike_and_no_more() -> None:
    private = (("year", "2023"), ("species", "o3"))
    assert with_shared(private, (), None) == ()  # no reference data are asked for
    assert with_shared(private, (("year", "2022"),), None) == (("year", "2022"), ("species", "o3"))
    assert with_shared(private, (), "species") == (("species", "o3"),)  # another file
    assert with_shared(private, (), "") == ()
    assert with_shared(None, (), "species") == ()
    assert with_shared(private, None, None) is None  # an entry is still open


def test_several_years_against_several_earlier_ones(open_app: Callable[..., AppTest]) -> None:
    rows = [f"{2.1 + at / 100:.2f},54.70,{20 + at},{2006 + at % 5}" for at in range(20)]
    app = with_table(open_app, data="\n".join(["lon,lat,level,year", *rows]).encode())
    of(app, "sensors_unit_", "text_input").set_value("ug/m3").run()  # type: ignore[attr-defined]
    ours, theirs = (one for one in app.multiselect if "_where_" in one.key)
    ours.set_value(["year"])
    theirs.set_value(["year"]).run()
    for key, years in ((ours.key, ["2009", "2010"]), (theirs.key, ["2006", "2007"])):
        [entries] = [one for one in app.multiselect if one.key == f"{key}_year"]
        entries.set_value(years).run()
    assert [one.value for one in app.caption if "rows pass" in one.value] == ["8 of 20 rows pass."] * 2
    press(app, "Read the data")
    data, reference = work_of(app).choices["data"], work_of(app).choices["reference"]
    assert data.where == (("year", "2009"), ("year", "2010"))
    assert reference.where == (("year", "2006"), ("year", "2007"))
    assert (work_of(app).private.size, work_of(app).reference.size) == (8, 8)


def test_filters_are_said_by_column() -> None:
    assert filter_words((("year", "2009"), ("kind", "a"), ("year", "2010"))) == (
        "year is 2009 or 2010 and kind is a"
    )
