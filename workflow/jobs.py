"""Background jobs: one long computation in a thread, with progress, time left and cancel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from workflow.errors import Cancelled

Result = TypeVar("Result")
Report = Callable[[float, str], None]


@dataclass(frozen=True)
class JobState:
    """What a page shows of a job: `state` is "running", "done", "failed" or "cancelled"."""

    state: str
    fraction: float
    text: str
    seconds: float
    seconds_left: float | None


class Job(Generic[Result]):
    """Runs `work(report)` once in a daemon thread.

    `report(fraction, text)` publishes progress and raises `Cancelled` once `cancel()` was called, so that a
    computation which reports several times a second stops within a second.
    """

    def __init__(self, work: Callable[[Report], Result]) -> None:
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._fraction, self._text, self._state = 0.0, "Starting", "running"
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._started = time.monotonic()
        self._ended: float | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _report(self, fraction: float, text: str) -> None:
        if self._cancelled.is_set():
            raise Cancelled("The computation was cancelled; nothing was released.")
        with self._lock:
            self._fraction, self._text = min(max(fraction, 0.0), 1.0), text

    def _run(self, work: Callable[[Report], Result]) -> None:
        result: Result | None = None
        error: BaseException | None = None
        try:
            result = work(self._report)
            self._report(1.0, "Done")
            outcome = "done"
        except Cancelled as stop:
            outcome, error = "cancelled", stop
        except BaseException as failure:  # kept whole and raised again by `result()`
            outcome, error = "failed", failure
        with self._lock:
            self._result, self._error, self._state = result, error, outcome
            self._ended = time.monotonic()

    def cancel(self) -> None:
        """Ask the computation to stop at its next report."""
        self._cancelled.set()

    @property
    def cancelling(self) -> bool:
        """Whether `cancel` was called; the computation may not have heard of it yet."""
        return self._cancelled.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end; True once the job is no longer running."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def state(self) -> JobState:
        with self._lock:
            end = self._ended if self._ended is not None else time.monotonic()
            spent = end - self._started
            left = None
            if self._state == "running" and self._fraction > 0.05:
                left = spent * (1.0 - self._fraction) / self._fraction
            return JobState(self._state, self._fraction, self._text, spent, left)

    def result(self) -> Result:
        """The result of a finished job; raises what the computation raised."""
        with self._lock:
            if self._state == "running":
                raise RuntimeError("the job is still running")
            if self._error is not None:
                raise self._error
            return self._result  # type: ignore[return-value]
