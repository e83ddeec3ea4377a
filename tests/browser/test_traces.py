"""From GPX to GPX in a real browser: a stop is hidden, the trip released once, played and downloaded."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from data_loaders.traces import Trace, load_traces
from geo.colours import rgb
from pages.traces.maps import recorded_deck
from tests.browser.harness import (
    CHART,
    PATIENCE,
    RunningApp,
    appear,
    at_rest,
    download,
    open_screen,
    press,
    settle,
    wait_for_colour,
)
from tests.workflow.traces.trips import write_trip


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
    button = page.get_by_role("button", name="Release this trip")
    button.dblclick()
    appear(page.get_by_text("Released. What is below is public."))
    settle(page)
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


def pixel_of(trace: Trace, record: slice, width: float, height: float) -> tuple[float, float]:
    """Where records lie in the map's first view, from its corner: Mercator, 512 pixels at zoom 0."""
    view = recorded_deck(trace, None, "light").initial_view_state
    scale = 512.0 * 2.0**view.zoom / (2.0 * math.pi)

    def north(latitude: float) -> float:
        return math.asinh(math.tan(math.radians(latitude)))

    lon, lat = float(np.mean(trace.longitude[record])), float(np.mean(trace.latitude[record]))
    right = scale * math.radians(lon - view.longitude)
    return width / 2.0 + right, height / 2.0 - scale * (north(lat) - north(view.latitude))


def test_a_click_on_the_map_hides_a_stop(page: Page, app: RunningApp, tmp_path: Path) -> None:
    """From GPX by a click to GPX: one record clicked means the stay around it."""
    trip = write_trip(tmp_path)
    open_screen(page, app, "traces")
    page.get_by_test_id("stFileUploader").locator("input[type=file]").set_input_files(str(trip))
    chart = page.locator(CHART).first
    appear(chart)
    red, green, blue = rgb("line", "light")[:3]
    wait_for_colour(chart, (red, green, blue), 200)
    chart.scroll_into_view_if_needed()
    at_rest(chart)
    box = chart.bounding_box()
    assert box is not None
    x, y = pixel_of(load_traces(trip)[0][0], slice(50, 70), box["width"], box["height"])
    chart.click(position={"x": x, "y": y})
    settle(page)
    press(page, "Add this span")
    secret = page.get_by_text(re.compile(r"^Secret: 2026-05-01 12:2[34]:[0-9]{2} to 12:3[56]:[0-9]{2} UTC$"))
    expect(secret).to_be_visible(timeout=PATIENCE * 1000)
    press(page, "Shape the noise")
    appear(page.get_by_text("This is not differential privacy"))
    settle(page)
    press(page, "Release this trip")
    appear(page.get_by_text("Released. What is below is public."))
    settle(page)
    statement = json.loads(download(page, "Download statement.json", tmp_path).read_text())
    assert statement["secrets"] == 1
    assert "2026-05-01T12:23" < statement["secret_moments"][0]["from"] <= "2026-05-01T12:25:00Z"
    released = load_traces(download(page, "Download trace.gpx", tmp_path))[0][0]
    assert released.size == 120
