"""How much a person meets on each screen: words above the fold, words before unfolding, controls."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from pages.shared.shipped import BUNDLE, shelved
from pages.shared.steps import DATA, HEXAGONS, PRIVACY, RELEASE, SCREENS, START, TOUR, VIEWER
from tests.browser.harness import (
    MAP,
    PATIENCE,
    RunningApp,
    appear,
    choose,
    give,
    go_to,
    open_screen,
    press,
    settle,
)

FOLD = 800  # pixels: of a window 1280 wide
WORDS_ABOVE, WORDS, CONTROLS, WORDS_OF_A_PAGE, TOUR_WORDS = 150, 400, 20, 250, 350
# Words that can be seen, without icons and the words of a chart; a fold that is shut shows its summary only.
# A number field with its two steps is one control, and so is a list with its arrow; a help mark is none, nor
# is a link to another screen.
SEEN = r"""([selector, fold]) => {
  const main = document.querySelector(selector);
  const seen = (element, box) => element.checkVisibility({ checkOpacity: true, visibilityProperty: true })
    && box.width > 1 && box.height > 1 && box.top < fold
    && (!element.closest("details:not([open])") || element.closest("summary"));
  const words = [], walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, parent = node.parentElement, range = document.createRange();
    if (parent.closest("script, style, svg, canvas, [data-testid=stIconMaterial]")) continue;
    range.selectNodeContents(node);
    if (seen(parent, range.getBoundingClientRect())) words.push(node.textContent);
  }
  const kinds = "button, input, textarea, select, summary, [role=slider]";
  const parts = /^(Help( for .*)?|Increment|Decrement|Open|Clear all|Clear value|Copy to clipboard)$/;
  const controls = [...main.querySelectorAll(kinds)]
    .filter(one => seen(one, one.getBoundingClientRect()))
    .map(one => one.getAttribute("aria-label") || one.innerText || one.type)
    .filter(name => !parts.test(name.trim()));
  return [words.join(" "), controls];
}"""
PASSING = "Stop drawing the curve"  # a control that goes by itself, when the curve is drawn
WORD = re.compile(r"[^\W_][\w.,'’%:-]*")


@dataclass(frozen=True)
class Load:
    """What a screen shows: its words above the fold, all before unfolding, and its controls."""

    above: list[str]
    words: list[str]
    controls: list[str]


def load_of(page: Page, selector: str = '[data-testid="stMain"]') -> Load:
    """Return what a page shows now."""
    page.evaluate("document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0)")
    above, _ = page.evaluate(SEEN, [selector, FOLD])
    words, controls = page.evaluate(SEEN, [selector, 1e9])
    stay = [name for name in controls if not name.endswith(PASSING)]
    return Load(WORD.findall(above), WORD.findall(words), stay)


def write_table(path: Path) -> Path:
    """Write prices of two years on a plane, where the west is dear."""
    rng = np.random.default_rng(3)
    x, y = rng.uniform(-83.75, -83.45, 1200), rng.uniform(41.58, 41.74, 1200)
    price = 100000 * np.exp(-2 * (x + 83.6) + rng.normal(0, 0.3, 1200))
    rows = [
        f"{i + 1},{a:.5f},{b:.5f},{p:.0f},{2017 + i % 2}"
        for i, (a, b, p) in enumerate(zip(x, y, price, strict=True))
    ]
    path.write_text("id,longitude,latitude,price (USD),year\n" + "\n".join(rows) + "\n")
    return path


@dataclass(frozen=True)
class Walked:
    """What the screens of three walks showed, by the name of the screen and its state."""

    screens: dict[str, Load]
    tour: int  # words of the guided tour, those that its steps share counted once


def of_example(page: Page, app: RunningApp) -> Iterator[str]:
    """Open the finished example and every screen, with each tab of the viewer."""
    open_screen(page, app)
    yield "Start"
    press(page, "Open the finished example")
    page.wait_for_url("**/viewer*")
    settle(page)
    for screen in SCREENS:
        if screen not in (START, TOUR):
            go_to(page, screen.title)
            yield f"{screen.title}, finished"
    go_to(page, VIEWER.title)
    for tab in page.get_by_role("tab").all():
        tab.click()
        settle(page)
        yield f"{VIEWER.title}, {tab.inner_text()}"
    go_to(page, PRIVACY.title)
    choose("How the map is drawn", "Posterior paths")(page)
    yield f"{PRIVACY.title}, paths chosen"
    press(page, "Search for the best design")
    appear(page.get_by_role("combobox", name="Shown of the paths"))
    yield f"{PRIVACY.title}, one path"
    for way in ("Several paths", "Votes"):
        choose("Shown of the paths", way)(page)
        yield f"{PRIVACY.title}, {way.lower()}"
    press(page, "Side by side with spectral statistics")
    appear(page.get_by_text("each drawn once in simulation"))
    yield f"{PRIVACY.title}, side by side"


def of_tour(page: Page, app: RunningApp) -> Iterator[str]:
    """Walk the five steps of the tour."""
    open_screen(page, app, TOUR.address)
    yield "tour 1"
    for step in range(2, 6):
        page.get_by_test_id("stMain").get_by_role("button").filter(has_text="Next").click()
        settle(page)
        yield f"tour {step}"


def of_own_table(page: Page, app: RunningApp, folder: Path) -> Iterator[str]:
    """Give a table of two years, and go on to the plan of a release."""
    open_screen(page, app, DATA.address)
    page.get_by_role("radio", name="Your own table").click()
    settle(page)
    give(page, "Table of places and values (.csv", write_table(folder / "prices.csv"))
    yield "own table, guessed"
    press(page, "Read the data")
    yield "own table, read"
    go_to(page, HEXAGONS.title)
    for way in ("States, provinces, districts", "Around a place", "Draw it on the map", "Bounding box"):
        page.get_by_text(way, exact=True).first.click()
        settle(page)
        yield f"own table, {way}"
    for side, value in (("West", -83.75), ("South", 41.58), ("East", -83.45), ("North", 41.74)):
        field = page.get_by_label(f"{side} (degrees)")
        field.fill(str(value))
        field.press("Enter")
        settle(page)
    yield "own table, hexagons"
    go_to(page, PRIVACY.title)
    yield "own table, privacy"
    for label, value in (("the threshold", 100000), ("A usual value", 100000), ("Most lie within", 60000)):
        field = page.get_by_label(re.compile(f"^{label}")).first
        field.fill(str(value))
        field.press("Enter")
        settle(page)
    press(page, "See what the fixed design may reach")
    appear(page.get_by_role("button", name="Go to the release"))
    settle(page)  # the curve of other budgets goes on
    yield "own table, proposal"
    go_to(page, RELEASE.title)
    yield "own table, plan"


@pytest.fixture(scope="module")
def walked(app: RunningApp, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Walked:
    """Walk the app three times and measure every screen."""
    found: dict[str, Load] = {}
    for walk in (
        of_example,
        of_tour,
        lambda page, app: of_own_table(page, app, tmp_path_factory.mktemp("own")),
    ):
        context = browser.new_context(viewport={"width": 1280, "height": FOLD})
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        for state in walk(page, app):
            found[state] = load_of(page)
        context.close()
    steps = [found[f"tour {step}"].words for step in range(1, 6)]
    shared = Counter(steps[0])
    for words in steps[1:]:
        shared &= Counter(words)
    common = shared.total()
    return Walked(found, common + sum(len(words) - common for words in steps))


def excess(walked: Walked, measure: Callable[[Load], int], limit: int) -> dict[str, int]:
    """Return the screens beyond a limit, with their numbers."""
    measured = {name: measure(load) for name, load in walked.screens.items()}
    return {name: number for name, number in measured.items() if number > limit}


@pytest.mark.parametrize(
    ("measure", "limit"),
    [
        pytest.param(lambda load: len(load.above), WORDS_ABOVE, id="words above the fold"),
        pytest.param(lambda load: len(load.words), WORDS, id="words before unfolding"),
        pytest.param(lambda load: len(load.controls), CONTROLS, id="controls before unfolding"),
    ],
)
def test_no_screen_asks_for_more_than_a_person_reads(
    walked: Walked, measure: Callable[[Load], int], limit: int
) -> None:
    assert len(walked.screens) > 30
    assert min(len(load.above) for load in walked.screens.values()) > 10, "words are counted"
    assert excess(walked, measure, limit) == {}


def test_the_tour_takes_two_minutes_and_five_clicks(walked: Walked) -> None:
    assert walked.tour <= TOUR_WORDS
    assert "tour 5" in walked.screens, "one click opens it, four go on"


@pytest.mark.parametrize(("width", "most"), [(1280, 400), (390, 400)])
def test_the_page_of_a_map_is_short_and_begins_with_the_map(
    new_page: Callable[..., Page], tmp_path: Path, width: int, most: int
) -> None:
    (address,) = [path for path in unpacked(tmp_path) if path.name == "map.html"]
    page = new_page(width)
    page.goto(address.as_uri())
    appear(page.locator("#live"))
    assert 100 < len(load_of(page, "body").words) <= WORDS_OF_A_PAGE
    assert page.locator("#board").bounding_box()["y"] < most
    fold = page.get_by_text("What today's rule would have shown about one house")
    fold.click()
    assert "89 of 100 prices" in page.locator("body").inner_text()


def unpacked(folder: Path) -> list[Path]:
    """Unpack the shipped example's bundle."""
    with zipfile.ZipFile(BUNDLE) as archive:
        archive.extractall(folder)
    return list(folder.rglob("*"))


def test_on_a_telephone_the_viewer_begins_with_the_map(
    new_page: Callable[..., Page], app: RunningApp
) -> None:
    page = new_page(390)
    open_screen(page, app, f"viewer?release={shelved().name}")
    appear(page.locator(MAP).first)
    box = page.locator(MAP).first.bounding_box()
    assert box is not None
    assert box["y"] < 400
