"""Accessibility of every screen: axe-core finds nothing serious, in either theme."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from pages.shared.steps import SCREENS, Screen
from tests.browser.harness import MAP, PATIENCE, RunningApp, at_rest, go_to, open_screen, press, settle

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
GRAVE = {"serious", "critical"}


def findings(page: Page, axe: str, rules: Sequence[str] = RULES) -> list[str]:
    """What axe-core calls serious or critical by these rules, one line each with the element."""
    page.evaluate(axe)
    result: dict[str, Any] = page.evaluate(
        "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}})", list(rules)
    )
    return [
        f"{found['impact']} {found['id']}: {node['html'][:160]} ({node['failureSummary'][:200]})"
        for found in result["violations"]
        if found["impact"] in GRAVE or rules is not RULES
        for node in found["nodes"]
    ]


# Streamlit puts a div between its navigation's list and the items; a page cannot change that.
NOT_OURS = ("stSidebarNavItems", "<ul> or <ol> parent element")


@pytest.fixture(scope="module", params=["light", "dark"])
def finished(request: pytest.FixtureRequest, browser: Browser, app: RunningApp) -> Iterator[Page]:
    """The generated example, released, in one theme."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000}, color_scheme=request.param)
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    open_screen(page, app)
    press(page, "Open the finished example")
    page.get_by_text("Explore freely").wait_for()
    settle(page)
    yield page
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.address)
def test_axe_finds_nothing_serious(finished: Page, axe: str, screen: Screen) -> None:
    go_to(finished, screen.title)
    if screen.address in ("release", "viewer", "hexagons"):
        finished.locator(MAP).first.wait_for()
    at_rest(finished.get_by_test_id("stMain"))
    ours = [text for text in findings(finished, axe) if not any(word in text for word in NOT_OURS)]
    assert ours == []


def test_a_screen_before_any_data_has_nothing_serious_and_the_rules_bite(
    new_page: Callable[..., Page], app: RunningApp, axe: str
) -> None:
    page = new_page()
    open_screen(page, app, "data")
    assert [text for text in findings(page, axe) if not any(word in text for word in NOT_OURS)] == []
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<main><button></button></main>')")
    assert any("button-name" in text for text in findings(page, axe))
