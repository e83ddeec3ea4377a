"""The Data screen asks how a table is written, and shows its first rows."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

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
