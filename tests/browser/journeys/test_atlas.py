"""An atlas in a real browser: from one table with five columns to a published atlas in the viewer."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
import pytest
from playwright.sync_api import Browser, Page, expect

from hexcursion.ledger import open_ledger
from pages.shared.steps import DATA, HEXAGONS, PRIVACY, PUBLISH, VIEWER
from tests.browser.frame.test_accessibility import findings
from tests.browser.frame.test_one_sentence import CONTROLS, WORDS_ABOVE, load_of
from tests.browser.harness import (
    LINKED,
    PATIENCE,
    RunningApp,
    appear,
    at_rest,
    download,
    frames,
    give,
    go_to,
    needs_linked_maps,
    open_screen,
    press,
    running_app,
    settle,
)

METALS = {"pb": (60.0, 2.5), "zn": (90.0, 2.2), "cd": (1.2, 3.0), "cu": (25.0, 2.5), "ni": (20.0, 2.0)}
"""Of each column a usual value, which is its threshold too, and within what factor most lie."""
BOX = {"West": 5.0, "South": 51.0, "East": 5.2, "North": 51.12}
SHOTS = os.environ.get("HEXCURSION_SHOTS")
"""A folder for pictures of every screen, wide and light, narrow and dark, where one is named."""


def survey(path: Path, n: int = 1200) -> Path:
    """Write n samples in the box, whose metals rise to the east, or the north, by factors."""
    rng = np.random.default_rng(8)
    lon, lat = rng.uniform(BOX["West"], BOX["East"], n), rng.uniform(BOX["South"], BOX["North"], n)
    slopes = 2 * (lon - 5.1) / 0.2, 2 * (lat - 51.06) / 0.12
    table = {"longitude": lon.round(5), "latitude": lat.round(5)}
    for number, (name, (usual, factor)) in enumerate(METALS.items()):
        logs = np.log(usual) + np.log(factor) * (0.8 * slopes[number % 2] + 0.3 * rng.standard_normal(n))
        table[f"{name} (mg/kg)"] = np.exp(logs).round(4)
    pandas.DataFrame(table).to_csv(path, index=False)
    return path


@pytest.fixture
def app(browser: Browser, tmp_path: Path) -> Iterator[RunningApp]:
    with running_app(tmp_path / "home") as running:  # a second try starts without the ledger of the first
        yield running


def fill(page: Page, label: str, value: float) -> None:
    """Fill in a number that a person types."""
    field = page.get_by_label(re.compile(f"^{re.escape(label)}")).first
    field.fill(f"{value:g}")
    field.press("Enter")
    settle(page)


def choose(page: Page, label: str, *names: str) -> None:
    """Choose entries of a list by their names."""
    for name in names:
        field = page.get_by_role("combobox", name=label).first
        field.click()
        field.fill(name)
        page.get_by_role("option", name=name, exact=True).click()
        settle(page)
    page.keyboard.press("Escape")
    settle(page)


def measure(page: Page, name: str, axe: str) -> None:
    """A screen stays below its words and controls, and axe-core finds nothing; its pictures, where they are
    asked for."""
    settle(page)  # the screen before it is gone
    seen = load_of(page)
    assert len(seen.above) <= WORDS_ABOVE, (name, len(seen.above), seen.above)
    assert len(seen.controls) <= CONTROLS, (name, *seen.controls)
    assert findings(page, axe) == [], name
    if not SHOTS:
        return
    size = page.viewport_size
    for width, scheme in ((1280, "light"), (390, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        settle(page)
        frames(page)
        page.screenshot(path=f"{SHOTS}/{name}-{width}-{scheme}.png", full_page=False)
    page.emulate_media(color_scheme="light")
    assert size is not None
    page.set_viewport_size(size)
    settle(page)


def read_table(page: Page, folder: Path, axe: str) -> None:
    """Five columns of one table are ticked, read, and described one after the other."""
    page.get_by_role("radio", name="Your own table").click()
    settle(page)
    give(page, "Table of places and values (.csv", survey(folder / "survey.csv"))
    first, *others = (f"{name} (mg/kg)" for name in METALS)
    choose(page, "Measured value", first)
    fold = page.get_by_text("Further values of the same rows")
    fold.click()
    settle(page)
    frames(page)
    choose(page, "Values that are released together with it", *others)
    fold.click()
    settle(page)
    frames(page)
    measure(page, "data-ticked", axe)
    press(page, "Read the data")
    appear(page.get_by_text("For you only: no value is missing."))
    for name, (usual, factor) in METALS.items():
        page.get_by_role("radio", name=name, exact=True).click()
        settle(page)
        choose(page, "Values differ by", "factors: so many per cent more or less")
        for label, value in (("the threshold", usual), ("A usual value", usual), ("Most lie within", factor)):
            fill(page, label, value)
    expect(page.get_by_text("are still to be said")).to_have_count(0, timeout=PATIENCE * 1000)
    measure(page, "data-said", axe)


@needs_linked_maps
def test_five_columns_of_one_table_become_a_published_atlas(
    page: Page, app: RunningApp, axe: str, tmp_path: Path
) -> None:
    open_screen(page, app, DATA.address)
    read_table(page, tmp_path, axe)
    go_to(page, HEXAGONS.title)
    page.get_by_text("Bounding box", exact=True).first.click()
    settle(page)
    for side, value in BOX.items():
        fill(page, f"{side} (degrees)", value)
    go_to(page, PRIVACY.title)
    measure(page, "privacy-asked", axe)
    press(page, "See what each map may reach")
    appear(page.get_by_text("5 maps are worth releasing"))
    measure(page, "privacy-proposal", axe)
    press(page, "Go to the release")
    appear(page.get_by_role("heading", name="What will be published"))
    measure(page, "release-plan", axe)
    total = page.get_by_role("spinbutton", name="Budget of these data")
    total.fill("4")
    total.press("Tab")
    page.get_by_label("Title of the release").fill("Five metals of a survey")
    page.get_by_test_id("stFormSubmitButton").get_by_role("button").click()
    appear(page.get_by_role("dialog").get_by_role("button", name="Release now"))
    page.get_by_role("button", name="Release now").click()
    appear(page.get_by_text("Released as"))
    shown = page.locator(LINKED).first
    released = at_rest(shown)
    measure(page, "release-result", axe)
    page.get_by_text("Without privacy", exact=True).click()
    settle(page)
    assert at_rest(shown) != released
    measure(page, "release-private", axe)
    page.get_by_role("radio", name="5", exact=True).click()
    settle(page)
    entries = open_ledger(app.home / "ledger.sqlite", create=False).entries()
    assert [entry.kind for entry in entries].count("draw") == 1
    go_to(page, PUBLISH.title)
    appear(page.get_by_text("All five maps together: a 50:50 guess"))
    measure(page, "publish", axe)
    statement = json.loads(download(page, "Privacy statement (JSON)", tmp_path).read_bytes())
    assert [layer["name"] for layer in statement["layers"]] == [f"{name} (mg/kg)" for name in METALS]
    go_to(page, VIEWER.title)
    appear(page.get_by_role("heading", name=re.compile("pb above 60")))
    measure(page, "viewer", axe)
    before = at_rest(page.locator(LINKED).first)
    page.get_by_role("radio", name="zn", exact=True).click()
    appear(page.get_by_role("heading", name=re.compile("zn above 90")))
    assert at_rest(page.locator(LINKED).first) != before
    page.get_by_text("All maps of this release, side by side").click()
    appear(page.locator(LINKED).nth(1))
