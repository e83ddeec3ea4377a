"""What tests do on the Data screen: choose a kind, give files, read them, go on to an area."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from hexcursion.settings import ReleaseSettings
from pages.shared.session import workspace
from pages.shared.steps import DATA, HEXAGONS, PRIVACY
from tests.pages.conftest import OpenApp, press, texts

TABLE = "lon,lat,no2 (ug/m3)\n" + "".join(f"{2.1 + 0.02 * i},{54.7 + 0.01 * i},{20 + i}\n" for i in range(12))


def work_of(app: AppTest) -> workspace.Workspace:
    work: workspace.Workspace = app.session_state[workspace.KEY]
    return work


def kind(app: AppTest, name: str) -> AppTest:
    app.segmented_control(key="data_kind").set_value(name).run()
    assert not app.exception
    return app


def upload(app: AppTest, key: str, name: str, data: bytes) -> AppTest:
    app.file_uploader(key=f"{key}_upload").set_value((name, data, "application/octet-stream")).run()
    assert not app.exception
    return app


def named(app: AppTest, key: str, path: object) -> AppTest:
    app.text_input(key=f"{key}_path").set_value(str(path)).run()
    assert not app.exception
    return app


def errors(app: AppTest) -> list[str]:
    return [str(error.value) for error in app.error]


def texts_of_sources(app: AppTest) -> str:
    return "\n".join(str(element.value) for element in app.get("text"))


def uploaded_sensors(open_app: OpenApp, name: str = "sensors.csv") -> AppTest:
    app = upload(kind(open_app(DATA.path), "sensors"), "sensors_private", name, TABLE.encode())
    press(app, "Read the data")
    assert "12 rows read, 12 kept" in texts(app)
    return app


def uploaded_sales(open_app: OpenApp, example: ReleaseSettings) -> AppTest:
    app = kind(open_app(DATA.path), "sales")
    assert example.reference is not None
    for key, path in (
        ("sales_private", example.data.path),
        ("sales_postcodes", example.data.postcodes),
        ("sales_reference", example.reference.path),
    ):
        upload(app, key, Path(str(path)).name, Path(str(path)).read_bytes())
    return press(app, "Read the data")


def with_area(app: AppTest) -> AppTest:
    app.switch_page(HEXAGONS.path).run()
    app.radio[0].set_value("box").run()
    for number, value in zip(app.number_input[:4], (2.0, 54.6, 2.5, 54.9), strict=True):
        number.set_value(value)
    app.run()
    assert work_of(app).domain is not None
    app.switch_page(PRIVACY.path).run()
    app.number_input[0].set_value(25.0).run()
    assert not app.exception
    return app


def iter_keys(app: AppTest, start: str):
    return (str(element.key) for element in app.text_input if str(element.key).startswith(start))
