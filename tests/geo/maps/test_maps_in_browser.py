"""The maps in a real browser: the colours of the legend are on the screen, and nobody else is asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from geo.colours import CLASSES, Role, Theme, rgb
from tests.browser.harness import CHART, PATIENCE, count_colour, running_script, wait_for_colour

pytestmark = [pytest.mark.browser, pytest.mark.slow]  # every day a journey looks for the colours
SCRIPT = """
import numpy as np
import streamlit as st
from geo import domain_from_bbox
from geo.maps import layers as maps
from geo.maps import linked
from geo.maps import painting

look = {"theme": st.query_params["theme"], "width": 600, "height": 400}
domain = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 7)
x, y = domain.centres.T
thirds = np.digitize(x, np.quantile(x, [1 / 3, 2 / 3]))
ways = painting.paint_three_way(thirds - 1, threshold="5", title="t")
st.pydeck_chart(maps.pane_deck(domain, linked.Pane("t", ways), **look), key="three", height=400)
pane = linked.Pane("d", painting.paint_difference(x > 0, y > 0, title="t"), private=True)
st.pydeck_chart(maps.pane_deck(domain, pane, **look), key="difference", height=400)
st.pydeck_chart(maps.boundaries_deck(domain, [x > 0], y > 0, **look), key="lines", height=400)
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Streamlit server that shows three of our maps and nothing else."""
    with running_script(tmp_path_factory.mktemp("maps"), SCRIPT) as url:
        yield url


@pytest.fixture(scope="module")
def browser_page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 900, "height": 1500})
    page.set_default_timeout(PATIENCE * 1000)
    yield page
    page.close()


def three(role: str, theme: Theme) -> tuple[int, int, int]:
    red, green, blue = rgb(role, theme)
    return red, green, blue


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_legends_colours_are_drawn_and_nobody_else_is_asked(
    address: str, browser_page: Page, theme: Theme
) -> None:
    asked: set[str] = set()
    browser_page.on("request", lambda request: asked.add(request.url))
    browser_page.emulate_media(color_scheme=theme)
    browser_page.goto(f"{address}/?theme={theme}")
    charts = browser_page.locator(CHART)
    roles: tuple[Role, ...] = ("above", "unsure", "below")
    painted = [wait_for_colour(charts.nth(0), three(role, theme), 5000) for role in roles]
    assert max(painted) < 1.5 * min(painted)  # each a third of the cells, apart from steps at the edges
    for role in CLASSES["difference"]:
        wait_for_colour(charts.nth(1), three(role, theme), 2000)
    wait_for_colour(charts.nth(2), three("path0", theme), 200)
    picture = charts.nth(2).screenshot()
    assert count_colour(picture, three("baseline", theme)) > 500
    foreign = {
        url for url in asked if not url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))
    }
    assert foreign == set()
