"""Fixtures of the proxy tests: one app, and each proxy before it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.harness import RunningApp, running_app
from tests.proxy.harness import PROXIES, Proxy, running_proxy


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """What needs an app that is up does not run every day."""
    for item in items:
        if item.path.parent.name == "proxy":
            item.add_marker(pytest.mark.proxy)
            if "proxy" in item.fixturenames:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """The app that stands behind the proxies."""
    with running_app(tmp_path_factory.mktemp("behind")) as running:
        yield running


@pytest.fixture(scope="session", params=PROXIES)
def proxy(
    request: pytest.FixtureRequest, behind: RunningApp, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    """Each shipped proxy before the app."""
    folder = tmp_path_factory.mktemp("proxies") / request.param
    with running_proxy(request.param, folder, behind.url.removeprefix("http://")) as running:
        yield running
