"""What is asked of Dask and of a process, word by word, without a cluster."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from hexcursion.errors import WorkflowError
from hexcursion.search.executors import DaskExecutor, _begin


class Answer:
    """A piece of work that was handed over."""

    def __init__(self, value: Any) -> None:
        self.value, self.given_back = value, 0

    def result(self) -> Any:
        return self.value

    def release(self) -> None:
        self.given_back += 1


class Client:
    """Does the work at once and writes down how it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, object]] = []
        self.made: list[Answer] = []

    def wait_for_workers(self, workers: int, **how: object) -> None:
        self.asked.append(("wait", (workers, how)))

    def submit(self, work: Any, *given: Any, **how: object) -> Answer:
        self.asked.append(("submit", how))
        values = [each.value if isinstance(each, Answer) else each for each in given]
        self.made.append(Answer(work(*values)))
        return self.made[-1]

    def cancel(self, futures: list[Answer]) -> None:
        self.asked.append(("cancel", [each.value for each in futures]))


def executor_of(client: Any) -> DaskExecutor:
    executor = DaskExecutor.__new__(DaskExecutor)
    executor._client = client
    return executor


def test_work_is_tried_three_times_more_and_what_is_shared_travels_once() -> None:
    client = Client()
    assert list(executor_of(client).map(pow, 2, [3, 5])) == [8, 32]
    assert client.asked == [
        ("wait", (1, {"timeout": "60s"})),
        ("submit", {"pure": False}),
        ("submit", {"pure": False, "retries": 3}),
        ("submit", {"pure": False, "retries": 3}),
        ("cancel", [b"8", b"32"]),
    ]
    assert [each.given_back for each in client.made] == [1, 0, 0]


def test_a_scheduler_without_workers_is_one_sentence() -> None:
    def none(workers: int, timeout: str) -> None:
        raise TimeoutError

    with pytest.raises(
        WorkflowError,
        match=r"^The Dask scheduler has no workers: start some with `dask worker ADDRESS --nthreads 1`\.$",
    ):
        executor_of(SimpleNamespace(wait_for_workers=none)).wait_for(2)


def test_a_process_of_a_search_has_one_thread_and_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    nicer: list[int] = []
    monkeypatch.setattr(os, "nice", nicer.append)
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    for variable in threads:
        monkeypatch.setenv(variable, "8")
    _begin()
    assert [os.environ[variable] for variable in threads] == ["1", "1", "1"]
    assert nicer == [10]
