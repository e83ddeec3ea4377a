"""Columns that qualify a value: entries with counts, units converted, identifiers offered as owners."""

from __future__ import annotations

import numpy as np
import pytest

from data_loaders import LoadReport, Observations, guess_columns
from data_loaders.columns.qualifiers import Qualifiers, telling, unit_columns, zeros_alone
from tests.data_loaders.material import load_sensors, refused


def load(data: str, **changes: object) -> tuple[Observations, LoadReport]:
    given: dict[str, object] = {"value": "value", "unit": "ug/l", "x": "lon", "y": "lat"} | changes
    return load_sensors(data.encode(), **given)  # type: ignore[arg-type]


def table(names: str, *entries: str, values: tuple[str, ...] = ()) -> str:
    rows = [
        f"{0.1 + at / 100:.2f},51.{at + 10},{values[at] if values else at + 1},{entry}"
        for at, entry in enumerate(entries)
    ]
    return "\n".join([f"lon,lat,value,{names}", *rows])


def test_each_row_is_converted_by_its_own_unit() -> None:
    data = table("unit", "ug/l", "mg/l", "UG/L", "", "ng/l")
    made, report = load(data)
    assert made.value.tolist() == [1.0, 2000.0, 3.0, 4.0, 0.005]
    assert "1 row in mg/l was converted to ug/l (times 1000), by column 'unit'." in report.notes
    assert "1 row names no unit in 'unit' and counts as ug/l." in report.notes
    assert load(data, unit="mg/l")[0].value.tolist()[:4] == [0.001, 2.0, 0.003, 4.0]
    assert load(data, unit_column="none")[0].value.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_unit_without_a_known_factor_is_asked_about_without_quoting_it() -> None:
    data = table("unit", "ug/l", "secret", "ug/l")
    said = refused(lambda: load(data))
    assert "Column 'unit' holds units from which no factor to ug/l is known" in said
    assert "--unit-column none" in said
    assert "secret" not in said
    assert load(data, where={"unit": "ug/l"})[0].value.tolist() == [1.0, 3.0]
    assert "no factor to score" in refused(lambda: load(data, unit="score"))
    _, report = load(table("unit", "points", "points"), unit="score")
    assert "Column 'unit' says points, while score was stated." in report.notes


def test_a_limit_has_the_unit_of_its_row_or_one_of_its_own() -> None:
    values = ("ND", "3", "ND")
    data = table("unit,mdl", "mg/l,0.5", "ug/l,1", "ug/l,2", values=values)
    assert load(data, limit_column="mdl")[0].value.tolist() == [500.0, 3.0, 2.0]
    data = table("unit,mdl,mdl unit", "mg/l,500,ug/l", "ug/l,1,ug/l", "ug/l,2,mg/l", values=values)
    assert load(data, limit_column="mdl")[0].value.tolist() == [500.0, 3.0, 2000.0]
    assert load(table("unit", "mg/l", "mg/l", values=("<0.5", "2")))[0].value.tolist() == [500.0, 2000.0]


@pytest.mark.parametrize(
    ("names", "value", "limit", "found"),
    [
        (("value", "unit"), "value", None, (1, None)),
        (("ResultMeasureValue", "ResultMeasure/MeasureUnitCode", "DepthMeasure/MeasureUnitCode"),
         "ResultMeasureValue", None, (1, None)),
        (("DetectionQuantitationLimitMeasure/MeasureUnitCode", "ResultMeasure/MeasureUnitCode",
          "DetectionQuantitationLimitMeasure/MeasureValue", "ResultMeasureValue"), "ResultMeasureValue",
         "DetectionQuantitationLimitMeasure/MeasureValue", (1, 0)),
        (("SALE PRICE", "TOTAL UNITS", "RESIDENTIAL UNITS"), "SALE PRICE", None, (None, None)),
        (("Messwert", "Einheit"), "Messwert", None, (1, None)),
        (("no2", "community"), "no2", None, (None, None)),
    ],
)  # fmt: skip
def test_columns_of_units_are_known_by_their_names(
    names: tuple[str, ...], value: str, limit: str | None, found: tuple[int | None, int | None]
) -> None:
    assert unit_columns(names, value, limit) == found


