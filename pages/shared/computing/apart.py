"""Apart: one computation in a process of its own that gives way to the server, with progress and an end.

A session's long computation would otherwise share the interpreter with every other session's screens. The
process leads a group of its own, so that whatever it starts ends with it: when it is done, when the person
cancels, when the session is forgotten, and when the server is killed.
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
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, TypeVar

from hexcursion.errors import WorkflowError
from hexcursion.estimates.machine import most_memory
from hexcursion.progress import Report
from hexcursion.search.executors import NICER, VARIABLES
from pages.shared.computing.jobs import whose
from pages.shared.computing.turns import Turns, at_once
from pages.shared.uploads import PrivateFolder

Result = TypeVar("Result")
HEARS = 0.1  # seconds between two looks at whether the person has cancelled
MOST_WORKERS = 4  # of one search: other sessions search too
ROOT = Path(__file__).resolve().parents[3]
_SCRATCH = "TMPDIR"
TOO_LARGE = (
    "The computation needs more memory than one may have here: take coarser hexagons, a smaller area or "
    "fewer rows."
)


class Lost(WorkflowError):
    """A process apart ended without an answer; how far it had come is not known."""


def apart(report: Report, work: Callable[..., Result], *arguments: Any) -> Result:
    """`work(report, *arguments)` in a process of its own, when it is its turn; its result, or what it raised.

    Parameters
    ----------
    report
        Told what the process reports. It may raise to cancel: the process and its children are ended then.
    work
        A function of a module; it and its arguments can be pickled. They travel through a pipe, never a file.

    Raises
    ------
    Lost
        Where the process ended without an answer.
    """
    with _turns().turn(whose(), lambda why: report(0.0, why)):
        return _in_a_process(report, work, arguments)


def _in_a_process(report: Report, work: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    scratch = PrivateFolder()
    ours, theirs = Pipe()
    child = subprocess.Popen(
        [sys.executable, "-m", "pages.shared.computing.apart", str(theirs.fileno())],
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
    try:
        ours.send((work, arguments))
        answer: Result = _followed(ours, report)
        return answer
    except (EOFError, OSError) as error:
        raise Lost(
            "The computation ended before it was done, perhaps for lack of memory: take coarser hexagons or "
            "fewer priors, and try again."
        ) from error
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        ours.close()
        shutil.rmtree(scratch.path, ignore_errors=True)


def workers() -> int:
    """How many processes one search may use: one core is left to the server."""
    return max(1, min(MOST_WORKERS, (os.cpu_count() or 1) - 1))


@cache
def _turns() -> Turns:
    """The line of this server: one, whatever session asks."""
    return Turns(at_once(os.cpu_count() or 1, workers()))


def _followed(connection: Connection, report: Report) -> Any:
    told: tuple[float, str] = (0.0, "Starting")
    while True:
        report(*told)
        if not connection.poll(HEARS):
            continue
        kind, value = connection.recv()
        if kind == "told":
            told = value
        elif kind == "done":
            return value
        else:
            raise value


def _child(handle: int) -> None:
    """What the process does: it hears what to do, tells how far it is, and answers once."""
    os.nice(NICER)
    bound = most_memory()
    if bound is not None:  # its worker processes have the same
        resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))
    connection = Connection(handle)
    work, arguments = connection.recv()
    threading.Thread(target=_end_with_server, args=(connection,), daemon=True).start()

    def tell(fraction: float, text: str) -> None:
        connection.send(("told", (fraction, text)))

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
    _child(int(sys.argv[1]))
