"""What every test shares: one BLAS thread, a home of its own, and Hypothesis without deadlines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is first imported
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, sync_playwright

from tests.browser.harness import CHROMIUM, FLAGS

# A test's truth must not depend on how busy the machine is.
# The same examples in every run, so that a change is judged by what it changed; the profile "search" looks
# for new ones (`--hypothesis-profile=search`).
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "everyday", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("everyday")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ledgers and bundles of a test go to a folder of its own, never to the user's."""
    monkeypatch.setenv("HEXCURSION_HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the checkout; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no folder shared/data beside the checkout: real data are not shipped")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium of the system, one for all tests of a worker."""
    if not CHROMIUM.exists():
        if os.environ.get("HEXCURSION_REQUIRE_BROWSER") == "1":
            pytest.fail(f"no Chromium at {CHROMIUM}, and HEXCURSION_REQUIRE_BROWSER=1")
        pytest.skip(f"no Chromium at {CHROMIUM}: install it to run the browser tests")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()
