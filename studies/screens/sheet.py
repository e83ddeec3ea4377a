"""One sheet of maps: `python -m studies.screens.sheet [--out FOLDER] [--only NAME ...]`.

Each place has a map of generated classes as the app's component draws it, on a telephone (390 pixels) and a
desk (1280), light and dark, then `map.html` of the same release in the same four ways, then `map.png`.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from geo import Domain
from geo.colours import Theme, colour
from geo.context.shores import without_sea
from geo.context.surroundings import around
from geo.domains.domain import domain_from_region
from geo.maps.linked import Pane, linked_scene
from geo.maps.painting import legend
from geo.region import region_from_bbox
from hexcursion.bundle.page.drawn import Released
from hexcursion.bundle.page.html import map_html
from hexcursion.bundle.page.papers import map_png, painted
from hexcursion.bundle.products import Products
from hexcursion.bundle.read import published_products
from hexcursion.bundle.statement.build import build_statement
from pages.shared.maps import legend_html
from tests.browser.harness import CHROMIUM, FLAGS
from tests.hexcursion.bundle.bundle_samples import make_release

ASSETS = Path("frontend/hexcursion_maps/assets")
WIDTHS = (390, 1280)
THEMES: tuple[Theme, ...] = ("light", "dark")
HEIGHT = 460  # pixels of a map of the app
# West, south, east and north, degrees, and the resolution.
PLACES: dict[str, tuple[tuple[float, float, float, float], int]] = {
    "Toledo": ((-83.88, 41.42, -83.15, 41.73), 7),
    "Bromley": ((-0.02, 51.36, 0.08, 51.43), 9),
    "London": ((-0.51, 51.28, 0.33, 51.69), 7),
    "Meuse": ((5.71, 50.95, 5.77, 51.0), 10),
    "Finnmark": ((22.0, 69.6, 27.0, 71.3), 5),
    "Malta": ((14.15, 35.78, 14.6, 36.1), 7),
    "Chukotka": ((176.0, 64.0, -169.0, 69.5), 4),
}
# What Streamlit does: a table of Arrow is columns by name, and a module gets its element and data.
SHIM = """async ([code, scene, tables, key, css, ground, ink]) => {
  document.body.innerHTML = `<style>${css}
    body { margin: 12px; background: ${ground}; color: ${ink}; font-family: sans-serif;
           --st-text-color: ${ink}; --st-background-color: ${ground}; }
    </style><div id="map"></div>${key}`;
  const typed = (name, column) =>
    name === "cell" ? BigUint64Array.from(column, BigInt) : Int32Array.from(column);
  const arrow = (columns) => ({
    schema: { fields: Object.keys(columns).map((name) => ({ name })) },
    getChild: (name) => ({ toArray: () => typed(name, columns[name]) }),
  });
  const made = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const packed = Object.entries(tables).map(([name, columns]) => [name, arrow(columns)]);
  const data = { scene, ...Object.fromEntries(packed) };
  made.default({ data, parentElement: document.getElementById("map"), setTriggerValue: () => {} });
}"""


@dataclass(frozen=True)
class Shown:
    """A generated release of a place."""

    domain: Domain
    statement: dict[str, Any]
    released: Released
    products: Products


def shown(name: str) -> Shown:
    """Generate the release: a bump in the middle, where most of the records are."""
    box, resolution = PLACES[name]
    region = region_from_bbox(*box, crosses_date_line=box[0] > box[2] or None)
    domain = domain_from_region(without_sea(region, resolution), resolution, name)
    far = np.linalg.norm(domain.centres / np.abs(domain.centres).max(axis=0), axis=1)
    noise = np.random.default_rng(5).normal(0.0, 0.35, domain.size)
    field = (0.9 - 1.5 * far + noise, np.full(domain.size, 0.5))
    records = 4.0 * np.exp(-4.0 * far) * np.exp(3.0 * noise)
    release = make_release(
        domain, paths=2, mean=field[0], sd=field[1], title=f"Generated numbers around {name}"
    )
    statement = build_statement(release)
    products = published_products(statement, domain, release.paths, field, None, records)
    return Shown(
        domain, statement, Released(statement, domain, release.paths, field, around(domain)), products
    )


def component(page: Page, made: Shown, theme: Theme) -> bytes:
    """A picture of the app's map with its legend."""
    painting = painted(made.statement, made.products)
    key = legend(painting, theme)
    scene = linked_scene(
        made.domain,
        [Pane("", painting)],
        mode="single",
        alt="a map",
        theme=theme,
        legend=key,
        height=HEIGHT,
    )
    plain = scene.pop("scene")
    tables = {name: _columns(table) for name, table in scene.items()}
    css = (ASSETS / "style.css").read_text() + Path("static/frame.css").read_text()
    code = (ASSETS / "index.js").read_text()
    ground, ink = colour("ground", theme), colour("line", theme)
    page.evaluate(SHIM, [code, json.loads(json.dumps(plain)), tables, legend_html(key), css, ground, ink])
    page.wait_for_selector('.linked-map[data-drawn="true"]')
    page.wait_for_timeout(700)
    return page.screenshot(full_page=True)


def _columns(table: pd.DataFrame) -> dict[str, list[str]]:
    return {name: [str(value) for value in table[name].tolist()] for name in table}


@contextmanager
def opened(browser: Browser, width: int, theme: Theme) -> Iterator[Page]:
    """A page of a width and theme."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)
    yield context.new_page()
    context.close()


def pictures(browser: Browser, made: Shown, folder: Path) -> list[bytes]:
    """All pictures of a place."""
    address = folder / "map.html"
    address.write_bytes(map_html(made.released, made.products))
    found = []
    ways: tuple[Callable[[Page, Theme], bytes], ...] = (
        lambda page, theme: component(page, made, theme),
        lambda page, theme: _of_file(page, address),
    )
    for way in ways:
        for width in WIDTHS:
            for theme in THEMES:
                with opened(browser, width, theme) as page:
                    found.append(way(page, theme))
    return [*found, map_png(made.statement, made.domain, made.products)]


def _of_file(page: Page, address: Path) -> bytes:
    page.goto(address.resolve().as_uri())
    page.wait_for_timeout(500)
    return page.screenshot()


def joined(rows: dict[str, list[bytes]], tall: int = 420) -> Image.Image:
    """The pictures of each place in a row, all as tall."""
    opened = [[Image.open(io.BytesIO(one)).convert("RGB") for one in row] for row in rows.values()]
    small = [[one.resize((round(one.width * tall / one.height), tall)) for one in row] for row in opened]
    sheet = Image.new(
        "RGB", (max(sum(one.width + 8 for one in row) for row in small), len(small) * (tall + 8)), "#888"
    )
    for down, row in enumerate(small):
        across = 0
        for one in row:
            sheet.paste(one, (across, down * (tall + 8)))
            across += one.width + 8
    return sheet


def main() -> None:
    """Write every picture, and the sheet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--out", type=Path, default=Path("out/sheet"), help="folder of the pictures")
    parser.add_argument("--only", nargs="*", default=list(PLACES), help="places")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    rows = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name in given.only:
            rows[name] = pictures(browser, shown(name), given.out)
            for number, picture in enumerate(rows[name]):
                (given.out / f"{name}-{number}.png").write_bytes(picture)
        browser.close()
    joined(rows).save(given.out / "sheet.png")


if __name__ == "__main__":
    main()
