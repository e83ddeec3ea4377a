"""Expected seconds and megabytes of reading, searching and releasing, and what this machine has of both.

What `python -m studies.scale.estimates` has measured is interpolated, time and memory against the number of
hexagons on logarithmic scales, and time carried on by the last slope; a full search is a quick one times what
was measured at one size, part by part. Nothing here looks at data: hexagons, records and bytes of files are
public numbers or the curator's own. `speed` is CPU seconds of the function `speed` in this process.
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
"""Least and most exponent of the number of hexagons with which time grows beyond what was measured."""

MEMORY_SLOPES = 0.35, 1.0
"""The same of the memory of reading, against bytes of files."""

LATTICE_BYTES = 7 * 8
"""Of memory for each hexagon and unit of the band (the root of their number) beyond the largest size that was
measured: about seven factors of the lattice prior, as held at 100,000 and 178,000 hexagons
(studies/results/cells.txt)."""

SearchKind = Literal["full", "quick"]
SIMULATED: dict[SearchKind, int] = {"full": 5, "quick": 1}
"""Fields on which the measured searches judged their designs."""

FIXED_LOOK = 0.055
"""Of a quick search's closer look, what one simulated world of a fixed design takes, as measured at 252 to
12,264 hexagons of London."""

COUNTED = (246, 10.0, 0.4)
"""At so many hexagons a world of counted records takes so many times as long, and with more hexagons this
grows with this power of their number: measured were 8 (over a population) and 13 there, 18 at 1,721."""

LOOKED = (618, 29.0, 1.0)
"""The same of a world in two looks, beside one in one look: measured were 2.6 at 71 hexagons, 3.8 at 185,
22 at 495 and 29 at 618."""

DENSE_IN_FULL = 5 / 3
"""Lengthscales of a full search for each of a quick one: each has its dense matrix."""

RECORDS = 100_000
"""Records of the measured searches."""

RECORD_BYTES = 60
"""Bytes of a record, and of each simulated field's, while a search holds them."""


@dataclass(frozen=True)
class Estimate:
    """What a step is expected to take: CPU seconds of one thread, and megabytes of its process at most."""

    seconds: float
    megabytes: float

    def then(self, other: Estimate) -> Estimate:
        """One step after the other in the same process."""
        return Estimate(self.seconds + other.seconds, max(self.megabytes, other.megabytes))


@dataclass(frozen=True)
class Asked:
    """What a search is asked, as far as it makes work."""

    cells: int
    records: int  # public number
    fields: int  # simulated or reference fields that judge each design, times the clip bounds
    quick: bool  # whether the grid is the coarse one
    mechanisms: Sequence[str]  # one that was not measured counts as much as the dearest that was
    dense: int = 0  # priors with a dense matrix that are tried
    starts: int = 1  # 2 where the search is made with and without the public map
    reference: bool = False  # judged on reference data: they share more work than simulated fields
    alone: bool = False  # one budget is searched: mechanisms far behind are left early
    fixed: bool = False  # one fixed design is simulated and nothing is searched
    counted: bool = False  # records have no values: each world is read by Laplace's method
    looks: int = 1  # 2 where the fixed design looks again where its first release has shown that it should

    @property
    def kind(self) -> SearchKind:
        """Which of the measured searches it is like."""
        return "quick" if self.quick else "full"


def reading_estimate(megabytes: float, speed: float) -> Estimate:
    """Estimate reading tables of so many megabytes of text, unpacked, with postcodes; rows stay on disk."""
    said = measured()["reading"]
    held = at(said["memory"], max(megabytes, 1.0), MEMORY_SLOPES)
    return Estimate(speed * (said["start"] + said["each"] * megabytes), held)


def search_estimate(asked: Asked, speed: float) -> Estimate:
    """Estimate a search by one process."""
    said, cells = measured(), asked.cells
    if asked.fixed:
        look = at(said["search"][LAST], cells, TIME_SLOPES)
        look *= _times(COUNTED, cells) if asked.counted else 1.0
        look *= _times(LOOKED, cells) if asked.looks > 1 else 1.0
        return Estimate(speed * FIXED_LOOK * asked.fields * look, _held(said["memory"]["search"], cells))
    times = said["full"] if asked.kind == "full" else {}
    parts = {
        part: at(table, cells, TIME_SLOPES) * times.get(part, 1.0) for part, table in said["search"].items()
    }
    dearest = max(work for part, work in parts.items() if part not in (FIRST, LAST))
    judged = sum(parts.get(name, dearest) for name in asked.mechanisms) + parts[LAST]
    work = parts[FIRST] + judged * asked.fields / SIMULATED[asked.kind]
    work *= (said["reference"] if asked.reference else 1.0) * (said["alone"] if asked.alone else 1.0)
    memory = _held(said["memory"]["search"], cells, times.get(MEMORY, 1.0))
    memory += RECORD_BYTES * max(asked.records - RECORDS, 0) * (1 + asked.fields) / 1e6
    if asked.dense:
        each, held = _of_a_dense_prior(cells)
        fields = 1 if asked.reference else asked.fields  # reference cells: one matrix serves all clip bounds
        work += asked.dense * each * fields * (1.0 if asked.quick else DENSE_IN_FULL)
        memory += asked.dense * held
    return Estimate(speed * work * asked.starts, memory)


