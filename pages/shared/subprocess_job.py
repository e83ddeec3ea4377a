"""One computation in a process of its own that gives way to the server, with progress and an end.

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
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, TypeVar

from hexcursion.errors import Report, WorkflowError
from hexcursion.estimates.machine import most_memory
from hexcursion.search.executors import NICER, VARIABLES
from hexcursion.words import plural
from pages.shared.jobs import whose
from pages.shared.uploads import PrivateFolder

VARIABLE = "HEXCURSION_AT_ONCE"
"""Environment variable: how many computations run at once; as many as the cores can do without it."""

LOOKS = 0.2
"""Seconds between two looks at whether it is one's turn, or the person has cancelled."""


@dataclass(eq=False)
class _Ticket:
    """One computation in the line: whose it is; None for nobody's in particular."""

    owner: Hashable


class Turns:
    """A line of computations: first come, first served, but nobody has two turns at once.

    Parameters
    ----------
    at_once
        How many run at the same time.
    """

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once
        self._changed = threading.Condition()
        self._waiting: list[_Ticket] = []
        self._running: list[_Ticket] = []

    @contextmanager
    def turn(self, owner: Hashable, tell: Callable[[str], None]) -> Iterator[None]:
        """Wait for a turn and hold it.

        Parameters
        ----------
        owner
            Whose computation it is.
        tell
            Told again and again why it waits; what it raises takes the computation out of the line.
        """
        mine = _Ticket(owner)
        with self._changed:
            self._waiting.append(mine)
        try:
            while (why := self._begin(mine)) is not None:
                tell(why)
                with self._changed:
                    self._changed.wait(LOOKS)
            yield
        finally:
            with self._changed:
                for line in (self._waiting, self._running):
                    if mine in line:
                        line.remove(mine)
                self._changed.notify_all()

    def _begin(self, mine: _Ticket) -> str | None:
        """Go from waiting to running if it is this one's turn; otherwise why not, in words."""
        with self._changed:
            if self._has_turn(mine):
                return "Waiting for another computation of yours to end"
            able = [each for each in self._waiting if not self._has_turn(each)]
            ahead = _first_of_each(able).index(mine) if mine in _first_of_each(able) else None
            if ahead is None:
                return "Waiting for another computation of yours to begin"
            free = self.at_once - len(self._running)
            if ahead < free:
                self._waiting.remove(mine)
                self._running.append(mine)
                return None
            before = ahead - max(free, 0)
            if before == 0:
                return "Waiting for a computation of somebody else to end; yours is next"
            return f"Waiting for computations of others to end; {plural(before, 'computation')} before yours"

    def _has_turn(self, ticket: _Ticket) -> bool:
        return ticket.owner is not None and any(each.owner == ticket.owner for each in self._running)


def _first_of_each(tickets: list[_Ticket]) -> list[_Ticket]:
    """Of each owner's tickets the first; all of nobody's."""
    seen: set[Hashable] = set()
    first = []
    for each in tickets:
        if each.owner is None or each.owner not in seen:
            first.append(each)
            seen.add(each.owner)
    return first


def at_once(cores: int, workers: int) -> int:
    """How many computations run at once: as the environment says, otherwise as the cores can do.

    Parameters
    ----------
    cores
        Of this machine.
    workers
        Processes of one search.

    Raises
    ------
    WorkflowError
        Where the environment says something else than a whole number above 0.
    """
    said = os.environ.get(VARIABLE, "").strip()
    if not said:
        return max(1, cores // workers)
    if not said.isascii() or not said.isdigit() or int(said) < 1:
        raise WorkflowError(f"{VARIABLE} is a whole number of computations, at least 1, not {said[:20]!r}.")
    return int(said)


Result = TypeVar("Result")
HEARS = 0.1  # seconds between two looks at whether the person has cancelled
MOST_WORKERS = 4  # of one search: other sessions search too
ROOT = Path(__file__).resolve().parents[2]
_SCRATCH = "TMPDIR"
TOO_LARGE = (
    "The computation needs more memory than one may have here: take coarser hexagons, a smaller area or "
    "fewer rows."
)


class Lost(WorkflowError):
    """A subprocess ended without an answer; how far it had come is not known."""


def in_subprocess(report: Report, work: Callable[..., Result], *arguments: Any) -> Result:
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
        [sys.executable, "-m", "pages.shared.subprocess_job", str(theirs.fileno())],
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
