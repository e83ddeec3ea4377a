"""Linked maps in a real browser: one camera for both panes, a divider, a toggle, and a view that stays."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from geo.colours import rgb
from tests.browser.harness import (
    CHART,
    CHROMIUM,
    FLAGS,
    LINKED,
    PATIENCE,
    at_rest,
    count_colour,
    needs_linked_maps,
    pixels,
    running_script,
    settle,
    visit,
    wait_for_colour,
)

pytestmark = needs_linked_maps
WIDTH, HEIGHT = 900, 400
ONE, TWO = tuple(rgb("inside")), tuple(rgb("outside"))
SCRIPT = f"""
import numpy as np
import streamlit as st
from geo import domain_from_bbox
from geo.maps import layers
from geo.maps import linked
from geo.maps import painting
from pages.shared import maps

domain = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 7)
if st.checkbox("date line"):
    domain = domain_from_bbox(177.5, -18.0, -177.5, -16.0, 5, crosses_date_line=True)
x, y = domain.centres.T
mode = st.radio("mode", ["beside", "swipe", "toggle", "single"])
cut = st.slider("cut", 0, 9, 5)
def paint(mask):
    return painting.paint_set(mask, inside="in", outside="out", title="t")
west = x < np.quantile(x, cut / 10)
panes = [linked.Pane("Released", paint(west)), linked.Pane("Baseline", paint(~west), private=True)]
if st.checkbox("another chart"):
    st.pydeck_chart(layers.cells_deck(domain), key="another", height=200)
panes = panes[: 1 if mode == "single" else 2]
streets = st.checkbox("streets")
if st.checkbox("shown", True):
    maps.show(domain, panes, mode=mode, key="k", alt="a map", height={HEIGHT}, streets=streets)
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_script(tmp_path_factory.mktemp("linked"), SCRIPT) as url:
        yield url


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light")
    page.set_default_timeout(PATIENCE * 1000)
    visit(page, address)
    wait_for_colour(page.locator(LINKED), ONE, 5000)
    yield page
    page.close()


def choose(page: Page, mode: str) -> None:
    page.get_by_role("radio", name=mode).locator("xpath=ancestor-or-self::label").click()
    page.wait_for_selector(f'{LINKED}[data-mode="{mode}"]')
    settle(page)


def view(page: Page) -> dict[str, float]:
    found: dict[str, float] = json.loads(page.locator(LINKED).get_attribute("data-view") or "{}")
    return found


def halves(chart: Locator) -> tuple[np.ndarray, np.ndarray]:
    """The hexagons of both panes as ground or not, (height, half width) each, titles and buttons left out."""
    picture = pixels(chart.screenshot()).astype(int)
    shown = np.abs(picture - 255).sum(axis=2) > 60
    shown = shown[60:-40]
    middle = shown.shape[1] // 2
    return shown[:, 5 : middle - 60], shown[:, middle + 5 : 2 * middle - 60]


def shift(before: np.ndarray, after: np.ndarray) -> tuple[int, int]:
    """Right and down, pixels, by which a picture moved: the peak of its cross-correlation."""
    spectrum = np.fft.fft2(after - after.mean()) * np.conj(np.fft.fft2(before - before.mean()))
    peak = np.unravel_index(np.fft.ifft2(spectrum).real.argmax(), before.shape)
    down, right = (int(p) if p <= n // 2 else int(p) - n for p, n in zip(peak, before.shape, strict=True))
    return right, down


def drag(page: Page, start: tuple[float, float], right: int, down: int) -> None:
    box = page.locator(LINKED).bounding_box()
    assert box
    x, y = box["x"] + start[0] * box["width"], box["y"] + start[1] * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + right / 2, y + down / 2, steps=3)
    page.mouse.move(x + right, y + down, steps=3)
    page.mouse.up()
    page.mouse.move(box["x"] + 4, box["y"] - 20)
    at_rest(page.locator(LINKED))


def test_dragging_one_pane_moves_both_by_the_same(opened: Page) -> None:
    """The hand that drags must move a few pixels before it counts as dragging: hence the tolerance."""
    chart = opened.locator(LINKED)
    for start, right, down in (((0.25, 0.5), 40, 30), ((0.75, 0.5), -30, -20)):
        before = halves(chart)
        drag(opened, start, right, down)
        moved = [shift(*pane) for pane in zip(before, halves(chart), strict=True)]
        assert moved[0] == pytest.approx(moved[1], abs=1)
        assert moved[0] == pytest.approx((right, down), abs=12)


