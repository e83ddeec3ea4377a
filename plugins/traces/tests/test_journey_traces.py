"""From GPX to GPX in a real browser: a stop is hidden, the trip released once, played and downloaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hexcursion.ledger import open_ledger
from hexcursion_traces.loading import load_traces
from plugins.traces.tests.trips import write_trip
from tests.browser.harness import PATIENCE, RunningApp, appear, download, open_screen, press, settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_from_gpx_to_gpx(page: Page, app: RunningApp, tmp_path: Path) -> None:
    trip = write_trip(tmp_path)
    open_screen(page, app, "traces")
    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(str(trip))
    appear(page.get_by_text("120 rows read, 120 kept"))
    appear(page.get_by_test_id("stDeckGlJsonChart").first)
    field = page.get_by_role("spinbutton", name="Stops longer than (minutes)")
    field.fill("5")
    field.press("Tab")
    settle(page)
    press(page, "Shape the noise")
    appear(page.get_by_text("This is not differential privacy"))
    settle(page)
    with page.expect_event("dialog", timeout=PATIENCE * 1000) as asked:  # it lies in this visit alone
        page.evaluate("setTimeout(() => location.reload(), 0)")
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    press(page, "Release this trip …")
    button = page.get_by_role("dialog").get_by_role("button", name="Release now")
    appear(button)
    button.evaluate("one => { one.click(); one.click(); }")
    appear(page.get_by_text("Released. The trip and its files are public."))
    settle(page)
    assert page.get_by_text("under way").count() == 0
    ledger = open_ledger(app.home / "ledger.sqlite", create=False)
    assert [entry.kind for entry in ledger.entries()].count("trace") == 1
    assert page.get_by_test_id("stException").count() == 0
    appear(page.get_by_text("00:00 UTC, not a secret moment"))
    slider = page.get_by_role("slider", name="Play the trip")
    slider.focus()
    slider.press("End")
    expect(page.get_by_text("59:30 UTC, not a secret moment")).to_be_visible(timeout=PATIENCE * 1000)
    settle(page)
    released = load_traces(download(page, "Download trace.gpx", tmp_path))[0][0]
    assert released.size == 120
    assert released.longitude[0] != load_traces(trip)[0][0].longitude[0]
    statement = json.loads(download(page, "Download statement.json", tmp_path).read_text())
    assert statement["is_differential_privacy"] is False
    assert statement["secrets"] == 1
    page.reload()  # nothing is lost by it: nobody is asked
    appear(page.get_by_role("heading", name="Released trips"))
