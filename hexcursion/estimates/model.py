"""Expected seconds and megabytes of reading, searching and releasing, and what this machine has of
both.

The measurements of `python -m studies.scale.estimates` are interpolated, time and memory against
the number of hexagons on logarithmic scales; beyond them time follows the last slope. A full search
takes a quick one times a factor for each part, measured at one size. Nothing here looks at data:
hexagons, records and bytes of files are public numbers or the curator's. `speed` is CPU seconds of
the function `speed` in this process.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hexcursion.errors import WorkflowError

MEASURED = Path(__file__).with_name("measured.json")
FIRST, LAST, MEMORY = "without privacy", "closer look", "memory"
TIME_SLOPES = 1.0, 2.0
"""Least and most exponent of the number of hexagons with which time grows beyond the measured
range."""

MEMORY_SLOPES = 0.35, 1.0
"""The same of the memory of reading, against bytes of files."""

LATTICE_BYTES = 7 * 8
"""Bytes for each hexagon and unit of the band (the root of their number) beyond the largest
measured size: about seven factors of the lattice prior, as in memory at 100,000 and 178,000
hexagons (studies/results/cells.txt)."""

SearchKind = Literal["full", "quick"]
SIMULATED: dict[SearchKind, int] = {"full": 5, "quick": 1}
"""Fields on which the measured searches judged their designs."""

FIXED_LOOK = 0.055
"""Time of one simulated world of a fixed design, as a share of a quick search's closer look,
measured at 252 to 12,264 hexagons of London."""

COUNTED = (246, 10.0, 0.4)
"""A number of hexagons, how many times as long a world of counted records takes there, and the
power of the number of hexagons by which this grows: measured were 8 (over a population) and 13
there, 18 at 1,721."""

LOOKED = (618, 29.0, 1.0)
"""The same of a world in two looks against one in one look: measured were 2.6 at 71 hexagons,
3.8 at 185, 22 at 495 and 29 at 618."""

DENSE_IN_FULL = 5 / 3
"""Lengthscales of a full search for each of a quick one; each lengthscale has a dense matrix."""

RECORDS = 100_000
"""Records of the measured searches."""

RECORD_BYTES = 60
"""Bytes of a record, and of each simulated field's, while a search holds them."""


@dataclass(frozen=True)
class Estimate:
    """Expected cost of a step: CPU seconds of one thread, and the most megabytes of its process."""

    seconds: float
    megabytes: float

    def then(self, other: Estimate) -> Estimate:
        """Both steps in turn in the same process."""
        return Estimate(self.seconds + other.seconds, max(self.megabytes, other.megabytes))


@dataclass(frozen=True)
class Asked:
    """The parts of a search that decide its cost."""

    cells: int
    records: int  # public number
    fields: int  # simulated or reference fields that judge each design, times the clip bounds
    quick: bool  # whether the grid is the coarse one
    mechanisms: Sequence[str]  # one without a measurement counts as the dearest with one
    dense: int = 0  # candidate priors with a dense matrix
    starts: int = 1  # 2 for a search with and without the public map
    reference: bool = False  # judged on reference data: they share more work than simulated fields
    alone: bool = False  # one budget: the search leaves mechanisms far behind early
    fixed: bool = False  # one fixed design is simulated and nothing is searched
    counted: bool = False  # records have no values: Laplace's method reads each world
    # 2 if the fixed design looks again at the places that its first release points to
    looks: int = 1

    @property
    def kind(self) -> SearchKind:
        """The kind of the measured search that it resembles."""
        return "quick" if self.quick else "full"


def reading_estimate(megabytes: float, speed: float) -> Estimate:
    """Estimate reading tables of `megabytes` of unpacked text, with postcodes; rows stay on
    disk."""
    costs = measured()["reading"]
    memory = at(costs["memory"], max(megabytes, 1.0), MEMORY_SLOPES)
    return Estimate(speed * (costs["start"] + costs["each"] * megabytes), memory)


def search_estimate(task: Asked, speed: float) -> Estimate:
    """Estimate a search by one process."""
    costs, cells = measured(), task.cells
    if task.fixed:
        look = at(costs["search"][LAST], cells, TIME_SLOPES)
        look *= _times(COUNTED, cells) if task.counted else 1.0
        look *= _times(LOOKED, cells) if task.looks > 1 else 1.0
        return Estimate(speed * FIXED_LOOK * task.fields * look, _held(costs["memory"]["search"], cells))
    times = costs["full"] if task.kind == "full" else {}
    parts = {
        part: at(table, cells, TIME_SLOPES) * times.get(part, 1.0) for part, table in costs["search"].items()
    }
    dearest = max(work for part, work in parts.items() if part not in (FIRST, LAST))
    judged = sum(parts.get(name, dearest) for name in task.mechanisms) + parts[LAST]
    work = parts[FIRST] + judged * task.fields / SIMULATED[task.kind]
    work *= (costs["reference"] if task.reference else 1.0) * (costs["alone"] if task.alone else 1.0)
    memory = _held(costs["memory"]["search"], cells, times.get(MEMORY, 1.0))
    memory += RECORD_BYTES * max(task.records - RECORDS, 0) * (1 + task.fields) / 1e6
    if task.dense:
        seconds, megabytes = _of_a_dense_prior(cells)
        # Reference cells: one matrix serves all clip bounds
        fields = 1 if task.reference else task.fields
        work += task.dense * seconds * fields * (1.0 if task.quick else DENSE_IN_FULL)
        memory += task.dense * megabytes
    return Estimate(speed * work * task.starts, memory)


