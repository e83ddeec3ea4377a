"""A basemap of one's own in a real browser: drawn beneath the hexagons, read in parts, from nobody else."""

from __future__ import annotations

from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from geo.colours import rgb
from tests.archives import archive, raster_archive, vector_tile
from tests.browser.harness import (
    LINKED,
    PATIENCE,
    RunningApp,
    answer_of,
    appear,
    go_to,
    needs_linked_maps,
    open_screen,
    settle,
    wait_for_colour,
)

pytestmark = needs_linked_maps
SLOW = PATIENCE * 1000
BOX = (1.5, 54.3, 2.9, 55.1)  # around the generated example
PANEL = "Map beneath the hexagons"
MAGENTA = (250, 0, 250)


def give(page: Page, app: RunningApp, file: Path) -> list[str]:
    """Take the generated example, upload a basemap on the screen Data; the addresses asked from then on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    open_screen(page, app, "data")
    page.get_by_role("button", name="Use the generated example").click()
    appear(page.get_by_text("What was read"))
    settle(page)
    page.get_by_text(PANEL, exact=True).click()
    widget = page.get_by_test_id("stFileUploader").filter(has_text="Basemap (.pmtiles)")
    widget.locator("input[type=file]").set_input_files(str(file))
    settle(page)
    return asked


def test_vector_tiles_lie_beneath_the_hexagons_and_no_other_host_is_asked(
    new_page: Callable[..., Page], app: RunningApp, tmp_path: Path
) -> None:
    file = archive(tmp_path / "sea.pmtiles", vector_tile(), BOX, zooms=range(5, 11))
    for theme in ("light", "dark"):
        page = new_page(theme=theme)
        asked = give(page, app, file)
        appear(page.get_by_text("sea.pmtiles: vector tiles, zoom 5 to 10. Source: © Survey & Sons."))
        go_to(page, "Hexagons")
        chart = page.locator(LINKED)
        wait_for_colour(chart, tuple(rgb("road", theme)), 200, tolerance=14)
        expect(chart.locator(".source")).to_contain_text("Basemap: © Survey & Sons.", timeout=SLOW)
        assert int(chart.get_attribute("data-beneath") or 0) > 0
        assert any("/basemap/" in url for url in asked)
        assert {urlsplit(url).netloc for url in asked if url.startswith("http")} == {urlsplit(app.url).netloc}
        assert not any("sea" in url for url in asked if "/basemap/" in url)


def test_pictures_lie_beneath_the_hexagons_without_webgl_too_and_can_be_taken_away(
    page: Page, app: RunningApp, tmp_path: Path
) -> None:
    page.add_init_script("""
        const given = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...how) {
            return /webgl/.test(kind) ? null : given.call(this, kind, ...how);
        };
    """)
    give(page, app, raster_archive(tmp_path / "magenta.pmtiles", BOX, MAGENTA))
    go_to(page, "Hexagons")
    wait_for_colour(page.locator(LINKED), MAGENTA, 2000)
    go_to(page, "Data")
    panel = page.get_by_test_id("stExpander").filter(has_text=PANEL)
    panel.get_by_role("button", name="Remove").click()
    settle(page)
    go_to(page, "Hexagons")
    expect(page.locator(LINKED)).to_have_attribute("data-beneath", "0", timeout=SLOW)


def test_a_file_that_is_no_basemap_is_refused_with_a_sentence(
    page: Page, app: RunningApp, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.pmtiles"
    broken.write_bytes(b"SQLite format 3" + bytes(200))
    give(page, app, broken)
    said = "The basemap was left out: broken.pmtiles is no PMTiles archive: make one with the program pmtiles"
    expect(page.get_by_text(said)).to_be_visible(timeout=SLOW)


def test_the_server_gives_parts_of_what_was_offered_and_nothing_else(
    page: Page, app: RunningApp, tmp_path: Path
) -> None:
    file = archive(tmp_path / "sea.pmtiles", vector_tile(), BOX, zooms=range(5, 11))
    asked = give(page, app, file)
    go_to(page, "Hexagons")
    expect(page.locator(LINKED).locator(".source")).to_contain_text("Basemap", timeout=SLOW)
    settle(page)
    address = urlsplit(next(url for url in asked if "/basemap/" in url))

    def answer(path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        connection = HTTPConnection(address.hostname or "", address.port or 80, timeout=PATIENCE)
        sent = {"Host": address.netloc, **headers}
        status, given, body = answer_of(connection, path, "GET", None, sent)
        return status, dict(given), body

    whole = file.read_bytes()
    status, given, body = answer(address.path, Range="bytes=7-126", Accept_Encoding="gzip")
    assert (status, body) == (206, whole[7:127])
    assert given["content-range"] == f"bytes 7-126/{len(whole)}"
    assert given["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in given
    assert answer(address.path)[2] == whole
    assert answer(address.path.replace("/basemap/", "/basemap/0"))[0] == 404
    assert answer("/basemap/..%2f..%2fapp.py.pmtiles")[0] in (400, 404)
