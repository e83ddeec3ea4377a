"""Mechanisms from upload to viewer in a real browser: settings, search, release, bundle, reader."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion.ledger import open_ledger
from hexcursion.settings.model import ReleaseSettings, settings_to_toml
from tests.browser.harness import (
    MAP,
    RunningApp,
    appear,
    download,
    go_to,
    open_screen,
    press,
    release_anyway,
    running_app,
    take_settings,
)
from tests.browser.journeys.test_journey import heading
from tests.town import Town

VALUES_ONLY = {name for name, one in MECHANISMS.items() if one.protection.what == "values"}
"""What hides values only, and needs places that anybody may know."""
WALKED = ("spectral-statistics", "posterior-sampling", "bin-means")
"""One that is exact, one that draws paths, one that hides values only; test_taint.py releases by all."""


@pytest.fixture(scope="module")
def app(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """A server of its own: the releases of all mechanisms are charged to one account."""
    with running_app(tmp_path_factory.mktemp("mechanisms") / "home") as running:
        yield running


def asked_of(town: Town, mechanism: str) -> ReleaseSettings:
    """Sixteen hexagons, one mechanism, and the names under which the files are uploaded."""
    plan = town.settings(
        resolution=7,
        priors=("car",),
        mechanisms=(mechanism,),
        places_public=mechanism in VALUES_ONLY,
        title=f"By {mechanism}",
        budget=1000.0,
    )
    return town.uploaded(plan)


def search_up_to_release(
    page: Page, app: RunningApp, town: Town, asked: ReleaseSettings, folder: Path
) -> None:
    """Give settings with the town's files, search, and open the screen Release."""
    choices = folder / "choices.toml"
    choices.write_text(settings_to_toml(asked), encoding="utf-8")
    open_screen(page, app, "data")
    take_settings(page, choices, town.private, town.reference)
    heading(page, "What was read")
    go_to(page, "Privacy and utility")
    press(page, "Search for the best design")
    heading(page, "The proposal")
    go_to(page, "Release")
    heading(page, "What will be published")


@pytest.mark.parametrize("mechanism", WALKED)
def test_from_upload_to_viewer(
    page: Page, new_page: Callable[..., Page], app: RunningApp, town: Town, tmp_path: Path, mechanism: str
) -> None:
    search_up_to_release(page, app, town, asked_of(town, mechanism), tmp_path)
    before = len(open_ledger(app.home / "ledger.sqlite").committed())
    release_anyway(page)  # some mechanisms say of this small town that their map will be poor
    heading(page, "Released as")
    assert len(open_ledger(app.home / "ledger.sqlite").committed()) == before + 1
    go_to(page, "Publish")
    bundle = download(page, "Download the bundle", tmp_path)
    with zipfile.ZipFile(bundle) as archive:
        [inside] = [name for name in archive.namelist() if name.endswith("/statement.json")]
        statement = json.loads(archive.read(inside))
    assert statement["design"]["mechanism"] == mechanism
    assert statement["guarantee"]["protects"] == (
        "values" if mechanism in VALUES_ONLY else "values and places"
    )
    assert statement["guarantee"]["epsilon"] <= 2.0
    reader = new_page()
    open_screen(reader, app, "viewer")
    aside = reader.get_by_test_id("stSidebar").get_by_test_id("stFileUploader")
    aside.locator("input[type=file]").set_input_files(bundle)
    appear(reader.get_by_text(f"By {mechanism}").first)
    appear(reader.locator(MAP).first)
    counts = re.findall(r"([0-9]+) hexagons?", reader.locator(".legend").first.inner_text())
    assert sum(map(int, counts)) == 16
    assert reader.get_by_test_id("stException").count() == 0
