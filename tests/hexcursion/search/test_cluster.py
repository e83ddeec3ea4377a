"""The search on a Dask cluster: the same answers, and a worker may die on the way."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import protocol
from distributed.core import rpc
from distributed.protocol import ToPickle, to_serialize
from distributed.security import Security

from hexcursion.errors import WorkflowError
from hexcursion.project.load import load_project
from hexcursion.search.executors import (
    DaskExecutor,
    ProcessExecutor,
    Run,
    _careful_client,
    make_executor,
    plain_loads,
)
from hexcursion.search.task import answer_bytes, answer_from
from hexcursion.search.tuning import Tuned, search_task, tune
from tests.patience import HANG
from tests.town import Town

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


def certificates(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """A CA with a certificate: Dask's settings here name them; the words of its command line that do."""
    folder.mkdir()
    made = Security.temporary()
    (folder / "cert.pem").write_text(made.tls_client_cert)
    (folder / "key.pem").write_text(made.tls_client_key)
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    tls = dask.config.get("distributed.comm.tls")
    client = {**tls["client"], "cert": cert, "key": key}
    monkeypatch.setitem(
        dask.config.config["distributed"]["comm"], "tls", {**tls, "ca-file": cert, "client": client}
    )
    return "--tls-ca-file", cert, "--tls-cert", cert, "--tls-key", key


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A scheduler and three workers on loopback: its address, and the workers' processes."""
    monkeypatch.setattr("hexcursion.search.executors.PATIENCE", f"{HANG}s")
    card = tmp_path / "scheduler.json"
    tls = ("--protocol", "tls", *certificates(tmp_path / "tls", monkeypatch))
    here = ("--host", "tls://127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0", *tls)
    with ExitStack() as stack:
        scheduler = stack.enter_context(
            started("distributed.cli.dask_scheduler", *here, "--port", "0", "--scheduler-file", str(card))
        )

        def begun() -> bool:
            """The file is there before its last brace is written."""
            written = card.exists() and card.read_text().rstrip().endswith("}")
            return scheduler.poll() is not None or written

        wait_until(begun, "the scheduler did not start")
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
    here = tune(project)
    executor = make_executor("dask", address=cluster[0])
    there = tune(project, Run(executor=executor))
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
def test_a_stranger_is_let_in_by_neither_scheduler_nor_worker(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in clear nor with a certificate of another CA; whoever has ours is answered."""
    executor = DaskExecutor(cluster[0])
    executor.wait_for(3)
    places = [cluster[0], *executor._client.scheduler_info(n_workers=-1)["workers"]]
    assert len(places) == 4
    ours = executor._client.security
    for place in places:
        assert alone(identity(place, ours))
    executor.close()
    for stranger, scheme in ((Security.temporary(), "tls"), (Security(), "tcp")):
        for place in places:
            with pytest.raises((OSError, TimeoutError)):
                alone(identity(place.replace("tls", scheme), stranger))
    certificates(tmp_path / "other", monkeypatch)
    monkeypatch.setattr("hexcursion.search.executors.PATIENCE", "500ms")
    with pytest.raises(WorkflowError, match="No Dask scheduler answers at tls://"):
        DaskExecutor(cluster[0])


def alone(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns, run in its own thread: a browser's tests leave a loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def identity(place: str, security: Security) -> object:
    """What a scheduler or worker says when it is asked who it is."""
    async with rpc(place, timeout=2, connection_args=security.get_connection_args("client")) as asked:
        return await asked.identity()


def mark(folder: Path) -> None:
    """Leave a file that says in which process this ran."""
    (folder / str(os.getpid())).touch()


class Bomb:
    """Leaves a mark in the process that unpickles it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return mark, (self.folder,)


class BombError(Exception):
    """The same as an exception."""

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return mark, (self.args[0],)


def at_a_hostile_worker(work: object, shared: Path, item: str) -> object:
    """In place of `_answered`: a worker that answers with a pickle, or with an exception that is one."""
    if item == "raised":
        raise BombError(shared)
    return Bomb(shared) if item == "bomb" else answer_bytes(item)


@pytest.mark.slow
def test_a_hostile_workers_pickle_is_not_run(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hexcursion.search.executors._answered", at_a_hostile_worker)
    ran = tmp_path / "ran"
    ran.mkdir()
    executor = DaskExecutor(cluster[0])
    assert list(executor.map(max, ran, ["fine"])) == ["fine"]
    for item in ("bomb", "raised"):
        with pytest.raises(WorkflowError, match=r"^A worker of the Dask cluster failed, or sent"):
            list(executor.map(max, ran, [item]))
    executor.close()
    marks = {int(path.name) for path in ran.iterdir()}
    assert marks, "a worker tries its own exceptions"
    assert os.getpid() not in marks


def test_no_message_of_dasks_makes_another_object_than_plain_values(tmp_path: Path) -> None:
    """In each of the ways in which Dask sends pickles: as an object, as an answer, as a type, as an event."""
    _careful_client()
    sent = [ToPickle(Bomb(tmp_path)), to_serialize(Bomb(tmp_path)), to_serialize({"a": np.arange(3)})]
    for message in sent:
        with pytest.raises(TypeError):
            protocol.loads(protocol.dumps({"op": message}))
    assert protocol.loads(protocol.dumps({"op": to_serialize(b"plain"), "n": ToPickle([1, "a"])})) == {
        "op": b"plain",
        "n": [1, "a"],
    }
    large = b"\x80\x04cbuiltins\nbytes\nJ\x00\x00\x00\x7f\x85R."  # bytes(2130706432)
    for content in (pickle.dumps(Bomb(tmp_path)), large, b"no pickle"):
        with pytest.raises(TypeError):
            plain_loads(content)
    event = {"message": pickle.dumps(Bomb(tmp_path)), "category": pickle.dumps(Bomb(tmp_path))}
    alone(_careful_client()._handle_event(object(), "warn", (0.0, event)))
    assert not list(tmp_path.iterdir())
    pickle.loads(pickle.dumps(Bomb(tmp_path)))
    assert list(tmp_path.iterdir()), "the bomb goes off where pickles are read"


def test_a_cluster_of_this_machine_opens_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """'dask' without an address is processes of this machine, which speak through pipes."""
    monkeypatch.delenv("HEXCURSION_DASK", raising=False)
    executor = make_executor("dask", 1)
    assert type(executor) is ProcessExecutor
    assert list(executor.map(pow, 2, [3, 5])) == [8, 32]
    executor.close()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "127.0.0.1:9", "inproc://x", "ws://h:1"])
