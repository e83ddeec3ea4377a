"""The search gives the same answers wherever it runs, bit for bit."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.search.executors import ProcessExecutor, Run, make_executor
from hexcursion.search.tuning import Tuned, tune
from tests.patience import HANG


def _sleep_after(shared: float, seconds: float) -> float:
    time.sleep(shared + seconds)
    return seconds


@pytest.mark.slow
def test_processes_find_what_one_thread_finds(hamlet: Project, hamlet_tuned: Tuned) -> None:
    here = hamlet_tuned
    with ProcessExecutor(2) as executor:
        there = tune(hamlet, Run(executor=executor))
    assert there.choice.design == here.choice.design
    assert there.result.evaluated == here.result.evaluated
    # Compared as texts with all digits: a figure that was not computed is NaN, which equals nothing.
    assert repr(there.result.frontier) == repr(here.result.frontier)
    assert repr(there.result.chosen) == repr(here.result.chosen)


def test_an_unknown_executor_is_one_sentence() -> None:
    with pytest.raises(
        WorkflowError, match=r"There is no executor 'cluster': choose 'serial', 'processes' or 'dask'\."
    ):
        make_executor("cluster")


def _exists(number: int | None) -> bool:
    """Whether the system has the process: its exit code is lost where two threads wait for it at once."""
    assert number is not None
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_closing_ends_what_is_still_being_worked_on() -> None:
    """A search that is given up leaves no process that computes on for an hour."""
    executor = ProcessExecutor(1)
    answers = executor.map(_sleep_after, 0.0, [0.0, 3600.0])
    assert next(answers) == 0.0
    (worker,) = executor._pool._processes.values()
    assert worker.is_alive()
    executor.close()
    deadline = time.monotonic() + HANG
    while _exists(worker.pid) and time.monotonic() < deadline:
        worker.join(0.1)
    assert not _exists(worker.pid)


def test_what_the_workers_were_given_is_gone_after_the_with_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold reference data: its folder is this user's alone and does not outlive the search."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with ProcessExecutor(1) as executor:
        answers = list(executor.map(max, 7, [3, 9]))
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert list(folder.iterdir()) == [], "one file a map, gone with its answers"
    assert answers == [7, 9]
    assert list(tmp_path.iterdir()) == []
