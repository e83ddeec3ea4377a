"""Background jobs: a thread with progress and cancel, and in it a separate process that waits its turn.

A session's long computation would otherwise share the interpreter with every other session's screens. The
process leads its own group, so that whatever it starts ends with it: when it is done, when the person
cancels, when the session is forgotten, and when the server is killed. No Streamlit here: processes load this.
"""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar

from hexcursion.errors import Cancelled, Report, WorkflowError
from hexcursion.estimates.model import most_memory
from hexcursion.search.executors import NICER, VARIABLES, Workers
from hexcursion.settings.model import ReleaseSettings
from pages.shared.turns import Turns, at_once
from pages.shared.uploads import PrivateFolder

Result = TypeVar("Result")
Given = ParamSpec("Given")
Stage = Literal["running", "done", "failed", "cancelled"]


_THREAD = threading.local()


def whose() -> str | None:
    """The session whose job this thread runs; None in any other thread, and for a job of no session."""
    return getattr(_THREAD, "session", None)


def _asker() -> tuple[str | None, str | None]:
    """The session whose screen is being run in this thread, and the address of its reader, None on this
    machine; both None where there is no screen."""
    import streamlit  # a subprocess has none

    from pages.shared.server.undocumented import session_of_script

    session = session_of_script()
    return (None, None) if session is None else (session, streamlit.context.ip_address)


LEAST_SECONDS, LEAST_FRACTION, STEADY = 3.0, 0.1, 1.4
Mark = tuple[float, float]  # seconds since the start, fraction done


def seconds_left(marks: Sequence[Mark], now: float) -> float | None:
    """Return how long a job still takes; None where the paces of the last half and quarter differ by over
    `STEADY`."""
    if not marks or now < LEAST_SECONDS or marks[-1][1] < LEAST_FRACTION:
        return None

    def pace(since: float) -> float:
        share = next((fraction for spent, fraction in reversed(marks) if spent <= since), 0.0)
        return (marks[-1][1] - share) / (now - since)

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
    """Run `work(report)` once in a daemon thread.

    `report(fraction, text)` publishes progress and raises `Cancelled` once `cancel()` was called."""

    def __init__(self, work: Callable[[Report], Result]) -> None:
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._fraction, self._text = 0.0, "Starting"
        self._state: Stage = "running"
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._marks: list[Mark] = []
        self._session, self._address = _asker()
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
        _THREAD.session, _THREAD.address = self._session, self._address
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
    def left(self) -> bool:
        """Whether it ended because its reader had left."""
        return isinstance(self._error, Left)

    @property
    def state(self) -> JobState:
        """Its present progress."""
        with self._lock:
            end = self._ended if self._ended is not None else time.monotonic()
            spent = end - self._started
            left = seconds_left(self._marks, spent) if self._state == "running" else None
            return JobState(self._state, self._fraction, self._text, spent, left)

    def result(self) -> Result:
        """Return the result of a finished job or raise its error; `RuntimeError` while it runs."""
        with self._lock:
            if self._state == "running":
                raise RuntimeError("the job is still running")
            if self._error is not None:
                raise self._error
            return self._result  # type: ignore[return-value]


ENDS = 5.0  # seconds that a process may take to end once it has closed its pipe
NICE = 2  # a computation that a person waits for gives way to the web process, and to little else
UNASKED = NICER  # an unasked job gives way to everything
HEARS = 0.1  # seconds between two looks at whether the person has cancelled
MOST_WORKERS = 4  # of one search: other sessions search too
ROOT = Path(__file__).resolve().parents[2]
_SCRATCH = "TMPDIR"
TOO_LARGE = (
    "The computation needs more memory than one may have here: take coarser hexagons, a smaller area or "
    "fewer rows."
)
TOO_LONG = (
    "This takes more than {} seconds of computing, which is all that a reader's question may take: give "
    "simpler or fewer polygons, or read the release with the program on your own machine."
)
READER_SECONDS = 20
"""CPU seconds of what a viewer's reader asks for."""


class Lost(WorkflowError):
    """A subprocess ended without an answer; how far it had come is not known."""


class Left(Cancelled):
    """The tab that showed an unasked job is closed, or its connection failed."""


def _while_read(report: Report) -> Report:
    """Let a report raise `Left` once no browser is connected to the session of this thread's job."""
    from pages.shared.server.undocumented import has_left  # it loads Streamlit, which a subprocess does not

    session = whose()

    def told(fraction: float, text: str) -> None:
        if session is not None and has_left(session):
            raise Left("The tab that showed this computation was closed.")
        report(fraction, text)

    return told


def in_subprocess(
    report: Report,
    work: Callable[..., Result],
    *arguments: Any,
    niceness: int = NICE,
    cpu_seconds: int | None = None,
    **keywords: Any,
) -> Result:
    """Run `work(report, ...)` in a subprocess when its turn comes; return its result or raise its error.

    `report` may raise to cancel: the process and its children are ended then. Function and arguments are
    pickled and travel through a pipe, never a file. `cpu_seconds` is what it may compute, also where nothing
    of Python runs: `WorkflowError` for more. `Lost` where the process ended without an answer."""
    with _turns().turn(whose(), lambda why: report(0.0, why), getattr(_THREAD, "address", None)):
        call = partial(work, **keywords) if keywords else work
        return _in_a_process(report, call, arguments, niceness, cpu_seconds)


