"""Three holders' bundles in a real browser: a reader adds them in the viewer and keeps the one page."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest
from playwright.sync_api import Page

import hexcursion
from hexcursion.project.load import load_project
from hexcursion.search.shared import share_design
from tests.browser.harness import RunningApp, appear, download, give, open_screen, settle
from tests.town import BOX, THRESHOLD, Town

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory, town: Town) -> list[Path]:
    """The zips of three holders of one design, each with a third of the town's records, and the zip of
    a fourth holder with another design."""
    place = tmp_path_factory.mktemp("three")
    rows = pandas.read_csv(town.private)
    common = {"resolution": 7, "centre": 28.0, "clip": 15.0, "mechanisms": ("spectral-statistics",)}
    plain = town.settings(**common, reference=None, reference_public=False, prior_mean=None, value_name="",
                          epsilon=1.0)  # fmt: skip
    made = []
    for number, holders in enumerate((3, 3, 3, 5)):
        design = place / f"design{holders}.json"
        design.write_bytes(share_design(load_project(plain), holders, 3000).to_bytes())
        hexcursion.release(
            rows[number % 3 :: 3].reset_index(drop=True), value="no2", lon="lon", lat="lat", area=BOX,
            resolution=7, threshold=THRESHOLD, value_unit="ug/m3", epsilon=1.0 + number / 2,
            title=f"Office {number}", shared_design=str(design), out=place / f"b{number}",
            ledger=str(place / f"ledger{number}.sqlite"),
        )  # fmt: skip
        made.append(place / f"b{number}.zip")
    return made


def test_three_holders_become_one_page(
    bundles: list[Path], app: RunningApp, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = new_page()
    open_screen(page, app, "viewer")
    give(page, "Open a bundle file", bundles[0])
    tab = page.get_by_role("tab", name="Other holders")
    appear(tab)
    settle(page)
    tab.click()
    settle(page)
    files = "files of other holders"
    give(page, files, bundles[1], bundles[3])
    button = page.get_by_role("button", name="Read together").filter(visible=True)
    button.click()
    appear(page.get_by_text("'Office 3' releases sums of another design than the first bundle: release with"))
    shown = 'iframe[src^="data:text/html"]:visible'
    assert page.locator(shown).count() == 0
    page.get_by_role("button", name="Remove b3.zip").click()
    settle(page)
    give(page, files, bundles[2])
    button.click()
    joint = page.frame_locator(shown).locator("body")
    appear(joint.get_by_role("heading", name="Holders"))
    kept = download(page, "Page, tables, layers and statement", tmp_path)
    with zipfile.ZipFile(kept) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith("together.html"))
        published = tmp_path / "page.html"
        published.write_bytes(packed.read(name))
    for width in (390, 1280):
        reader = new_page(width)
        reader.goto(published.as_uri())
        appear(
            reader.get_by_text(
                "A person with one reading at each of the 3 holders: epsilon 2.854 at delta 1e-5"
            )
        )
        rows = reader.locator("tbody tr").all_inner_texts()
        assert [row.split("\t")[:3] for row in rows] == [
            ["Office 0", "887", "1 at 1e-5"],
            ["Office 1", "885", "1.5 at 1e-5"],
            ["Office 2", "887", "2 at 1e-5"],
        ]
        assert reader.get_by_text("Orange is right").is_visible()
        keys = [
            int(found) for found in re.findall(r"\((\d+) hexagons?\)", reader.locator("#legend").inner_text())
        ]
        assert sum(keys) == 16
        assert reader.evaluate("document.documentElement.scrollWidth <= innerWidth")
