"""What the step Data asks of files and columns, what it says is missing, and the settings that it makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hexcursion.settings.data_settings import SourceSettings
from pages.data import own_table, row_filters, sources, table_columns
from pages.data.sources import Sources
from pages.shared.session.previews import Preview
from pages.shared.session.workspace import Workspace
from tests.pages.recorded import Recorded

AIR = "".join(
    ["site,lon,lat,no2 (ppb),year\n", *(f"s{k},13.{k},52.5,7.{k},{2018 + k % 2}\n" for k in range(8))]
)
ASKED = "Table of places and values (.csv, .xlsx) or points (.gpkg, .geojson)"
THEN = "Table of an earlier time (same columns)"


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded = Recorded()
    for module in (own_table, row_filters, sources, table_columns):
        monkeypatch.setattr(module, "st", recorded)
    for module in (own_table, sources):
        monkeypatch.setattr(
            module, "ask_file", lambda label, where, key, work, help=None: recorded.answers.get(label)
        )
    monkeypatch.setattr(row_filters, "ask_rows", lambda label, names, key, path, told, quantity="": ())
    recorded.answers["Where are the files?"] = "path"
    return recorded


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "air.csv"
    path.write_text(AIR, encoding="utf-8")
    return str(path)


def sensors(screen: Recorded, path: str, **answers: Any) -> dict[str, Any] | None:
    screen.answers |= {ASKED: path, **answers}
    found = own_table.ask_sensors(Workspace())
    return None if found is None else found.choices


def missing(screen: Recorded) -> list[str]:
    return [text for text in screen.said("caption") if text.startswith(":material/info: Name ")]


def test_a_table_makes_settings_of_what_was_guessed(screen: Recorded, table: str) -> None:
    found = sensors(screen, table)
    assert found is not None
    data = found["data"]
    assert (data.path, data.x, data.y, data.value, data.crs) == (
        table,
        "lon",
        "lat",
        "no2 (ppb)",
        "EPSG:4326",
    )
    assert (found["value_name"], found["value_unit"]) == ("no2", "ppb")
    assert (data.where, data.layer, data.identifier, data.place_sd, data.trip) == ((), None, None, None, None)
    assert "owner" not in found
    assert "reference" not in found
    assert any(text.startswith("Other rows or another sheet") for text in screen.said("caption"))
    assert missing(screen) == []


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"Longitude or easting": None}, "the column of longitude or easting"),
        ({"Latitude or northing": None}, "the column of latitude or northing"),
        ({"Measured value": None}, "the measured value"),
        ({"Its unit": " "}, "the unit of the values"),
        ({"Coordinate system": " ", "Its unit": ""}, "the unit of the values and the coordinate system"),
    ],
)
def test_what_is_missing_is_named(screen: Recorded, table: str, answers: dict[str, Any], said: str) -> None:
    assert sensors(screen, table, **answers) is None
    assert missing(screen) == [f":material/info: Name {said} to go on."]


def test_no_table_asks_for_one_and_nothing_else(screen: Recorded) -> None:
    assert own_table.ask_sensors(Workspace()) is None
    assert screen.said("caption") == [
        ":material/info: Name a table with a column each for place and value to go on."
    ]
    assert screen.said("selectbox") == []


def test_how_sure_places_are_may_be_a_number_that_belongs_to_no_trip(screen: Recorded, table: str) -> None:
    noise, trip = "Standard deviation of a row's place, metres per axis", "Statement of the sanitised trip"
    asked = f"{trip} (statement.json, optional)"
    found = sensors(screen, table, **{noise: "321", asked: "statement.json"})
    assert found is not None
    assert (found["data"].place_metres, found["data"].trip) == (321.0, None)
    found = sensors(screen, table, **{noise: "year", asked: "statement.json"})
    assert found is not None
    assert (found["data"].place_metres, found["data"].trip) == (None, "statement.json")


def test_rows_without_a_value_are_counted(screen: Recorded, table: str) -> None:
    found = sensors(screen, table, **{"Measured value": table_columns.NO_VALUE, "One row is a": "burglary"})
    assert found is not None
    assert (found["values"], found["record_word"], found["value_unit"]) == ("count", "burglary", "")
    assert found["data"].value is None
    assert sensors(screen, table, **{"One row is a": " "}) is None
    assert missing(screen) == [":material/info: Name what one row is to go on."]


def test_owners_keep_one_reading_each_unless_more_are_asked_for(screen: Recorded, table: str) -> None:
    found = sensors(screen, table, **{"Sensor or person of a row (optional)": "site"})
    assert found is not None
    assert (found["owner"], found["records_per_owner"]) == ("site", 1)
    asked = screen.asked("Readings of each that may count")
    assert (asked["min_value"], asked["value"]) == (1, 1)


def test_a_reference_is_public_when_it_is_said_to_be(screen: Recorded, table: str) -> None:
    found = sensors(screen, table, **{THEN: "/then.csv"})
    assert found is not None
    assert (found["reference"].path, found["reference_public"]) == ("/then.csv", False)
    assert found["reference"].x == "lon"
    assert not any(text.startswith("Without a second file") for text in screen.said("caption"))
    assert screen.asked("These reference data are published")["value"] is False
    assert sensors(screen, table, **{"These reference data are published": True})["reference_public"] is True  # type: ignore[index]


def test_sales_need_both_files_and_are_of_one_segment(screen: Recorded) -> None:
    assert sources.ask_sales(Workspace()) is None
    assert missing(screen) == [":material/info: Name a Price Paid file and a postcode lookup to go on."]
    asked = screen.asked("Which sales?")
    assert (asked["index"], asked["_"][0][1]) == (1, "existing-leasehold-flats")
    screen.answers |= {
        "Price Paid file (.csv, .csv.gz, .zip)": "/pp.csv",
        "Postcode lookup (ONSPD, NSPL or Code-Point Open)": "/codes.csv",
    }
    screen.calls.clear()
    screen.text_input = lambda label, **kind: "2017, 2018"  # type: ignore[assignment]
    found = sources.ask_sales(Workspace())
    assert found is not None
    data = found.choices["data"]
    assert (data.path, data.postcodes, data.segment, data.years) == (
        "/pp.csv",
        "/codes.csv",
        "existing-leasehold-flats",
        (2017, 2018),
    )
    assert (found.choices["value_name"], found.choices["value_unit"]) == ("price", "GBP")
    assert "reference" not in found.choices
    screen.answers["Price Paid file of an earlier year"] = "/then.csv"
    both = sources.ask_sales(Workspace())
    assert both is not None
    assert both.files == (both.choices["data"], both.choices["reference"])
    assert (both.choices["reference"].path, both.choices["reference_public"]) == ("/then.csv", True)
    screen.text_input = lambda label, **kind: "17"  # type: ignore[assignment]
    assert sources.ask_sales(Workspace()) is None


@pytest.mark.parametrize(
    ("typed", "years"),
    [("", ()), ("2018", (2018,)), ("2017 2018", (2017, 2018)), ("2017,2018", (2017, 2018)), ("201", None),
     ("20181", None), ("²018", None), ("abcd", None)],
)  # fmt: skip
def test_years_have_four_digits(screen: Recorded, typed: str, years: tuple[int, ...] | None) -> None:
    screen.answers["Years"] = typed
    assert sources._years("Years", "key") == years
    assert bool(screen.said("caption")) is (years is None)


def test_files_are_uploaded_unless_they_lie_here(screen: Recorded) -> None:
    del screen.answers["Where are the files?"]
    assert sources.ask_where("sales") == "upload"
    assert screen.shown("Where are the files?") == ["Upload them", "On the machine that runs this app"]


def rows() -> Preview:
    return Preview((), 5, "ppb", "reading", False, (), (), (), ())


def test_widgets_show_what_settings_say(screen: Recorded) -> None:
    data = SourceSettings("/a.csv", value="v", x="x", y="y", crs="EPSG:27700", where=(("kind", "a"),))
    work = Workspace(private=rows(), choices={"data": data, "value_unit": "ppb", "owner": "site"})
    sources.refill(work)
    state = screen.session_state
    assert (state["sensors_where"], state["sensors_private_path"]) == ("path", "/a.csv")
    assert state["sensors_reference_path"] == state["sensors_trip_path"] == ""
    told = {
        name: state[f"sensors_{name}_/a.csv"] for name in ("x", "y", "value", "crs", "owner", "most", "word")
    }
    assert told == {
        "x": "x",
        "y": "y",
        "value": "v",
        "crs": "EPSG:27700",
        "owner": "site",
        "most": 1,
        "word": "case",
    }
    assert (state["sensors_name_/a.csv_v"], state["sensors_unit_/a.csv_v"]) == ("v", "ppb")
    assert "sensors_public" not in state
    work.choose(reference=replace(data, layer="2021"))
    sources.refill(work)
    assert (state["sensors_other_layer_/a.csv"], state["sensors_reference_path"]) == ("2021", "")
    reference = SourceSettings("/b.csv", value="v", x="x", y="y", crs="EPSG:27700", layer="2019")
    work.choose(reference=reference, reference_public=True, records_per_owner=3)
    sources.refill(work)
    assert (state["sensors_reference_path"], state["sensors_public"], state["sensors_most_/a.csv"]) == (
        "/b.csv",
        True,
        3,
    )


def test_widgets_of_sales_show_segment_and_years(screen: Recorded) -> None:
    data = SourceSettings("/a.csv", "/codes.csv", "new-homes", (2017, 2018))
    work = Workspace(private=rows(), choices={"data": data})
    sources.refill(work)
    state = screen.session_state
    assert (state["sales_postcodes_path"], state["sales_segment"], state["sales_years"]) == (
        "/codes.csv",
        "new-homes",
        "2017, 2018",
    )
    assert state["sales_reference_years"] == ""
    sources.show_paths({"sales_private": "/c.csv"})
    assert (state["sales_where"], state["sales_private_path"]) == ("path", "/c.csv")


def test_what_is_read_is_the_data_and_then_the_reference() -> None:
    data = SourceSettings("/a.csv", "/codes.csv", "all")
    assert Sources({"data": data, "value_unit": "GBP"}).files == (data,)
    assert Sources({"reference": data}).files == (data,)
