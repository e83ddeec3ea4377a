"""Journeys in a real browser: from data to download, reload, threshold, two people, cancel, recovery."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from geo import rfc7946_findings
from geo.colours import rgb
from hexcursion.ledger import open_ledger
from hexcursion.project.example import example_settings
from hexcursion.settings.model import settings_to_toml
from tests.browser.harness import (
    LINKED,
    MAP,
    PATIENCE,
    RunningApp,
    appear,
    count_colour,
    download,
    give,
    go_to,
    needs_linked_maps,
    open_screen,
    pixels,
    press,
    running_app,
    settle,
    take_settings,
    visit,
    wait_for_colour,
)

INSIDE, INSIDE_DARK = tuple(rgb("inside", "light")), tuple(rgb("inside", "dark"))
MANY = 800  # pixels: about one hexagon of the coarse test map


@dataclass(frozen=True)
class Released:
    """A curator's page after a release, with the release's id."""

    page: Page
    release_id: str


def heading(page: Page, text: str) -> None:
    appear(page.get_by_text(text, exact=False).first)
    settle(page)


def take_example(page: Page, app: RunningApp) -> None:
    open_screen(page, app, "data")
    press(page, "Use the generated example")
    heading(page, "What was read")


def choose_sensor_table(page: Page) -> None:
    page.get_by_role("radio", name="Your own table").click()
    heading(page, "Table of places and values (.csv")


def choose_coarse_hexagons(page: Page) -> None:
    go_to(page, "Hexagons")
    slider = page.get_by_role("slider", name="Resolution")
    for _ in range(2):
        slider.press("ArrowLeft")
        settle(page)
    heading(page, "of resolution 6")


def ask_for_a_quick_search(page: Page) -> None:
    go_to(page, "Privacy and utility")
    page.get_by_text("More choices", exact=True).click()
    page.get_by_text("Quick search on a coarser grid", exact=True).click()
    settle(page)
    press(page, "Search for the best design")


def ledger_entries(app: RunningApp) -> int:
    """How many entries the ledger of the app has: none before the first charge begins it."""
    place = app.home / "ledger.sqlite"
    return len(open_ledger(place, create=False).entries()) if place.exists() else 0


def give_coarse_example(page: Page, app: RunningApp, folder: Path, **changes: Any) -> None:
    """Give the example's files, and settings by which its search is short, with some of them changed."""
    made = example_settings(folder)
    region = Path(made.region or "")
    files = sorted(path for path in region.parent.iterdir() if path.name.endswith((".gz", region.name)))
    data, reference = (
        replace(each, path=Path(each.path).name, postcodes=Path(each.postcodes or "").name)
        for each in (made.data, made.reference)
        if each is not None
    )
    asked = made.with_changes(
        data=data,
        reference=reference,
        region=region.name,
        resolution=6,
        quick=True,
        priors=("car",),
        mechanisms=("spectral-statistics",),
        **changes,
    )
    choices = folder / "choices.toml"
    choices.write_text(settings_to_toml(asked), encoding="utf-8")
    open_screen(page, app, "data")
    take_settings(page, choices, *files)
    heading(page, "What was read")


def search_up_to_release(page: Page) -> None:
    """Search with the choices as they stand, and open the screen Release."""
    go_to(page, "Privacy and utility")
    press(page, "Search for the best design")
    heading(page, "The proposal")
    go_to(page, "Release")
    heading(page, "What will be published")


@pytest.fixture(scope="module")
def released(
    browser: Browser, app: RunningApp, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Released]:
    """Walk the whole path once: data, hexagons, search, release."""
    context = browser.new_context(viewport={"width": 1280, "height": 1400}, accept_downloads=True)
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    give_coarse_example(page, app, tmp_path_factory.mktemp("example"))
    go_to(page, "Hexagons")
    heading(page, "of resolution 6")
    search_up_to_release(page)
    page.get_by_test_id("stFormSubmitButton").get_by_role("button").click()
    page.get_by_role("button", name="Release now").click()
    heading(page, "Released as")
    found = re.search(r"Released as ([0-9a-f]{16})", page.get_by_test_id("stMain").inner_text())
    assert found
    yield Released(page, found[1])
    context.close()


