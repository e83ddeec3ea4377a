"""Work for processes apart. Each process imports this module, and no module of tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hexcursion.errors import WorkflowError
from hexcursion.search.executors import ProcessExecutor

Report = Callable[[float, str], None]


def endless(report: Report, note: str) -> None:
    """Compute without a pause, and start a child that does, until both are killed."""
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    Path(note).write_text(f"{os.getpid()} {child.pid} {os.nice(0)} {os.environ['TMPDIR']}")
    report(0.5, "Computing without an end")
    while True:
        pass


def refusing(report: Report) -> None:
    raise WorkflowError("Take coarser hexagons.")


class Awkward(WorkflowError):
    """An error whose arguments are not its text."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(f"{text} ({number})")


def awkward(report: Report) -> None:
    raise Awkward(7, "No.")


def vanishing(report: Report) -> None:
    os.kill(os.getpid(), 9)


def square(work: int, item: int) -> int:
    return work * item * item


def spread(report: Report) -> list[int]:
    """Worker processes of a process apart."""
    with ProcessExecutor(2) as executor:
        return list(executor.map(square, 3, [1, 2, 3]))


def measure(report: Report, given: bytes) -> int:
    return len(given)


def quiet(fraction: float, text: str) -> None:
    """Ignore the progress."""


def long_sum(report: Report) -> int:
    """Compute where no Python runs, as GEOS does on a polygon."""
    return sum(range(10**13))
