"""A survey of 100 records without reference data: no screen says a figure of how right its map is."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.steps import COMPARE, DATA, PUBLISH, RELEASE, VIEWER
from tests.pages.conftest import OpenApp, insist, press, texts
from tests.pages.data_steps import kind, upload, with_area

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


def proposed(app: AppTest, records: int) -> str:
    """All that the step Privacy says of a survey's fixed design."""
    upload(kind(app, "sensors"), "sensors_private", "no2.csv", survey(records))
    with_area(press(app, "Read the data"))
    for label, value in (("A usual value (ug/m3)", 25.0), ("Most lie within ± (ug/m3)", 10.0)):
        next(each for each in app.number_input if each.label == label).set_value(value).run()
    return texts(press(app, "See what the fixed design may reach"))


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
    few = f"{records} records are too few to say how right the map will be: without reference data it takes"
    assert (found == []) == (few in said) == (f"**{few} 150**." in asked) == (records == 149), found
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
