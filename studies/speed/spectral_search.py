"""Time to answer of a search by spectral statistics.

Command: `python -m studies.speed.spectral_search [--cells 661]`.

A generated field with four records a hexagon. Each domain is searched without eigenvectors on disk, with
them, once more at another epsilon with the baseline known, and with that at all budgets of the slider, from
which a moved one is then read off. Then one release with its reading, eigenvectors on disk.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from dpgp_core import SimulationEntropy
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import PublicFacts, draw_release
from hexcursion.project.records import PlacedObservations
from hexcursion.project.response import ResponseScale
from hexcursion.search.optimise import search
from hexcursion.search.scenes import Question, make_scene
from hexcursion.search.task import Scored, SearchTask
from studies.material.disk import disk

SEED, PER_CELL, DELTA = 9, 4, 1e-5
SIZES, RELEASED = (661, 2_403, 16_868), 100_000
BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)  # of the slider
STEPS: tuple[tuple[float, bool, tuple[float, ...]], ...] = (
    (1.0, False, ()),
    (1.0, False, ()),
    (1.3, True, ()),
    (1.0, True, BUDGETS),
)
CLIPS = (1.0, 0.6, 0.36)


def task_of(
    lattice: Lattice, epsilon: float, store: Path, free: Scored | None, budgets: tuple[float, ...] = ()
) -> SearchTask:
    """A search for the hexagons above 0 of a generated field, at three clip bounds."""
    entropy = SimulationEntropy(SEED)
    centres = lattice.domain_centres / np.ptp(lattice.domain_centres, axis=0).max()
    field = np.cos(9.0 * centres[:, 0]) * np.cos(8.0 * centres[:, 1])
    n = PER_CELL * lattice.size
    index = np.minimum((entropy.uniform(n) * lattice.size).astype(np.int64), lattice.size - 1)
    observations = PlacedObservations(index, 0.5 * field[index] + 0.3 * entropy.normal(n), n, 0)
    facts = PublicFacts(lattice, n, store=store)
    names = tuple(f"cell {number}" for number in range(lattice.size))
    question = Question(names, "point", 0.0, "above")
    scenes = tuple(
        make_scene(facts, question, observations, ResponseScale("identity", 0.0, clip, "generated"))
        for clip in CLIPS
    )
    return SearchTask(
        scenes,
        scenes[0],
        facts,
        Budget(epsilon, DELTA),
        SearchSpec(("car",), quick=True),
        ("spectral-statistics",),
        frontier=budgets,
        unconstrained=free,
    )


def release_seconds(size: int, store: Path, paths: int) -> tuple[float, float]:
    """CPU seconds of one release with its reading: without eigenvectors on disk, and with them."""
    lattice, seconds = disk(size), []
    mechanism = MECHANISMS["spectral-statistics"]
    for _ in range(2):
        task = task_of(lattice, 1.0, store, None)
        world = task.scenes[0].world
        shape = mechanism.search.fitted(mechanism.search.grid(task.facts, task.ask)[0], world)
        design = mechanism.calibrate(shape, task.facts, task.budget)
        assert design is not None
        start = time.process_time()
        prepared = mechanism.prepare(replace(design, paths=paths), task.facts, world.records)
        world.probabilities(draw_release(prepared, SimulationEntropy(SEED), simulation=True))
        seconds.append(time.process_time() - start)
    return seconds[0], seconds[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=SIZES, help="sizes of the domains searched")
    parser.add_argument("--released", type=int, default=RELEASED, help="size of the domain released")
    options = parser.parse_args()
    print("  cells  first s  cached s  another epsilon s  all budgets s  ratio  designs  expected IoU")
    for size in options.cells:
        lattice = disk(size)
        seconds, free = [], None
        with tempfile.TemporaryDirectory() as folder:
            for epsilon, reuse, budgets in STEPS:
                start = time.process_time()
                result = search(task_of(lattice, epsilon, Path(folder), free if reuse else None, budgets))
                seconds.append(time.process_time() - start)
                free = result.unconstrained
        first, cached, another, every = seconds
        print(
            f"{lattice.size:7d}  {first:7.2f}  {cached:8.2f}  {another:17.2f}  {every:13.2f}  "
            f"{first / another:5.1f}  {result.evaluated:7d}  {result.chosen.utility.agreement:12.3f}",
            flush=True,
        )
    for paths in (1, 100):
        with tempfile.TemporaryDirectory() as folder:
            first, cached = release_seconds(options.released, Path(folder), paths)
        print(
            f"One release and its reading on {disk(options.released).size:,} cells, {paths} paths: "
            f"{first:.2f} s without and {cached:.2f} s with eigenvectors on disk.",
            flush=True,
        )
    print(f"Seed {SEED}; each measured once, in CPU seconds of one thread, on a machine with other work.")


if __name__ == "__main__":
    main()