def test_a_column_of_few_entries_that_qualifies_is_named_with_its_counts() -> None:
    data = table("Characteristic", "Arsenic", "Lead", "Arsenic", "Lead", "Lead")
    _, report = load(data)
    assert any(
        "'Characteristic' may say what a row measures: Lead in 3 rows, Arsenic in 2 rows." in note
        and "(--where Characteristic=Lead)" in note
        for note in report.notes
    )
    _, report = load(data, where={"Characteristic": "Lead"})
    assert not any("Characteristic" in note for note in report.notes)
    _, report = load(table("datum", "NAD27", "WGS84", "WGS84"))
    assert any("the datum of a place: WGS84 in 2 rows, NAD27 in 1 row." in note for note in report.notes)
    many = table("parameter", *(f"p{at}" for at in range(31)))
    assert not any("parameter" in note for note in load(many)[1].notes), "thirty entries are few, 31 are not"


def test_names_of_codes_and_of_air_quality_say_nothing_of_validity() -> None:
    others = ["agency_cd", "state_cd", "Air Quality Station", "AirQualityNetwork"]
    assert not Qualifiers(others, (), owner=True, identifier=True).columns
    said = "agency_cd", "00060_00003_cd", "Data quality", "qc", "remark_code", "validFlag"
    assert list(Qualifiers(said, (), owner=True, identifier=True).columns) == [1, 2, 3, 4, 5]


def test_units_are_known_by_what_a_column_holds_where_its_name_says_nothing() -> None:
    """As long as each row has a unit that converts; a column of which half has none tells nothing."""
    told = table("Angabe", "mg/l", "ug/l", "ug/l", "", values=("1", "2", "3", "4"))
    made, report = load(told, unit="ug/l")
    assert made.value.tolist() == [1000.0, 2.0, 3.0, 4.0]
    assert "1 row in mg/l was converted to ug/l (times 1000), by column 'Angabe'." in report.notes
    assert load(told, unit="ug/l", unit_column="none")[0].value.tolist() == [1.0, 2.0, 3.0, 4.0]
    odd = table("Angabe", "mg/l", "ug/l", "ug/l", "bad", values=("1", "2", "3", "4"))
    assert "no factor to ug/l is known" in refused(lambda: load(odd, unit="ug/l"))
    words = table("Angabe", "mg/l", "ug/l", "bad", "bad", values=("1", "2", "3", "4"))
    assert "--unit-column" in refused(lambda: load(words, unit="ug/l")), "without one bad one, units are most"
    worse = table("Angabe", "mg/l", "bad", "bad", "bad", values=("1", "2", "3", "4"))
    assert load(worse, unit="ug/l")[0].value.tolist() == [1.0, 2.0, 3.0, 4.0]
    sizes = table("size", "m", "l", "m", "l", values=("1", "2", "3", "4"))
    assert load(sizes, unit="m")[0].value.tolist() == [1.0, 2.0, 3.0, 4.0], "single letters are no units"


@pytest.mark.parametrize("name", ["Messeinheit", "unité de mesure", "Units of Measure", "unidad_de_medida"])
def test_columns_of_units_are_known_by_their_names_in_several_languages(name: str) -> None:
    assert unit_columns(["lon", "value", name], "value", None) == (2, None)


@pytest.mark.parametrize(
    ("column", "unit"), [("lead (mg/l)", "ug/l"), ("Preis (Tsd. EUR)", "EUR"), ("no2 (ppb)", "ug/m3")]
)
def test_a_unit_in_the_values_name_that_is_not_the_stated_one_is_asked_about(column: str, unit: str) -> None:
    data = f"lon,lat,{column}\n1,51,5\n2,51,7\n".encode()
    said = refused(lambda: load_sensors(data, value=column, unit=unit, x="lon", y="lat"))
    assert f"as its unit, while {unit} was stated" in said
    assert load_sensors(data, value=column, unit=unit, x="lon", y="lat", unit_column="none")[0].size == 2
    assert load_sensors(data, value=column, unit="points", x="lon", y="lat")[0].size == 2


