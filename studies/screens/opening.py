"""Seconds from the click on the finished example to its drawn map: `python -m studies.screens.opening`.

One server, a new visit each time, headless Chromium at 1280 x 900 that draws WebGL in software, on the same
cores: the first visit after the server's start, then others. Where the cores are shared with other programs
the clock says little; the CPU seconds of the server's own process, and of the whole browser, are beside it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser.harness import CHROMIUM, FLAGS, LINKED, PATIENCE, RunningApp, open_screen, running_app

VISITS = 6
TICKS = os.sysconf("SC_CLK_TCK")
STEPS = ("heading of the screen", "map drawn", "CPU of the server", "CPU of the browser")


def spent() -> dict[int, float]:
    """CPU seconds of every process below this one, by id: the server, and those of the browser."""
    parent, seconds = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended meanwhile
            continue
        number = int(entry.parent.name)
        parent[number], seconds[number] = int(words[1]), (int(words[11]) + int(words[12])) / TICKS

    def ours(number: int) -> bool:
        return number == os.getpid() or (number in parent and ours(parent[number]))

    return {number: used for number, used in seconds.items() if number != os.getpid() and ours(number)}


def opened(browser: Browser, app: RunningApp, servers: set[int]) -> tuple[float, ...]:
    """One visit: the seconds of `STEPS`."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    open_screen(page, app)
    before, start = spent(), time.perf_counter()
    page.get_by_role("button", name="Open the finished example").click()
    page.get_by_role("heading", name="Release", level=1).wait_for()
    heading = time.perf_counter() - start
    page.locator(f"{LINKED}[data-drawn]").wait_for()
    drawn, after = time.perf_counter() - start, spent()
    context.close()
    used = {number: seconds - before.get(number, 0.0) for number, seconds in after.items()}
    server = sum(seconds for number, seconds in used.items() if number in servers)
    return heading, drawn, server, sum(used.values()) - server


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as home,
        running_app(Path(home)) as app,
        sync_playwright() as playwright,
    ):
        servers = set(spent())
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        servers -= set(spent()) - servers
        first, *others = [opened(browser, app, servers) for _ in range(VISITS)]
        browser.close()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}; seconds from the click")
    print(f"{'':28s}{'first visit':>14s}{f'median of {len(others)}':>14s}{'least':>8s}")
    for number, step in enumerate(STEPS):
        later = [visit[number] for visit in others]
        print(f"{step:28s}{first[number]:14.2f}{statistics.median(later):14.2f}{min(later):8.2f}")


if __name__ == "__main__":
    main()
