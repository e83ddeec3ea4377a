"""Maps of many hexagons in a browser: `python -m benchmarks.maps [--cells 100000] [--shown field set]`.

A field over so many hexagons of a box in the middle of England, every hexagon with a value of its own, or
the ragged set of those above a threshold, is shown by a real server on the linked map and drawn in headless
Chromium, which has no graphics card here: what its graphics process takes is what a card would do. `sent` is
what travels to the browser beside the program's own files. `seconds` are by the clock; the other times are
CPU seconds of each process, so that a busy machine matters little. `MB` are what the page holds for its
objects, and all its process holds. Then a step of the zoom button, the mean of six: `far` about the whole
area, `turn` the one that shows single hexagons of 100,000 for the first time, `near` after it. `frames` are
those that the browser makes in a second by the clock while the map is dragged, far and near.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.cells import CELL_KM2, KM, MIDDLE
from tests.browser.harness import CHROMIUM, FLAGS, LINKED, frames, running_script, visit

SEED = 3
LONGEST = 600.0  # seconds until a map is given up
MOVES = 6
DRAGGED = 40  # movements of the pointer, 4 pixels each
HEADS = (
    *("cells", "shown", "scene s", "sent MB", "page s", "graphics s", "seconds", "objects MB", "page MB"),
    *("far s", "turn s", "near s", "far frames", "near frames"),
)
SCRIPT = """
import time
import numpy as np
import streamlit as st
from benchmarks.maps import field_over
from geo.maps import linked, painting
from pages.shared import linked_maps

start = time.process_time()
domain, values = field_over({cells})
made = time.process_time()
if "{shown}" == "field":
    field = painting.paint_field(values, "ug/m3", title="t", threshold=11.0)
else:
    field = painting.paint_set(values >= 11.0, inside="above 11", outside="not above 11", title="t")
linked.linked_scene(domain, [linked.Pane("Released", field)], mode="single", alt="a map")
st.write(f"{{domain.size}} cells, scene {{time.process_time() - made:.2f}} s")
linked_maps.show(domain, [linked.Pane("Released", field)], mode="single", key="k", alt="a map", height=460)
"""


def field_over(cells: int) -> tuple[Any, np.ndarray[Any, np.dtype[np.float64]]]:
    """About so many hexagons, and a value of each."""
    from geo import domain_from_bbox

    high = float(np.sqrt(cells * CELL_KM2)) / KM / 2
    wide = high / float(np.cos(np.radians(MIDDLE[1])))
    domain = domain_from_bbox(MIDDLE[0] - wide, MIDDLE[1] - high, MIDDLE[0] + wide, MIDDLE[1] + high, 8)
    x, y = (domain.centres / np.abs(domain.centres).max()).T
    noise = np.random.default_rng(SEED).normal(0.0, 0.3, domain.size)
    return domain, 10.0 + 3.0 * np.sin(7.0 * x) * np.cos(5.0 * y) + noise


def _cpu(browser: Browser) -> dict[str, float]:
    """CPU seconds of the browser's processes so far, by kind."""
    session = browser.new_browser_cdp_session()
    found: dict[str, float] = {"renderer": 0.0, "GPU": 0.0}
    for each in session.send("SystemInfo.getProcessInfo")["processInfo"]:
        found[each["type"]] = found.get(each["type"], 0.0) + each["cpuTime"]
    session.detach()
    return found


def _held(browser: Browser) -> float:
    """MB that the largest page process holds for itself."""
    session = browser.new_browser_cdp_session()
    ours = [each["id"] for each in session.send("SystemInfo.getProcessInfo")["processInfo"]]
    session.detach()
    most = 0.0
    for number in ours:
        if b"--type=renderer" in Path(f"/proc/{number}/cmdline").read_bytes():
            status = Path(f"/proc/{number}/status").read_text().splitlines()
            most = max(most, *(int(line.split()[1]) / 1024 for line in status if line.startswith("RssAnon")))
    return most


def _steps(browser: Browser, page: Page, *buttons: str) -> float:
    """CPU seconds of page and graphics for one step of the zoom, the mean of these."""
    before = _cpu(browser)
    for name in buttons:
        page.get_by_role("button", name=name).click()
        frames(page)
    after = _cpu(browser)
    return (after["renderer"] + after["GPU"] - before["renderer"] - before["GPU"]) / len(buttons)


def _dragged(page: Page) -> float:
    """Frames a second by the clock while the map is dragged to and fro."""
    box = page.locator(LINKED).bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.evaluate("""() => {
        window.counted = 0;
        window.begun = performance.now();
        const next = () => { window.counted += 1; window.counting = requestAnimationFrame(next); };
        next();
    }""")
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(DRAGGED):
        page.mouse.move(x + 4 * (step if step < DRAGGED / 2 else DRAGGED - step), y)
    page.mouse.up()
    frames(page, 2)
    found = page.evaluate("""() => {
        cancelAnimationFrame(window.counting);
        return 1000 * window.counted / (performance.now() - window.begun);
    }""")
    return float(found)


def _drawn(browser: Browser, url: str, shown: str) -> list[str]:
    """One line of the table: a map from the first request to its first picture, and moves after it."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(LONGEST * 1000)
    sent = [0]

    def count(frame: str | bytes) -> None:
        sent[0] += len(frame)

    page.on("websocket", lambda socket: socket.on("framereceived", count))
    before, start = _cpu(browser), time.perf_counter()
    visit(page, url)
    page.wait_for_selector(f"{LINKED}[data-drawn]")
    frames(page)
    seconds, first = time.perf_counter() - start, _cpu(browser)
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable")
    figures = {each["name"]: each["value"] for each in metrics.send("Performance.getMetrics")["metrics"]}
    held = _held(browser)
    closer, wider = "Zoom in", "Zoom out"
    far, far_frames = _steps(browser, page, *(wider, closer) * (MOVES // 2)), _dragged(page)
    _steps(browser, page, closer)
    turn = _steps(browser, page, closer)
    near, near_frames = _steps(browser, page, *(closer, wider) * (MOVES // 2)), _dragged(page)
    said = page.get_by_text("cells, scene").inner_text().split()
    page.close()
    return [
        f"{int(said[0]):,}",
        shown,
        said[3],
        f"{sent[0] / 1e6:.2f}",
        f"{first['renderer'] - before['renderer']:.1f}",
        f"{first['GPU'] - before['GPU']:.1f}",
        f"{seconds:.1f}",
        f"{figures['JSHeapUsedSize'] / 1e6:.0f}",
        f"{held:.0f}",
        *(f"{taken:.2f}" for taken in (far, turn, near)),
        *(f"{each:.1f}" for each in (far_frames, near_frames)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[100_000], help="of the maps")
    parser.add_argument("--shown", nargs="+", choices=("field", "set"), default=["field", "set"])
    asked = parser.parse_args()
    begun = time.perf_counter()
    print(" ".join(f"{head:>11}" for head in HEADS), flush=True)
    for cells, shown in ((cells, shown) for cells in asked.cells for shown in asked.shown):
        with (
            tempfile.TemporaryDirectory() as name,
            running_script(Path(name), SCRIPT.format(cells=cells, shown=shown)) as url,
            sync_playwright() as driver,
            driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as browser,
        ):
            print(" ".join(f"{cell:>11}" for cell in _drawn(browser, url, shown)), flush=True)
    print(f"Seed {SEED} of the generated field; every map once, in a browser of its own.")
    print(f"The whole benchmark took {(time.perf_counter() - begun) / 60:.1f} minutes by the clock.")


if __name__ == "__main__":
    main()
