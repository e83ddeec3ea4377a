"""The Data screen with awkward files: each shows its one question at both widths, and how to answer.

A list and a button, a field, and a workbook; `tests/pages/data/test_awkward_files.py` has twelve files.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import (
    PATIENCE,
    RunningApp,
    appear,
    choose,
    give,
    open_screen,
    press,
    settle,
    unfold,
)
from tests.browser.screenshots import photograph
from tests.pages.data.awkward import FILES

ASKED = "Table of places and values (.csv"
SLOW = PATIENCE * 1000
WIDTHS = (390, 1280)
PICTURES = os.environ.get("HEXCURSION_PICTURES")  # a folder, for who wants to look


def type_in(page: Page, label: str, words: str) -> None:
    unfold(page, page.get_by_role("textbox", name=label, include_hidden=True).first)
    page.get_by_role("textbox", name=label).first.fill(words)
    page.get_by_role("textbox", name=label).first.press("Enter")
    settle(page)


def refuse_exceptions(page: Page) -> None:
    assert page.get_by_test_id("stException").count() == 0
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth <= main.clientWidth + 1")


@pytest.mark.parametrize("what", ["two pollutants", "whole places in one column", "an agency's workbook"])
def test_an_awkward_file_is_asked_about_and_answered(
    what: str, new_page: Callable[..., Page], app: RunningApp, tmp_path: Path
) -> None:
    awkward, page = FILES[what], new_page()
    path = tmp_path / awkward.name
    path.write_bytes(awkward.data)
    open_screen(page, app, "data")
    page.get_by_role("radio", name="Your own table").click()
    settle(page)
    give(page, ASKED, path)
    main = page.get_by_test_id("stMain")
    unit = page.get_by_role("textbox", name="Its unit")
    if unit.count() and not unit.first.input_value():
        type_in(page, "Its unit", awkward.unit)
    expect(main).to_contain_text(awkward.said, timeout=SLOW)
    refuse_exceptions(page)
    keep(page, f"{what}-asked")
    for act, label, words in awkward.answer:
        match act:
            case "choose":
                choose(label, words)(page)
            case "press":
                press(page, label)
            case "type":
                type_in(page, label, words)
    if unit.count() and not unit.first.input_value():
        type_in(page, "Its unit", awkward.unit)
    press(page, "Read the data")
    appear(page.get_by_text(awkward.kept).first)
    refuse_exceptions(page)
    keep(page, f"{what}-read")


def keep(page: Page, name: str) -> None:
    """Check that the page shows no exception at either width; keep pictures if asked to."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        settle(page)
        refuse_exceptions(page)
        if PICTURES:
            photograph(page, Path(PICTURES) / f"{name.replace(' ', '-')}-{width}.png", width)
    page.set_viewport_size({"width": WIDTHS[-1], "height": 900})
    settle(page)