def in_background(
    work: Callable[Concatenate[Report, Given], Result],
    niceness: int = NICE,
    cpu_seconds: int | None = None,
) -> Callable[Given, Job[Result]]:
    """Return a function that starts `work(report, ...)` as a job in another process of this niceness, which
    may compute for `cpu_seconds`. An unasked job ends when its reader leaves (`Job.left`)."""

    def begin(*arguments: Given.args, **keywords: Given.kwargs) -> Job[Result]:
        def run(report: Report) -> Result:
            heard = _while_read(report) if niceness == UNASKED else report
            return in_subprocess(
                heard, work, *arguments, niceness=niceness, cpu_seconds=cpu_seconds, **keywords
            )

        return Job(run)

    return begin


def _in_a_process(
    report: Report,
    work: Callable[..., Result],
    arguments: tuple[Any, ...],
    niceness: int,
    cpu_seconds: int | None,
) -> Result:
    task = ForkingPickler.dumps((work, arguments))
    scratch = PrivateFolder()
    ours, theirs = Pipe()
    child = subprocess.Popen(
        [
            *(sys.executable, "-m", "pages.shared.subprocess_job"),
            *(str(theirs.fileno()), str(niceness), str(cpu_seconds or "")),
        ],
        stdin=subprocess.DEVNULL,
        pass_fds=(theirs.fileno(),),
        start_new_session=True,
        env={
            **os.environ,
            **dict.fromkeys(VARIABLES, "1"),
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
            _SCRATCH: str(scratch.path),
        },
    )
    theirs.close()
    sender = threading.Thread(target=_hand_over, args=(ours, task), daemon=True)
    sender.start()
    try:
        answer: Result = _followed(ours, report)
        return answer
    except (EOFError, OSError) as error:
        with suppress(subprocess.TimeoutExpired):
            child.wait(ENDS)
        if child.returncode == -signal.SIGXCPU:
            raise WorkflowError(TOO_LONG.format(cpu_seconds)) from error
        raise Lost(
            "The computation ended before it was done, perhaps for lack of memory: take coarser hexagons or "
            "fewer priors, and try again."
        ) from error
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        sender.join()
        ours.close()
        shutil.rmtree(scratch.path, ignore_errors=True)


def _hand_over(connection: Connection, task: memoryview) -> None:
    """Send what to do, in a thread of its own: a process that has not started yet reads nothing, and a person
    may cancel meanwhile."""
    with suppress(OSError):  # it ended: `_followed` says so
        connection.send_bytes(task)


def workers() -> int:
    """How many processes one search may use: one core is left to the server."""
    return max(1, min(MOST_WORKERS, (os.cpu_count() or 1) - 1))


def executor_of(settings: ReleaseSettings) -> Workers:
    """Where a search of a screen runs, and in how many processes."""
    several = workers()
    if settings.executor == "dask":
        return Workers("dask", several)
    return Workers("processes" if several > 1 else "serial", several)


@cache
def _turns() -> Turns:
    """The line of this server: one, whatever session asks."""
    return Turns(at_once(os.cpu_count() or 1, workers()))


def _followed(connection: Connection, report: Report) -> Any:
    reported: tuple[float, str] = (0.0, "Starting")
    while True:
        report(*reported)
        if not connection.poll(HEARS):
            continue
        kind, value = connection.recv()
        if kind == "progress":
            reported = value
        elif kind == "done":
            return value
        else:
            raise value


def _child(handle: int, niceness: int, cpu_seconds: str) -> None:
    """What the process does: it hears what to do, tells how far it is, and answers once."""
    os.nice(niceness)
    bound = most_memory()
    if cpu_seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds), int(cpu_seconds) + 1))
    if bound is not None:  # its worker processes have the same
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))
        except ValueError:
            if sys.platform == "linux":  # macOS may know no such bound
                raise
    connection = Connection(handle)
    work, arguments = connection.recv()
    threading.Thread(target=_end_with_server, args=(connection,), daemon=True).start()

    def tell(fraction: float, text: str) -> None:
        connection.send(("progress", (fraction, text)))

    try:
        answer = ("done", work(tell, *arguments))
    except MemoryError:
        answer = ("failed", WorkflowError(TOO_LARGE))
    except Exception as error:
        answer = ("failed", _travelling(error))
    connection.send(answer)


def _end_with_server(connection: Connection) -> None:
    """The server sends nothing more: what comes is the end of its side of the pipe."""
    connection.poll(None)
    shutil.rmtree(os.environ[_SCRATCH], ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def _travelling(error: Exception) -> Exception:
    """The error if it survives a pickle, otherwise one of the same meaning that does."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        kind = WorkflowError if isinstance(error, WorkflowError) else RuntimeError
        return kind(str(error) or type(error).__name__)
    return error


if __name__ == "__main__":
    _child(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
