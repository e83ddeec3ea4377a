"""An atlas on the screens: opened in the viewer, each of its maps and all of them together."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas
import pytest
from streamlit.testing.v1 import AppTest

import hexcursion
from hexcursion.bundle import layout
from hexcursion.bundle.published.bundle_store import find_bundle, offers, open_bundle
from hexcursion.bundle.published.view import Viewer
from hexcursion.ledger import open_ledger
from hexcursion.ledger.errors import NoLedger
from hexcursion.project.area import NamedArea
from hexcursion.settings.atlas import AtlasSettings, any_from_toml, any_settings, any_to_toml
from pages.privacy import atlas_panel
from pages.shared.session.previews import domain_of
from pages.shared.session.saving import portable_settings, read_kept, text_of
from pages.shared.steps import COMPARE, DATA, PRIVACY, PUBLISH, RELEASE, VIEWER
from tests.hexcursion.atlas.village import FILE, PLAN, village, written
from tests.pages.conftest import OpenApp, finished, press, texts
from tests.pages.data_steps import errors, kind, upload, work_of
from tests.town import BOX


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("atlas")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEXCURSION_HOME", str(place / "home"))
        patch.setenv("HEXCURSION_WITNESS", str(place / "witness"))
        hexcursion.release(village(), **PLAN, out=place / "bundles" / "village")
    return place / "bundles"


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Viewer:
    return open_bundle(folder / "village")


def test_the_viewer_opens_an_atlas_and_switches_its_maps(
    open_app: Callable[..., AppTest], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_BUNDLES", str(folder))
    app = open_app(VIEWER.path)
    assert not app.exception
    assert app.title[0].value == "Where is no2 above 30 ug/m3?"
    said = texts(app)
    assert "All three maps together: a 50:50 guess" in said
    assert "one of them alone is not promised more." in said
    switch = next(one for one in app.segmented_control if one.label == "Map of")
    assert switch.options == ["no2", "o3", "pm"]
    switch.set_value("pm").run()
    assert not app.exception
    assert app.title[0].value == "Where is the pm above 12 ug/m3?"
    assert "above 12 ug/m3" in texts(app)


def test_files_of_a_layer_come_with_the_page_and_statement_of_all(viewer: Viewer) -> None:
    layer = viewer.layers["o3"]
    assert layer.key == f"{viewer.whole['release']['id']}-2"
    made = {offer.file: offer for offer in offers(layer.bundle, layer.atlas)}
    assert json.loads(made[layout.STATEMENT].make())["schema"] == "hexcursion-atlas-1"
    page = made[layout.PAGE].make()
    assert page.count(b'name="about"') == 5  # three columns and two that follow from them
    assert b"All three maps together" in made[layout.LABEL].make()
    cells = json.loads(made[layout.CELLS].make())
    assert len(cells["features"]) == viewer.domain.size
    assert viewer.whole_label == made[layout.LABEL].make().decode()
    assert viewer.whole_label != layer.bundle.label_html


SAID = {
    "no2": ("ug/m3", 30.0, False, 28.0, 15.0),
    "o3": ("ug/m3", 60.0, False, 58.0, 16.0),
    "pm": ("ug/m3", 12.0, True, 12.0, 2.0),
}
"""Of each column its unit, threshold, whether it differs by factors, its usual value and how far most lie."""


def at_data(open_app: OpenApp, frame: pandas.DataFrame) -> AppTest:
    """The Data screen, after three columns of a table were ticked and read."""
    table = frame.to_csv(index=False).encode()
    app = upload(kind(open_app(DATA.path), "sensors"), "sensors_private", "village.csv", table)
    [value] = [box for box in app.selectbox if box.label == "Measured value"]
    value.set_value("no2").run()
    [further] = [box for box in app.multiselect if box.label == "Values that are released together with it"]
    further.set_value(["o3", "pm"]).run()
    [unit] = [box for box in app.text_input if box.label == "Its unit"]
    unit.set_value("ug/m3").run()
    return press(app, "Read the data")


def test_ticked_columns_are_ticked_again_after_a_reload(open_app: OpenApp) -> None:
    """The table is given again; of the columns of before, those that it holds."""
    app = kind(open_app(DATA.path), "sensors")
    work_of(app).kept = {"kind": "sensors", "columns": {"no2": {}, "pm": {"threshold": 12.0}, "gone": {}}}
    upload(app, "sensors_private", "village.csv", village().to_csv(index=False).encode())
    [value] = [box for box in app.selectbox if box.label == "Measured value"]
    value.set_value("no2").run()
    [further] = [box for box in app.multiselect if box.label == "Values that are released together with it"]
    assert further.value == ["pm"]
    [unit] = [box for box in app.text_input if box.label == "Its unit"]
    unit.set_value("ug/m3").run()
    press(app, "Read the data")
    assert not app.exception
    assert list(work_of(app).columns) == ["no2", "pm"]
    assert work_of(app).columns["pm"]["threshold"] == 12.0
    further = next(box for box in app.multiselect if box.label == further.label)
    assert further.value == ["pm"]


def say(app: AppTest, column: str) -> None:
    """Say all that is asked of a column."""
    mark, (unit, threshold, factors, usual, spread) = work_of(app).mark, SAID[column]
    app.segmented_control(key=f"column_{mark}").set_value(column).run()
    app.text_input(key=f"column_unit_{column}_{mark}").set_value(unit).run()
    app.selectbox(key=f"column_factors_{column}_{mark}").set_value(factors).run()
    app.number_input(key=f"column_threshold_{column}_{mark}").set_value(threshold)
    app.number_input(key=f"column_usual_{factors}_{column}_{mark}").set_value(usual)
    app.number_input(key=f"column_spread_{factors}_{column}_{mark}").set_value(spread).run()
    assert not app.exception


def test_beside_a_published_table_thresholds_alone_are_asked(open_app: OpenApp, tmp_path: Path) -> None:
    app = at_data(open_app, village())
    work = work_of(app)
    path = str(written(tmp_path, village(900, seed=11)))
    work.choose(reference=replace(work.choices["data"], path=path), reference_public=True)
    app.run()
    assert not app.exception
    assert "no2, o3 and pm: the threshold is still to be said" in texts(app)
    assert not [box for box in app.number_input if str(box.key).startswith(("column_usual", "column_spread"))]
    for column, limit in (("no2", 30.0), ("o3", 60.0), ("pm", 12.0)):
        app.segmented_control(key=f"column_{work.mark}").set_value(column).run()
        app.number_input(key=f"column_threshold_{column}_{work.mark}").set_value(limit).run()
    assert work_of(app).unsaid == []
    work_of(app).choose(bbox=BOX, region=None, resolution=7)
    layers = work_of(app).asked().layers  # type: ignore[union-attr]
    assert [layer.reference.value for layer in layers if layer.reference] == ["no2", "o3", "pm"]
    assert [layer.centre for layer in layers] == [None, None, None]


def test_a_column_may_hold_answers_and_matter_more(open_app: OpenApp) -> None:
    """Answers need no usual value; their threshold is a share, and a weight is kept over a reload."""
    frame = village()
    app = at_data(open_app, frame.assign(o3=(frame["o3"] > 58.0).astype(int)))
    work = work_of(app)
    for column in ("no2", "pm"):
        say(app, column)
    app.segmented_control(key=f"column_{work.mark}").set_value("o3").run()
    app.selectbox(key=f"column_factors_o3_{work.mark}").set_value("yes-no").run()
    assert not app.exception
    assert "o3: threshold" in texts(app)
    [share] = [box for box in app.number_input if box.label == "so many of 100 that say yes"]
    share.set_value(40.0)
    app.number_input(key=f"column_weight_o3_{work.mark}").set_value(2.0).run()
    assert not app.exception
    assert work.unsaid == []
    work.choose(bbox=BOX, region=None, resolution=7)
    asked = work.asked()
    assert isinstance(asked, AtlasSettings)
    assert (asked.answers, asked.weights) == ((1,), (1.0, 2.0, 1.0))
    assert (asked.layers[1].threshold, asked.layers[1].yes_above) == (40.0, None)
    work.leave_out(["no2"])  # answers are then the first column
    assert work.asked().answers == (0,)  # type: ignore[union-attr]
    kept = read_kept(text_of(work))
    assert kept["columns"]["o3"]["weight"] == 2.0
    assert kept["columns"]["o3"]["values"] == "yes-no"
    app.switch_page(PRIVACY.path)
    work.asked_domain, work.domain = (None, BOX, 7), domain_of(NamedArea(None, BOX), 7)
    app.run()
    assert not app.exception
    assert "o3: above 40 % of yes" in texts(app)


@pytest.fixture
def planned(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The screen Privacy and utility, after all was said and the maps were judged."""
    monkeypatch.setattr(atlas_panel, "atlas_job", finished(atlas_panel.atlas_job))
    app = at_data(open_app, village())
    assert "No value is missing" in texts(app) or "no value is missing" in texts(app)
    assert "no2, o3 and pm: threshold, usual value" in texts(app)
    for column in SAID:
        say(app, column)
    assert "are still to be said" not in texts(app)
    work = work_of(app)
    work.choose(bbox=BOX, region=None, resolution=7, epsilon=3.0, quick=True, accept_dropped=True)
    work.asked_domain, work.domain = (None, BOX, 7), domain_of(NamedArea(None, BOX), 7)
    app.switch_page(PRIVACY.path).run()
    assert not app.exception
    assert "pm: above 12 ug/m3" in texts(app)
    return press(app, "See what each map may reach")


