"""Executors: where the work of a search runs. All give the same answers, bit for bit, in the same order."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from hexcursion.errors import WorkflowError
from hexcursion.search.cluster import DaskExecutor, scheduler_address
from hexcursion.settings.names import ExecutorName

NICER = 10  # search processes give way to the web process
VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

Work = Callable[[Any, Any], Any]
"""(shared, item) -> answer: a function of a module, pure; everything it is given and gives can be pickled."""


class Executor(Protocol):
    """Maps a pure function over items that share one large public object."""

    def map(self, work: Work, shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Answers in the order of the items; closing the iterator gives up what has not begun."""
        ...

    def close(self) -> None:
        """End what runs elsewhere."""
        ...


class SerialExecutor:
    """One item after the other, in this process and thread."""

    def map(self, work: Work, shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Answers in the order of the items."""
        for item in items:
            yield work(shared, item)

    def close(self) -> None:
        """Nothing runs elsewhere."""


class ProcessExecutor(AbstractContextManager["ProcessExecutor"]):
    """Worker processes of this machine (default: one per core), each with one BLAS thread and a low priority.

    The shared object is written once to a file that only this user can read, and loaded once by each worker.
    """

    def __init__(self, workers: int | None = None) -> None:
        count = workers or os.cpu_count() or 1
        self._folder = Path(tempfile.mkdtemp(prefix="hexcursion-search-"))
        self._number = 0
        self._pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_begin)
        self._workers = count

    def map(self, work: Work, shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Answers in the order of the items; what has not begun is given up when the iterator is closed."""
        self._number += 1
        place = self._folder / str(self._number)
        place.write_bytes(pickle.dumps(shared, protocol=pickle.HIGHEST_PROTOCOL))
        futures = [self._pool.submit(_at_worker, work, str(place), item) for item in items]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()
            place.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers at once, running work included."""
        running = list((self._pool._processes or {}).values())  # there is no public way to stop them
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()
        shutil.rmtree(self._folder, ignore_errors=True)


def make_executor(name: ExecutorName, workers: int | None = None, address: str | None = None) -> Executor:
    """Make the executor of a name; `WorkflowError` for an unknown one, or if no Dask scheduler answers.

    Without an address, here or in $HEXCURSION_DASK, 'dask' stands for processes of this machine: a cluster of
    one machine would open a port for nothing.
    """
    if name == "serial":
        return SerialExecutor()
    scheduler = scheduler_address(address)
    if name == "dask" and scheduler is not None:
        return DaskExecutor(scheduler)
    if name in ("processes", "dask"):
        return ProcessExecutor(workers)
    raise WorkflowError(f"There is no executor {name!r}: choose 'serial', 'processes' or 'dask'.")


def _begin() -> None:
    for variable in VARIABLES:
        os.environ[variable] = "1"
    os.nice(NICER)


@lru_cache(maxsize=1)
def _load(place: str) -> Any:
    return pickle.loads(Path(place).read_bytes())


def _at_worker(work: Work, place: str, item: Any) -> Any:
    return work(_load(place), item)
