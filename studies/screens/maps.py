"""Maps of many hexagons in a browser.

Command: `python -m studies.screens.maps [--cells 100000] [--shown field set page]`.

A field over the hexagons of a box in the middle of England, with distinct values, or the ragged set of those
above a threshold, is shown by a real server on the linked map and drawn in headless Chromium without a
graphics card: its graphics process does the work of a card. A `page` is `map.html` of a release of that field
with its standard deviation, opened from disk: likely or not, or `graded`, chances. `made s` are CPU seconds
of making a scene or a page. `sent` is the data that travels to the browser without the program's own files,
or the page's file. `seconds` are by the clock; the other times are CPU seconds of each process, so that a
busy machine matters little. `MB` are the memory of the page's objects, and of its process. Then a step of the
zoom button, the mean of six: `far` about the whole area, `turn` the step that shows single hexagons of
100,000 for the first time, `near` after it, `lined` where each hexagon has its outline, the mean of two.
`frames` are frames a second by the clock while the map is dragged; `--steps` leaves that out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from studies.scale.cells import CELL_KM2, KM, MIDDLE
from tests.browser.harness import CHROMIUM, FLAGS, LINKED, frames, running_script, visit

Opening = Generator[tuple[int, float, float], None, None]
SEED = 3
Shown = Literal["field", "set", "page", "graded"]
SHOWN: tuple[Shown, ...] = get_args(Shown)
BOARD = "#board"  # the map of a page
LONGEST = 600.0  # seconds until a map counts as failed
MOVES = 6
DRAGGED = 40  # movements of the pointer, 4 pixels each
HEADS = (
    *("cells", "shown", "made s", "sent MB", "page s", "graphics s", "seconds", "objects MB", "page MB"),
    *("far s", "turn s", "near s", "lined s"),
    *("far frames", "near frames", "lined frames"),
)
SCRIPT = """
import time
import numpy as np
import streamlit as st
from studies.screens.maps import field_over
from geo.maps import linked, painting
from pages.shared import maps

start = time.process_time()
domain, values = field_over({cells})
made = time.process_time()
if "{shown}" == "field":
    field = painting.paint_field(values, "ug/m3", title="t", threshold=11.0)
else:
    field = painting.paint_set(values >= 11.0, inside="above 11", outside="not above 11", title="t")
linked.linked_scene(domain, [linked.Pane("Released", field)], mode="single", alt="a map")
st.write(f"{{domain.size}} cells, scene {{time.process_time() - made:.2f}} s")
maps.show(domain, [linked.Pane("Released", field)], mode="single", key="k", alt="a map", height=460)
"""


def field_over(cells: int) -> tuple[Any, np.ndarray[Any, np.dtype[np.float64]]]:
    """A domain of about `cells` hexagons, and a value of each."""
    from geo import domain_from_bbox

    high = float(np.sqrt(cells * CELL_KM2)) / KM / 2
    wide = high / float(np.cos(np.radians(MIDDLE[1])))
    domain = domain_from_bbox(MIDDLE[0] - wide, MIDDLE[1] - high, MIDDLE[0] + wide, MIDDLE[1] + high, 8)
    x, y = (domain.centres / np.abs(domain.centres).max()).T
    noise = np.random.default_rng(SEED).normal(0.0, 0.3, domain.size)
    return domain, 10.0 + 3.0 * np.sin(7.0 * x) * np.cos(5.0 * y) + noise


def _described(cells: int) -> str:
    """Compare the scene of our component with pydeck's JSON for the same map, in a line."""
    from geo.maps import layers, linked, painting

    domain, values = field_over(cells)
    pane = linked.Pane("Released", painting.paint_field(values, "ug/m3", title="t", threshold=11.0))
    start = time.process_time()
    scene = linked.linked_scene(domain, [pane], mode="single", alt="a map")
    between = time.process_time()
    deck = layers.pane_deck(domain, pane).to_json()
    ours, theirs = between - start, time.process_time() - between
    plain, tables = scene.pop("scene"), scene.values()  # a table travels in Arrow's format
    size = len(json.dumps(plain)) + sum(each.memory_usage(index=False, deep=True).sum() for each in tables)
    return (
        f"{domain.size:,} hexagons: the component's scene {size / 1e6:.1f} MB in {ours:.1f} CPU s, "
        f"pydeck's JSON {len(deck) / 1e6:.1f} MB in {theirs:.1f}."
    )


