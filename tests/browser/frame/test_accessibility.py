"""Accessibility of every screen: axe-core finds nothing, in any theme, in forced colours, on a telephone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from pages.shared.steps import PRIVACY, SCREENS, Screen
from tests.browser.harness import (
    MAP,
    PATIENCE,
    RunningApp,
    appear,
    at_rest,
    choose,
    go_to,
    open_screen,
    press,
    settle,
    unfold,
)

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# What a page cannot change in Streamlit: a div between its navigation's list and the items, and a place to
# drop files that calls itself decoration and carries a label.
NOT_OURS = ("stSidebarNavItems", "<ul> or <ol> parent element", "stFileUploaderDropzone")


# Only what is wrong is worked out in full and sent: all that is right is many times as long.
FIND = """async rules => {
    const only = {runOnly: {type: 'tag', values: rules}, resultTypes: ['violations']};
    const found = await axe.run(document, only);
    return found.violations.flatMap(rule => rule.nodes.map(node =>
        `${rule.impact} ${rule.id}: ${node.html.slice(0, 160)} (${node.failureSummary.slice(0, 200)})`));
}"""


def findings(page: Page, axe: str) -> list[str]:
    """What axe-core finds by these rules and a page can change, one line each with the element."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe)
    lines: list[str] = page.evaluate(FIND, RULES)
    return [line for line in lines if not any(word in line for word in NOT_OURS)]


# Width, height and theme.
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 1000}, "color_scheme": "light"},
    "dark and narrow": {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark"},
}


@pytest.fixture(scope="module", params=LOOKS)
def finished(request: pytest.FixtureRequest, browser: Browser, app: RunningApp) -> Iterator[Page]:
    """The finished example in one look."""
    context = browser.new_context(**LOOKS[request.param])
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    open_screen(page, app)
    press(page, "Open the finished example")
    page.wait_for_url("**/viewer*")
    settle(page)
    yield page
    context.close()


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.address)
def test_axe_finds_nothing_and_nothing_is_cut_off(finished: Page, axe: str, screen: Screen) -> None:
    go_to(finished, screen.title)
    if screen.address in ("release", "viewer", "hexagons"):
        finished.locator(MAP).first.wait_for()
    if screen == PRIVACY:  # it rests only once the curve of other budgets is drawn
        appear(finished.get_by_test_id("stVegaLiteChart").first)
        settle(finished)
    else:
        at_rest(finished.get_by_test_id("stMain"))
    assert findings(finished, axe) == []
    if finished.viewport_size == LOOKS["light"]["viewport"]:
        finished.emulate_media(forced_colors="active")  # the system's own, whatever the theme
        assert findings(finished, axe) == []
        finished.emulate_media(forced_colors="none")
    wide, room = finished.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert wide <= room


def test_a_screen_before_any_data_has_nothing_and_the_rules_bite(
    new_page: Callable[..., Page], app: RunningApp, axe: str
) -> None:
    page = new_page()
    open_screen(page, app, "data")
    assert findings(page, axe) == []
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<main><button></button></main>')")
    assert any("button-name" in text for text in findings(page, axe))


@pytest.mark.parametrize(("theme", "ink"), [("light", "rgb(77, 91, 96)"), ("dark", "rgb(195, 206, 209)")])
def test_the_words_of_charts_can_be_read(
    new_page: Callable[..., Page], app: RunningApp, theme: str, ink: str
) -> None:
    """A contrast of 7 on the ground of its theme; Streamlit's own grey has 3.7 in the light one."""
    page = new_page(theme=theme)
    open_screen(page, app, "studies")
    words = page.locator(".role-axis-label text, .role-axis-title text, .role-legend-label text")
    appear(page.locator(".role-axis-title text").first)
    assert set(words.evaluate_all("all => all.map(one => getComputedStyle(one).fill)")) == {ink}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_posterior_paths_before_a_release_have_nothing(
    new_page: Callable[..., Page], app: RunningApp, axe: str, theme: str
) -> None:
    """Chosen, shown as votes, with what a path is and the slider of its prior noise unfolded."""
    page = new_page(theme=theme)
    open_screen(page, app)
    press(page, "Open the finished example")
    page.wait_for_url("**/viewer*")
    go_to(page, "Privacy and utility")
    choose("How the map is drawn", "Posterior paths")(page)
    press(page, "Search for the best design")
    choose("Shown of the paths", "Votes")(page)
    unfold(page, page.get_by_role("slider", name="Share of prior noise", include_hidden=True))
    settle(page)  # before the curve of other budgets is drawn, minutes later
    assert findings(page, axe) == []
