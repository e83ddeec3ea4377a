"""The machine: how much memory there is, and how fast it is beside the one where estimates were measured."""

from __future__ import annotations

import math
import os
import time
from functools import cache
from pathlib import Path

import numpy as np

from hexcursion.errors import WorkflowError

MEMORY = "HEXCURSION_MEMORY_GB"
"""Environment variable: memory that one process of a computation may take; without it as much as there is."""

CGROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where Linux says what a container may take, in its second and its first form."""


def most_memory() -> int | None:
    """Return the bytes that one process may take, of the environment; None for no limit.

    Raise `WorkflowError` where the environment says something else than a number of gigabytes above 0.
    """
    said = os.environ.get(MEMORY, "").strip()
    if not said:
        return None
    try:
        bound = float(said) * 1e9
    except ValueError:
        bound = math.nan
    if not 0.0 < bound < math.inf:
        raise WorkflowError(f"{MEMORY} is a number of gigabytes above 0, not {said[:20]!r}.")
    return int(bound)


def memory_limit(processes: int = 1) -> int | None:
    """Bytes that each of so many processes can have: the least that any of its bounds says."""
    shared = [each // processes for each in (*map(_said_by, CGROUP), _physical()) if each is not None]
    own = most_memory()
    return min([*shared, *([] if own is None else [own])], default=None)


def _said_by(place: Path) -> int | None:
    try:
        said = place.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return int(said) if said.isdigit() else None


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not known on every system
        return None


@cache
def own_speed() -> float:
    """`speed` of this process, taken once, and by one task: enough for words as coarse as "10 s"."""
    return _task()


def speed() -> float:
    """CPU seconds of a small fixed task, about 0.1 s: the least of three."""
    return min(_task() for _ in range(3))


def _task() -> float:
    """What a search does, without libraries of several threads: transforms, sorting, plain Python."""
    plane = np.cos(np.subtract.outer(np.arange(512.0), 1.7 * np.arange(512.0)))
    start = time.thread_time()
    for _ in range(2):
        np.argsort(np.abs(np.fft.fft2(plane)), axis=None)
    total = 0
    for number in range(400_000):
        total += number % 7
    return time.thread_time() - start