def _page(cells: int, folder: Path) -> tuple[Path, int, float]:
    """`map.html` of a release of that field, its number of hexagons, and CPU seconds of making it."""
    from geo.context.surroundings import around
    from hexcursion.bundle.page.drawn import Released
    from hexcursion.bundle.page.html import map_html
    from hexcursion.bundle.products import MapValues
    from hexcursion.bundle.read import published_products
    from hexcursion.bundle.statement.build import build_statement
    from tests.hexcursion.bundle.bundle_samples import make_release

    domain, values = field_over(cells)
    field = (values - 11.0) / 3.0, np.full(domain.size, 0.3)
    release = make_release(domain, paths=2, mean=field[0], sd=field[1])
    statement = build_statement(release)
    start = time.process_time()
    products = published_products(statement, domain, MapValues(release.paths, field))
    released = Released(statement, domain, release.paths, field, around(domain, ()))
    content = map_html(released, products)
    seconds = time.process_time() - start
    (folder / "map.html").write_bytes(content)
    return folder / "map.html", domain.size, seconds


def _cpu(browser: Browser) -> dict[str, float]:
    """CPU seconds of the browser's processes so far, by kind."""
    session = browser.new_browser_cdp_session()
    seconds: dict[str, float] = {"renderer": 0.0, "GPU": 0.0}
    for each in session.send("SystemInfo.getProcessInfo")["processInfo"]:
        seconds[each["type"]] = seconds.get(each["type"], 0.0) + each["cpuTime"]
    session.detach()
    return seconds


def _held(browser: Browser) -> float:
    """Anonymous memory of the largest page process, in MB."""
    session = browser.new_browser_cdp_session()
    processes = [each["id"] for each in session.send("SystemInfo.getProcessInfo")["processInfo"]]
    session.detach()
    largest = 0.0
    for number in processes:
        if b"--type=renderer" in Path(f"/proc/{number}/cmdline").read_bytes():
            status = Path(f"/proc/{number}/status").read_text().splitlines()
            largest = max(
                largest, *(int(line.split()[1]) / 1024 for line in status if line.startswith("RssAnon"))
            )
    return largest


def _steps(browser: Browser, page: Page, *buttons: str) -> float:
    """Mean CPU seconds of page and graphics for one step of the zoom."""
    start = _cpu(browser)
    for name in buttons:
        page.get_by_role("button", name=name).click()
        frames(page)
    end = _cpu(browser)
    return (end["renderer"] + end["GPU"] - start["renderer"] - start["GPU"]) / len(buttons)


def _outlined(page: Page, chart: str) -> None:
    """Zoom in until each hexagon has its outline."""
    while page.locator(chart).get_attribute("data-outlines") != "true":
        page.get_by_role("button", name="Zoom in").click()
        frames(page, 2)
    frames(page)


def _dragged(page: Page, chart: str, moves: int) -> float:
    """Frames a second by the clock while the map is dragged to and fro."""
    box = page.locator(chart).bounding_box()
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
    for step in range(moves):
        page.mouse.move(x + 4 * (step if step < moves / 2 else moves - step), y)
    page.mouse.up()
    frames(page, 2)
    rate = page.evaluate("""() => {
        cancelAnimationFrame(window.counting);
        return 1000 * window.counted / (performance.now() - window.begun);
    }""")
    return float(rate)


