"""The Data screen asks whose a row is, and the Hexagons screen whether a box crosses the date line."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from pages.data.table_columns import NO_VALUE
from pages.shared.steps import DATA, HEXAGONS, PRIVACY
from tests.data_loaders.workbooks import workbook
from tests.pages.conftest import OpenApp, press, texts
from tests.pages.data_steps import work_of

ROWS = [["station", "lon", "lat", "no2"], *([f"S{k % 3}", 10 + k / 100, 50.02, 20.5 + k] for k in range(12))]
TABLE = "\n".join(",".join(map(str, row)) for row in ROWS).encode()


def with_table(open_app: OpenApp, name: str = "town.csv", data: bytes = TABLE) -> AppTest:
    app = open_app(DATA.path)
    app.segmented_control(key="data_kind").set_value("sensors").run()
    app.file_uploader(key="sensors_private_upload").set_value((name, data, "application/octet-stream")).run()
    assert not app.exception
    return app


def of(app: AppTest, start: str, kind: str = "selectbox") -> object:
    return next(element for element in app.get(kind) if str(element.key).startswith(start))


def test_the_question_about_owners_is_asked_and_answered(open_app: OpenApp) -> None:
    app = with_table(open_app)
    asked = "Column 'station' has 3 different entries in 12 rows; the most frequent is in 4"
    assert texts(app).count(asked) == 1
    assert "Does column" not in texts(app)
    of(app, "sensors_owner_").set_value("station").run()  # type: ignore[attr-defined]
    assert asked not in texts(app)
    of(app, "sensors_unit_", "text_input").set_value("ug/m3").run()  # type: ignore[attr-defined]
    press(app, "Read the data")
    choices = work_of(app).choices
    assert (choices["owner"], choices["records_per_owner"]) == ("station", 1)


def test_without_an_answer_each_row_is_a_reading(open_app: OpenApp) -> None:
    app = with_table(open_app)
    of(app, "sensors_unit_", "text_input").set_value("ug/m3").run()  # type: ignore[attr-defined]
    press(app, "Read the data")
    work = work_of(app)
    assert work.choices.get("owner") is None
    assert work.decided(DATA) == "12 readings"
    app.switch_page(PRIVACY.path).run()
    assert not app.exception


def test_a_table_without_values_is_asked_for_no_unit(open_app: OpenApp) -> None:
    app = with_table(open_app, data=b"lon,lat,kind\n10.0,50.0,a\n10.1,50.1,b\n")
    assert "Its unit" not in [field.label for field in app.text_input]
    assert "Name the measured value to go on." in texts(app)
    of(app, "sensors_value_").set_value(NO_VALUE).run()  # type: ignore[attr-defined]
    press(app, "Read the data")
    app.switch_page(PRIVACY.path).run()
    assert len(of(app, "unit_", "radio").proto.captions) == 1  # type: ignore[attr-defined]


def test_a_workbook_with_several_sheets_asks_for_one(open_app: OpenApp) -> None:
    app = with_table(open_app, "town.xlsx", workbook(ROWS, ROWS[:6], names=("2022", "2023")))
    of(app, "sensors_layer_").set_value("2023").run()  # type: ignore[attr-defined]
    of(app, "sensors_unit_", "text_input").set_value("ug/m3").run()  # type: ignore[attr-defined]
    press(app, "Read the data")
    assert "5 rows read, 5 kept" in texts(app)
    assert work_of(app).choices["data"].layer == "2023"


def test_a_doubtful_box_is_asked_about(open_app: OpenApp) -> None:
    app = open_app(HEXAGONS.path)
    of(app, "region_way_", "radio").set_value("box").run()  # type: ignore[attr-defined]
    for side, value in (("West", 179.2), ("South", -17.5), ("East", -179.6), ("North", -16.2)):
        of(app, f"box_{side}_", "number_input").set_value(value).run()  # type: ignore[attr-defined]
    assert not app.exception
    assert "exchange the two, or state that it crosses the date line" in str(app.error[0].value)
    of(app, "box_crosses_", "radio").set_value("Yes").run()  # type: ignore[attr-defined]
    assert not app.exception
    assert not app.error
    work = work_of(app)
    assert work.choices["crosses_date_line"] is True
    assert work.domain is not None
    near_land = work.domain.size
    of(app, "land_only_", "checkbox").uncheck().run()  # type: ignore[attr-defined]
    work = work_of(app)
    assert work.domain is not None
    assert len(work.domain.region.geoms) == 2
    assert work.domain.size >= near_land  # more wherever the shores are built
