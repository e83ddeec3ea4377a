"""Three own tables from upload to published page: clicks, typed fields and seconds."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

from geo import project
from tests.browser.harness import (
    MAP,
    RunningApp,
    appear,
    give,
    go_to,
    open_screen,
    press,
    release_anyway,
    settle,
)
from tests.browser.journeys.test_journey import heading

CLICKS, FIELDS = 15, 6
# Every press of a button of the mouse, and every field that was typed into, as the browser has them.
COUNT = """() => {
  const add = (name, what) => {
    const kept = JSON.parse(sessionStorage.getItem(name) || "[]");
    sessionStorage.setItem(name, JSON.stringify([...kept, what]));
  };
  const named = one => one.getAttribute("aria-label") || one.innerText || one.tagName;
  addEventListener("pointerdown", event => add("clicks", named(event.target).slice(0, 60)), true);
  addEventListener("input", event => {
    const one = event.target;
    if (one.matches("input[type=text], input[type=number], textarea")) add("typed", named(one));
  }, true);
}"""


@dataclass(frozen=True)
class Table:
    """A generated table, and what an analyst says of it and its area."""

    rows: str
    place: str
    question: dict[str, float]  # by the beginning of a field's label
    crs: str = ""  # where the columns do not tell it
    factors: bool = True  # as the screen proposes for prices and concentrations

    @property
    def typed(self) -> int:
        """Fields: place, question, and what the columns do not tell."""
        return 1 + len(self.question) + bool(self.crs)


def scattered(west: float, south: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Longitudes and latitudes around a town, degrees."""
    rng = np.random.default_rng(11)
    return west + 0.16 * rng.random(count), south + 0.1 * rng.random(count)


def prices() -> Table:
    """Flat prices around Reading, degrees."""
    lon, lat = scattered(-1.05, 51.41, 1500)
    noise = np.random.default_rng(5).normal(0, 0.25, lon.size)
    price = 300_000 * np.exp(4 * (lon + 0.97) + noise)
    rows = [f"{i},{a:.5f},{b:.5f},{c:.0f}" for i, (a, b, c) in enumerate(zip(lon, lat, price, strict=True))]
    return Table(
        "id,longitude,latitude,price (GBP)\n" + "\n".join(rows),
        "Reading",
        {"the threshold": 300_000, "A usual value": 300_000, "Most lie within": 2.5},
    )


def soil() -> Table:
    """Zinc in soil around Maastricht, metres of the Dutch national grid."""
    lon, lat = scattered(5.62, 50.81, 1500)
    x, y = project(np.column_stack([lon, lat]), "EPSG:28992").T
    noise = np.random.default_rng(6).normal(0, 0.3, lon.size)
    zinc = 200 * np.exp(9 * (lon - 5.7) + noise)
    rows = [f"{i},{a:.0f},{b:.0f},{c:.0f}" for i, (a, b, c) in enumerate(zip(x, y, zinc, strict=True))]
    return Table(
        "sample,x,y,zinc (mg/kg)\n" + "\n".join(rows),
        "Maastricht",
        {"the threshold": 200, "A usual value": 200, "Most lie within": 3},
        crs="EPSG:28992",
    )


def answers() -> Table:
    """Answers, 1 for yes and 0 for no, around Lyon, degrees."""
    lon, lat = scattered(4.75, 45.71, 2500)
    yes = np.random.default_rng(7).random(lon.size) < 0.1 + 5 * (lon - 4.75)
    rows = [f"{i},{a:.5f},{b:.5f},{c:d}" for i, (a, b, c) in enumerate(zip(lon, lat, yes, strict=True))]
    return Table(
        "id,longitude,latitude,owns a car\n" + "\n".join(rows),
        "Lyon",
        {"the threshold": 50},
        factors=False,
    )


def counted(page: Page, name: str) -> list[str]:
    found: list[str] = json.loads(page.evaluate("name => sessionStorage.getItem(name)", name) or "[]")
    return found


def typed(page: Page, label: str, value: float | str) -> None:
    field = page.get_by_label(re.compile(f"^{label}")).first
    field.fill(str(value))
    field.press("Enter")
    settle(page)


@pytest.mark.parametrize("make", [prices, soil, answers])
def test_an_own_table_becomes_a_published_page(
    new_page: Callable[..., Page], app: RunningApp, tmp_path: Path, make: Callable[[], Table]
) -> None:
    table, page, begun = make(), new_page(), time.monotonic()
    page.add_init_script(f"({COUNT})()")
    file = tmp_path / f"{make.__name__}.csv"
    file.write_text(table.rows + "\n", encoding="utf-8")
    open_screen(page, app, "data")
    page.get_by_role("radio", name="Your own table").click()
    settle(page)
    give(page, "Table of places and values (.csv", file)
    if table.crs:
        typed(page, "Coordinate system", table.crs)
    press(page, "Read the data")
    heading(page, "What was read")
    go_to(page, "Hexagons")
    page.get_by_text("Around a place", exact=True).first.click()
    settle(page)
    typed(page, "Place", table.place)
    appear(page.locator(MAP).first)
    go_to(page, "Privacy and utility")
    if table.factors:
        press(page, "Use factors")
    for label, value in table.question.items():
        typed(page, label, value)
    press(page, "See what the fixed design may reach")
    heading(page, "The proposal")
    press(page, "Go to the release")
    appear(page.get_by_test_id("stFormSubmitButton"))
    release_anyway(page)
    heading(page, "Released as")
    go_to(page, "Publish")
    heading(page, "Download the bundle")
    clicks, fields = counted(page, "clicks"), sorted(set(counted(page, "typed")))
    number, seconds = len(clicks) + 1, time.monotonic() - begun  # with the one that chose the file
    print(f"{make.__name__}: {number} clicks, {len(fields)} fields, {seconds:.0f} s: {clicks}, {fields}")
    assert len(clicks) > 8, "every click is counted"
    assert number <= CLICKS
    assert table.typed == len(fields) <= FIELDS
