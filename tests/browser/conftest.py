"""Fixtures of the browser tests: one server for all, a fresh session for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.harness import PATIENCE, RunningApp, running_app


@pytest.hookimpl(tryfirst=True)  # before the workers name their groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ask for one worker per file, whose tests share what was done on a server; no test depends on it."""
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="session")
def app(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """The curator's app."""
    with running_app(tmp_path_factory.mktemp("app-home")) as running:
        yield running


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Make pages in separate browser contexts: each is another person's session."""
    contexts = []

    def make(width: int = 1280, theme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
            accept_downloads=True,
        )
        context.set_default_timeout(PATIENCE * 1000)
        contexts.append(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """One person's browser, 1280 pixels wide, light."""
    return new_page()