def test_an_atlas_is_planned_and_released_once_on_the_screens(planned: AppTest) -> None:
    app, work = planned, work_of(planned)
    asked = work.asked()
    assert asked == any_settings(
        {
            **{name: each for name, each in PLAN.items() if name not in ("value", "lon", "lat", "area")},
            "data": {"path": asked.first.data.path, "value": PLAN["value"], "x": "lon", "y": "lat",
                     "crs": "EPSG:4326"},
            "bbox": BOX, "accept_low_agreement": False, "accept_dropped": True, "derived": [],
            "transform": {"pm": "log"},
            "centre": {"no2": 28.0, "o3": 58.0, "pm": math.log(12.0)},
            "clip": {"no2": 15.0, "o3": 16.0, "pm": math.log(2.0)},
            "direction": dict.fromkeys(SAID, "above"),
            "value_name": {name: name for name in SAID},
            "value_unit": dict.fromkeys(SAID, "ug/m3"),
        }
    )  # fmt: skip
    said = texts(app)
    assert "All 3 maps are worth releasing for ε 3 together." in said
    assert work.outcome is not None
    assert work.outcome.atlas is not None
    app.switch_page(RELEASE.path).run()
    said = texts(app)
    assert "One reading: its values and its place, among" in said
    with pytest.raises(NoLedger):
        open_ledger(create=False)  # nothing was charged
    [button] = [one for one in app.button if one.label == "Release …"]
    button.click().run()
    assert "agreement (IoU)" in texts(app)
    press(app, "Release now")
    assert work.release_id is not None
    assert [entry.kind for entry in open_ledger().entries()].count("draw") == 1
    viewer = find_bundle(work.release_id)
    assert list(viewer.layers) == ["no2", "o3", "pm"]
    assert viewer.whole["guarantee"]["epsilon"] == pytest.approx(3.0, abs=1e-6)
    assert work.explored is not None
    assert len(work.explored.others) == 2
    assert "Agreement (IoU) with the maps without privacy" in [each.label for each in app.expander]
    [own] = [each for each in app.toggle if each.label == "Without privacy"]
    own.set_value(True).run()
    assert not app.exception
    app.switch_page(PUBLISH.path).run()
    assert not app.exception
    assert "All three maps together" in texts(app)