def test_the_view_stays_when_colours_and_modes_change_and_home_gives_it_back(opened: Page) -> None:
    first = view(opened)
    opened.get_by_role("button", name="Zoom in").click()
    drag(opened, (0.25, 0.5), 30, 0)
    chosen = view(opened)
    assert chosen["zoom"] == pytest.approx(first["zoom"] + 1)
    picture = at_rest(opened.locator(LINKED))
    slider = opened.get_by_role("slider", name="cut")
    for _ in range(3):
        slider.press("ArrowLeft")
    assert at_rest(opened.locator(LINKED)) != picture
    for mode in ("swipe", "single", "beside"):
        choose(opened, mode)
        assert view(opened) == chosen
    opened.get_by_role("button", name="Show the whole area").click()
    assert view(opened) == pytest.approx(first)


def test_a_swipe_shows_one_map_on_either_side_of_a_divider_moved_by_keys_and_pointer(opened: Page) -> None:
    choose(opened, "swipe")
    chart = opened.locator(LINKED)
    divider = opened.get_by_role("slider", name="Divider between the two maps")
    # West is in on the left map and out on the right one: the whole shows in where the divider says so.
    everything = count_colour(at_rest(chart), ONE)
    for _ in range(12):
        divider.press("ArrowLeft")
    fewer = count_colour(at_rest(chart), ONE)
    assert divider.get_attribute("aria-valuenow") == "26"
    assert fewer < 0.8 * everything
    box, handle = chart.locator(".ground").bounding_box(), divider.bounding_box()
    assert box
    assert handle
    opened.mouse.move(handle["x"] + 10, handle["y"] + 100)
    opened.mouse.down()
    opened.mouse.move(box["x"] + 0.8 * box["width"], handle["y"] + 100, steps=4)
    opened.mouse.up()
    assert divider.get_attribute("aria-valuenow") == "80"
    before = view(opened)
    drag(opened, (0.4, 0.5), 40, 0)
    after = view(opened)
    assert after["longitude"] < before["longitude"]
    assert after["zoom"] == before["zoom"]


def test_a_toggle_flips_to_the_other_map_in_place(opened: Page) -> None:
    choose(opened, "toggle")
    chart = opened.locator(LINKED)
    middle = slice(HEIGHT // 2 - 20, HEIGHT // 2 + 20)
    first = pixels(at_rest(chart))[middle]
    assert chart.get_by_text("Released", exact=True).is_visible()
    assert not chart.get_by_text("PRIVATE").is_visible()
    opened.get_by_role("button", name="Show the other map").click()
    second = pixels(at_rest(chart))[middle]
    assert chart.get_by_text("PRIVATE").is_visible()
    assert chart.get_by_text("Baseline", exact=True).is_visible()
    assert (np.abs(first.astype(int) - second).sum(axis=2) > 30).mean() > 0.2


def test_the_keyboard_moves_and_zooms_both_maps(opened: Page) -> None:
    chart = opened.locator(LINKED)
    canvas = opened.get_by_role("application", name="Map: arrow keys move it, plus and minus zoom")
    first = view(opened)
    canvas.focus()
    opened.keyboard.press("ArrowRight")
    at_rest(chart)
    moved = view(opened)
    assert moved["longitude"] > first["longitude"]
    opened.keyboard.press("+")
    at_rest(chart)
    assert view(opened)["zoom"] > moved["zoom"]


def test_a_tooltip_says_what_each_pane_says_of_one_cell(opened: Page) -> None:
    chart = opened.locator(LINKED)
    box = chart.bounding_box()
    assert box
    opened.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.5 * box["height"], steps=4)
    words = chart.locator(".tooltip")
    words.wait_for(state="visible")
    said = words.inner_text().splitlines()
    assert said[0].startswith("Released: ")
    assert said[1].startswith("Private baseline: ")
    assert said[2].startswith("H3 cell 87")


def test_it_lives_beside_streamlits_own_chart_whichever_comes_first(browser: Browser, address: str) -> None:
    """Both bring a deck.gl into one window, of different versions."""
    for order in (("another chart", "shown"), ("shown", "another chart")):
        page = browser.new_page(viewport={"width": WIDTH, "height": 1100})
        page.set_default_timeout(PATIENCE * 1000)
        visit(page, address)
        if order[0] == "another chart":
            page.locator("label").filter(has_text="shown").click()
            page.locator(LINKED).wait_for(state="detached")
        else:
            wait_for_colour(page.locator(LINKED), ONE, 5000)
        page.locator("label").filter(has_text="another chart").click()
        wait_for_colour(page.locator(CHART), rgb("cell"), 2000)
        if order[0] == "another chart":
            page.locator("label").filter(has_text="shown").click()
        wait_for_colour(page.locator(LINKED), ONE, 5000)
        assert page.get_by_text("Error").count() == 0
        page.close()


