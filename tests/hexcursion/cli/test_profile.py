"""On the command line an agency's columns stand in for those that no option names; what is open is asked."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from data_loaders import DataError
from hexcursion.bundle import read_bundle
from hexcursion.cli import main
from hexcursion.cli.main import build_parser
from hexcursion.cli.options import settings_from_options
from hexcursion.cli.profile import fill_from_profile
from hexcursion.errors import WorkflowError

OPENAQ = "location_id,sensors_id,location,datetime,lat,lon,parameter,units,value"
PURPLE = "time_stamp,sensor_index,latitude,longitude,pm2.5_atm_a,pm2.5_atm_b"
WQP = (
    "MonitoringLocationIdentifier,CharacteristicName,ResultDetectionConditionText,ResultMeasureValue,"
    "LatitudeMeasure,LongitudeMeasure,DetectionQuantitationLimitMeasure/MeasureValue"
)
KOLA = "ID,XCOO,YCOO,As,Pb"
ROWS = {OPENAQ: "7,21,Bow,2024-05-01,51.52,-0.02,pm25,ug/m3,8.5", PURPLE: "1714521600,131,37.7,-122.2,8,7",
        KOLA: "1,400000,7600000,3,4", WQP: "X-1,Lead,,4,41.5,-93.5,0.1"}  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> Any:
    def written(head: str) -> str:
        path = tmp_path / "t.csv"
        path.write_text(f"{head}\n{ROWS[head]}\n", encoding="utf-8")
        return str(path)

    return written


def test_columns_that_nobody_named_are_filled_in_and_said(table: Any) -> None:
    values: dict[str, Any] = {
        "data": {"path": table(OPENAQ), "where": {"parameter": "pm25"}}, "reference": {"path": "r.csv"},
    }  # fmt: skip
    said = fill_from_profile(values, None)
    assert values == {
        "data": {"path": values["data"]["path"], "where": {"parameter": "pm25"}, "x": "lon", "y": "lat",
                 "crs": "EPSG:4326", "value": "value", "time": "datetime"},
        "reference": {"path": "r.csv", "where": {"parameter": "pm25"}},
    }  # fmt: skip
    assert (
        "OpenAQ (--profile none reads it without): --lon lon --lat lat --crs EPSG:4326 --value value" in said
    )
    assert "--time datetime --reference-where parameter=pm25." in said
    assert "--owner location_id --records-per-owner 1 protects all that belong together." in said
    assert "\n" not in said


def test_what_a_person_named_stays(table: Any) -> None:
    named = {"x": "lat", "y": "lon", "value": "sensors_id", "time": "location", "crs": "EPSG:4269"}
    values: dict[str, Any] = {
        "data": {"path": table(OPENAQ), "where": {"Parameter": "o3"}, **named},
        "reference": {"path": "r", "where": {"parameter": "no2"}},
        "records_per_owner": 4,
        "owner": "location",
    }  # fmt: skip
    before = {"data": dict(values["data"]), "reference": dict(values["reference"])}
    assert fill_from_profile(values, None) == (
        "The table is read as OpenAQ (--profile none reads it without)."
    )
    assert {"data": values["data"], "reference": values["reference"]} == before
    assert (values["owner"], "value_unit" in values) == ("location", False)


def test_limits_of_detection_are_offered_and_not_taken_since_their_unit_may_be_another(table: Any) -> None:
    values: dict[str, Any] = {"data": {"path": table(WQP), "where": {"CharacteristicName": "Lead"}}}
    assert "--limit-column DetectionQuantitationLimitMeasure/MeasureValue takes" in fill_from_profile(
        values, None
    )
    assert (values["data"]["condition"], "limit_column" in values["data"]) == (
        "ResultDetectionConditionText", False,
    )  # fmt: skip


def test_an_owner_is_taken_where_a_person_says_how_many_of_its_records_count(table: Any) -> None:
    values: dict[str, Any] = {
        "data": {"path": table(PURPLE), "value": "PM2.5_atm_b"}, "records_per_owner": 1,
    }  # fmt: skip
    assert "which is taken as --owner" in fill_from_profile(values, None)
    assert (values["owner"], values["value_unit"]) == ("sensor_index", "ug/m3")
    assert values["value_name"] == "PM2.5, atmospheric, channel B"


@pytest.mark.parametrize(
    ("head", "data", "wanted", "word"),
    [
        (OPENAQ, {}, None, "keep one quantity with --where, such as parameter=pm25"),
        (PURPLE, {}, None, r"several measured columns: name one with --value, of pm2.5_atm_a \(PM2.5, atm"),
        (KOLA, {"value": "As"}, None, "'XCOO' and 'YCOO' in several systems: state theirs with --crs"),
        (KOLA, {"value": "As", "x": "XCOO", "y": "YCOO"}, None, "state theirs with --crs"),
        (KOLA, {"value": "As"}, "epa-aqs", "no columns of the profile 'epa-aqs'"),
        (KOLA, {"value": "As"}, "price-paid", "is no table of readings"),
    ],
)
def test_what_is_open_is_asked(
    head: str, data: dict[str, Any], wanted: str | None, word: str, table: Any
) -> None:
    with pytest.raises(WorkflowError, match=word):
        fill_from_profile({"data": {"path": table(head), **data}}, wanted)


def test_a_named_profile_says_why_its_table_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{ROWS[OPENAQ]}\n{ROWS[OPENAQ]}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.csv has numbers in its first row: add a header"):
        fill_from_profile({"data": {"path": str(path)}}, "openaq")


def test_no_profile_for_none_for_a_settings_file_and_for_what_cannot_be_read(
    table: Any, tmp_path: Path
) -> None:
    values: dict[str, Any] = {"data": {"path": table(OPENAQ)}}
    assert fill_from_profile(values, "none") == ""
    assert fill_from_profile({"data": {"path": str(tmp_path / "absent.csv")}}, None) == ""
    assert fill_from_profile({"data": {**values["data"], "postcodes": "p.csv"}}, None) == ""
    config = tmp_path / "s.toml"
    config.write_text(
        "threshold = 9\nbbox = [0, 51, 1, 52]\n"
        '[data]\npath = "t.csv"\nvalue = "value"\nx = "lon"\ny = "lat"\n'
    )
    words = ["release", "--out", "o", "--config", str(config), "--trust-settings"]
    assert settings_from_options(build_parser().parse_args(words)).data.where == ()
    assert list(values["data"]) == ["path"]


AQS = "State Code,County Code,Site Num,Parameter Code,POC,Latitude,Longitude,Arithmetic Mean"
DUST = "sensor_id;sensor_type;location;lat;lon;timestamp;P1;P2"
AREA = ("--bbox", "0", "51.5", "0.1", "51.6", "--resolution", "7")
STATED = ("--threshold", "10", "--centre", "10", "--clip", "9", "--accept-low-agreement")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "row", "more", "title", "word"),
    [
        (
            AQS,
            "06,{at:03d},{at:04d},88101,1,{lat:.4f},{lon:.4f},{value:.2f}",
            ("--where", "Parameter Code=88101", "--value-unit", "ppb", "--records-per-owner", "1"),
            "Value above 10 ppb",
            "sensor",
        ),
        (
            DUST,
            "{at};SDS011;{at};{lat:.4f};{lon:.4f};2024-05-01T00:00:00;1.5;{value:.2f}",
            ("--value", "P2"),
            "PM2.5 above 10 ug/m3",
            "reading",
        ),
    ],
)
def test_an_agencys_table_goes_on_to_a_bundle(
    head: str, row: str, more: tuple[str, ...], title: str, word: str, tmp_path: Path
) -> None:
    rng, rows = random.Random(4), [head]
    for at in range(60):
        lat, lon, value = 51.5 + rng.random() / 10, rng.random() / 10, rng.gauss(10, 3)
        rows.append(row.format(at=at, lat=lat, lon=lon, value=value))
    path, out = tmp_path / "t.csv", tmp_path / "out"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert main(["release", "--data", str(path), "--out", str(out), *AREA, *STATED, *more]) == 0
    statement = read_bundle(out).statement
    assert (statement["release"]["title"], statement["guarantee"]["unit_word"]) == (title, word)
