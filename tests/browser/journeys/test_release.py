"""Releasing in a real browser: double clicks, Enter in the title box, a search that blocks nobody."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from hexcursion.ledger import open_ledger
from tests.browser.harness import (
    PATIENCE,
    RunningApp,
    appear,
    go_to,
    open_screen,
    press,
    running_app,
    settle,
)
from tests.browser.journeys.test_journey import (
    give_coarse_example,
    heading,
    ledger_entries,
    search_up_to_release,
    take_example,
)
from tests.patience import HANG

pytestmark = pytest.mark.flat_maps

CLICKS = int(os.environ.get("HEXCURSION_CLICKS", "2"))
"""How many double clicks the test makes, and half as many reloads; HEXCURSION_CLICKS=20 makes more."""


@pytest.fixture(scope="module")
def app(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """A server whose ledger has no account of the example yet: the budget is still to be said."""
    with running_app(tmp_path_factory.mktemp("release") / "home") as running:
        yield running


def at_release(page: Page, app: RunningApp) -> None:
    give_coarse_example(page, app, app.home.parent)
    search_up_to_release(page)


def ask(page: Page) -> None:
    """Press the button that asks once more, and wait for the question."""
    click(page.get_by_test_id("stFormSubmitButton").get_by_role("button"))
    appear(page.get_by_role("dialog").get_by_role("button", name="Release now"))
    settle(page)


def click(wanted: Locator) -> None:
    """Click the element itself: a busy machine may move it between pointing at it and pressing."""
    appear(wanted)
    wanted.evaluate("one => one.click()")
    settle(wanted.page)


@contextmanager
def ledger_held(app: RunningApp) -> Iterator[None]:
    """Nothing is written to the ledger meanwhile: a release waits, however quick the machine is."""
    with closing(sqlite3.connect(app.home / "ledger.sqlite", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def test_double_clicks_enter_and_reloads_are_charged_once_each(page: Page, app: RunningApp) -> None:
    """Enter in a field is no release; a release goes on while its page is loaded anew, and another tab of the
    same browser is not told of it."""
    at_release(page, app)
    total = page.get_by_role("spinbutton", name="Budget of these data")
    total.fill("100")
    total.press("Tab")
    for number in range(CLICKS):
        page.get_by_label("Title of the release").fill(f"Map {number}")
        ask(page)
        page.get_by_role("button", name="Release now").evaluate("one => { one.click(); one.click(); }")
        heading(page, "Released as")
        assert len(committed(app)) == number + 1
        click(page.get_by_role("button", name="Plan another release of these data"))
        heading(page, "What will be published")
    entries = ledger_entries(app)
    title = page.get_by_label("Title of the release")
    title.fill("Pressed Enter")
    title.press("Enter")
    settle(page)
    assert page.get_by_role("dialog").count() == 0
    assert ledger_entries(app) == entries
    ask(page)
    press(page, "Go back")
    expect(page.get_by_role("dialog")).to_have_count(0, timeout=PATIENCE * 1000)
    assert ledger_entries(app) == entries
    other = page.context.new_page()
    other.set_default_timeout(PATIENCE * 1000)
    open_screen(other, app, "data")
    reloads = CLICKS // 2
    for number in range(reloads):
        if number > 0:  # the reload lost the session's data
            at_release(page, app)
        page.get_by_label("Title of the release").fill(f"Reloaded {number}")
        ask(page)
        with ledger_held(app):
            page.get_by_role("button", name="Release now").evaluate("one => { one.click(); one.click(); }")
            appear(page.get_by_text("Charging the ledger"))
            page.reload()
            appear(page.get_by_text("The release that you asked for is under way"))
            assert len(committed(app)) == CLICKS + number
        appear(page.get_by_text("The release that you asked for is done."))
        assert len(committed(app)) == CLICKS + number + 1
        other.reload()
        settle(other)
        assert other.get_by_text("The release that you asked for").count() == 0  # it is not this tab's
    ledger = open_ledger(app.home / "ledger.sqlite", create=False)
    kinds = [entry.kind for entry in ledger.entries()]
    assert kinds.count("reserve") == kinds.count("draw") == kinds.count("commit") == CLICKS + reloads
    assert ledger.verify() == []
    click(page.get_by_role("link", name="Open it"))
    heading(page, "Download the bundle")


def test_back_in_mid_release_loses_neither_the_budget_nor_the_release(page: Page, app: RunningApp) -> None:
    """The browser's Back while the ledger is charged; before, the screens then said that no budget is set."""
    at_release(page, app)
    if not (app.home / "ledger.sqlite").exists():
        release_once(page)
    before = len(committed(app))
    page.get_by_label("Title of the release").fill("Left behind")
    ask(page)
    with ledger_held(app):
        page.get_by_role("button", name="Release now").evaluate("one => one.click()")
        appear(page.get_by_text("Charging the ledger"))
        page.go_back()
    appear(page.get_by_role("heading", level=1, name="Privacy and utility"))
    wait_until(lambda: len(committed(app)) == before + 1, "the release is charged")
    for screen in ("Release", "Privacy and utility"):
        go_to(page, screen)
        assert page.get_by_text("No budget is set").count() == 0, screen
    assert len(committed(app)) == before + 1


