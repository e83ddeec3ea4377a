"""Time to answer of a search by spectral statistics: `python -m benchmarks.spectral_search [--cells 661]`.

A generated field with four records a hexagon. Each domain is searched without eigenvectors on disk, with
them, and once more at another epsilon with the baseline known, as for a moved slider. No frontier.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.draws import disk
from dpgp_core import SimulationEntropy
from dpgp_core.mechanisms.base import Ask, Budget
from dpgp_core.mechanisms.facts import PublicFacts
from dpgp_core.priors.lattice import Lattice
from workflow.project.records import PlacedObservations
from workflow.project.response import ResponseScale
from workflow.search.optimise import search
from workflow.search.task import Scored, SearchTask
from workflow.search.worlds import make_scene

SEED, PER_CELL, DELTA = 9, 4, 1e-5
SIZES = (661, 2_403, 16_868)
CLIPS = (1.0, 0.6, 0.36)


def task_of(lattice: Lattice, epsilon: float, store: Path, free: Scored | None) -> SearchTask:
    """A search for the hexagons above 0 of a generated field, at three clip bounds."""
    entropy = SimulationEntropy(SEED)
    centres = lattice.domain_centres / np.ptp(lattice.domain_centres, axis=0).max()
    field = np.cos(9.0 * centres[:, 0]) * np.cos(8.0 * centres[:, 1])
    n = PER_CELL * lattice.size
    index = np.minimum((entropy.uniform(n) * lattice.size).astype(np.int64), lattice.size - 1)
    placed = PlacedObservations(index, 0.5 * field[index] + 0.3 * entropy.normal(n), n, 0)
    facts = PublicFacts(lattice, n, store=store)
    names = tuple(f"cell {number}" for number in range(lattice.size))
    scenes = tuple(
        make_scene(
            facts, names, placed, ResponseScale("identity", 0.0, clip, "generated"), unit="point",
            threshold=0.0, direction="above",
        )
        for clip in CLIPS
    )  # fmt: skip
    return SearchTask(
        scenes, scenes[0], facts, Budget(epsilon, DELTA), Ask(("car",), quick=True), ("spectral-statistics",),
        frontier=(), unconstrained=free,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=SIZES, help="sizes of the domains")
    asked = parser.parse_args()
    start = time.process_time()
    print("  cells  first s  cached s  slider s  ratio  designs  expected IoU")
    for size in asked.cells:
        lattice = disk(size)
        seconds, free = [], None
        with tempfile.TemporaryDirectory() as folder:
            for epsilon, known in ((1.0, False), (1.0, False), (1.3, True)):
                before = time.process_time()
                found = search(task_of(lattice, epsilon, Path(folder), free if known else None))
                seconds.append(time.process_time() - before)
                free = found.unconstrained
        first, cached, slider = seconds
        print(
            f"{lattice.size:7d}  {first:7.2f}  {cached:8.2f}  {slider:8.2f}  {first / slider:5.1f}  "
            f"{found.evaluated:7d}  {found.chosen.utility.agreement:12.3f}",
            flush=True,
        )
    print(f"Seed {SEED}; each search timed once, in CPU seconds of one thread.")
    print(f"The whole benchmark took {time.process_time() - start:.0f} s of CPU time.")


if __name__ == "__main__":
    main()