def _times(measured_at: tuple[int, float, float], cells: int) -> float:
    """The factor, at least 1, by which a simulated world takes longer than a usual one."""
    size, times, power = measured_at
    return max(1.0, float(times * (cells / size) ** power))


def release_estimate(cells: int, speed: float) -> Estimate:
    """Estimate plan, draw and bundle of a release on a number of hexagons."""
    costs = measured()
    work = at(costs["release"], cells, TIME_SLOPES)
    return Estimate(speed * work, _held(costs["memory"]["release"], cells))


def study_estimate(name: str, speed: float) -> Estimate | None:
    """Estimate the quick run of a study; None if it was not measured."""
    cost = measured()["studies"].get(name)
    return None if cost is None else Estimate(speed * cost[0], cost[1])


def _held(table: Sequence[Sequence[float]], cells: int, times: float = 1.0) -> float:
    """Measured megabytes, plus the banded factors beyond the largest measured size."""
    largest = table[-1][0]
    band = LATTICE_BYTES * max(math.pow(cells, 1.5) - math.pow(largest, 1.5), 0.0) / 1e6
    return at(table, min(cells, largest), MEMORY_SLOPES) * times + band


def _of_a_dense_prior(cells: int) -> tuple[float, float]:
    """Work and megabytes that every dense prior of a quick search adds."""
    costs = measured()["dense"]
    return at(costs["work"], cells, (3.0, 3.0)), at(costs["held"], cells, (2.0, 2.0))


def at(table: Sequence[Sequence[float]], cells: float, slopes: tuple[float, float]) -> float:
    """Interpolate (hexagons, measured number) pairs, never less for more hexagons.

    `slopes` are the least and the greatest exponent beyond the largest size; a size below the
    smallest takes as much as the smallest.
    """
    size, peak = [], 0.0
    for number, took in table:
        peak = max(peak, took)
        size.append((math.log(number), math.log(peak)))
    x = math.log(cells)
    if x <= size[0][0]:
        return math.exp(size[0][1])
    low, high = next((pair for pair in pairwise(size) if x <= pair[1][0]), size[-2:])
    slope = (high[1] - low[1]) / (high[0] - low[0])
    if x > high[0]:
        slope = min(max(slope, slopes[0]), slopes[1])
    return math.exp(high[1] + slope * (x - high[0]))


@cache
def measured() -> dict[str, Any]:
    """Measured times, in units of `speed`, and memory in megabytes."""
    return dict(json.loads(MEASURED.read_text(encoding="utf-8")))


MEMORY_VARIABLE = "HEXCURSION_MEMORY_GB"
"""Environment variable: memory that one process of a computation may take; all memory by
default."""

CGROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files in which Linux states a container's limit: control groups version 2 and version 1."""


def most_memory() -> int | None:
    """Return the bytes that the environment allows one process; None for no limit.

    Raise `WorkflowError` if the environment names no number of gigabytes above 0.
    """
    text = os.environ.get(MEMORY_VARIABLE, "").strip()
    if not text:
        return None
    try:
        bound = float(text) * 1e9
    except ValueError:
        bound = math.nan
    if not 0.0 < bound < math.inf:
        raise WorkflowError(f"{MEMORY_VARIABLE} is a number of gigabytes above 0, not {text[:20]!r}.")
    return int(bound)


def memory_limit(processes: int = 1) -> int | None:
    """Bytes that every one of `processes` can have: the least of all limits."""
    totals = (*map(_limit_in, CGROUP), _physical())
    shares = [total // processes for total in totals if total is not None]
    variable = most_memory()
    return min([*shares, *([] if variable is None else [variable])], default=None)


def _limit_in(place: Path) -> int | None:
    try:
        text = place.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return int(text) if text.isdigit() else None


def _physical() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not known on every system
        return None


@cache
def own_speed() -> float:
    """`speed` of this process, from one task and only once: enough for words as coarse as
    "10 s"."""
    return _task()


def crowding() -> float:
    """The factor by which this machine's present load slows a step down.

    The load of the last minute, and the step itself, share the cores.
    """
    try:
        load = os.getloadavg()[0]
    except OSError:  # not known on every system
        return 1.0
    return max(1.0, (load + 1.0) / (os.cpu_count() or 1))


def speed() -> float:
    """CPU seconds of a small fixed task, about 0.1 s: the least of three."""
    return min(_task() for _ in range(3))


def _task() -> float:
    """Time the work of a search without libraries of several threads: transforms, sorting, plain
    Python."""
    plane = np.cos(np.subtract.outer(np.arange(512.0), 1.7 * np.arange(512.0)))
    start = time.thread_time()
    for _ in range(2):
        np.argsort(np.abs(np.fft.fft2(plane)), axis=None)
    total = 0
    for number in range(400_000):
        total += number % 7
    return time.thread_time() - start
