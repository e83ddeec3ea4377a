"""Computations apart: screens open while one runs, cancel ends all of it, the answers are the same."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from hexcursion.errors import Cancelled, WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from pages.privacy.designs import load_and_tune, pilot_job
from pages.release.releasing import curators_baselines
from pages.shared import subprocess_job
from pages.shared.server import undocumented
from pages.shared.session.workspace import Workspace
from pages.shared.steps import DATA, HELP
from pages.shared.subprocess_job import UNASKED, Job, Lost, in_subprocess
from tests.pages.conftest import texts
from tests.pages.shared.apart import (
    Report,
    awkward,
    endless,
    long_sum,
    measure,
    quiet,
    refusing,
    spread,
    vanishing,
)
from tests.patience import HANG
from tests.town import Town

STANDS_STILL = "import os, signal, sys\n" + (
    "if 'pages.shared.subprocess_job' in sys.orig_argv: os.kill(os.getpid(), signal.SIGSTOP)\n"
)


def stands_still() -> bool:
    """Whether a process that this one started was stopped."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if state == "T" and int(parent) == os.getpid():
                return True
    return False


@pytest.mark.parametrize("size", [1_000, 10_000_000])
def test_a_computation_is_cancelled_before_it_has_taken_what_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """A pipe holds a small part of a project: a process that starts slowly let nobody cancel."""
    with monkeypatch.context() as patch:
        (tmp_path / "sitecustomize.py").write_text(STANDS_STILL)
        patch.syspath_prepend(tmp_path)
        job = Job(lambda report: in_subprocess(report, measure, b"x" * size))
        while not stands_still():
            time.sleep(0.02)
        job.cancel()
        assert job.wait(HANG)
        assert job.state.state == "cancelled"
    assert in_subprocess(quiet, measure, b"x" * size) == size


@pytest.mark.parametrize(("niceness", "ends"), [(UNASKED, True), (2, False)])
def test_only_an_unasked_computation_ends_when_its_tab_is_closed(
    monkeypatch: pytest.MonkeyPatch, niceness: int, ends: bool
) -> None:
    """Two closed tabs kept a server of two cores computing, and everybody else in the line, for minutes."""
    connected, looked, go = {"mine"}, threading.Event(), threading.Event()

    def active(session: str) -> bool:
        if not connected:
            looked.set()
        return session in connected

    def here(report: Report, work: Any, **_: Any) -> str:
        while not go.wait(0.01):
            report(0.5, "Under way")
        return "done"

    server = SimpleNamespace(is_active_session=active)
    monkeypatch.setattr(
        undocumented, "runtime", SimpleNamespace(exists=lambda: True, get_instance=lambda: server)
    )
    monkeypatch.setattr(subprocess_job, "_asker", lambda: ("mine", None))
    monkeypatch.setattr(subprocess_job, "in_subprocess", here)
    job = subprocess_job.in_background(refusing, niceness)()
    wait_until(lambda: job.state.text == "Under way", "the computation has not begun")
    assert not job.left
    connected.clear()
    if ends:
        assert job.wait(HANG)
        assert (job.state.state, job.left, looked.is_set()) == ("cancelled", True, True)
        return
    go.set()
    assert job.wait(HANG)
    assert (job.result(), job.left, looked.is_set()) == ("done", False, False)


