"""Privacy and utility in a real browser: epsilon is solved for, cancelled, solved again, settled on, kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import (
    PATIENCE,
    RunningApp,
    appear,
    choose,
    go_to,
    open_screen,
    press,
    unfold,
)
from tests.browser.journeys.test_journey import give_coarse_example, heading, ledger_entries

pytestmark = pytest.mark.flat_maps

WAIT = PATIENCE * 1000


def finished_example(app: RunningApp, new_page: Callable[..., Page]) -> Page:
    """The viewer with the example that is already released."""
    page = new_page()
    open_screen(page, app)
    press(page, "Open the finished example")
    page.wait_for_url("**/viewer*")
    return page


@pytest.mark.slow
def test_solving_is_cancelled_started_again_settled_on_and_kept(
    app: RunningApp, page: Page, tmp_path: Path
) -> None:
    give_coarse_example(page, app, tmp_path)
    before = ledger_entries(app)
    go_to(page, "Privacy and utility")
    press(page, "Search for the best design")
    heading(page, "The proposal")
    page.get_by_text("Set the agreement", exact=True).click()
    page.get_by_role("button", name="Find the smallest ε for 0.80").click()
    page.get_by_role("button", name="Cancel the solving").click()
    heading(page, "Cancelled.")
    page.get_by_role("button", name="Find the smallest ε for 0.80").click()
    heading(page, "reaches it")
    use = page.get_by_role("button", name="Use ε ")
    said = use.inner_text().strip().splitlines()[-1].removeprefix("Use ")
    use.click()
    heading(page, "This is the design to release.")
    expect(page.get_by_test_id("stSidebar")).to_contain_text(said, timeout=WAIT)
    go_to(page, "Ledger")
    go_to(page, "Privacy and utility")
    heading(page, "This is the design to release.")
    assert page.get_by_role("button", name="Find the smallest").count() == 0
    page.get_by_text("Set the budget ε", exact=True).click()  # it is the one that was settled on
    expect(page.get_by_test_id("stSlider").first).to_contain_text(said.removeprefix("ε "), timeout=WAIT)
    assert page.get_by_text("The choices have changed").count() == 0
    page.get_by_text("A closer look at this design").click()
    page.get_by_role("button", name="Show what each number does").click()
    charts = page.locator('.st-key-variations [data-testid="stVegaLiteChart"]')
    expect(charts).to_have_count(10, timeout=WAIT)
    assert page.get_by_test_id("stException").count() == 0
    assert ledger_entries(app) == before  # all of it was on reference data


@pytest.mark.slow
def test_paths_are_explained_varied_and_set_beside_spectral_statistics(
    app: RunningApp, new_page: Callable[..., Page]
) -> None:
    page = finished_example(app, new_page)
    before = ledger_entries(app)
    go_to(page, "Privacy and utility")
    choose("How the map is drawn", "Posterior paths")(page)
    press(page, "Search for the best design")
    appear(page.get_by_role("combobox", name="Shown of the paths"))
    picture = page.get_by_alt_text("Five posterior paths")
    unfold(page, picture)
    expect(picture).to_have_js_property("complete", True, timeout=WAIT)
    assert picture.evaluate("element => element.naturalWidth") > 0, "the moving picture is drawn"
    page.get_by_test_id("stSlider").filter(has_text="Share of prior noise").get_by_role("slider").focus()
    page.keyboard.press("End")
    said = re.compile(r"With 90 % prior noise: \d+ of 100 records expected on their right side")
    appear(page.get_by_text(said))
    for way in ("Several paths", "Votes"):
        choose("Shown of the paths", way)(page)
        appear(page.get_by_text("paths that could be drawn; one is released").first)
    press(page, "Side by side with spectral statistics at ε 1")
    appear(page.get_by_text("Both at ε 1, each drawn once in simulation."))
    assert page.get_by_test_id("stException").count() == 0
    assert ledger_entries(app) == before  # all of it was on reference data
