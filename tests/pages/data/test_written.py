"""The Data screen asks how a table is written, and shows its first rows."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from pages.shared.fields import on_screen
from tests.data_loaders.workbooks import workbook
from tests.pages.conftest import press
from tests.pages.data.test_owners import of, with_table, work_of

ROWS = [["lon", "lat", "no2"], *([10 + k / 100, 50.02, 20.5 + k] for k in range(12))]


def read(app: AppTest) -> AppTest:
    of(app, "sensors_unit_", "text_input").set_value("ug/m3").run()  # type: ignore[attr-defined]
    return press(app, "Read the data")


def test_titles_above_the_header_are_shown_and_the_row_may_be_named(
    open_app: Callable[..., AppTest],
) -> None:
    text = "Annual means;;\nx;y;z\n" + "\n".join(";".join(map(str, row)) for row in ROWS)
    app = with_table(open_app, data=text.encode())
    assert app.dataframe[0].value.iloc[1].tolist() == [2, "x", "y", "z"]
    of(app, "sensors_header_row_", "number_input").set_value(3).run()  # type: ignore[attr-defined]
    read(app)
    source = work_of(app).choices["data"]
    assert (source.header_row, source.x, source.value) == (3, "lon", "no2")
    assert work_of(app).private.lines[0].endswith("12 rows read, 12 kept.")


def test_the_sheet_that_holds_a_table_is_proposed(open_app: Callable[..., AppTest]) -> None:
    book = workbook([["About"], ["Made in 2024"]], [["Annual means"], *ROWS], names=("Read me", "Data"))
    app = with_table(open_app, data=book)
    assert of(app, "sensors_layer_").value == "Data"  # type: ignore[attr-defined]
    read(app)
    source = work_of(app).choices["data"]
    assert (source.layer, source.header_row, source.value) == ("Data", None, "no2")


def test_another_sheet_of_the_same_workbook_is_the_reference(open_app: Callable[..., AppTest]) -> None:
    earlier = [ROWS[0], *([*row[:2], row[2] + 100] for row in ROWS[1:])]
    book = workbook(ROWS, earlier, [["lon", "lat", "no2"], *ROWS[1:5]], names=("2023", "2021", "2019"))
    app = with_table(open_app, data=book)
    sheet = of(app, "sensors_other_layer_")
    assert (sheet.value, sheet.options) == (None, ["2021", "2019"])  # type: ignore[attr-defined]
    sheet.set_value("2021").run()  # type: ignore[attr-defined]
    read(app)
    work = work_of(app)
    assert (work.choices["data"].layer, work.choices["reference"].layer) == ("2023", "2021")
    assert work.choices["data"].path == work.choices["reference"].path
    assert (work.reference.quantiles[0], work.private.rows[0][2]) == (120.5, 20.5)  # type: ignore[union-attr]


def test_a_workbook_given_twice_is_read_from_another_sheet(open_app: Callable[..., AppTest]) -> None:
    book = workbook(ROWS, ROWS[:7], names=("2023", "2021"))
    app = with_table(open_app, data=book)
    again = ("town.csv", book, "application/octet-stream")
    app.file_uploader(key="sensors_reference_upload").set_value(again).run()
    read(app)
    work = work_of(app)
    assert (work.choices["data"].layer, work.choices["reference"].layer) == ("2023", "2021")
    assert (work.private.size, work.reference.size) == (12, 6)  # type: ignore[union-attr]


def test_a_unit_and_a_name_come_from_the_column_that_is_chosen(open_app: Callable[..., AppTest]) -> None:
    text = "lon,lat,Pb [mg/kg],depth (cm)\n" + "".join(f"{10 + k / 100},50.02,{k}.5,{k}\n" for k in range(12))
    app = with_table(open_app, data=text.encode())
    for column, name, unit in (("Pb [mg/kg]", "Pb", "mg/kg"), ("depth (cm)", "depth", "cm")):
        of(app, "sensors_value_").set_value(column).run()  # type: ignore[attr-defined]
        asked = [of(app, f"sensors_{part}_", "text_input").value for part in ("name", "unit")]  # type: ignore[attr-defined]
        assert asked == [name, unit]


def test_codes_marks_and_limits_are_asked_about_and_never_taken_for_granted(
    open_app: Callable[..., AppTest],
) -> None:
    values = [*["9999"] * 10, "<0.5", "ND", *(f"{20 + k / 2}" for k in range(12))]
    text = "lon,lat,no2\n" + "".join(f"{10 + k / 100},50.02,{value}\n" for k, value in enumerate(values))
    app = with_table(open_app, data=text.encode())
    assert "9999 is far from all other values" in "".join(each.value for each in app.markdown)
    of(app, "sensors_unit_", "text_input").set_value("ug/m3").run()  # type: ignore[attr-defined]
    press(app, "Read the data")
    assert "“Detection limit of readings such as ND”" in app.error[0].value
    of(app, "sensors_detection_limit_", "number_input").set_value(0.25).run()  # type: ignore[attr-defined]
    press(app, "Read the data")
    assert "missing value" in app.error[0].value
    of(app, "sensors_missing_", "text_input").set_value("9999").run()  # type: ignore[attr-defined]
    of(app, "sensors_censored_").set_value("half").run()  # type: ignore[attr-defined]
    press(app, "Read the data")
    source = work_of(app).choices["data"]
    assert (source.missing, source.censored, source.detection_limit) == (("9999",), "half", 0.25)
    assert (source.decimal, source.condition) == (None, None)
    assert work_of(app).private.lines[0].endswith("24 rows read, 14 kept.")
    assert [value for _, _, value in work_of(app).private.rows[:2]] == [0.25, 0.125]


def test_a_refusal_names_the_fields_of_the_screen() -> None:
    said = "State it with `detection_limit` (--detection-limit), or `censored` (--censored drop)."
    assert on_screen(said) == (
        "State it with “Detection limit of readings such as ND”, or “Readings such as <0.5 and > 200”."
    )
    assert on_screen("keep rows with `where`") == "keep rows with “Keep only rows where”"
    assert on_screen("Set `ledger` (--ledger URL).") == "Set `ledger` (--ledger URL)."
