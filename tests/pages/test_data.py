"""The Data screen in the test harness: uploads, paths, broken files, settings, going back."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.data.portable import portable_settings, settings_with_files
from pages.shared import access, workspace
from pages.shared.steps import COMPARE, DATA, HEXAGONS, PRIVACY
from tests.pages.conftest import press, texts
from workflow.settings import ReleaseSettings, SourceSettings, settings_from_toml, settings_to_toml

OpenApp = Callable[..., AppTest]
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


def test_price_paid_files_are_uploaded_and_read(open_app: OpenApp, example: ReleaseSettings) -> None:
    app = uploaded_sales(open_app, example)
    work = work_of(app)
    assert work.kind == "sales"
    assert work.private is not None
    assert work.reference is not None
    assert work.choices["reference_public"] is True
    assert work.choices["value_unit"] == "GBP"
    assert "generated-demo-pp-2024.csv.gz (uploaded); postcodes from generated-demo-postcodes.csv.gz" in (
        texts_of_sources(app)
    )


def test_price_paid_files_are_named_by_path(open_app: OpenApp, example: ReleaseSettings) -> None:
    app = kind(open_app(DATA.path), "sales")
    app.segmented_control(key="sales_where").set_value("path").run()
    named(app, "sales_private", example.data.path)
    assert "Name a postcode lookup to go on." in texts(app)
    named(app, "sales_postcodes", example.data.postcodes)
    press(app, "Read the data")
    assert "(on this machine)" in texts_of_sources(app)
    assert work_of(app).choices["data"].path == example.data.path


def zipped(*tables: tuple[str, str]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in tables:
            archive.writestr(name, text)
    return held.getvalue()


BROKEN = {
    "empty": (b"", "empty"),
    "binary": (bytes(range(256)) * 40, "binary data"),
    "pdf": (b"%PDF-1.4 not a table", "PDF"),
    "html": (b"<!DOCTYPE html><html><body>Not found</body></html>", "web page"),
    "cut short": (gzip.compress(TABLE.encode() * 3000)[:-200], "cut short"),
    "no rows": (b"lon,lat,no2\n", "no rows"),
    "one column": (b"only\n1\n2\n", "column"),
    "two other tables": (zipped(("a.csv", TABLE), ("b.csv", "x;y\n1;2\n")), "b.csv"),
    "huge row": (b"lon,lat,no2\n" + b"1," * 3_000_000 + b"1\n", "row"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_table_is_one_sentence_and_what_was_read_stays(open_app: OpenApp, name: str) -> None:
    data, word = BROKEN[name]
    app = uploaded_sensors(open_app)
    before = work_of(app).choices["data"]
    upload(app, "sensors_private", "broken.csv", data)
    ready = [button for button in app.button if button.label == "Read the data" and not button.disabled]
    if not errors(app) and ready:
        press(app, "Read the data")
    said = errors(app) or [texts(app)]
    assert len(errors(app)) <= 1
    assert word in said[0]
    assert "Traceback" not in said[0]
    assert work_of(app).choices["data"] == before
    assert "12 rows read, 12 kept" in texts(app)


def test_a_table_in_latin_1_is_read(open_app: OpenApp) -> None:
    text = "lon,lat,niveau d'été (µg/m3)\n" + "".join(f"{2 + i / 10},54.{i},{i}\n" for i in range(1, 9))
    app = upload(kind(open_app(DATA.path), "sensors"), "sensors_private", "été.csv", text.encode("latin-1"))
    press(app, "Read the data")
    assert "8 rows read, 8 kept" in texts(app)
    assert work_of(app).choices["value_name"] == "niveau d'été (µg/m3)"


@pytest.mark.parametrize(("codes", "word"), [
    (b"pcd,oseast1m,osnrth1m\nSW1A 1AA,529090,179645\n", "postcode table"),  # of another city
    (b"a,b,c\n1,2,3\n", "codes.csv"),
    (b"", "empty"),
], ids=["elsewhere", "wrong columns", "empty"])  # fmt: skip
def test_postcodes_that_do_not_fit_are_one_sentence(
    open_app: OpenApp, example: ReleaseSettings, codes: bytes, word: str
) -> None:
    app = uploaded_sales(open_app, example)
    size = work_of(app).private.size  # type: ignore[union-attr]
    upload(app, "sales_postcodes", "codes.csv", codes)
    press(app, "Read the data")
    assert len(errors(app)) == 1
    assert word in errors(app)[0]
    assert errors(app)[0].endswith("What was read before is still in use.")
    assert work_of(app).private.size == size  # type: ignore[union-attr]


def test_sensors_in_the_place_of_sales_are_one_sentence(open_app: OpenApp, example: ReleaseSettings) -> None:
    app = kind(open_app(DATA.path), "sales")
    upload(app, "sales_private", "sensors.csv", TABLE.encode())
    upload(app, "sales_postcodes", "codes.csv.gz", Path(str(example.data.postcodes)).read_bytes())
    press(app, "Read the data")
    assert len(errors(app)) == 1
    assert "sensors.csv" in errors(app)[0]
    assert work_of(app).private is None


def test_going_back_shows_which_files_are_in_use_and_reads_them_again(
    open_app: OpenApp, example: ReleaseSettings
) -> None:
    app = uploaded_sales(open_app, example)
    work = work_of(app)
    files = dict(work.uploads)
    app.switch_page(HEXAGONS.path).run()
    app.switch_page(DATA.path).run()
    for path in files.values():
        assert f"In use: **{Path(path).name.replace('_', chr(92) + '_')}**" in texts(app)
    press(app, "Read the data")
    assert work_of(app) is not work
    assert work_of(app).choices["data"] == work.choices["data"]
    [removing] = [button for button in app.button if button.key == "sales_reference_remove"]
    removing.click().run()
    press(app, "Read the data")
    assert work_of(app).reference is None


def test_the_screen_shows_the_kind_in_use_however_it_was_chosen(
    open_app: OpenApp, example: ReleaseSettings
) -> None:
    app = uploaded_sensors(open_app)
    kind(app, "example")
    press(app, "Use the generated example")
    assert work_of(app).kind == "example"
    kind(app, "sales")
    app.switch_page(HEXAGONS.path).run()
    app.switch_page(DATA.path).run()
    assert "In use: **sensors.csv**" not in texts(app)
    kind(app, "sensors")
    assert "In use: **sensors.csv**" in texts(app)  # taking the example did not lose the upload
    press(app, "Read the data")
    assert work_of(app).kind == "sensors"


def with_area(app: AppTest) -> AppTest:
    app.switch_page(HEXAGONS.path).run()
    app.radio[0].set_value("box").run()
    for number, value in zip(app.number_input, (2.0, 54.6, 2.5, 54.9), strict=True):
        number.set_value(value)
    app.run()
    assert work_of(app).domain is not None
    app.switch_page(PRIVACY.path).run()
    app.number_input[0].set_value(25.0).run()
    assert not app.exception
    return app


def test_reading_again_keeps_the_public_choices_of_the_same_kind(open_app: OpenApp) -> None:
    app = with_area(uploaded_sensors(open_app))
    domain = work_of(app).domain
    app.switch_page(DATA.path).run()
    assert app.text_input(key=next(iter_keys(app, "sensors_unit_"))).value == "ug/m3"
    press(app, "Read the data")
    assert work_of(app).domain is domain
    assert work_of(app).choices["threshold"] == 25.0
    app.switch_page(PRIVACY.path).run()
    assert app.number_input[0].value == 25.0
    app.switch_page(DATA.path).run()
    app.text_input(key=next(iter_keys(app, "sensors_unit_"))).set_value("ppb").run()
    press(app, "Read the data")
    assert work_of(app).domain is domain
    assert "threshold" not in work_of(app).choices  # 25 ug/m3 are not 25 ppb
    kind(app, "example")
    press(app, "Use the generated example")
    assert work_of(app).domain is None  # an area does not pass between real and invented places


def iter_keys(app: AppTest, start: str):
    return (str(element.key) for element in app.text_input if str(element.key).startswith(start))


def test_the_resolution_stays_and_an_area_that_fails_leaves_the_one_before(open_app: OpenApp) -> None:
    app = with_area(uploaded_sensors(open_app))
    app.switch_page(HEXAGONS.path).run()
    app.slider(key="resolution").set_value(6).run()
    size = work_of(app).domain.size  # type: ignore[union-attr]
    app.switch_page(DATA.path).run()
    app.switch_page(HEXAGONS.path).run()
    assert app.slider(key="resolution").value == 6
    assert [number.value for number in app.number_input] == [2.0, 54.6, 2.5, 54.9]
    app.number_input(key=f"box_South_{work_of(app).mark}").set_value(60.0).run()
    assert len(errors(app)) == 1
    assert errors(app)[0].endswith("The hexagons shown are those of before.")
    assert work_of(app).domain.size == size  # type: ignore[union-attr]


def test_an_uploaded_area_follows_the_resolution_after_coming_back(
    open_app: OpenApp, example: ReleaseSettings
) -> None:
    app = uploaded_sales(open_app, example)
    app.switch_page(HEXAGONS.path).run()
    assert "Region of the example" not in app.radio[0].options
    upload(app, "region", "area.geojson", Path(str(example.region)).read_bytes())
    app.switch_page(DATA.path).run()
    app.switch_page(HEXAGONS.path).run()
    assert "In use: **area.geojson**" in texts(app)
    before = work_of(app).domain.size  # type: ignore[union-attr]
    app.slider(key="resolution").set_value(7).run()
    after = work_of(app).domain.size  # type: ignore[union-attr]
    assert 1 < after < before
    [removing] = [button for button in app.button if button.key == "region_remove"]
    removing.click().run()
    assert "Until another area is named" in texts(app)
    assert work_of(app).domain.size == after  # type: ignore[union-attr]


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
    again.file_uploader(key="settings_upload").set_value(toml).run()
    press(again, "Take these settings")
    assert errors(again) == ["These settings belong to a file 'sensors.csv': upload it together with them."]
    table = ("sensors.csv", TABLE.encode(), "text/csv")
    again.file_uploader(key="settings_files").set_value([table]).run()
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
    assert [number.value for number in again.number_input] == [2.0, 54.6, 2.5, 54.9]
    again.switch_page(PRIVACY.path).run()
    assert again.number_input[0].value == 25.0


def test_settings_that_name_server_files_fill_the_path_widgets(
    open_app: OpenApp, example: ReleaseSettings
) -> None:
    settings = example.with_changes(
        data=replace(example.data, years=(2024,)), resolution=6, epsilon=2.0, title="Two"
    )
    app = open_app(DATA.path)
    toml = ("settings.toml", settings_to_toml(settings).encode(), "application/toml")
    app.file_uploader(key="settings_upload").set_value(toml).run()
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


def test_settings_beyond_what_the_widgets_offer_are_shown_and_kept(open_app: OpenApp, tmp_path: Path) -> None:
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
    app.file_uploader(key="settings_upload").set_value(toml).run()
    press(app, "Take these settings")
    assert not errors(app)
    assert app.multiselect(key=f"sensors_where_{table}").value == ["station"]
    assert app.selectbox(key=f"sensors_reference_where_{table}_when").value == "late"
    press(app, "Read the data")
    assert work_of(app).choices["data"] == settings.data
    assert work_of(app).choices["reference"] == settings.reference
    app.switch_page(HEXAGONS.path).run()
    assert not app.exception
    assert app.slider(key="resolution").value == 11
    assert work_of(app).settings() == settings


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
    app.file_uploader(key="settings_upload").set_value(("s.toml", text, "application/toml")).run()
    press(app, "Take these settings")
    assert len(errors(app)) == 1
    assert word in errors(app)[0].replace("\\", "")
    assert work_of(app) is before


class TestLimitedPaths:
    """An operator named a folder: nothing outside it is read by path."""

    @pytest.fixture(params=["variable", "list in secrets", "one in secrets"])
    def limited(
        self,
        request: pytest.FixtureRequest,
        open_app: OpenApp,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> AppTest:
        folder = tmp_path / "data"
        folder.mkdir()
        (folder / "inside.csv").write_text(TABLE)
        (tmp_path / "outside.csv").write_text(TABLE)
        (folder / "link.csv").symlink_to(tmp_path / "outside.csv")
        if request.param == "variable":
            monkeypatch.setenv("HEXCURSION_DATA", str(folder))
            app = open_app(DATA.path)
        else:
            one = request.param == "one in secrets"
            app = open_app(DATA.path, secrets={"hexcursion": {"data": str(folder) if one else [str(folder)]}})
        kind(app, "sensors")
        app.segmented_control(key="sensors_where").set_value("path").run()
        return app

    def test_paths_of_tables(self, limited: AppTest, tmp_path: Path) -> None:
        for path in ("outside.csv", "data/../outside.csv", "data/link.csv", "data"):
            named(limited, "sensors_private", tmp_path / path)
            assert len(errors(limited)) == 1
            assert "HEXCURSION\\_DATA" in errors(limited)[0]
            assert "Guessed from the first rows" not in texts(limited)
        named(limited, "sensors_private", tmp_path / "data" / "inside.csv")
        assert not errors(limited)
        press(limited, "Read the data")
        assert "12 rows read, 12 kept" in texts(limited)

    def test_paths_of_areas(self, limited: AppTest, tmp_path: Path) -> None:
        named(limited, "sensors_private", tmp_path / "data" / "inside.csv")
        press(limited, "Read the data")
        limited.switch_page(HEXAGONS.path).run()
        limited.radio[0].set_value("path").run()
        limited.text_input[0].set_value(str(tmp_path / "area.geojson")).run()
        assert len(errors(limited)) == 1
        assert "HEXCURSION\\_DATA" in errors(limited)[0]

    def test_paths_in_settings(self, limited: AppTest, tmp_path: Path, example: ReleaseSettings) -> None:
        toml = ("s.toml", settings_to_toml(example).encode(), "application/toml")
        limited.file_uploader(key="settings_upload").set_value(toml).run()
        press(limited, "Take these settings")
        assert len(errors(limited)) == 1
        assert "HEXCURSION\\_DATA" in errors(limited)[0]
        assert work_of(limited).private is None


def test_an_app_that_other_machines_reach_without_sign_in_shows_nothing(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = access.st.get_option
    monkeypatch.setattr(
        access.st, "get_option", lambda name: "0.0.0.0" if name == "server.address" else asked(name)
    )
    app = open_app()
    assert len(errors(app)) == 1
    assert "was not set up safely, so it shows nothing" in errors(app)[0]


def test_a_fresh_visit_says_nothing_of_a_loss_and_one_after_a_reload_does(open_app: OpenApp) -> None:
    app = open_app(DATA.path)
    assert "loaded anew" not in texts(app)
    work_of(app).lost = True
    for screen in (DATA, HEXAGONS, PRIVACY):
        app.switch_page(screen.path).run()
        assert "import the settings file (TOML)" in texts(app)
    app.switch_page(DATA.path).run()
    press(app, "Use the generated example")
    assert "loaded anew" not in texts(app)


def test_the_browser_is_told_only_whether_there_is_something_to_lose(open_app: OpenApp) -> None:
    def told(app: AppTest) -> str:
        [component] = app.get("bidi_component")
        return str(component.proto)

    app = open_app(DATA.path)
    assert '"unsaved":false' in told(app).replace("\\", "").replace(" ", "")
    app = uploaded_sensors(open_app, "secret-name.csv")
    assert '"unsaved":true' in told(app).replace("\\", "").replace(" ", "")
    assert "secret" not in told(app)
    assert "secret" not in str(app.query_params)


def test_public_places_are_a_choice_of_their_own_and_every_screen_says_what_it_costs(
    open_app: OpenApp,
) -> None:
    app = uploaded_sensors(open_app)
    question = app.radio(key=f"places_{work_of(app).mark}")
    assert question.label == "Are the places of the stations public?"
    assert question.value == "hidden"
    assert "Places are not protected" not in texts(app)
    question.set_value("public").run()
    assert not app.exception
    assert work_of(app).choices["places_public"] is True
    for screen in (DATA, HEXAGONS, COMPARE):
        app.switch_page(screen.path).run()
        assert "Places are not protected" in texts(app), screen.title
    app.switch_page(DATA.path).run()
    app.radio(key=f"places_{work_of(app).mark}").set_value("hidden").run()
    assert work_of(app).choices["places_public"] is False
    app.switch_page(HEXAGONS.path).run()
    assert "Places are not protected" not in texts(app)