def ended(number: int) -> bool:
    """Whether a process is gone, or waits only to be buried by whoever adopted it."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def wait_until(true: Callable[[], bool], what: str) -> None:
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < HANG, what
        time.sleep(0.02)


def begin(note: Path) -> Job[None]:
    """An endless computation that is under way."""
    job = Job(lambda report: in_subprocess(report, endless, str(note)))
    wait_until(lambda: job.state.text == "Computing without an end", "the computation has not begun")
    return job


@pytest.mark.slow
def test_screens_open_while_a_computation_runs_and_cancel_ends_all_its_processes(
    open_app: Callable[..., AppTest], tmp_path: Path
) -> None:
    job = begin(tmp_path / "note")
    leader, child, niceness, scratch = (tmp_path / "note").read_text().split()
    for screen in (HELP, DATA):  # another person's session
        assert screen.question in texts(open_app(screen.path))
    assert job.state.state == "running"
    assert int(niceness) == min(os.nice(0) + 2, 19)
    assert Path(scratch).is_dir()
    job.cancel()
    assert job.wait(HANG)
    assert job.state.state == "cancelled"
    with pytest.raises(Cancelled):
        job.result()
    for number in (int(leader), int(child)):
        wait_until(lambda number=number: ended(number), f"process {number} goes on")
    assert not Path(scratch).exists()


def test_a_forgotten_session_takes_its_computation_with_it(tmp_path: Path) -> None:
    work, job = Workspace(), begin(tmp_path / "note")
    work.ends_with(job)
    leader, child = (int(word) for word in (tmp_path / "note").read_text().split()[:2])
    del work
    assert job.wait(HANG)
    assert job.state.state == "cancelled"
    for number in (leader, child):
        wait_until(lambda number=number: ended(number), f"process {number} goes on")


def test_a_finished_computation_is_let_go_of_while_its_session_lives() -> None:
    work, job = Workspace(), Job(lambda report: b"megabytes")
    work.ends_with(job)
    assert job.wait(HANG)
    gone = weakref.ref(job)
    del job
    assert gone() is None
    assert work.outcome is None  # the session is still there


@pytest.mark.slow
def test_a_killed_server_takes_its_computations_with_it(tmp_path: Path) -> None:
    note = tmp_path / "note"
    script = (
        "from pages.shared.subprocess_job import in_subprocess\n"
        "from tests.pages.shared.apart import endless, quiet\n"
        f"in_subprocess(quiet, endless, {str(note)!r})"
    )
    server = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": os.getcwd()})
    wait_until(lambda: note.exists() and len(note.read_text().split()) == 4, "it has not begun")
    leader, child, _, scratch = note.read_text().split()
    server.kill()
    server.wait()
    for number in (int(leader), int(child)):
        wait_until(lambda number=number: ended(number), f"process {number} goes on")
    wait_until(lambda: not Path(scratch).exists(), "its files stay")


def test_the_search_apart_finds_what_it_finds_here(town: Town) -> None:
    settings = town.settings(resolution=7, priors=("car",))
    told: list[str] = []
    project, tuned = in_subprocess(lambda fraction, text: told.append(text), load_and_tune, settings)
    here_project, here = load_and_tune(quiet, settings)
    assert repr(tuned.result.frontier) == repr(here.result.frontier)
    assert repr(tuned.choice.design) == repr(here.choice.design)
    assert project.settings == here_project.settings
    assert tuned.result.chosen is not None
    assert any("designs scored" in text for text in told)


@pytest.mark.slow
def test_the_baseline_and_a_pilot_apart_are_what_they_are_here(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All maps are fitted in one other process; a pilot is charged once, and its result comes back."""
    project = load_project(town.settings(resolution=7))
    below = load_project(town.settings(resolution=7, direction="below"))
    model = PosteriorSamplingDesign("car", 2000.0, 1.0, 1.0)
    tuned = SimpleNamespace(result=SimpleNamespace(model=model), choice=SimpleNamespace(cut=None))
    asked_maps: Any = [(project, tuned), (below, tuned)]
    here = curators_baselines(asked_maps)
    monkeypatch.setattr("pages.release.releasing.MANY_HEXAGONS", 1)
    monkeypatch.setattr("pages.release.releasing.curators_map", None)  # nothing is fitted in this process
    begun: list[object] = []
    monkeypatch.setattr(
        "pages.release.releasing.in_subprocess", lambda *asked: begun.append(0) or in_subprocess(*asked)
    )
    there = curators_baselines(asked_maps)
    assert len(begun) == 1
    assert np.array_equal(here[1].inside, ~here[0].inside)
    for one, other in zip(there, here, strict=True):
        assert np.array_equal(one.mean, other.mean)
        assert np.array_equal(one.inside, other.inside)
    monkeypatch.setattr("pages.privacy.designs.in_subprocess", in_subprocess)  # elsewhere it runs here
    monkeypatch.setattr("pages.privacy.designs.run_pilot", None)
    asked = town.settings(
        resolution=7, reference=None, reference_public=False, pilot=0.3, centre=30.0, clip=15.0
    )
    job = pilot_job(asked, 2.0, "a session")
    assert job.wait(HANG)
    paid = job.result().pilot
    assert paid is not None
    assert paid.epsilon == pytest.approx(0.6)
    kinds = [entry.kind for entry in open_ledger().entries()]
    assert (kinds.count("reserve"), kinds.count("commit")) == (1, 1)


def test_a_pilot_whose_process_is_lost_says_that_it_may_be_charged(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise Lost("The computation ended before it was done.")

    monkeypatch.setattr("pages.privacy.designs.in_subprocess", lost)
    job = pilot_job(town.settings(), 2.0)
    assert job.wait(HANG)
    with pytest.raises(WorkflowError, match="Look into the ledger first"):
        job.result()


@pytest.mark.slow
def test_errors_come_back_as_what_they_are() -> None:
    with pytest.raises(WorkflowError, match=r"^Take coarser hexagons\.$"):
        in_subprocess(quiet, refusing)
    with pytest.raises(WorkflowError, match=r"^No\. \(7\)$"):
        in_subprocess(quiet, awkward)
    with pytest.raises(WorkflowError, match="ended before it was done, perhaps for lack of memory"):
        in_subprocess(quiet, vanishing)


def test_what_computes_longer_than_it_may_ends_with_a_sentence() -> None:
    with pytest.raises(WorkflowError, match="more than 3 seconds of computing") as ended:
        in_subprocess(lambda done, text: None, long_sum, cpu_seconds=3)
    assert not isinstance(ended.value, Lost)


def test_a_process_apart_can_have_workers_of_its_own_and_time_enough() -> None:
    assert in_subprocess(quiet, spread, cpu_seconds=60) == [3, 12, 27]


def test_a_worker_process_that_reads_the_app_starts_nothing(root: Path) -> None:
    names = runpy.run_path(str(root / "app.py"), run_name="__mp_main__")
    assert "app" not in names