def test_an_atlas_of_a_settings_file_is_shown_and_saved_again(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEXCURSION_DATA", str(tmp_path))
    table = written(tmp_path, village())
    made = any_from_toml(FILE.format(path=table))
    app = open_app(DATA.path)
    app.file_uploader(key="settings_upload").set_value(("a.toml", any_to_toml(made).encode(), ""))
    press(app, "Take these settings")
    work = work_of(app)
    assert list(work_of(app).columns) == ["no2", "o3", "pm"], errors(app)
    assert work.asked() == made
    assert app.number_input(key=f"column_threshold_no2_{work.mark}").value == 30.0
    assert any_from_toml(portable_settings(work.asked(), work.folder)) == made


def test_values_that_are_missing_are_counted_for_the_curator_alone(open_app: OpenApp) -> None:
    frame = village()
    frame.loc[:69, "pm"] = None
    app = at_data(open_app, frame)
    assert "For you only: without a value are pm 10.0 % of the rows." in texts(app)
    work = work_of(app)
    app.checkbox(key=f"gaps_{work.mark}").set_value(True).run()
    assert work.atlas.gaps


def test_a_column_that_numbers_the_rows_is_refused_when_it_is_read(open_app: OpenApp) -> None:
    frame = village()
    frame["pm"] = range(1, len(frame) + 1)
    app = at_data(open_app, frame)
    assert "The column 'pm' numbers the rows" in app.error[0].value
    assert work_of(app).private is None


def test_comparing_takes_one_column_and_says_so(open_app: OpenApp) -> None:
    app = at_data(open_app, village())
    work = work_of(app)
    work.choose(bbox=BOX, region=None, resolution=7)
    for column in SAID:
        say(app, column)
    app.switch_page(COMPARE.path).run()
    assert not app.exception
    assert [str(each.value) for each in app.info] == [
        "Comparing takes one column, and these choices have 3: read the data with one of them alone, on the "
        "screen Data, to compare its map."
    ]
    assert not app.button


def test_maps_that_show_nothing_are_offered_to_be_left_out(planned: AppTest) -> None:
    app, work = planned, work_of(planned)
    app.switch_page(DATA.path).run()
    mark = work.mark
    app.segmented_control(key=f"column_{mark}").set_value("o3").run()
    app.number_input(key=f"column_threshold_o3_{mark}").set_value(900.0).run()
    app.switch_page(PRIVACY.path).run()
    press(app, "See what each map may reach")
    assert "2 of 3 maps are worth releasing for ε 3 together." in texts(app)
    assert "no value can lie beyond its threshold" in texts(app)
    press(app, "Leave out o3")
    assert list(work.columns) == ["no2", "pm"]
    press(app, "See what each map may reach")
    assert "All 2 maps are worth releasing for ε 3 together." in texts(app)