def _times(measured_at: tuple[int, float, float], cells: int) -> float:
    """How many times as long a simulated world takes as a usual one; at least as long."""
    size, times, power = measured_at
    return max(1.0, float(times * (cells / size) ** power))


def release_estimate(cells: int, speed: float) -> Estimate:
    """Plan, draw and bundle of a release on so many hexagons."""
    said = measured()
    work = at(said["release"], cells, TIME_SLOPES)
    return Estimate(speed * work, _held(said["memory"]["release"], cells))


def study_estimate(name: str, speed: float) -> Estimate | None:
    """The quick run of a study; None where it was not measured."""
    found = measured()["studies"].get(name)
    return None if found is None else Estimate(speed * found[0], found[1])


def _held(table: Sequence[Sequence[float]], cells: int, times: float = 1.0) -> float:
    """Megabytes as measured; beyond the largest size what banded factors add."""
    largest = table[-1][0]
    added = LATTICE_BYTES * max(math.pow(cells, 1.5) - math.pow(largest, 1.5), 0.0) / 1e6
    return at(table, min(cells, largest), MEMORY_SLOPES) * times + added


def _of_a_dense_prior(cells: int) -> tuple[float, float]:
    """Work and megabytes that each dense prior of a quick search adds."""
    said = measured()["dense"]
    return at(said["work"], cells, (3.0, 3.0)), at(said["held"], cells, (2.0, 2.0))


def at(table: Sequence[Sequence[float]], cells: float, slopes: tuple[float, float]) -> float:
    """Interpolate (hexagons, measured number) pairs, never less for more hexagons.

    `slopes` are the least and most exponent beyond the largest size; below the smallest what that one took.
    """
    size, most = [], 0.0
    for number, took in table:
        most = max(most, took)
        size.append((math.log(number), math.log(most)))
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
    """What was measured, in units of `speed` and megabytes."""
    return dict(json.loads(MEASURED.read_text(encoding="utf-8")))


MEMORY_VARIABLE = "HEXCURSION_MEMORY_GB"
"""Environment variable: memory that one process of a computation may take; without it as much as there is."""

CGROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Where Linux says what a container may take, in its second and its first form."""


def most_memory() -> int | None:
    """Return the bytes that one process may take, of the environment; None for no limit.

    Raise `WorkflowError` where the environment says something else than a number of gigabytes above 0.
    """
    said = os.environ.get(MEMORY_VARIABLE, "").strip()
    if not said:
        return None
    try:
        bound = float(said) * 1e9
    except ValueError:
        bound = math.nan
    if not 0.0 < bound < math.inf:
        raise WorkflowError(f"{MEMORY_VARIABLE} is a number of gigabytes above 0, not {said[:20]!r}.")
    return int(bound)


def memory_limit(processes: int = 1) -> int | None:
    """Bytes that each of so many processes can have: the least that any of its bounds says."""
    shared = [each // processes for each in (*map(_said_by, CGROUP), _physical()) if each is not None]
    own = most_memory()
    return min([*shared, *([] if own is None else [own])], default=None)


def _said_by(place: Path) -> int | None:
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
    """`speed` of this process, taken once, and by one task: enough for words as coarse as "10 s"."""
    return _task()


def crowding() -> float:
    """How many times as long a step takes in this machine's present load as where nothing else runs.

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
    """What a search does, without libraries of several threads: transforms, sorting, plain Python."""
    plane = np.cos(np.subtract.outer(np.arange(512.0), 1.7 * np.arange(512.0)))
    start = time.thread_time()
    for _ in range(2):
        np.argsort(np.abs(np.fft.fft2(plane)), axis=None)
    total = 0
    for number in range(400_000):
        total += number % 7
    return time.thread_time() - start
