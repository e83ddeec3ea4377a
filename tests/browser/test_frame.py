"""The frame in a real browser: deep links, reload, the viewer's process, and nobody else is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from pages.shared.steps import SCREENS
from tests.browser.harness import RunningApp, appear, open_screen, running_app, settle

CURATOR = [screen for screen in SCREENS if screen.curator]


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.address)
def test_a_deep_link_opens_its_screen_and_survives_a_reload(page: Page, app: RunningApp, screen) -> None:
    address = "" if screen.address == "start" else screen.address
    for _ in range(2):
        open_screen(page, app, address)
        assert page.get_by_role("heading", level=1).inner_text() == screen.title
        assert page.get_by_role("dialog").count() == 0  # "Page not found"
        assert page.get_by_test_id("stException").count() == 0


def test_the_first_deep_link_after_a_start_finds_its_screen(page: Page, tmp_path: Path) -> None:
    with running_app(tmp_path) as fresh:
        open_screen(page, fresh, "help")
        assert page.get_by_role("heading", level=1).inner_text() == "How this works"
        assert page.get_by_role("dialog").count() == 0


@pytest.mark.parametrize("way", ["argument", "environment"])
def test_a_viewers_process_has_no_curator_screen(page: Page, tmp_path: Path, way: str) -> None:
    arguments = ("--viewer",) if way == "argument" else ()
    environment = {} if way == "argument" else {"HEXCURSION_MODE": "viewer"}
    with running_app(tmp_path, *arguments, **environment) as viewer:
        open_screen(page, viewer)
        assert page.get_by_role("heading", level=1).inner_text() == "Viewer"
        links = page.get_by_test_id("stSidebarNav").get_by_role("link").all_inner_texts()
        assert not {screen.title for screen in CURATOR} & {text.split("\n")[-1] for text in links}
        page.goto(f"{viewer.url}/release")
        appear(page.get_by_role("dialog"))  # there is no such page here


def test_nothing_is_asked_of_anybody_else(page: Page, app: RunningApp) -> None:
    asked: list[str] = []
    refused: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda said: refused.append(said.text) if "Content Security" in said.text else None)
    for screen in SCREENS:
        open_screen(page, app, "" if screen.address == "start" else screen.address)
        settle(page)
    foreign = [url for url in asked if not url.startswith((app.url, "data:", "blob:"))]
    assert asked
    assert foreign == []
    assert refused == []  # nor does the app want anything that its own policy forbids
