"""A reader with a minute: what, where, how sure and who is protected, as text on the first screen."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from hexcursion.bundle.layout import contents_of
from hexcursion.words import agreement_words
from pages.shared.shipped import BUNDLE, shelved
from tests.browser.harness import PATIENCE, RunningApp, appear, open_screen, running_app, settle, unfold

FIRST_SCREENS: tuple[ViewportSize, ...] = ({"width": 1280, "height": 800}, {"width": 390, "height": 844})
ANSWERS = (
    re.compile(r"Where did houses in Lucas County sell for more than \$80,000 in 1998\?"),
    re.compile(r"largest regions lie around Ottawa Hills"),
    re.compile(r"range is right about 94 times in 100"),
    re.compile(r"50:50 guess about one sale becomes at most 56:44"),
)


def answers_on_the_first_screen(page: Page, screen: ViewportSize) -> None:
    """Each answer is visible text on the first screen, without scrolling."""
    for answer in ANSWERS:
        found = page.get_by_text(answer).filter(visible=True)
        boxes = [one.bounding_box() for one in found.all()]
        ends = [box["y"] + box["height"] for box in boxes if box is not None]
        assert ends, answer
        assert min(ends) <= screen["height"], answer


def test_the_page_of_a_bundle_answers_on_its_first_screen(browser: Browser, tmp_path: Path) -> None:
    place = tmp_path / "map.html"
    place.write_bytes(contents_of(BUNDLE)["map.html"])
    for screen in FIRST_SCREENS:
        context = browser.new_context(viewport=screen)
        page = context.new_page()
        page.goto(place.as_uri())
        answers_on_the_first_screen(page, screen)
        context.close()


def test_the_four_answers_stand_on_the_first_screen(browser: Browser, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    shutil.copyfile(BUNDLE, shelf / "0123456789abcdef.zip")
    with running_app(tmp_path / "home", "--viewer", HEXCURSION_BUNDLES=str(shelf)) as app:
        context = browser.new_context(viewport=FIRST_SCREENS[1])
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        open_screen(page, app)
        appear(page.get_by_text(ANSWERS[-1]).filter(visible=True).first)
        settle(page)
        answers_on_the_first_screen(page, FIRST_SCREENS[1])
        page.set_viewport_size(FIRST_SCREENS[0])
        settle(page)
        answers_on_the_first_screen(page, FIRST_SCREENS[0])
        belief = page.locator(".belief .after").bounding_box()  # its picture
        whole = page.locator(".belief .track").bounding_box()
        assert belief is not None
        assert whole is not None
        assert belief["height"] > 8
        assert belief["width"] / whole["width"] == pytest.approx(0.054, abs=0.01)
        context.close()


def test_the_label_is_shown_whole_at_every_width(app: RunningApp, new_page: Callable[..., Page]) -> None:
    """Its frame shares nothing with the page, which cannot measure it: a style sheet has the heights."""
    page = new_page()
    open_screen(page, app, f"publish?release={shelved().name}")
    for width in (360, 390, 480, 768, 1024, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        label = page.frame_locator(".st-key-label iframe").locator("html")
        seen, needed = label.evaluate("label => [innerHeight, label.scrollHeight]")
        assert needed <= seen, width
        room = page.locator(".st-key-label").bounding_box()
        frame = page.locator(".st-key-label iframe").bounding_box()
        assert frame is not None
        assert room is not None
        assert room["height"] >= frame["height"] >= 1080, width


def test_the_tour_tells_the_numbers_of_its_stored_run(app: RunningApp, new_page: Callable[..., Page]) -> None:
    """Five steps in a browser: every figure of agreement, and what two editions give away."""
    stored = json.loads((BUNDLE.parent / "tour.json").read_text(encoding="utf-8"))
    public, released, table, filled, smoothed = (
        agreement_words(stored["measured"][name])
        for name in ("public", "released", "table", "filled", "smoothed")
    )
    page = new_page()
    open_screen(page, app, "tour")
    appear(page.get_by_text(f"{stored['public_sales']:,} house sales"))
    for step, said, figures in (
        ("What changed", "The public map cannot know that", []),
        ("How sure is it?", "without privacy", [public, released]),
        ("Today's rule", "of the hexagons blank", [table, filled, smoothed, released]),
        ("What an attacker learns", f"{100 * stored['practice']['exact']:.0f} of 100 sales", []),
    ):
        page.get_by_test_id("stMain").get_by_role("button").filter(has_text="Next").click()
        appear(page.get_by_role("radio", name=step, checked=True))
        appear(page.get_by_text(said).first)
        settle(page)
        if figures:
            unfold(page, page.get_by_test_id("stMetricValue").first)
        assert page.get_by_test_id("stMetricValue").all_inner_texts() == figures
