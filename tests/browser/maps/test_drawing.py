"""An outline drawn on the map in a real browser, and layers of one's own that the search finds by name."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.harness import LINKED, PATIENCE, needs_linked_maps, running_script, settle, visit

pytestmark = needs_linked_maps
LONG = PATIENCE * 1000  # milliseconds
SCRIPT = """
import streamlit as st
from geo import domain_from_bbox
from geo.maps.linked import Pane
from geo.context.own_layers import own_layer
from geo.maps.painting import paint_cells
from pages.shared import maps

domain = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 7)
ring = [[-0.2, 51.45], [-0.1, 51.45], [-0.1, 51.55], [-0.2, 51.55], [-0.2, 51.45]]
borough = {"type": "Feature", "properties": {"name": "Ownborough"},
           "geometry": {"type": "Polygon", "coordinates": [ring]}}
layer = own_layer(borough, domain, "boroughs")
def drawn(sent):
    st.session_state["sent"] = sent
pane = Pane("", paint_cells(domain.size))
more = dict(layers=(layer,), on_drawn=drawn)
maps.show(domain, [pane], mode="single", key="k", alt="a map", height=400, **more)
st.code(repr(st.session_state.get("sent")))
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_script(tmp_path_factory.mktemp("drawing"), SCRIPT) as url:
        yield url


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 900, "height": 700}, color_scheme="light")
    page.set_default_timeout(PATIENCE * 1000)
    visit(page, address)
    page.wait_for_selector(f'{LINKED}[data-drawn="true"]')
    yield page
    page.close()


def click(page: Page, right: float, down: float, times: int = 1) -> None:
    box = page.locator(LINKED).bounding_box()
    assert box
    page.mouse.click(box["x"] + right * box["width"], box["y"] + down * box["height"], click_count=times)


def sent(page: Page) -> list[list[float]]:
    code = page.get_by_test_id("stCode")
    expect(code).not_to_have_text("None", timeout=LONG)
    found: list[list[float]] = json.loads(code.inner_text())
    return found


def test_clicks_make_an_outline_that_a_double_click_closes(opened: Page) -> None:
    chart = opened.locator(LINKED)
    click(opened, 0.3, 0.3)
    assert chart.get_attribute("data-corners") is None  # nothing is drawn before the pencil is pressed
    opened.get_by_role("button", name="Draw the area").click()
    expect(opened.get_by_role("button", name="Close the outline")).to_have_attribute(
        "aria-pressed", "true", timeout=LONG
    )
    expect(chart.get_by_text("Click once for each corner")).to_be_visible(timeout=LONG)
    before = chart.get_attribute("data-view")
    for number, (right, down) in enumerate(((0.4, 0.3), (0.6, 0.3), (0.6, 0.7)), 1):
        click(opened, right, down)
        expect(chart).to_have_attribute("data-corners", str(number), timeout=LONG)
    click(opened, 0.4, 0.7, times=2)
    corners = sent(opened)
    assert len(corners) == 4
    (west, north), (east, _), (_, south), (last, _) = corners
    assert -0.3 < west < -0.1 < east < 0.1
    assert 51.4 < south < 51.5 < north < 51.6
    assert last == pytest.approx(west, abs=1e-5)
    assert chart.get_attribute("data-view") == before  # the double click did not zoom


def test_escape_forgets_and_backspace_takes_back(opened: Page) -> None:
    chart = opened.locator(LINKED)
    opened.get_by_role("button", name="Draw the area").click()
    for right in (0.4, 0.5):
        click(opened, right, 0.4)
    expect(chart).to_have_attribute("data-corners", "2", timeout=LONG)
    opened.keyboard.press("Backspace")
    expect(chart).to_have_attribute("data-corners", "1", timeout=LONG)
    opened.get_by_role("button", name="Close the outline").click()
    expect(chart.get_by_text("needs three corners at least")).to_be_visible(timeout=LONG)
    opened.keyboard.press("Escape")
    expect(chart).to_have_attribute("data-corners", "0", timeout=LONG)
    expect(opened.get_by_role("button", name="Draw the area")).to_have_attribute(
        "aria-pressed", "false", timeout=LONG
    )


def test_the_search_finds_a_name_of_an_own_layer(opened: Page) -> None:
    chart = opened.locator(LINKED)
    expect(chart.locator(".place", has_text="Ownborough")).to_have_count(1, timeout=LONG)
    opened.get_by_role("button", name="Find a place").click()
    field = opened.get_by_role("combobox", name="Place to show")
    field.fill("ownb")
    field.press("Enter")
    expect(chart).to_have_attribute("data-found", "Ownborough", timeout=LONG)
    settle(opened)
    view = json.loads(chart.get_attribute("data-view") or "{}")
    assert (view["longitude"], view["latitude"]) == pytest.approx((-0.15, 51.5), abs=0.001)
