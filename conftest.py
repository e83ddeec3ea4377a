"""What every test shares: one BLAS thread, a home of its own, and Hypothesis without deadlines."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from shutil import disk_usage
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is first imported
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from tests.remembered import once

if TYPE_CHECKING:  # whoever only hands out the tests starts its workers a second and a half earlier
    from playwright.sync_api import Browser

    from hexcursion.project.model import Project
    from hexcursion.search.tuning import Tuned
    from tests.town import Town

# A ledger waits for the disk after every entry, and a bundle after every file: thousands of times in a run.
# Folders of tests lie in memory where there is room for them, and where programs may run from it.
MEMORY, ROOM = "/dev/shm", 4 * 2**30
if (
    os.access(MEMORY, os.W_OK)
    and disk_usage(MEMORY).free >= ROOM
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)

gc.disable()  # until the tests are collected: what is imported and found stays to the end

# A test's truth must not depend on how busy the machine is.
# The same examples in every run, so that a change is judged by what it changed, and half as many every day as
# with the long tests; the profile "search" looks for new ones (`--hypothesis-profile=search`).
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "everyday",
    max_examples=100 if os.environ.get("CI") == "true" else 50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("everyday")

ROOT = Path(__file__).resolve().parent
DOMAINS, PICTURES = 12, 500  # kept at a time: up to some ten megabytes, and some hundred kilobytes each
COARSE = 20  # dots an inch


class TogetherInAFile(LoadScopeScheduling):
    """Tests of one file go to one worker, file by file in the order of the folders; no test depends on it.

    What a module makes once for its tests (a server, a search, a study) is then made once and not by every
    worker, and the browser's long journeys are not left for the end.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> TogetherInAFile:
    """The scheduler of a run on several workers."""
    return TogetherInAFile(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """One worker more than there are cores: while one waits for a browser or a server, another computes."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # xdist takes that number
    return len(os.sched_getaffinity(0)) + 1


def pytest_collection_finish() -> None:
    """Modules and tests are left out of every later search for garbage: after each run of a screen Streamlit
    looks through all there is, and that was a sixth of what the tests of the screens took."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What drives a browser may try once more, and is counted as tried again: a browser can lose a click.

    The screens come first: their files take longest, and at the end one worker would work on alone.
    """
    items.sort(key=lambda item: item.path.parent.name != "pages" and item.path.name != "test_page.py")
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(autouse=True)
def _main_stays() -> Iterator[None]:
    """A screen under test becomes `__main__`, and a process that is spawned later would begin with it."""
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before


REGISTRIES = (
    ("dpgp_core.mechanisms.registry", "MECHANISMS"),
    ("dpgp_core.priors.registry", "PRIORS"),
    ("hexcursion.settings.names", "LOADERS"),
    ("hexcursion.bundle.exports", "EXPORTS"),
    ("hexcursion.bundle.published.readings", "READINGS"),
    ("pages.shared.steps", "PAGES"),
    ("studies.registry", "STUDIES"),
)


def _registered() -> dict[str, list[tuple[str, object]]]:
    """What each registry that is loaded holds, in its order; entry points are not held."""
    loaded = [(sys.modules[module], name) for module, name in REGISTRIES if module in sys.modules]
    return {name: list(vars(module)[name]._held.items()) for module, name in loaded if name in vars(module)}


@pytest.fixture(autouse=True)
def _registries_stay() -> Iterator[None]:
    """A test that leaves a registry changed fails itself, and not another test that comes after it."""
    before = _registered()
    yield
    after = _registered()
    left = [name for name in before if before[name] != after[name]]
    assert not left, f"the test left {' and '.join(left)} changed: put back what stood there"


@pytest.fixture(autouse=True, scope="session")
def _toy_tables() -> Iterator[None]:
    """Boxes of tests are small, and much of their tables lies at the rim: no test is asked about that.

    The tests of the question put the limit back.
    """
    from hexcursion.project import model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "MOST_DROPPED", 1.0)
        yield


@pytest.fixture(autouse=True, scope="session")
def _computed_once() -> Iterator[None]:
    """What every release of a test, in a home that is new, would compute again.

    The smooth patterns of its domain; and a bundle's pictures, which have few dots besides: they were a
    quarter of what the tests of releases took. `tests/hexcursion/bundle` has the pictures that leave,
    `tests/geo` the drawing.
    """
    from dpgp_core.features import harmonics
    from hexcursion.bundle.page import papers

    draw, seek = once(papers.draw_map, PICTURES), once(harmonics._smoothest, DOMAINS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(papers, "draw_map", lambda *given, **named: draw(*given, **{**named, "dpi": COARSE}))
        patch.setattr(harmonics, "_smoothest", seek)
        yield


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New folders one after the other: `mktemp` would list all there are for each."""
    homes = tmp_path_factory.mktemp("homes")

    def made(number: int) -> Path:
        home = homes / f"{number}"
        home.mkdir()
        return home

    return map(made, count())


@pytest.fixture(autouse=True)
def _own_home(_registries_stay: None, _homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ledgers and bundles of a test go to a new folder, never to the user's.

    It is the first to ask for `monkeypatch`: what that puts back is put back before registries are compared.
    """
    monkeypatch.setenv("HEXCURSION_HOME", str(next(_homes)))
    monkeypatch.setenv("HEXCURSION_WITNESS", str(next(_homes)))


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
    from playwright.sync_api import sync_playwright

    from tests.browser.harness import CHROMIUM, FLAGS

    if not CHROMIUM.exists():
        if os.environ.get("HEXCURSION_REQUIRE_BROWSER") == "1":
            pytest.fail(f"no Chromium at {CHROMIUM}, and HEXCURSION_REQUIRE_BROWSER=1")
        pytest.skip(f"no Chromium at {CHROMIUM}: install it to run the browser tests")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    from tests.town import write_town

    return write_town(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="session")
def project(town: Town) -> Project:
    from hexcursion.project.load import load_project

    return load_project(town.settings())


@pytest.fixture(scope="session")
def tuned(project: Project) -> Tuned:
    from hexcursion.search.tuning import tune

    return tune(project)


@pytest.fixture(scope="session")
def hamlet(town: Town) -> Project:
    """The town on 16 large hexagons and one prior: small enough to write expectations down."""
    from hexcursion.project.load import load_project

    return load_project(town.settings(resolution=7, priors=("car",)))


@pytest.fixture(scope="session")
def hamlet_tuned(hamlet: Project) -> Tuned:
    from hexcursion.search.tuning import tune

    return tune(hamlet)