@needs_linked_maps
def test_the_map_shows_the_released_region_beside_the_baseline(released: Released) -> None:
    chart = released.page.locator(LINKED)
    wait_for_colour(chart, INSIDE, 2 * MANY)
    picture = pixels(chart.screenshot())
    middle = picture.shape[1] // 2
    for half in (picture[:, :middle], picture[:, middle:]):
        shown = (np.abs(half.astype(int) - np.array(INSIDE)) <= 6).all(axis=2).mean()
        assert 0.002 < shown < 0.9


@pytest.mark.slow
def test_the_downloaded_files_hold_what_was_released_and_are_rfc_7946(
    released: Released, app: RunningApp, tmp_path: Path
) -> None:
    go_to(released.page, "Publish")
    cells = download(released.page, "Hexagons (GeoJSON)", tmp_path)
    regions = download(released.page, "Regions (GeoJSON)", tmp_path)
    for path in (cells, regions):
        assert rfc7946_findings(json.loads(path.read_text())) == []
    frame = geopandas.read_file(cells)
    inside = int((frame["in_set"].astype(float) > 0).sum())
    facts = json.loads(cells.read_text())["release"]
    assert facts["release_id"] == released.release_id
    assert 0 < inside < len(frame)
    assert facts["epsilon"] == pytest.approx(1.0, rel=1e-3)
    shapes = geopandas.read_file(regions)
    likely_region = shapes[shapes["product"] == "likely"].to_crs("EPSG:6933").area.sum()
    likely_area = frame[frame["class"] == "above"].to_crs("EPSG:6933").area.sum()
    assert likely_region == pytest.approx(likely_area, rel=1e-3)
    go_to(released.page, "Release")
    shown = released.page.locator(".legend").first.inner_text()
    assert f"{int((frame['class'] == 'above').sum()):,} hexagon" in shown
    go_to(released.page, "Publish")
    bundle = download(released.page, "Download the bundle", tmp_path)
    with zipfile.ZipFile(bundle) as archive:
        names = {Path(name).name for name in archive.namelist()}
    assert {"cells.geojson", "regions.geojson", "paths.parquet", "statement.json", "SHA256SUMS"} <= names
    go_to(released.page, "Release")


@pytest.mark.slow
def test_moving_the_threshold_twenty_times_redraws_and_charges_nothing(
    released: Released, app: RunningApp
) -> None:
    page = released.page
    go_to(page, "Release")
    before = ledger_entries(app)
    slider = page.get_by_role("slider").first
    legend = page.locator(".legend").first
    threshold = legend.inner_text().splitlines()[1]  # below the name of the map
    slider.focus()
    for _ in range(20):
        slider.press("ArrowLeft")
    settle(page)
    expect(legend).not_to_contain_text(threshold, timeout=PATIENCE * 1000)
    wait_for_colour(page.locator(MAP).first, INSIDE, MANY)
    for _ in range(20):
        slider.press("ArrowRight")
    settle(page)
    expect(legend).to_contain_text(threshold, timeout=PATIENCE * 1000)
    assert page.get_by_test_id("stException").count() == 0
    assert ledger_entries(app) == before


@pytest.mark.slow
def test_a_reload_shows_the_same_release_and_draws_nothing(
    released: Released, app: RunningApp, new_page: Callable[..., Page]
) -> None:
    before = ledger_entries(app)
    go_to(released.page, "Release")
    address = released.page.url
    assert released.release_id in address
    again = new_page()
    for _ in range(2):
        visit(again, address)
        heading(again, "nothing new was drawn")
        assert again.get_by_test_id("stFormSubmitButton").count() == 0  # nor is a release offered
        wait_for_colour(again.locator(MAP).first, INSIDE, MANY)
    assert ledger_entries(app) == before
    text = again.get_by_test_id("stMain").inner_text()
    assert "Without privacy" not in text  # the private data are gone with the session that held them