def names(page: Page) -> list[str]:
    return page.locator(f"{LINKED} .place").all_inner_texts()


def test_places_are_named_and_found_and_cells_have_outlines_when_near(opened: Page) -> None:
    choose(opened, "single")
    chart = opened.locator(LINKED)
    assert {"London", "Islington"} <= set(names(opened))
    assert chart.locator(".source").inner_text().startswith("Place names: GeoNames, CC BY 4.0.")
    boxes = [label.bounding_box() for label in chart.locator(".place").all()]
    for at, one in enumerate(boxes):
        for other in boxes[at + 1 :]:
            assert one
            assert other
            beside = one["x"] + one["width"] <= other["x"] + 1 or other["x"] + other["width"] <= one["x"] + 1
            above = one["y"] + one["height"] <= other["y"] + 1 or other["y"] + other["height"] <= one["y"] + 1
            assert beside or above
    opened.get_by_role("button", name="Find a place").click()
    field = chart.get_by_label("Place to show")
    field.fill("morden")
    field.press("Enter")
    expect(chart).to_have_attribute("data-found", "Morden", timeout=PATIENCE * 1000)
    assert view(opened)["longitude"] == pytest.approx(-0.19, abs=0.02)
    assert view(opened)["latitude"] == pytest.approx(51.40, abs=0.02)
    assert chart.locator(".place.found").inner_text() == "Morden"
    assert chart.get_attribute("data-outlines") == "true"
    field.fill("Atlantis")
    field.press("Enter")
    said = "No place called “Atlantis” is known here."
    expect(chart.locator(".tooltip")).to_have_text(said, timeout=PATIENCE * 1000)
    field.press("Escape")
    assert not field.is_visible()


def test_without_webgl_the_map_is_a_picture_and_says_so(browser: Browser, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900}, color_scheme="light")
    page.set_default_timeout(PATIENCE * 1000)
    page.add_init_script("""
        const given = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...how) {
            return /webgl/.test(kind) ? null : given.call(this, kind, ...how);
        };
    """)
    visit(page, address)
    chart = page.locator(LINKED)
    wait_for_colour(chart, ONE, 5000)
    said = chart.get_by_text("This browser offers no WebGL: the map is a picture.")
    expect(said).to_be_visible(timeout=PATIENCE * 1000)
    assert chart.get_by_role("img", name="a map").is_visible()
    assert "London" in names(page)
    page.close()


def test_streets_are_asked_for_only_when_wanted_and_their_silence_is_said(opened: Page) -> None:
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.route("https://basemaps.cartocdn.com/**", lambda route: route.abort())
    choose(opened, "single")
    assert [url for url in asked if url.startswith("http") and "//127.0.0.1:" not in url] == []
    opened.locator("label").filter(has_text="streets").click()
    said = opened.get_by_text("The street map of basemaps.cartocdn.com cannot be reached")
    expect(said).to_be_visible(timeout=PATIENCE * 1000)
    hosts = {url.split("/")[2] for url in asked if url.startswith("http") and "//127.0.0.1:" not in url}
    assert hosts == {"basemaps.cartocdn.com"}


@pytest.mark.slow
def test_a_map_that_leaves_the_page_gives_its_graphics_context_back(browser: Browser, address: str) -> None:
    """A page may hold sixteen contexts, here three: one more at each visit would blank the earliest maps."""
    few = browser.browser_type.launch(
        executable_path=str(CHROMIUM), args=[*FLAGS, "--max-active-webgl-contexts=3"]
    )
    with few:
        page, said = few.new_page(), list[str]()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda message: said.append(message.text))
        visit(page, address)
        box = page.locator("label").filter(has_text="shown")
        for _ in range(4):
            for wanted in ("detached", "visible"):
                box.click()
                page.locator(LINKED).wait_for(state=wanted)
                settle(page)
            page.wait_for_selector(f"{LINKED}[data-drawn]")
        wait_for_colour(page.locator(LINKED), TWO, 5000)
        assert [text for text in said if "Too many active WebGL contexts" in text] == []


def test_a_map_across_the_date_line_is_drawn_on_both_of_its_sides(opened: Page) -> None:
    """Its west is of one colour and its east of the other."""
    choose(opened, "single")
    opened.get_by_test_id("stCheckbox").filter(has_text="date line").locator("label").click()
    settle(opened)
    for side in (ONE, TWO):
        wait_for_colour(opened.locator(LINKED), side, 10_000)


def test_a_map_takes_the_colours_of_a_theme_that_is_switched(opened: Page) -> None:
    choose(opened, "single")
    for scheme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(16, 25, 28)")):
        opened.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        shown = expect(opened.locator(LINKED))
        shown.to_have_css("background-color", ground, timeout=PATIENCE * 1000)
