"""What the Data screen may read by path, and what a visit is told before and after a reload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from hexcursion.settings import ReleaseSettings, settings_to_toml
from pages.shared.server import access
from pages.shared.steps import DATA, HEXAGONS, PRIVACY
from tests.pages.conftest import press, texts
from tests.pages.data_steps import (
    TABLE,
    OpenApp,
    errors,
    kind,
    named,
    uploaded_sensors,
    work_of,
)


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
            assert "HEXCURSION_DATA" in errors(limited)[0]
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
        assert "HEXCURSION_DATA" in errors(limited)[0]

    def test_paths_in_settings(self, limited: AppTest, tmp_path: Path, example: ReleaseSettings) -> None:
        toml = ("s.toml", settings_to_toml(example).encode(), "application/toml")
        limited.file_uploader(key="settings_upload").set_value(toml)
        press(limited, "Take these settings")
        assert len(errors(limited)) == 1
        assert "HEXCURSION_DATA" in errors(limited)[0]
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
        assert "A release that had begun still finishes: the step Publish lists it." in texts(app)
    app.switch_page(DATA.path).run()
    press(app, "Use the generated example")
    assert "loaded anew" not in texts(app)


def _proto(component: Any) -> str:
    return str(component.proto)


def test_the_browser_is_told_only_whether_there_is_something_to_lose(open_app: OpenApp) -> None:
    def told(app: AppTest) -> str:
        [said] = [each for each in map(_proto, app.get("bidi_component")) if "unsaved" in each]
        return said

    app = open_app(DATA.path)
    assert '"unsaved":false' in told(app).replace("\\", "").replace(" ", "")
    app = uploaded_sensors(open_app, "secret-name.csv")
    assert '"unsaved":true' in told(app).replace("\\", "").replace(" ", "")
    assert "secret" not in told(app)
    assert "secret" not in str(app.query_params)
