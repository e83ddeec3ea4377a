"""The search gives the same answers wherever it runs, bit for bit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from workflow.errors import WorkflowError
from workflow.project.load import Project
from workflow.search.decision.tuning import Tuned, tune
from workflow.search.executors import ProcessExecutor, make_executor


@pytest.mark.slow
def test_processes_find_what_one_thread_finds(hamlet: Project, hamlet_tuned: Tuned) -> None:
    here = hamlet_tuned
    with ProcessExecutor(2) as executor:
        there = tune(hamlet, None, executor)
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