def release_once(page: Page) -> None:
    """Make the first release of these data, which begins the ledger, and plan another one."""
    total = page.get_by_role("spinbutton", name="Budget of these data")
    total.fill("100")
    total.press("Tab")
    page.get_by_label("Title of the release").fill("First")
    ask(page)
    press(page, "Release now")
    heading(page, "Released as")
    click(page.get_by_role("button", name="Plan another release of these data"))
    heading(page, "What will be published")


def committed(app: RunningApp) -> list[str]:
    """The releases that the ledger knows."""
    return [*open_ledger(app.home / "ledger.sqlite", create=False).committed()]


def searching(app: RunningApp) -> list[int]:
    """Processes that lead a computation apart from this server."""
    found = []
    home = f"HEXCURSION_HOME={app.home}".encode()
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            if b"pages.shared.subprocess_job" in words and home in (place / "environ").read_bytes().split(
                b"\0"
            ):
                found.append(int(place.name))
        except OSError:  # it has ended
            continue
    return found


def wait_until(true: Callable[[], object], what: str) -> None:
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < HANG, what
        time.sleep(0.02)


def test_another_persons_screens_open_while_a_search_stands_still(
    page: Page, app: RunningApp, new_page: Callable[..., Page]
) -> None:
    take_example(page, app)
    go_to(page, "Hexagons")
    go_to(page, "Privacy and utility")
    with app.standing_still():
        page.get_by_role("button", name="Search for the best design").click()
        wait_until(lambda: searching(app), "no process searches")
        other = new_page()
        take_example(other, app)
        go_to(other, "Hexagons")
        heading(other, "Spacing")
        appear(page.get_by_role("button", name="Cancel the search"))
        page.get_by_role("button", name="Cancel the search").click()
        heading(page, "The search was cancelled")
        wait_until(lambda: not searching(app), "the search goes on")


def test_trying_what_helps_after_a_stop_can_be_stopped(page: Page, app: RunningApp, tmp_path: Path) -> None:
    """A map that says little for its budget is stopped; its remedies are tried until somebody has enough."""
    give_coarse_example(page, app, tmp_path, epsilon=0.01, threshold=550_000.0)
    go_to(page, "Privacy and utility")
    press(page, "Search for the best design")
    heading(page, "The proposal")
    with app.standing_still():  # the bar is drawn again and again: no script comes to rest
        page.get_by_test_id("stSidebarNav").get_by_role("link", name="Release", exact=True).click()
        appear(page.get_by_text("expected to be poor").first)
        wait_until(lambda: searching(app), "no remedy is tried")
        page.get_by_role("button", name="Stop trying").click()
        appear(page.get_by_role("button", name="Stop trying"), "detached")
        wait_until(lambda: not searching(app), "a remedy is tried on")
        settle(page)
        assert not searching(app), "the next remedy is tried"
    assert page.get_by_role("button", name="Coarser hexagons").is_visible(), "untried, it can still be taken"
