"""The search on a Dask cluster: the same answers, and a worker may die on the way."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.patience import HANG
from tests.town import Town
from workflow.errors import WorkflowError
from workflow.project.load import load_project
from workflow.search.cluster import DaskExecutor
from workflow.search.decision.tuning import search_task, tune
from workflow.search.executors import SerialExecutor, make_executor

ROOT = Path(__file__).resolve().parents[3]
Cluster = tuple[str, list[subprocess.Popen[bytes]]]


def wait_until(true: Callable[[], object], otherwise: str) -> None:
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < HANG, otherwise
        time.sleep(0.05)


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Dask's command line, ended at the end."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-m", *words], env={**os.environ, "PYTHONPATH": paths}, start_new_session=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A scheduler and three workers on loopback: its address, and the workers' processes."""
    monkeypatch.setattr("workflow.search.cluster.PATIENCE", f"{HANG}s")
    card = tmp_path / "scheduler.json"
    here = ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
    with ExitStack() as stack:
        scheduler = stack.enter_context(
            started("distributed.cli.dask_scheduler", *here, "--port", "0", "--scheduler-file", str(card))
        )
        wait_until(lambda: scheduler.poll() is not None or card.exists(), "the scheduler did not start")
        address = json.loads(card.read_text())["address"]
        workers = [
            stack.enter_context(
                started(
                    "distributed.cli.dask_worker", address, *here, "--no-nanny", "--nthreads", "1",
                    "--local-directory", str(tmp_path / f"worker-{number}"), "--death-timeout", str(HANG),
                )
            )
            for number in range(3)
        ]  # fmt: skip
        yield address, workers


def at_work(folder: Path, item: int) -> int:
    """The item again; the first one is kept until the file `go` is there. Says where it is worked on."""
    (folder / f"{item}-{os.getpid()}").touch()
    while item == 0 and not (folder / "go").exists():
        time.sleep(0.02)
    return item


@pytest.mark.slow
def test_a_cluster_finds_what_one_thread_finds(town: Town, cluster: Cluster) -> None:
    project = load_project(town.settings(resolution=6, priors=("car",)))
    here = tune(project, None, SerialExecutor())
    executor = make_executor("dask", address=cluster[0])
    there = tune(project, None, executor)
    executor.close()
    assert there.choice.design == here.choice.design
    assert repr(there.result.frontier) == repr(here.result.frontier)
    assert repr(there.result.chosen) == repr(here.result.chosen)


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_by_another(cluster: Cluster, tmp_path: Path) -> None:
    address, workers = cluster
    folder = tmp_path / "work"
    folder.mkdir()
    answers: list[int] = []
    executor = DaskExecutor(address)
    executor.wait_for(3)
    follow = threading.Thread(target=lambda: answers.extend(executor.map(at_work, folder, range(4))))
    follow.start()
    wait_until(lambda: list(folder.glob("0-*")), "nothing was begun")
    (first,) = folder.glob("0-*")
    (lost,) = (worker for worker in workers if first.name == f"0-{worker.pid}")
    os.kill(lost.pid, signal.SIGKILL)
    wait_until(lambda: len(list(folder.glob("0-*"))) == 2, "nobody took the lost work")
    (folder / "go").touch()
    follow.join(HANG)
    executor.close()
    assert answers == [0, 1, 2, 3]


@pytest.mark.slow
def test_what_is_closed_gives_up_what_has_not_begun(cluster: Cluster, tmp_path: Path) -> None:
    executor = DaskExecutor(cluster[0])
    (tmp_path / "go").touch()
    answers = executor.map(at_work, tmp_path, range(200))
    assert next(answers) == 0
    answers.close()  # type: ignore[attr-defined]
    assert list(executor.map(at_work, tmp_path, [7])) == [7]
    executor.close()


@pytest.mark.slow
def test_this_machines_own_clusters_need_no_address_and_no_fixed_port() -> None:
    """Two at once, as two analysts start them: a second on a port that is taken would warn, an error here."""
    executors = [DaskExecutor(workers=1), DaskExecutor(workers=1)]
    for executor in executors:
        assert list(executor.map(pow, 2, [3, 5])) == [8, 32]
        executor.close()


def test_nothing_private_travels_but_the_number_of_records(town: Town, tmp_path: Path) -> None:
    """Two private tables of one length and one public reference: the same bytes go to the workers."""
    head, *lines = town.private.read_text().splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join([head, *map(changed, lines)]))
    settings = town.settings(resolution=7, priors=("car",))
    one = search_task(load_project(settings))
    two = search_task(load_project(settings.with_changes(data=replace(settings.data, path=str(other)))))
    assert len(lines) > 100
    assert pickle.dumps(one) == pickle.dumps(two)


def changed(line: str) -> str:
    """A row of the town's table with another value."""
    *others, value = line.split(",")
    return ",".join([*others, f"{float(value) + 1.25}"])


def test_a_scheduler_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workflow.search.cluster.PATIENCE", "200ms")
    with pytest.raises(WorkflowError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9: check"):
        DaskExecutor("tcp://127.0.0.1:9")


def test_without_dask_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(WorkflowError, match=r"pip install .hexcursion\[cluster\]"):
        make_executor("dask")