def test_a_scheduler_without_tls_is_refused_whoever_names_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WorkflowError, match=r"without TLS runs whatever .* name it as tls://HOST:PORT\.$"):
        DaskExecutor(address)
    monkeypatch.setenv("HEXCURSION_DASK", address)
    with pytest.raises(WorkflowError, match="without TLS"):
        make_executor("dask")


def test_a_certificate_must_be_named() -> None:
    with pytest.raises(WorkflowError, match=r"asks for a certificate: name yours and its CA by DASK_"):
        DaskExecutor("tls://127.0.0.1:9")


@pytest.mark.parametrize(
    "content", [b"", b"[", b'{"tuple": 3}', b'{"a": 1, "b": 2}', b'{"other": []}', b'{"design": {}}',
    b'{"scored": {}}', b'{"scored": []}', b"{}", pickle.dumps(3), b"[" * 100_000, "[]", 3],
)  # fmt: skip
def test_what_is_no_answer_is_one_sentence(content: object) -> None:
    with pytest.raises(WorkflowError, match="sent no answer of this search"):
        answer_from(content)


def test_an_answer_comes_back_to_the_last_digit(hamlet_tuned: Tuned) -> None:
    scored = hamlet_tuned.result.chosen
    answer = [(0.1, scored), (float("inf"), scored.design), None, True, "a", -0.0, 7]
    assert repr(answer_from(answer_bytes(answer))) == repr(answer)
    with pytest.raises(TypeError, match="made of numbers, texts and designs"):
        answer_bytes({1, 2})


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


def test_a_scheduler_that_does_not_answer_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificates(tmp_path / "tls", monkeypatch)
    monkeypatch.setattr("hexcursion.search.executors.PATIENCE", "200ms")
    with pytest.raises(WorkflowError, match=r"No Dask scheduler answers at tls://127\.0\.0\.1:9: check"):
        DaskExecutor("tls://127.0.0.1:9")


def test_without_dask_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed.security", None)
    with pytest.raises(WorkflowError, match=r"pip install .hexcursion\[cluster\]"):
        make_executor("dask", address="tls://host:8786")