def test_another_person_sees_the_bundle_and_nothing_of_the_curators_data(
    released: Released, app: RunningApp, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    table = tmp_path / "sensors.csv"
    rows = [f"{2.1 + 0.02 * i},{54.7 + 0.01 * i},{20 + i}" for i in range(12)]
    table.write_text("lon,lat,no2 (ug/m3)\n" + "\n".join(rows) + "\n")
    other = new_page()
    open_screen(other, app, "data")
    assert "What was read" not in other.get_by_test_id("stMain").inner_text()
    choose_sensor_table(other)
    give(other, "Table of places and values (.csv", table)
    heading(other, "Guessed from the first rows")
    press(other, "Read the data")
    heading(other, "What was read")
    assert "12 rows read, 12 kept" in other.get_by_test_id("stMain").inner_text()
    assert "12 readings" in other.get_by_test_id("stSidebar").inner_text()
    go_to(released.page, "Data")
    mine = released.page.locator("body").inner_text()
    assert "generated sales" in mine
    assert "12 readings" not in mine
    go_to(other, "Viewer")
    wait_for_colour(other.locator(MAP).first, INSIDE, MANY)
    go_to(released.page, "Release")


@pytest.mark.slow
def test_a_bundle_is_handed_over_to_a_reader_who_has_nothing_else(
    released: Released, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    """The file goes by mail, the reader's program has no home of the curator's and no curator's screen."""
    go_to(released.page, "Release")
    shown = released.page.locator(".legend").first.inner_text()
    go_to(released.page, "Publish")
    bundle = download(released.page, "Download the bundle", tmp_path)
    go_to(released.page, "Release")
    with running_app(tmp_path / "reader", "--viewer") as reader:
        page = new_page()
        open_screen(page, reader)
        titles = page.get_by_test_id("stTopNavLink").all_inner_texts()
        assert {"Guided tour", "Viewer", "How this works"} == {title.splitlines()[-1] for title in titles}
        page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(bundle)
        heading(page, "Streets beneath the map")
        wait_for_colour(page.locator(MAP).first, INSIDE, MANY)
        classes = page.locator(".legend").first.inner_text()
        assert classes.startswith("likely above ")
        assert shown.removeprefix("Released:").lstrip() == classes, "the curator's names its map"
        page.get_by_role("slider").first.press("ArrowLeft")
        settle(page)
        assert "viewer_threshold" in page.url
        assert not (tmp_path / "reader" / "ledger.sqlite").exists()


@pytest.mark.slow
def test_a_broken_file_is_one_sentence_and_a_good_one_recovers(
    page: Page, app: RunningApp, tmp_path: Path
) -> None:
    broken, good = tmp_path / "broken.csv", tmp_path / "good.csv"
    broken.write_bytes(b"%PDF-1.4 not a table")
    good.write_text("lon,lat,level\n2.2,54.7,1\n2.3,54.8,2\n2.25,54.75,3\n")
    open_screen(page, app, "data")
    choose_sensor_table(page)
    upload = page.get_by_test_id("stFileUploader").first.locator("input[type=file]")
    upload.set_input_files(broken)
    appear(page.get_by_test_id("stAlert"))
    assert "PDF" in page.get_by_test_id("stAlert").inner_text()
    assert page.get_by_test_id("stException").count() == 0
    upload.set_input_files(good)
    heading(page, "Guessed from the first rows")
    page.get_by_label("Its unit").fill("m")
    page.get_by_label("Its unit").press("Enter")
    settle(page)
    press(page, "Read the data")
    heading(page, "3 rows read, 3 kept")


@pytest.mark.slow
def test_a_search_is_cancelled_and_started_again_and_a_reload_asks_for_no_release(
    page: Page, app: RunningApp
) -> None:
    take_example(page, app)
    go_to(page, "Hexagons")
    go_to(page, "Privacy and utility")
    with app.standing_still():
        page.get_by_role("button", name="Search for the best design").click()
        page.get_by_role("button", name="Cancel the search").click()
        heading(page, "The search was cancelled")
    choose_coarse_hexagons(page)
    ask_for_a_quick_search(page)
    heading(page, "The proposal")
    entries = ledger_entries(app)
    go_to(page, "Release")
    heading(page, "What will be published")
    page.get_by_test_id("stFormSubmitButton").get_by_role("button").click()
    appear(page.get_by_role("dialog").get_by_role("button", name="Release now"))
    settle(page)
    page.reload()  # asked once more, and not answered
    heading(page, "This page was loaded anew")
    assert page.get_by_text("The release that you asked for").count() == 0
    assert ledger_entries(app) == entries


@pytest.mark.slow
def test_the_dark_theme_draws_its_own_colours(
    released: Released, app: RunningApp, new_page: Callable[..., Page]
) -> None:
    page = new_page(theme="dark")
    open_screen(page, app, f"viewer?release={released.release_id}")
    chart = page.locator(MAP).first
    wait_for_colour(chart, INSIDE_DARK, MANY)
    assert count_colour(chart.screenshot(), INSIDE) < MANY
