"""A basemap on the screens: chosen by path on Data, said what it is, left out where it cannot be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from geo import GeoError
from hexcursion.project.example import example_settings
from pages.shared import maps, panels
from pages.shared.server import middleware
from pages.shared.session import workspace
from pages.shared.steps import DATA, HEXAGONS
from tests.archives import archive, vector_tile
from tests.pages.conftest import press, texts
from tests.pages.data_steps import OpenApp, errors, work_of

BOX = (1.5, 54.3, 2.9, 55.1)  # around the generated example


def with_path(open_app: OpenApp, path: Path) -> AppTest:
    app = open_app(DATA.path)
    press(app, "Use the generated example")
    [field] = [one for one in app.text_input if one.label.startswith("Or its path")]
    field.set_value(str(path)).run()
    assert not app.exception
    return app


def test_a_basemap_is_named_by_path_said_and_taken_away(open_app: OpenApp, tmp_path: Path) -> None:
    path = archive(tmp_path / "sea.pmtiles", vector_tile(), BOX)
    app = with_path(open_app, path)
    assert work_of(app).choices["basemap"] == str(path)
    assert "sea.pmtiles: vector tiles, zoom 0 to 8. Source: © Survey" in texts(app)
    [field] = [one for one in app.text_input if one.label.startswith("Or its path")]
    field.set_value("").run()
    assert work_of(app).choices["basemap"] is None
    assert "vector tiles, zoom" not in texts(app)


def test_a_file_that_cannot_be_drawn_is_left_out_with_a_sentence(open_app: OpenApp, tmp_path: Path) -> None:
    path = tmp_path / "no.pmtiles"
    path.write_bytes(bytes(300))
    app = with_path(open_app, path)
    assert work_of(app).choices["basemap"] is None
    assert [one for one in errors(app) if "The basemap was left out: no.pmtiles is no PMTiles archive" in one]


def test_it_is_left_out_once_the_area_is_elsewhere(open_app: OpenApp, tmp_path: Path) -> None:
    app = with_path(open_app, archive(tmp_path / "far.pmtiles", vector_tile(), (100.0, 0.0, 101.0, 1.0)))
    assert work_of(app).choices["basemap"] is not None  # no area is known yet
    app.switch_page(HEXAGONS.path).run()
    assert not app.exception
    assert work_of(app).choices["basemap"] is None
    assert [one for one in errors(app) if "far.pmtiles has no tiles of this area" in one]


def test_it_stays_with_other_data_and_the_design_that_was_found_stays(tmp_path: Path) -> None:
    work = workspace.Workspace()
    work.adopt(example_settings())
    work.show_basemap("a.pmtiles")
    assert work.renewed().choices["basemap"] == "a.pmtiles"
    fresh = work.renewed()
    fresh.adopt(example_settings())
    assert fresh.settings().basemap == "a.pmtiles"
    fresh.adopt(example_settings().with_changes(basemap="b.pmtiles"))
    assert fresh.settings().basemap == "b.pmtiles"


def test_the_operators_basemap_lies_under_every_map_of_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(tmp_path / "town.pmtiles", vector_tile(), BOX)
    monkeypatch.setenv("HEXCURSION_BASEMAP", str(path))
    middleware.check_the_operators_basemap()
    found = maps.beneath((2.0, 54.6, 2.2, 54.8))
    assert found is not None
    assert found[1] == middleware.basemap_address(path)
    assert found[1].startswith("/basemap/")
    assert "town" not in found[1]
    assert maps.beneath((12.0, 54.6, 12.2, 54.8)) is None
    path.unlink()
    assert maps.beneath((2.0, 54.6, 2.2, 54.8)) is None
    with pytest.raises(GeoError, match=r"the basemap town\.pmtiles cannot be found"):
        middleware.check_the_operators_basemap()


def test_a_path_out_of_reach_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEXCURSION_DATA", str(tmp_path / "allowed"))
    work = workspace.Workspace()
    said: dict[str, str] = {}
    monkeypatch.setattr(panels.st, "session_state", said)
    panels._choose_basemap(work, str(archive(tmp_path / "x.pmtiles", vector_tile(), BOX)))
    assert work.choices["basemap"] is None
    assert "reads files of its machine only below" in said["basemap_said"]
