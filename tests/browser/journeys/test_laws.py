"""Records without amounts in a real browser: cases over a population, and a survey of yes and no."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import (
    PATIENCE,
    RunningApp,
    appear,
    download,
    give,
    go_to,
    press,
    release_anyway,
    settle,
)
from tests.browser.journeys.test_data_page import choose_kind, fill, main_text
from tests.browser.journeys.test_journey import heading

pytestmark = pytest.mark.flat_maps

WEST, SOUTH, EAST, NORTH = 10.0, 50.0, 10.4, 50.2


def cases_and_people(folder: Path) -> tuple[Path, Path]:
    """400 cases in degrees, most of them in the west, and people who live evenly."""
    rng = np.random.default_rng(3)
    lon = WEST + (EAST - WEST) * rng.beta(1.0, 2.5, 400)
    lat = rng.uniform(SOUTH, NORTH, 400)
    cases = folder / "cases.csv"
    cases.write_text(
        "lon,lat,number\n"
        + "".join(f"{x:.5f},{y:.5f},c{k}\n" for k, (x, y) in enumerate(zip(lon, lat, strict=True)))
    )
    people = folder / "people.csv"
    grid = [(x, y) for x in np.linspace(WEST, EAST, 60) for y in np.linspace(SOUTH, NORTH, 60)]
    people.write_text("lon,lat,population\n" + "".join(f"{x:.5f},{y:.5f},25\n" for x, y in grid))
    return cases, people


def choose(page: Page, box: str, entry: str) -> None:
    """Choose an entry of a select box."""
    found = page.get_by_role("combobox", name=box)
    found.scroll_into_view_if_needed()
    settle(page)  # a list that opens while the page moves is closed again
    found.click()
    page.get_by_role("option", name=entry).click()
    settle(page)


def take_the_box(page: Page) -> None:
    """Take the bounding box of both files as the area."""
    go_to(page, "Hexagons")
    page.get_by_text("Bounding box", exact=True).click()
    settle(page)
    for side, value in (("West", WEST), ("South", SOUTH), ("East", EAST), ("North", NORTH)):
        fill(page, side, str(value))
    page.get_by_role("slider", name="Resolution").press("ArrowLeft")  # a seventh of the hexagons
    settle(page)
    appear(page.get_by_text("Rows inside"))


def released_cells(page: Page, folder: Path) -> Any:
    """Release what was asked, and download its hexagons."""
    press(page, "See what the fixed design may reach")
    heading(page, "The proposal")
    go_to(page, "Release")
    heading(page, "What will be published")
    release_anyway(page)
    heading(page, "Released as")
    go_to(page, "Publish")
    return json.loads(download(page, "Hexagons (GeoJSON)", folder).read_text())


def test_cases_over_a_population_are_asked_about_and_released(
    app: RunningApp, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = new_page()
    cases, people = cases_and_people(tmp_path)
    choose_kind(page, app, "Your own table")
    give(page, "Table of places and values (.csv", cases)
    choose(page, "Measured value", "none: count the rows")
    press(page, "Read the data")
    appear(page.get_by_text("400 rows read, 400 kept").first)
    take_the_box(page)
    go_to(page, "Privacy and utility")
    choose(page, "The threshold is compared with", "The average risk, over a public population")
    give(page, "Public population", people)
    fill(page, "the threshold", "1.5")
    heading(page, "A hexagon is inside where the risk is more than 1.5 times the average")
    assert "What is usual" not in main_text(page)
    cells = released_cells(page, tmp_path)
    assert cells["release"]["title"] == "Risk of a case above 1.5 times the average"
    inside = [each["properties"]["in_set"] for each in cells["features"]]
    assert 0 < sum(inside) < len(inside) / 2


def wells_and_a_river(folder: Path) -> tuple[Path, Path]:
    """600 wells, most of those in the south beyond 50, and a river that runs along the south."""
    rng = np.random.default_rng(5)
    lon, lat = rng.uniform(WEST, EAST, 600), rng.uniform(SOUTH, NORTH, 600)
    high = rng.uniform(size=600) < np.where(lat < (SOUTH + NORTH) / 2.0, 0.7, 0.05)
    wells = folder / "wells.csv"
    rows = (f"{x:.5f},{y:.5f},{80 if up else 10}\n" for x, y, up in zip(lon, lat, high, strict=True))
    wells.write_text("lon,lat,arsenic (ug/l)\n" + "".join(rows))
    river = folder / "river.geojson"
    line = {"type": "LineString", "coordinates": [[WEST, SOUTH + 0.01], [EAST, SOUTH + 0.02]]}
    river.write_text(json.dumps({"type": "Feature", "properties": {}, "geometry": line}))
    return wells, river


CHOICE = "A private choice of the field"


def choose_the_field_privately(page: Page) -> None:
    """A pilot that chooses a law of the field: it is kept over another screen, and says what it buys."""
    page.get_by_text("By a search on an accounted pilot").click()
    settle(page)
    page.get_by_text(CHOICE, exact=True).click()
    settle(page)
    for label, value in (("the threshold", "50"), ("A usual value", "30"), ("Most lie within", "60")):
        fill(page, label, value)
    go_to(page, "Hexagons")
    go_to(page, "Privacy and utility")
    expect(page.get_by_role("radio", name=CHOICE)).to_be_checked(timeout=PATIENCE * 1000)
    appear(page.get_by_text("which law of a field they fit"))
    appear(page.get_by_role("button", name="Pay for the pilot"))


def test_a_survey_of_yes_and_no_with_a_public_river_is_released(
    app: RunningApp, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = new_page()
    wells, river = wells_and_a_river(tmp_path)
    choose_kind(page, app, "Your own table")
    give(page, "Table of places and values (.csv", wells)
    press(page, "Read the data")
    appear(page.get_by_text("600 rows read, 600 kept").first)
    take_the_box(page)
    page.get_by_text("Numbers that may explain the values").click()
    give(page, "Public numbers (CSV", river)
    appear(page.get_by_text("The square root of the distance to river in metres"))
    go_to(page, "Privacy and utility")
    choose_the_field_privately(page)
    choose(page, "The threshold is compared with", "A share: each record says yes or no")
    expect(page.get_by_role("radio", name=CHOICE)).to_have_count(0, timeout=PATIENCE * 1000)
    fill(page, "A value above this is a yes", "50")
    fill(page, "the threshold", "30")
    heading(page, "A hexagon is inside where more than 30 % of its records say yes")
    cells = released_cells(page, tmp_path)
    title = cells["release"]["title"]
    assert title.startswith("More than 30 % with arsenic"), title
    assert "above 50" in title
    south = [each["geometry"]["coordinates"][0][0][1] < (SOUTH + NORTH) / 2 for each in cells["features"]]
    inside = [each["properties"]["in_set"] for each in cells["features"]]
    right = np.mean(np.array(south) == np.array(inside))
    assert right > 0.8, right
