"""Fixtures of the page tests: the app in Streamlit's own test harness, with a search that answers at once."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, local_script_runner

from data_loaders.demo_data import write_demo
from hexcursion.door import pipeline
from hexcursion.door.remedies import Remedy, Tried
from hexcursion.ledger.places import home
from hexcursion.project import example as example_files
from hexcursion.project.example import example_settings, is_example
from hexcursion.project.model import Project
from hexcursion.record import Expected
from hexcursion.search.tuning import Tuned, tune
from hexcursion.settings import ReleaseSettings
from pages.privacy import designs, frontier, path_panels, pilot_panel, search_panel, trials
from pages.release import checks
from pages.shared import subprocess_job
from pages.shared.subprocess_job import Job
from tests.patience import HANG

# Streamlit looks through all installed packages for each app under test, an eighth of a second: once will do.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# And it asks a thousand times a second whether a script has ended; its thread can be waited for.
LOOK = local_script_runner.require_widgets_deltas


def _wait(runner: local_script_runner.LocalScriptRunner, timeout: float = HANG) -> None:
    assert runner._script_thread is not None
    runner._script_thread.join(timeout)
    LOOK(runner, 0.1)


local_script_runner.require_widgets_deltas = _wait

OpenApp = Callable[..., AppTest]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _nobody_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a viewer's mode nor the test runner's own arguments reach the app."""
    monkeypatch.delenv("HEXCURSION_MODE", raising=False)
    monkeypatch.setattr("sys.argv", ["app.py"])


@pytest.fixture(autouse=True)
def _computations_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long computations run in the test's own process: `test_apart` shows that elsewhere they do the same."""

    def here(
        report: Callable[[float, str], None],
        work: Callable[..., object],
        *arguments: object,
        niceness: int = 0,
        cpu_seconds: int | None = None,
    ) -> object:
        return work(report, *arguments)

    for module in (designs, subprocess_job):
        monkeypatch.setattr(module, "in_subprocess", here)
        monkeypatch.setattr(module, "workers", lambda: 1)


@pytest.fixture(scope="session")
def _kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all workers, for what every one of them would make again."""
    own = tmp_path_factory.getbasetemp()
    kept = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "kept"
    kept.mkdir(exist_ok=True)
    return kept


def _put(place: Path, made: bytes) -> None:
    """Write what another worker may write too: it appears at once and whole."""
    scratch = place.with_suffix(f".{os.getpid()}")
    scratch.write_bytes(made)
    scratch.replace(place)


@pytest.fixture(autouse=True)
def _written_once(monkeypatch: pytest.MonkeyPatch, _kept: Path) -> None:
    """The example's files are made once, and copied to every home."""

    def copied(folder: Path, *, seed: int, changed: bool) -> None:
        made = _kept / f"example-{seed}-{changed}-{os.getpid()}"
        if not made.is_dir():
            write_demo(made, seed=seed, changed=changed)
        shutil.copytree(made, folder)

    monkeypatch.setattr(example_files, "write_demo", copied)


SEARCHED: dict[str, Tuned] = {}


@pytest.fixture(autouse=True)
def _searched_once(monkeypatch: pytest.MonkeyPatch, _kept: Path) -> None:
    """The example is searched once with the same settings: its files are the same in every home."""

    def remembered(project: Project, *arguments: Any, **options: Any) -> Tuned:
        if not is_example(project.settings.data) or project.pilot is not None:
            return tune(project, *arguments, **options)
        asked = repr((project.settings, options)).replace(str(home()), "home")
        if asked not in SEARCHED:
            place = _kept / hashlib.sha256(asked.encode()).hexdigest()
            if not place.is_file():
                _put(place, pickle.dumps(tune(project, *arguments, **options)))
            SEARCHED[asked] = pickle.loads(place.read_bytes())
        return SEARCHED[asked]

    monkeypatch.setattr(pipeline, "tune", remembered)


@pytest.fixture
def open_app() -> OpenApp:
    """Run the app once, on the start screen or on another one; nothing may have failed."""

    def opened(path: str | None = None, secrets: dict[str, object] | None = None) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=HANG)
        for name, value in (secrets or {}).items():
            app.secrets[name] = value
        app.run()
        if path is not None:
            app.switch_page(path).run()
        assert not app.exception
        return app

    return opened


def finished(make: Callable[..., Any]) -> Callable[..., Any]:
    """The same job, but over when the screen asks for it."""

    def made(*arguments: Any) -> Any:
        job = make(*arguments)
        assert job.wait(HANG)
        return job

    return made


@pytest.fixture(autouse=True)
def no_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other budgets are not searched unless a test asks for it."""
    monkeypatch.setattr(frontier, "lines_of", lambda result, settings: ())


def _tried(project: Project, tuned: Tuned, remedy: Remedy) -> Job[Tried]:
    """A simulation of one remedy, as if it had said this."""
    said = Tried(remedy, Expected(0.62, 0.2, 0.9, "reference data"), stopped=False)
    return Job(lambda report: said)


@pytest.fixture
def jobs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is computed beside the screen Privacy and utility is over when it asks."""
    for module, name, make in (
        (search_panel, "search_job", designs.search_job),
        (frontier, "solve_job", trials.solve_job),
        (checks, "remedy_job", _tried),
        (trials, "sweep_job", trials.sweep_job),
        (trials, "typed_job", trials.typed_job),
        (trials, "coverage_job", trials.coverage_job),
        (trials, "noises_job", trials.noises_job),
        (path_panels, "beside_job", designs.beside_job),
        (pilot_panel, "pilot_job", designs.pilot_job),
    ):
        monkeypatch.setattr(module, name, finished(make))


def texts(app: AppTest) -> str:
    """All words on the screen and in the side bar, for looking up sentences."""
    kinds = ("title", "header", "markdown", "caption", "info", "error", "success", "warning")
    return "\n".join(str(element.value) for kind in kinds for element in app.get(kind))


def press(app: AppTest, label: str) -> AppTest:
    """Press the button of that label; nothing may fail."""
    found = [button for button in app.button if button.label == label]
    assert found, f"no button {label!r} among {[button.label for button in app.button]}"
    found[0].click().run()
    assert not app.exception
    return app


def insist(app: AppTest) -> AppTest:
    """Choose to release a map although it is expected to be poor."""
    [accept] = [box for box in app.checkbox if box.label.startswith("Release this map anyway")]
    accept.check().run()
    assert not app.exception
    return app


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> ReleaseSettings:
    """Generated sales in the real format, in a folder that is not the app's example."""
    return example_settings(tmp_path_factory.mktemp("files"))
