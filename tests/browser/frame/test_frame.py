"""The frame in a real browser: deep links, reload, the viewer's process, and nobody else is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from pages.shared.steps import SCREENS
from tests.browser.harness import PATIENCE, RunningApp, appear, go_to, open_screen, press, running_app, settle

pytestmark = pytest.mark.flat_maps

CURATOR = [screen for screen in SCREENS if screen.curator]


def test_a_deep_link_opens_its_screen_survives_a_reload_and_asks_nobody_else(
    page: Page, app: RunningApp
) -> None:
    asked: list[str] = []
    refused: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda said: refused.append(said.text) if "Content Security" in said.text else None)
    for screen in (*SCREENS, SCREENS[-1]):  # the last one is opened over itself: a reload
        open_screen(page, app, screen.address)
        assert page.get_by_role("heading", level=1).inner_text() == screen.title
        assert page.get_by_role("dialog").count() == 0, screen.address  # "Page not found"
        assert page.get_by_test_id("stException").count() == 0, screen.address
    assert asked
    assert [url for url in asked if not url.startswith((app.url, "data:", "blob:"))] == []
    assert refused == []  # nor does the app want anything that its own policy forbids


def test_an_unknown_address_says_so(page: Page, app: RunningApp) -> None:
    page.goto(f"{app.url}/nowhere")
    appear(page.get_by_role("dialog"))
    assert "Page not found" in page.get_by_role("dialog").inner_text()
    page.get_by_role("dialog").get_by_role("button").first.click()
    appear(page.get_by_role("dialog"), "detached")
    assert page.get_by_role("heading", level=1).inner_text() == SCREENS[0].title


def test_the_first_deep_link_after_a_start_finds_its_screen(page: Page, tmp_path: Path) -> None:
    with running_app(tmp_path) as fresh:
        open_screen(page, fresh, "help")
        assert page.get_by_role("heading", level=1).inner_text() == "How this works"
        assert page.get_by_role("dialog").count() == 0


def test_a_viewers_process_has_no_curator_screen(page: Page, tmp_path: Path) -> None:
    """By its environment; by the argument `--viewer` in `test_journey.py`."""
    with running_app(tmp_path, HEXCURSION_MODE="viewer") as viewer:
        # As at a curator's, whose links are sent on.
        for address in ("", "viewer", "viewer?release=0123456789abcdef"):
            open_screen(page, viewer, address)
            assert page.get_by_role("heading", level=1).inner_text() == "Viewer"
            assert page.get_by_role("dialog").count() == 0
        links = page.get_by_test_id("stTopNavLink").all_inner_texts()
        assert len(links) == 3
        assert not {screen.title for screen in CURATOR} & {text.split("\n")[-1] for text in links}
        page.goto(f"{viewer.url}/release")
        appear(page.get_by_role("dialog"))  # there is no such page here


def test_back_leaves_a_screen_of_a_release_at_once(page: Page, app: RunningApp) -> None:
    open_screen(page, app)
    press(page, "Open the finished example")
    go_to(page, "How this works")
    for title in ("Publish", "Viewer"):
        go_to(page, title)
        page.go_back()
        settle(page)
        assert page.get_by_role("heading", level=1).inner_text() == "How this works", title
        # Streamlit may have told the release before it went on: the step before then holds it too.
        assert page.url.removeprefix(app.url).partition("?")[0] == "/help", title


def test_two_tabs_know_of_each_other(page: Page, app: RunningApp) -> None:
    """Of one browser; a tab that was closed is not counted any more."""
    said = "This app is open in another tab as well."
    open_screen(page, app, "data")
    assert page.get_by_text(said).count() == 0
    other = page.context.new_page()
    other.set_default_timeout(PATIENCE * 1000)
    open_screen(other, app, "data")
    appear(page.get_by_text(said))
    appear(other.get_by_text(said))
    other.close(run_before_unload=True)
    appear(page.get_by_text(said), "detached")
