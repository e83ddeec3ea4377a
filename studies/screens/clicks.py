"""Seconds from a click to its result, step by step, in a real browser: `python -m studies.screens.clicks`.

The generated sales on a rectangle around their city, at resolutions 8 and 9, walked in headless Chromium as a
person would. Wall-clock on the machine of the run, server and browser sharing its cores: compare the columns
of one run, not two runs. `--quick` takes the coarse resolution only.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.harness import CHROMIUM, FLAGS, LINKED, RunningApp, go_to, open_screen, running_app, settle

BOX = {"West": 1.8933, "South": 54.59, "East": 2.5267, "North": 54.915}
LONGEST = 1800.0  # seconds until a step is given up
MOVES = 10


class Clock:
    """Times of one walk, in the order of its steps."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.seconds: dict[str, float] = {}

    def __call__(self, step: str, act: Callable[[], object], result: Callable[[], object]) -> None:
        """Act, wait for the visible result, and keep the time between."""
        settle(self.page)
        start = time.perf_counter()
        act()
        result()
        self.seconds[step] = time.perf_counter() - start


def walk(page: Page, app: RunningApp, resolution: int) -> tuple[int, dict[str, float]]:
    """Walk from the data to the bundle; the number of cells and the seconds of each step."""
    clock, main = Clock(page), page.get_by_test_id("stMain")

    def appears(text: str) -> Callable[[], object]:
        return main.get_by_text(text, exact=False).first.wait_for

    def opens(screen: str) -> Callable[[], object]:
        return page.get_by_test_id("stSidebarNav").get_by_text(screen, exact=True).click

    def click(name: str) -> Callable[[], object]:
        return page.get_by_role("button", name=name).first.click

    open_screen(page, app, "data")
    clock("read two years of sales", click("Use the generated example"), appears("What was read"))
    go_to(page, "Hexagons")
    page.get_by_text("Bounding box", exact=True).click()
    settle(page)
    sides = list(BOX.items())
    for side, value in sides[:-1]:
        field = page.get_by_label(f"{side} (degrees)")
        field.fill(str(value))
        field.press("Enter")
        settle(page)
    if resolution == 9:
        page.get_by_role("slider").press("ArrowRight")
        settle(page)
    last = page.get_by_label("North (degrees)")
    last.fill(str(BOX["North"]))
    count = page.get_by_test_id("stMetricValue").first
    old = [count.inner_text()]
    other = "([old]) => document.querySelector('[data-testid=stMetricValue]').innerText !== old"
    clock(
        "fill the area with hexagons",
        lambda: last.press("Enter"),
        lambda: page.wait_for_function(other, arg=old),
    )
    settle(page)
    cells = int(count.inner_text().replace(",", ""))
    go_to(page, "Privacy and utility")
    clock("search all designs", click("Search for the best design"), appears("The proposal"))
    go_to(page, "Release")
    page.get_by_test_id("stFormSubmitButton").get_by_role("button").click()
    submit = page.get_by_role("button", name="Release now")
    submit.wait_for()
    map_drawn = page.locator(f"{LINKED}[data-drawn]")
    clock("release: charge, draw, write the bundle, show both maps", submit.click, map_drawn.wait_for)
    legend = page.locator(".legend").first
    slider = page.get_by_role("slider").first
    slider.focus()
    times = []
    for _ in range(MOVES):
        settle(page)
        old_legend = legend.inner_text()
        start = time.perf_counter()
        slider.press("ArrowLeft")
        page.wait_for_function(
            "([old]) => document.querySelector('.legend').innerText !== old", arg=[old_legend]
        )
        times.append(time.perf_counter() - start)
    clock.seconds[f"move the threshold (median of {MOVES})"] = sorted(times)[MOVES // 2]
    for way, mode in (("Swipe", "swipe"), ("Difference", "single"), ("Side by side", "beside")):
        clock(
            f"compare: {way.lower()}",
            lambda way=way: page.get_by_role("radio", name=way).click(),
            lambda mode=mode: page.wait_for_selector(f'{LINKED}[data-mode="{mode}"]'),
        )
    clock("open Publish", opens("Publish"), appears("Download the bundle"))
    settle(page)
    start = time.perf_counter()
    with page.expect_download() as coming:
        click("Download the bundle")()
    coming.value.path()
    clock.seconds["download the bundle"] = time.perf_counter() - start
    clock("open it in the viewer", opens("Viewer"), appears("Streets beneath"))
    return cells, clock.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="resolution 8 only")
    resolutions = (8,) if parser.parse_args().quick else (8, 9)
    walks = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for resolution in resolutions:
            with tempfile.TemporaryDirectory() as home, running_app(Path(home)) as app:
                page = browser.new_page(viewport={"width": 1280, "height": 1000})
                page.set_default_timeout(LONGEST * 1000)
                walks.append(walk(page, app, resolution))
                page.close()
        browser.close()
    print(f"{platform.machine()}, {os.cpu_count()} cores, headless Chromium with WebGL in software")
    print(f"{'seconds from click to result':56s}" + "".join(f"{cells:>8,} cells" for cells, _ in walks))
    for step in walks[0][1]:
        print(f"{step:56s}" + "".join(f"{seconds[step]:14.2f}" for _, seconds in walks))


if __name__ == "__main__":
    main()