def test_zones_and_quantities_in_other_words_are_named_with_what_answers() -> None:
    notes = load(table("UTM_ZONE,Schadstoff", "30U,NO2", "31U,O3", "30U,NO2"))[1].notes
    assert any("`zone_column` (--zone-column UTM_ZONE) reads each row's place" in note for note in notes)
    assert any(note.startswith("Column 'Schadstoff' may say what a row measures: NO2 in 2") for note in notes)


def test_identifiers_that_repeat_are_offered_as_owner() -> None:
    sales = table("id_mutation,code_postal", "a,1", "b,1", "b,1", "b,2", "c,2")
    _, report = load(sales)
    said = [note for note in report.notes if "`owner`" in note]
    assert len(said) == 1
    assert "'id_mutation' has 3 different entries in 5 rows; the most frequent is in 3:" in said[0]
    assert "--owner id_mutation --records-per-owner 1" in said[0]
    assert not any("`owner`" in note for note in load(sales, sensor="id_mutation")[1].notes)
    assert not any("`owner`" in note for note in load(table("id", "a", "b", "c"))[1].notes)
    fixes = table("individual-local-identifier,tag", "Elsa,9", "Elsa,9", "Nala,8")
    assert sum("`owner`" in note for note in load(fixes)[1].notes) == 2
    lots = table("BBL,Oil Produced; bbl", "1,40", "1,40", "2,40")
    assert ["'BBL'" in note for note in load(lots)[1].notes if "`owner`" in note] == [True], (
        "barrels own nothing"
    )


def test_columns_that_say_how_sure_a_place_is_are_offered() -> None:
    for name in (
        "coordinateUncertaintyInMeters",
        "gps_accuracy",
        "location-error-numerical",
        "HorizontalAccuracyMeasure",
    ):
        _, report = load(table(name, "30", "100", "5"))
        said = [note for note in report.notes if "`place_sd`" in note]
        assert said == [
            f"{name!r} may say how sure a place is, in metres: where it is a standard deviation, "
            f"name it with `place_sd` (--place-sd {name})."
        ]


def test_zeros_that_nothing_comes_near_are_asked_about() -> None:
    prices = tuple(["0"] * 12 + [str(380_000 + 1000 * at) for at in range(24)])
    data = table("id", *map(str, range(36)), values=prices)
    said = refused(lambda: load(data, unit="USD"))
    assert "(--missing 0)" in said
    assert load(data, unit="USD", missing=("0",))[0].size == 24
    assert load(data, unit="USD", missing=("none",))[0].size == 36
    assert guess_columns(data.encode()).suspects[:1] == (0.0,)


@pytest.mark.parametrize(
    ("values", "alone"),
    [
        ([0.0] * 10 + [100.0] * 20, True),
        ([0.0] * 9 + [100.0] * 20, False),
        ([0.0] * 10 + [100.0] * 1000, False),
        ([0.0] * 20 + [100.0] * 20 + [1.0] * 3, False),
        ([0.0] * 20 + [100.0] * 20 + [1.0] * 2, True),
        ([0.0] * 20 + [1.0] * 20, False),
        ([0.0] * 20 + [3.0, 4.0] * 20, False),
        ([0.0] * 20 + [3.5, 4.0] * 20, True),
        ([0.0] * 30, False),
    ],
)
def test_which_zeros_are_alone(values: list[float], alone: bool) -> None:
    assert zeros_alone(np.array(values)) is alone


def test_what_first_rows_tell_comes_with_the_setting_that_answers() -> None:
    data = table("parameter,device,gps_accuracy", "no2,a,5", "o3,a,5", "no2,b,9")
    found = [(one.setting, one.column) for one in guess_columns(data.encode()).findings]
    assert found == [("where", "parameter"), ("place_sd", "gps_accuracy"), ("owner", "device")]
    assert telling(("lon", "unit", "status", "value", "device id", "notes")) == [1, 2, 4]
