"""Very many hexagons in a real browser: zoomed out regions of one class or means, near each hexagon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from geo.colours import rgb
from tests.browser.harness import (
    LINKED,
    PATIENCE,
    appear,
    at_rest,
    count_colour,
    needs_linked_maps,
    running_script,
    settle,
    visit,
    wait_for_colour,
)

pytestmark = needs_linked_maps
SCRIPT = """
import numpy as np
import streamlit as st
from geo import domain_from_bbox
from geo.maps import linked, painting
from pages.shared import maps

domain = domain_from_bbox(-2.0, 52.0, -0.9, 52.6, 8)  # 7,533 cells
x, y = domain.centres.T / 10_000
inside = np.hypot(x, y) < 2.0
if st.radio("shown", ["set", "field"]) == "set":
    shown = painting.paint_set(inside, inside="in", outside="out", title="t")
else:
    shown = painting.paint_field(x, "m", title="t", breaks=[0.0])
maps.show(domain, [linked.Pane("Released", shown)], mode="single", key="k", alt="a map", height=400)
"""
NO_WEBGL = """
const given = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...how) {
    return /webgl/.test(kind) ? null : given.call(this, kind, ...how);
};
"""
IN, WEST = tuple(rgb("inside")), tuple(rgb("field0"))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_script(tmp_path_factory.mktemp("zoomed-out"), SCRIPT) as url:
        yield url


def opened(browser: Browser, address: str, script: str = "") -> Page:
    page = browser.new_page(viewport={"width": 900, "height": 800}, color_scheme="light")
    page.set_default_timeout(PATIENCE * 1000)
    if script:
        page.add_init_script(script)
    visit(page, address)
    wait_for_colour(page.locator(LINKED), IN, 5000)
    return page


def step(page: Page, name: str, detail: str) -> None:
    page.get_by_role("button", name=name).click()
    expect(page.locator(LINKED)).to_have_attribute("data-detail", detail, timeout=PATIENCE * 1000)


def said_in_the_middle(page: Page) -> list[str]:
    """The tooltip over the middle of the map."""
    box = page.locator(LINKED).bounding_box()
    assert box
    page.mouse.move(box["x"] + 20, box["y"] + box["height"] / 2)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 + 3, steps=3)
    appear(page.locator(f"{LINKED} .tooltip"))
    found = page.locator(f"{LINKED} .tooltip").inner_text().splitlines()
    page.mouse.move(box["x"] + 20, box["y"] - 20, steps=2)
    return found


def test_zoomed_out_a_set_is_drawn_as_regions_and_near_as_hexagons(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    chart = page.locator(LINKED)
    near = count_colour(at_rest(chart), IN)
    assert chart.get_attribute("data-detail") == "cells"
    assert chart.locator(".detail").inner_text() == ""
    step(page, "Zoom out", "regions")
    assert chart.locator(".detail").inner_text() == "Zoomed out: hexagons of one class are one region"
    assert count_colour(at_rest(chart), IN) == pytest.approx(near / 4, rel=0.15)
    words, cell = said_in_the_middle(page)
    assert words == "Released: in"
    assert cell.startswith("H3 cell 88")
    step(page, "Zoom in", "cells")
    assert count_colour(at_rest(chart), IN) == pytest.approx(near, rel=0.02)
    page.close()


def test_zoomed_out_a_field_is_drawn_as_means_and_says_of_how_many(browser: Browser, address: str) -> None:
    page = opened(browser, address)
    chart = page.locator(LINKED)
    step(page, "Zoom out", "regions")
    page.get_by_text("field", exact=True).click()
    settle(page)
    expect(chart).to_have_attribute("data-detail", "means", timeout=PATIENCE * 1000)
    wait_for_colour(chart, WEST, 2000)
    assert chart.locator(".detail").inner_text() == "Zoomed out: each hexagon shows the mean of up to 7"
    words, cell = said_in_the_middle(page)
    assert words.startswith("Released: mean of 7 hexagons: ")
    assert cell.startswith("H3 cell 87")
    step(page, "Zoom in", "cells")
    words, cell = said_in_the_middle(page)
    assert words.startswith("Released: ")
    assert "mean" not in words
    assert cell.startswith("H3 cell 88")
    page.close()


def test_without_webgl_regions_are_drawn_on_the_picture_too(browser: Browser, address: str) -> None:
    page = opened(browser, address, NO_WEBGL)
    chart = page.locator(LINKED)
    near = count_colour(at_rest(chart), IN)
    step(page, "Zoom out", "regions")
    far = count_colour(at_rest(chart), IN)
    assert 0.85 * near / 4 < far < 0.5 * near  # near, the edges of hexagons blur the colour
    page.close()
