"""Settings on the Data screen: saved, taken again, shown where widgets cannot hold them, refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from hexcursion.settings import ReleaseSettings, SourceSettings, settings_from_toml, settings_to_toml
from pages.shared.session.saving import portable_settings, settings_with_files
from pages.shared.steps import DATA, HEXAGONS, PRIVACY
from tests.pages.conftest import press, texts
from tests.pages.data_steps import (
    TABLE,
    OpenApp,
    errors,
    iter_keys,
    uploaded_sensors,
    with_area,
    work_of,
)


def saved(app: AppTest) -> str:
    """The settings file that the side bar offers; the harness keeps no files, so it is made once more."""
    assert [each.label for each in app.get("download_button")] == ["Save these choices"]
    work = work_of(app)
    return portable_settings(work.settings(), work.folder)


def test_choices_are_saved_once_complete_and_taken_again_with_their_files(open_app: OpenApp) -> None:
    app = uploaded_sensors(open_app)
    assert not app.get("download_button")
    text = saved(with_area(app))
    assert settings_from_toml(text).data.path == "sensors.csv"
    again = open_app(DATA.path)
    toml = ("settings.toml", text.encode(), "application/toml")
    again.file_uploader(key="settings_upload").set_value(toml)
    press(again, "Take these settings")
    assert errors(again) == ["These settings belong to a file 'sensors.csv': upload it together with them."]
    table = ("sensors.csv", TABLE.encode(), "text/csv")
    again.file_uploader(key="settings_files").set_value([table])
    press(again, "Take these settings")
    assert not errors(again)
    assert again.segmented_control(key="data_kind").value == "sensors"
    assert "In use: **sensors.csv**" in texts(again)
    assert again.text_input(key=next(iter_keys(again, "sensors_unit_"))).value == "ug/m3"
    first, second = work_of(app), work_of(again)
    assert second.domain is not None
    assert second.domain.size == first.domain.size  # type: ignore[union-attr]
    there = {"sensors.csv": first.choices["data"].path}
    assert settings_with_files(saved(again), there) == first.settings()
    again.switch_page(HEXAGONS.path).run()
    assert again.radio[0].value == "box"
    assert [number.value for number in again.number_input][:4] == [2.0, 54.6, 2.5, 54.9]
    again.switch_page(PRIVACY.path).run()
    assert again.number_input[0].value == 25.0


def test_settings_that_name_server_files_fill_the_path_widgets(
    open_app: OpenApp, example: ReleaseSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_DATA", str(Path(example.data.path).parent))
    settings = example.with_changes(
        data=replace(example.data, years=(2024,)), resolution=6, epsilon=2.0, title="Two"
    )
    app = open_app(DATA.path)
    toml = ("settings.toml", settings_to_toml(settings).encode(), "application/toml")
    app.file_uploader(key="settings_upload").set_value(toml)
    press(app, "Take these settings")
    assert not errors(app)
    assert app.segmented_control(key="data_kind").value == "sales"
    assert app.segmented_control(key="sales_where").value == "path"
    assert app.text_input(key="sales_private_path").value == settings.data.path
    assert app.text_input(key="sales_years").value == "2024"
    assert app.text_input(key="sales_reference_path").value == settings.reference.path  # type: ignore[union-attr]
    assert work_of(app).settings() == settings
    app.switch_page(HEXAGONS.path).run()
    assert app.slider(key="resolution").value == 6
    assert app.text_input[0].value == settings.region
    assert work_of(app).settings() == settings
    app.switch_page(PRIVACY.path).run()
    app.switch_page(DATA.path).run()
    assert work_of(app).settings() == settings


def test_settings_beyond_what_the_widgets_offer_are_shown_and_kept(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_DATA", str(tmp_path))
    table = tmp_path / "table.csv"
    rows = "".join(
        f"{2.1 + i / 1000},54.7,{i},station {i},{'late' if i > 2999 else 'early'}\n" for i in range(3100)
    )
    table.write_text("lon,lat,level,station,when\n" + rows)
    settings = ReleaseSettings(
        data=SourceSettings(str(table), value="level", x="lon", y="lat", where=(("station", "station 7"),)),
        reference=SourceSettings(str(table), value="level", x="lon", y="lat", where=(("when", "late"),)),
        bbox=(2.0, 54.69, 2.02, 54.71),
        resolution=11,
        threshold=3.0,
        value_name="level",
        value_unit="m",
    )
    app = open_app(DATA.path)
    toml = ("settings.toml", settings_to_toml(settings).encode(), "application/toml")
    app.file_uploader(key="settings_upload").set_value(toml)
    press(app, "Take these settings")
    assert not errors(app)
    assert app.multiselect(key=f"sensors_where_{table}").value == ["station"]
    assert app.multiselect(key=f"sensors_reference_where_{table}_when").value == ["late"]
    press(app, "Read the data")
    assert work_of(app).choices["data"] == settings.data
    assert work_of(app).choices["reference"] == settings.reference
    app.switch_page(HEXAGONS.path).run()
    assert not app.exception
    assert app.slider(key="resolution").value == 11
    assert work_of(app).settings() == settings


def test_without_a_settings_file_nothing_is_taken(open_app: OpenApp) -> None:
    app = open_app(DATA.path)
    press(app, "Take these settings")
    assert errors(app) == ["Upload the settings file (TOML) first."]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "word"), [
    (b"\xff\xfe\x00", "TOML"), (b"threshold = ", "TOML"), (b"colour = 1\n", "colour"), (b"", "`data`"),
    (b"threshold = 1.0\n[data]\npath = 5\n", "text in quotation marks"),
    (b"threshold = 1.0\nregion = 5\n[data]\npath = 't'\nvalue = 'v'\nx = 'x'\ny = 'y'\n", "region must be"),
], ids=["binary", "half a line", "unknown key", "empty", "number for path", "number for region"])  # fmt: skip
def test_broken_settings_are_one_sentence_and_change_nothing(
    open_app: OpenApp, text: bytes, word: str
) -> None:
    app = uploaded_sensors(open_app)
    before = work_of(app)
    app.file_uploader(key="settings_upload").set_value(("s.toml", text, "application/toml"))
    press(app, "Take these settings")
    assert len(errors(app)) == 1
    assert word in errors(app)[0].replace("\\", "")
    assert work_of(app) is before
