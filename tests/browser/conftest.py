"""Fixtures of the browser tests: one server for all, a fresh session for each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.harness import PATIENCE, RunningApp, running_app

# As text: thousands of tests lie elsewhere, and the parents of each would be half a second for every worker.
FOLDER = f"{Path(__file__).parent}{os.sep}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every day only the journeys that are not marked slow run; continuous integration runs them all."""
    for item in items:
        if str(item.path).startswith(FOLDER):
            item.add_marker(pytest.mark.browser)
            if item.path.stem != "test_journey":
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def app(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """The curator's app."""
    with running_app(tmp_path_factory.mktemp("app-home")) as running:
        yield running


@pytest.fixture(scope="session")
def axe(root: Path) -> str:
    """The source of axe-core, which the set-up of the maps brings along."""
    source = root / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
    if not source.is_file():
        pytest.skip("axe-core is not installed: run `make maps` where the npm registry can be reached")
    return source.read_text()


NO_WEBGL = """
const get = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...options) {
  return kind.startsWith("webgl") ? null : get.call(this, kind, ...options);
};
"""


@pytest.fixture
def new_page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Callable[..., Page]]:
    """Make pages in separate browser contexts: each is another person's session.

    Tests marked `flat_maps` look at no map. Their browser offers no WebGL, which is half of what a screen
    with maps costs where WebGL is drawn in software: the maps are pictures.
    """
    contexts = []

    def make(width: int = 1280, theme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
            accept_downloads=True,
        )
        context.set_default_timeout(PATIENCE * 1000)
        if request.node.get_closest_marker("flat_maps"):
            context.add_init_script(NO_WEBGL)
        contexts.append(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """One person's browser, 1280 pixels wide, light."""
    return new_page()
