"""A survey of 100 records without reference data: no screen says a figure of how right its map is."""

from __future__ import annotations

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import maps
from pages.shared.steps import COMPARE, DATA, PUBLISH, RELEASE, VIEWER
from tests.pages.conftest import OpenApp, insist, press, texts
from tests.pages.data_steps import kind, upload, with_area, work_of

TOO_FEW = "Too few records to say how right this map is."
STOPPED = "100 records are too few to tell where values lie: without reference data it takes more than 130"
BEFORE = ("reaches an agreement", "The design to release", ", agreement", "Of 100 records")
FIGURES = ("agrees to about", "xpected beforehand", "stated by the release itself", "Orange is right", "±")


def survey(records: int) -> bytes:
    """Values that rise to the east, at places drawn by a seed."""
    draw = np.random.default_rng(5)
    lon, lat = draw.uniform(2.05, 2.45, records), draw.uniform(54.62, 54.88, records)
    value = 20.0 + 25.0 * (lon - 2.0) + 2.0 * draw.standard_normal(records)
    rows = [f"{x:.5f},{y:.5f},{z:.1f}\n" for x, y, z in zip(lon, lat, value, strict=True)]
    return "".join(["lon,lat,no2 (ug/m3)\n", *rows]).encode()


def proposed(app: AppTest, records: int, *, paths: bool = False) -> str:
    """All that the step Privacy says of a survey's fixed design, or of five posterior paths."""
    upload(kind(app, "sensors"), "sensors_private", "no2.csv", survey(records))
    with_area(press(app, "Read the data"))
    for label, value in (("A usual value (ug/m3)", 25.0), ("Most lie within ± (ug/m3)", 10.0)):
        next(each for each in app.number_input if each.label == label).set_value(value).run()
    if not paths:
        return texts(press(app, "See what the fixed design may reach"))
    mark = work_of(app).mark
    app.selectbox(key=f"drawn_{mark}").select("posterior-sampling").run()
    app.multiselect(key=f"priors_{mark}").set_value(["car"])
    app.checkbox(key=f"quick_{mark}").set_value(True)
    app.number_input(key=f"paths_{mark}").set_value(5).run()
    return texts(press(app, "Search for the best design"))


@pytest.mark.parametrize("records", [149, 150])
def test_from_150_records_on_the_screens_say_figures_as_the_products_do(
    open_app: OpenApp, jobs_at_once: None, records: int
) -> None:
    app = open_app(DATA.path)
    said = proposed(app, records)
    app.switch_page(RELEASE.path).run()
    if "expected to be poor" in texts(app):
        insist(app)
    asked = texts(press(app, "Release …"))
    found = [figure for figure in BEFORE if figure in said + asked]
    few = f"{records} records are too few to say how right the map will be: it takes 150, or a public map to"
    assert (found == []) == (few in said) == (f"**{few} start from**." in asked) == (records == 149), found
    two = "Orange is right about" in asked and "of the places that are above.**" in asked
    assert two == (records == 150)
    assert "expected agreement" not in asked


def test_a_survey_of_100_records_is_told_to_be_too_small_on_every_screen(
    open_app: OpenApp, jobs_at_once: None
) -> None:
    app = open_app(DATA.path)
    said = proposed(app, 100)
    assert f"Not worth releasing as it stands: {STOPPED}" in said
    assert "reaches an agreement" not in said
    assert "The design to release" not in said
    app.switch_page(RELEASE.path).run()
    assert f"**This map is expected to be poor**: {STOPPED}." in texts(app)
    asked = texts(press(insist(app), "Release …"))
    assert f"**{STOPPED}**." in asked
    assert "expected agreement" not in asked
    released = texts(press(app, "Release now"))
    assert f"As published: {TOO_FEW}" in released
    for screen in (PUBLISH, VIEWER):
        app.switch_page(screen.path).run()
        assert not app.exception
        released += texts(app)
    assert f"{TOO_FEW} A 50:50 guess about one reading" in released
    assert [figure for figure in FIGURES if figure in released] == []
    app.switch_page(COMPARE.path).run()
    assert not app.exception  # no hexagon has five records, so the rules show nothing
    assert "A rule of at least 5 leaves 100 % of the hexagons blank" in texts(app)


RIGHT = r"of 100 records|agreement (of about )?0\.\d|± 0|surely in or surely out; \d|variance unknown where"


@pytest.mark.parametrize("records", [149, pytest.param(150, marks=pytest.mark.slow)])
def test_what_specialists_look_at_says_as_little_of_too_few_records(
    open_app: OpenApp, jobs_at_once: None, monkeypatch: pytest.MonkeyPatch, records: int
) -> None:
    """Paths previewed, side by side, with prior noise; numbers varied, sure sets, a budget solved for."""
    titles: list[str] = []
    monkeypatch.setattr(maps, "show", lambda domain, panes, **_: titles.extend(pane.title for pane in panes))
    app = open_app(DATA.path)
    said = proposed(app, records, paths=True)
    few = records == 149
    mark = work_of(app).mark
    for button in ("Show what each number does", "Side by side with spectral statistics at ε 1"):
        said += texts(press(app, button))
    own = next(each for each in app.select_slider if str(each.key).startswith("noise_share"))
    said += texts(own.set_value(0.7 if own.value != 0.7 else 0.6).run())
    shown = [button.label for button in app.button]
    assert ("Simulate releases" in shown) == (not few)
    assert ("Compare with the limit" in shown) == (not few)
    if not few:
        said += texts(press(app, "Simulate releases"))
    app.segmented_control(key=f"goal_{mark}").set_value("agreement").run()
    said += texts(app)
    assert any(button.label.startswith("Find the smallest ε for") for button in app.button) == (not few)
    charts = len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))
    assert not app.exception
    assert (re.findall(RIGHT, said) == []) == few
    assert any("of 100 records on their right side" in title for title in titles) == (not few)
    assert "One path, simulated" in titles or not few
    assert "**Ridge" in said  # what a number costs is said of any number of records
    assert (charts >= 8) == (not few)
