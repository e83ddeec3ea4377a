"""A reader with a minute: what, where, how sure and who is protected, as text on the first screen."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from pages.shared.shipped import BUNDLE, shelved
from tests.browser.harness import PATIENCE, RunningApp, appear, open_screen, running_app, settle

FIRST_SCREEN = {"width": 1280, "height": 800}
ANSWERS = (
    "Where do properties sell for more than £450,000?",
    "Largest shares: West Quay ",
    "of the region right",
    "Guessed right: 73.2 % at most",
)


def test_the_four_answers_stand_on_the_first_screen(browser: Browser, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    shutil.copyfile(BUNDLE, shelf / "0123456789abcdef.zip")
    with running_app(tmp_path / "home", "--viewer", HEXCURSION_BUNDLES=str(shelf)) as app:
        context = browser.new_context(viewport=FIRST_SCREEN)
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        open_screen(page, app)
        appear(page.get_by_text(ANSWERS[-1]).first)
        settle(page)
        for answer in ANSWERS:
            box = page.get_by_text(answer).first.bounding_box()
            assert box is not None, answer
            assert box["y"] + box["height"] <= FIRST_SCREEN["height"], answer
        belief = page.locator(".belief .after").bounding_box()  # its picture
        whole = page.locator(".belief .track").bounding_box()
        assert belief is not None
        assert whole is not None
        assert belief["height"] > 8
        assert belief["width"] / whole["width"] == pytest.approx(0.232, abs=0.01)
        context.close()


def test_the_label_is_shown_whole_at_every_width(app: RunningApp, new_page: Callable[..., Page]) -> None:
    """Its frame shares nothing with the page, which cannot measure it: a style sheet has the heights."""
    for width in (360, 390, 480, 768, 1024, 1280, 1920):
        page = new_page(width)
        open_screen(page, app, f"publish?release={shelved().name}")
        label = page.frame_locator(".st-key-label iframe").locator("html")
        seen, needed = label.evaluate("label => [innerHeight, label.scrollHeight]")
        assert needed <= seen, width
        room = page.locator(".st-key-label").bounding_box()
        frame = page.locator(".st-key-label iframe").bounding_box()
        assert frame is not None
        assert room is not None
        assert room["height"] >= frame["height"] >= 1080, width
