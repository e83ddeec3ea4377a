"""The Data screen in a real browser: sales by upload, settings saved and taken, a reload, broken files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, Route, expect

from geo.colours import rgb
from hexcursion.project.example import example_settings
from hexcursion.settings import ReleaseSettings, settings_from_toml
from tests.browser.harness import (
    LINKED,
    PATIENCE,
    RunningApp,
    appear,
    download,
    give,
    go_to,
    needs_linked_maps,
    open_screen,
    press,
    settle,
    take_settings,
    unfold,
    wait_for_colour,
)

TABLE = "lon,lat,no2 (ug/m3)\n" + "".join(f"{2.1 + 0.02 * i},{54.7 + 0.01 * i},{20 + i}\n" for i in range(12))
SLOW = PATIENCE * 1000


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSettings:
    return example_settings(tmp_path_factory.mktemp("files"))


def choose_kind(page: Page, app: RunningApp, name: str) -> None:
    open_screen(page, app, "data")
    page.get_by_role("radio", name=name).click()
    settle(page)


def main_text(page: Page) -> str:
    return page.get_by_test_id("stMain").inner_text()


def fill(page: Page, label: str, value: str) -> None:
    """Type a number and leave the field."""
    page.get_by_role("spinbutton", name=label).fill(value)
    page.get_by_role("spinbutton", name=label).press("Enter")
    settle(page)


def use_sensors(page: Page, app: RunningApp, folder: Path) -> Path:
    table = folder / "sensors.csv"
    table.write_text(TABLE)
    choose_kind(page, app, "Your own table")
    give(page, "Table of places and values (.csv", table)
    press(page, "Read the data")
    appear(page.get_by_text("12 rows read, 12 kept").first)
    return table


def test_price_paid_files_are_uploaded_and_still_in_use_after_going_back(
    page: Page, app: RunningApp, example: ReleaseSettings
) -> None:
    choose_kind(page, app, "Price Paid sales")
    assert "data_kind=Price+Paid+sales" in page.url
    assert example.reference is not None
    give(page, "Price Paid file (.csv", example.data.path)
    give(page, "Postcode lookup", str(example.data.postcodes))
    give(page, "Price Paid file of an earlier year", example.reference.path)
    press(page, "Read the data")
    appear(page.get_by_text("What was read"))
    go_to(page, "Hexagons")
    give(page, "Polygon of the area", str(example.region))
    appear(page.get_by_text("Rows inside"))
    go_to(page, "Data")
    unfold(page, page.get_by_text("In use: ").first)
    assert main_text(page).count("In use: generated-demo-") == 3
    go_to(page, "Hexagons")
    assert "In use: generated-demo-region.geojson" in main_text(page)
    before = page.get_by_test_id("stMetricValue").first.inner_text()
    page.get_by_role("slider").first.focus()
    page.get_by_role("slider").first.press("ArrowLeft")
    expect(page.get_by_test_id("stMetricValue").first).not_to_have_text(before, timeout=SLOW)
    settle(page)
    page.get_by_role("slider").first.press("ArrowLeft")  # the address leaves the usual 8 out
    page.wait_for_url("**resolution=7**", timeout=SLOW)
    settle(page)
    assert "generated-demo" not in page.url


def test_settings_are_not_taken_before_their_files_have_arrived(
    page: Page, app: RunningApp, tmp_path: Path
) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/_stcore/upload_file/**", hold)
    open_screen(page, app, "data")
    page.get_by_text("Or take all choices from a settings file").click()
    (tmp_path / "choices.toml").write_text("threshold = ")
    field = page.get_by_test_id("stFileUploader").filter(has_text="Settings file").locator("input")
    field.set_input_files(str(tmp_path / "choices.toml"))
    taken = page.get_by_role("button", name="Take these settings")
    expect(taken).to_be_disabled(timeout=SLOW)
    while not held:
        page.wait_for_timeout(50)
    held.pop().continue_()
    expect(taken).to_be_enabled(timeout=SLOW)
    press(page, "Take these settings")
    appear(page.get_by_text("The settings file is not valid TOML"))


def test_choices_are_saved_lost_by_a_reload_and_taken_again(
    page: Page, app: RunningApp, tmp_path: Path
) -> None:
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", answer)
    table = use_sensors(page, app, tmp_path)
    go_to(page, "Hexagons")
    page.get_by_text("Bounding box", exact=True).click()
    settle(page)
    for side, value in (("West", "2.0"), ("South", "54.6"), ("East", "2.5"), ("North", "54.9")):
        fill(page, side, value)
    appear(page.get_by_text("Rows inside"))
    cells = page.get_by_test_id("stMetricValue").first.inner_text()
    go_to(page, "Privacy and utility")
    fill(page, "the threshold", "25")
    saved = download(page, "Save these choices", tmp_path)
    assert asked == []  # a download leaves nothing
    assert settings_from_toml(saved.read_text()).data.path == "sensors.csv"
    for _ in range(2):  # who reloads twice loses no more
        page.reload()
        settle(page)
        assert asked == ["beforeunload"]
        appear(page.get_by_text("private data are kept for one visit only"))
        appear(page.get_by_text("Kept for data of the same kind: the threshold 25"))
    go_to(page, "Data")
    take_settings(page, saved, table)
    appear(page.get_by_text("12 rows read, 12 kept").first)
    unfold(page, page.get_by_text("In use: ").first)
    assert "In use: sensors.csv" in main_text(page)
    assert "one visit only" not in main_text(page)
    go_to(page, "Hexagons")
    assert page.get_by_test_id("stMetricValue").first.inner_text() == cells
    go_to(page, "Privacy and utility")
    assert page.get_by_role("spinbutton", name="the threshold").input_value() == "25"


def test_nobody_is_asked_before_leaving_where_nothing_private_would_be_lost(
    page: Page, app: RunningApp
) -> None:
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    open_screen(page, app, "data")
    press(page, "Use the generated example")
    appear(page.get_by_text("What was read"))
    page.reload()
    settle(page)
    assert asked == []


def test_one_broken_file_after_another_and_the_session_keeps_what_it_had(
    page: Page, app: RunningApp, tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    use_sensors(page, app, tmp_path)
    broken = {
        "empty.csv": (b"", "empty"),
        "picture.csv": (b"\x89PNG\r\n\x1a\n" + bytes(200), "PNG|picture|binary"),
        "long.csv": (b"lon,lat,v\n" + b"1," * 3_000_000 + b"1\n", "long.csv"),
        "header.csv": (b"lon,lat,v\n", "no rows below its header"),
    }
    for name, (data, word) in broken.items():
        (tmp_path / name).write_bytes(data)
        give(page, "Table of places and values (.csv", tmp_path / name)
        alert = page.get_by_test_id("stMain").get_by_test_id("stAlertContentError")
        expect(alert).to_contain_text(re.compile(word), timeout=SLOW)
        assert alert.count() == 1
        assert page.get_by_test_id("stException").count() == 0
        assert "12 rows read, 12 kept" in main_text(page)
    (tmp_path / "été.csv").write_bytes("lon,lat,été (mm)\n2,54,1\n2.1,54,2\n2.2,54,3\n".encode("latin-1"))
    give(page, "Table of places and values (.csv", tmp_path / "été.csv")
    press(page, "Read the data")
    appear(page.get_by_text("3 rows read, 3 kept").first)


@needs_linked_maps
def test_the_places_lie_on_a_map_with_names_that_are_found_before_there_is_an_area(
    page: Page, app: RunningApp, tmp_path: Path
) -> None:
    table = tmp_path / "stations.csv"
    rows = "".join(f"{-0.3 + 0.05 * i},{51.4 + 0.02 * i},{20 + i}\n" for i in range(9))
    table.write_text("lon,lat,no2 (ug/m3)\n" + rows)
    choose_kind(page, app, "Your own table")
    give(page, "Table of places and values (.csv", table)
    press(page, "Read the data")
    appear(page.get_by_text("9 rows read, 9 kept").first)
    chart = page.locator(LINKED)
    wait_for_colour(chart, rgb("point"), 50, tolerance=60)
    expect(chart.get_by_text("PRIVATE")).to_be_visible(timeout=SLOW)
    assert "London" in chart.locator(".place").all_inner_texts()
    chart.get_by_role("button", name="Find a place").click()
    field = chart.get_by_label("Place to show")
    field.fill("islington")
    field.press("Enter")
    expect(chart).to_have_attribute("data-found", "Islington", timeout=SLOW)
    chart.get_by_role("button", name="Show the whole area").click()
    expect(chart.locator(".place.found")).to_have_count(0, timeout=SLOW)