def _from_server(page: Page, cells: int, shown: Shown) -> Opening:
    """Show a scene: number of hexagons, seconds of making it, MB that travelled."""
    received = [0]

    def count(frame: str | bytes) -> None:
        received[0] += len(frame)

    page.on("websocket", lambda socket: socket.on("framereceived", count))
    with (
        tempfile.TemporaryDirectory() as name,
        running_script(Path(name), SCRIPT.format(cells=cells, shown=shown)) as url,
    ):
        yield 0, 0.0, 0.0  # the server is up
        visit(page, url)
        page.wait_for_selector(f"{LINKED}[data-drawn]")
        frames(page)
        words = page.get_by_text("cells, scene").inner_text().split()
        yield int(words[0]), float(words[3]), received[0] / 1e6


def _from_disk(page: Page, cells: int, shown: Shown) -> Opening:
    """Open a page from disk, with the same figures."""
    with tempfile.TemporaryDirectory() as name:
        path, size, seconds = _page(cells, Path(name))
        yield 0, 0.0, 0.0
        page.goto(path.as_uri())
        page.wait_for_selector(f"{BOARD} canvas")
        if shown == "graded":
            page.get_by_label("chances").check()
        frames(page)
        yield size, seconds, path.stat().st_size / 1e6


def _drawn(browser: Browser, cells: int, shown: Shown, dragging: bool) -> list[str]:
    """One line of the table: a map up to its first picture, and moves after it."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(LONGEST * 1000)
    chart, opened = (BOARD, _from_disk) if shown in ("page", "graded") else (LINKED, _from_server)
    opening = opened(page, cells, shown)
    next(opening)
    cpu_before, start = _cpu(browser), time.perf_counter()
    size, making, sent = next(opening)
    seconds, first = time.perf_counter() - start, _cpu(browser)
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable")
    figures = {each["name"]: each["value"] for each in metrics.send("Performance.getMetrics")["metrics"]}
    memory = _held(browser)
    closer, wider = "Zoom in", "Zoom out"
    # A page goes no further out than the whole area.
    moves = (wider, closer) if chart == LINKED else (closer, wider)
    dragged = []

    def drag(moved: int) -> None:
        dragged.append(f"{_dragged(page, chart, moved):.1f}" if dragging else "-")

    far = _steps(browser, page, *moves * (MOVES // 2))
    drag(DRAGGED)
    _steps(browser, page, closer)
    turn = _steps(browser, page, closer)
    near = _steps(browser, page, *(closer, wider) * (MOVES // 2))
    drag(DRAGGED)
    _outlined(page, chart)
    outlined = _steps(browser, page, closer, wider)
    drag(DRAGGED // 5)
    page.close()
    opening.close()
    return [
        f"{size:,}",
        shown,
        f"{making:.2f}",
        f"{sent:.2f}",
        f"{first['renderer'] - cpu_before['renderer']:.1f}",
        f"{first['GPU'] - cpu_before['GPU']:.1f}",
        f"{seconds:.1f}",
        f"{figures['JSHeapUsedSize'] / 1e6:.0f}",
        f"{memory:.0f}",
        *(f"{taken:.2f}" for taken in (far, turn, near, outlined)),
        *dragged,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[100_000], help="of the maps")
    parser.add_argument("--shown", nargs="+", choices=SHOWN, default=list(SHOWN))
    parser.add_argument(
        "--steps", action="store_true", help="without dragging, which slow maps take minutes for"
    )
    options = parser.parse_args()
    begun = time.perf_counter()
    print(" ".join(f"{head:>11}" for head in HEADS), flush=True)
    for cells, shown in ((cells, shown) for cells in options.cells for shown in options.shown):
        with (
            sync_playwright() as driver,
            driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS) as browser,
        ):
            print(
                " ".join(f"{cell:>11}" for cell in _drawn(browser, cells, shown, not options.steps)),
                flush=True,
            )
    print(*(_described(cells) for cells in options.cells), sep="\n")
    print(f"Seed {SEED} of the generated field; every map once, in a browser of its own.")
    print(f"The whole benchmark took {(time.perf_counter() - begun) / 60:.1f} minutes by the clock.")


if __name__ == "__main__":
    main()
