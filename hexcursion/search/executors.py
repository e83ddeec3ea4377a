"""Where the work of a search runs, here or on a Dask cluster: the same answers, bit for bit, in order."""

from __future__ import annotations

import functools
import io
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from geo.errors import part_of, silent
from hexcursion.errors import Report, WorkflowError
from hexcursion.search.task import answer_bytes, answer_from
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


class Workers(NamedTuple):
    """Who scores the designs of a search, by name; `processes` None is one for each core."""

    executor: ExecutorName = "serial"
    processes: int | None = None


HERE = Workers()


@dataclass(frozen=True)
class Run:
    """One run of a search: who hears how far it is, and where its designs are scored.

    `report(fraction, text)` may raise to cancel.
    """

    report: Report = silent
    executor: Executor = field(default_factory=SerialExecutor)

    def part(self, low: float, share: float) -> Run:
        """The same run as a part of a longer one: from `low` on, for a `share` of it."""
        return Run(part_of(self.report, low, low + share), self.executor)


ALONE = Run()
"""In this process, and reported to no one."""


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


RETRIES = 3  # of a piece of work whose worker was lost while it ran, before the search gives up
PATIENCE = "60s"  # until a scheduler that does not answer, or has no workers, is named
VARIABLE = "HEXCURSION_DASK"
"""Names the operator's scheduler."""


class DaskExecutor:
    """Run the search on Dask's workers; lost workers, retries and data transfer are Dask's own.

    `address` is `tls://host:8786`, with Dask's own certificates (`distributed.comm.tls`): whoever holds one
    that the CA file signed is trusted with the search. The task that travels holds nothing private but the
    public number of records. Answers come back as plain JSON; pickles from a scheduler or worker are refused
    in the whole process. Raise `WorkflowError` without Dask, without TLS, or if no scheduler answers.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed.security import Security
        except ImportError as error:
            raise WorkflowError(
                "The executor 'dask' needs Dask: `pip install \"hexcursion[cluster]\"`, or choose "
                "'processes'."
            ) from error
        if not address.startswith("tls://"):
            raise WorkflowError(
                "A Dask scheduler without TLS runs whatever anybody on the network sends: start it with "
                "--tls-ca-file, --tls-cert and --tls-key, and name it as tls://HOST:PORT."
            )
        security: Any = Security(require_encryption=True)  # type: ignore[no-untyped-call]
        if not (security.tls_ca_file and security.tls_client_cert):
            raise WorkflowError(
                "A Dask scheduler with TLS asks for a certificate: name yours and its CA by "
                "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT (and __KEY) and "
                "DASK_DISTRIBUTED__COMM__TLS__CA_FILE."
            )
        try:
            self._client: Any = _careful_client()(
                address, security=security, timeout=PATIENCE, set_as_default=False, direct_to_workers=False
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise WorkflowError(
                f"No Dask scheduler answers at {address}: check the address and the certificates, start one "
                "with `dask scheduler`, or choose the executor 'processes'."
            ) from error

    def wait_for(self, workers: int) -> None:
        """Wait for `workers` workers; `WorkflowError` if they have not come after `PATIENCE`."""
        try:
            self._client.wait_for_workers(workers, timeout=PATIENCE)
        except TimeoutError as error:
            raise WorkflowError(
                "The Dask scheduler has no workers: start some with `dask worker ADDRESS --nthreads 1`."
            ) from error

    def map(self, work: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Yield answers in the order of the items; closing the iterator gives up what has not begun.

        Raise `WorkflowError` if there are no workers, or one of them fails or sends anything but an answer.
        """
        import dask

        self.wait_for(1)
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"}):
            copy = self._client.submit(_unchanged, shared, pure=False)  # made again if its workers are lost
        at_worker = functools.partial(_answered, work)
        futures = [self._client.submit(at_worker, copy, item, pure=False, retries=RETRIES) for item in items]
        try:
            for future in futures:
                yield answer_from(_result(future))
        finally:
            self._client.cancel(futures)
            copy.release()

    def close(self) -> None:
        """Leave the scheduler."""
        self._client.close()


def scheduler_address(address: str | None) -> str | None:
    """The address that a person stated, else the operator's from $HEXCURSION_DASK, else None."""
    return address or os.environ.get(VARIABLE) or None


def _unchanged(shared: Any) -> Any:
    return shared


def _answered(work: Callable[[Any, Any], Any], shared: Any, item: Any) -> bytes:
    return answer_bytes(work(shared, item))


def _result(future: Any) -> object:
    """What a worker sent; what it raised is never unpacked."""
    try:
        answer: object = future.result()
    except Exception:
        pass
    else:
        return answer
    raise WorkflowError(
        "A worker of the Dask cluster failed, or sent what is not read here: look into its log, and let "
        "every worker run the same version of this program."
    )


class _Plain(pickle.Unpickler):
    """Reads a pickle of texts, numbers and their collections, and the name of the type `bytes`."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("builtins", "bytes"):
            return _Bytes
        raise TypeError("a pickle that makes other objects than plain values")


class _Bytes(bytes):
    """Stands for `bytes`, by whose name Dask finds its reader of bytes; never made."""

    def __new__(cls, *_given: object) -> _Bytes:
        raise TypeError("a pickle that makes bytes of its own")


def plain_loads(content: Any, *, buffers: Any = ()) -> Any:
    """Read a pickle that can run nothing; TypeError for any other."""
    try:
        return _Plain(io.BytesIO(content), buffers=buffers or None).load()
    except TypeError:
        raise
    except Exception:  # whatever a damaged pickle raises
        pass
    raise TypeError("a damaged pickle")


@functools.cache
def _careful_client() -> Any:
    """Dask's client, in a process that from now on reads no pickle that Dask receives."""
    import distributed.client
    from distributed.protocol import pickle as theirs

    theirs.loads = plain_loads
    distributed.client.loads = plain_loads  # type: ignore[attr-defined]  # the same, by its other name

    class Careful(distributed.client.Client):
        """Hears no events: those of warnings are pickles that Dask reads with Python's own reader."""

        async def _handle_event(self, topic: Any, event: Any) -> None:
            """Leave it."""

    return Careful
