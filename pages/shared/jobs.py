"""Background jobs: one long computation in a thread, with progress, time left and cancel."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from hexcursion.errors import Cancelled

Result = TypeVar("Result")
Report = Callable[[float, str], None]
Stage = Literal["running", "done", "failed", "cancelled"]


_THREAD = threading.local()


def whose() -> str | None:
    """The session whose job this thread runs; None in any other thread, and for a job of no session."""
    return getattr(_THREAD, "session", None)


def _session() -> str | None:
    """The session whose screen is being run in this thread; None where there is no screen."""
    from streamlit.runtime.scriptrunner import get_script_run_ctx  # a subprocess has none

    context = get_script_run_ctx(suppress_warning=True)
    return None if context is None else context.session_id


LEAST_SECONDS, LEAST_FRACTION, STEADY = 3.0, 0.1, 1.4
Mark = tuple[float, float]  # seconds since the start, fraction done


def seconds_left(marks: Sequence[Mark], now: float) -> float | None:
    """How long a job still takes, from its reports; None where they do not agree among each other.

    The pace of the last half of the time is held against that of its last quarter: where they differ by more
    than a factor of `STEADY` the job changes its pace, and nothing is said.
    """
    if not marks or now < LEAST_SECONDS or marks[-1][1] < LEAST_FRACTION:
        return None

    def pace(since: float) -> float:
        done = next((fraction for spent, fraction in reversed(marks) if spent <= since), 0.0)
        return (marks[-1][1] - done) / (now - since)

    half, quarter = pace(now / 2), pace(3 * now / 4)
    if not 0 < max(half, quarter) <= STEADY * min(half, quarter):
        return None
    return (1.0 - marks[-1][1]) / half


@dataclass(frozen=True)
class JobState:
    """What a page shows of a job: how far it is, in words and as a share of 1."""

    state: Stage
    fraction: float
    text: str
    seconds: float
    seconds_left: float | None


class Job(Generic[Result]):
    """Runs `work(report)` once in a daemon thread.

    `report(fraction, text)` publishes progress and raises `Cancelled` once `cancel()` was called, so that a
    computation which reports several times a second stops within a second. The time left is forecast while
    the pace of its reports is steady.
    """

    def __init__(self, work: Callable[[Report], Result]) -> None:
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._fraction, self._text = 0.0, "Starting"
        self._state: Stage = "running"
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._marks: list[Mark] = []
        self._session = _session()
        self._started = time.monotonic()
        self._ended: float | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _report(self, fraction: float, text: str) -> None:
        if self._cancelled.is_set():
            raise Cancelled("The computation was cancelled; nothing was released.")
        with self._lock:
            self._fraction, self._text = min(max(fraction, 0.0), 1.0), text
            self._marks.append((time.monotonic() - self._started, self._fraction))

    def _run(self, work: Callable[[Report], Result]) -> None:
        result: Result | None = None
        error: BaseException | None = None
        outcome: Stage
        _THREAD.session = self._session
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
        """Where it stands now."""
        with self._lock:
            end = self._ended if self._ended is not None else time.monotonic()
            spent = end - self._started
            left = seconds_left(self._marks, spent) if self._state == "running" else None
            return JobState(self._state, self._fraction, self._text, spent, left)

    def result(self) -> Result:
        """The result of a finished job, or the error that its computation ended with.

        Raises
        ------
        RuntimeError
            While it is still running.
        """
        with self._lock:
            if self._state == "running":
                raise RuntimeError("the job is still running")
            if self._error is not None:
                raise self._error
            return self._result  # type: ignore[return-value]
