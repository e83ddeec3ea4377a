"""The executor on a Dask cluster: one that is named by its address, or one of this machine's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from workflow.errors import WorkflowError

RETRIES = 3  # of a piece of work whose worker was lost while it ran, before the search gives up
PATIENCE = "60s"  # until a scheduler that does not answer, or has no workers, is named


class DaskExecutor:
    """Dask's scheduler and its workers; lost workers, retries and data transfer are Dask's own.

    Workers need the same version of this program. What travels to them is the search's task, which holds
    nothing private but the public number of records.

    Parameters
    ----------
    address
        Of a running scheduler, as `tcp://host:8786` or `tls://host:8786`; None starts a cluster on this
        machine, one process per core with one thread each, which ends with the executor.
    workers
        How many processes of this machine's own cluster; None for one per core.

    Raises
    ------
    WorkflowError
        Where Dask is not installed or the scheduler does not answer.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise WorkflowError(
                "The executor 'dask' needs Dask: `pip install \"hexcursion[cluster]\"`, or choose "
                "'processes'."
            ) from error
        self._own: Any = None
        if address is None:
            self._own = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=workers, threads_per_worker=1, host="127.0.0.1", scheduler_port=0,
                dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False},
            )  # fmt: skip
        try:
            self._client: Any = Client(  # type: ignore[no-untyped-call]
                address or self._own, timeout=PATIENCE, set_as_default=False
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise WorkflowError(
                f"No Dask scheduler answers at {address}: check the address, start one with "
                "`dask scheduler`, or choose the executor 'processes'."
            ) from error

    def wait_for(self, workers: int) -> None:
        """Wait until so many workers have come.

        Raises
        ------
        WorkflowError
            If they have not come after `PATIENCE`.
        """
        try:
            self._client.wait_for_workers(workers, timeout=PATIENCE)
        except TimeoutError as error:
            raise WorkflowError(
                "The Dask scheduler has no workers: start some with `dask worker ADDRESS --nthreads 1`."
            ) from error

    def map(self, work: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Answers in the order of the items; what has not begun is given up when the iterator is closed.

        Raises
        ------
        WorkflowError
            If the scheduler has no workers.
        """
        import dask

        self.wait_for(1)
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GiB"}):
            there = self._client.submit(_unchanged, shared, pure=False)  # made again if its workers are lost
        futures = [self._client.submit(work, there, item, pure=False, retries=RETRIES) for item in items]
        try:
            for future in futures:
                yield future.result()
        finally:
            self._client.cancel(futures)
            there.release()

    def close(self) -> None:
        """Leave the scheduler; a cluster of this executor's own ends."""
        self._client.close()
        if self._own is not None:
            self._own.close()


def _unchanged(shared: Any) -> Any:
    return shared
