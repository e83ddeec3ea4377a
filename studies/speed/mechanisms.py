"""Time and memory of one release of each mechanism on three sizes of maps.

Command: `python -m studies.speed.mechanisms`.

Each in a process of its own: a design of its coarse grid, priced at epsilon 1 and delta 1e-5, is prepared
(all that is public, and the records' sums) and drawn twice, at 661, 2,403 and 16,868 cells, 12,000 records.
Memory is the largest resident set less what the same process held before; CPU seconds of one thread, so a
busy machine changes little. What takes more than ten CPU minutes is given up.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpgp_core.errors import CoreError
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.registry import MECHANISMS, mechanism_named
from dpgp_core.noise import SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from studies.material.disk import disk

CELLS = (661, 2403, 16868)
RECORDS, SEED = 12_000, 3
BUDGET = Budget(1.0, 1e-5)
LONGEST = 600  # CPU seconds until a measurement is given up


def one(name: str, cells: int, public: bool) -> str:
    """A line of the table; what a mechanism refuses is its own sentence."""
    lattice, generator = disk(cells), np.random.default_rng(SEED)
    index = np.minimum((generator.random(RECORDS) ** 1.5 * lattice.size).astype(np.int64), lattice.size - 1)
    records = CollapsedRecords.from_records(index, np.tanh(generator.normal(size=RECORDS)))
    mechanism, facts = mechanism_named(name), PublicFacts(lattice, RECORDS, places_public=public)
    held = _peak()
    try:
        started = time.process_time()
        grid = mechanism.search.grid(facts, SearchSpec(("car",), quick=True, thorough=False))
        if not grid:
            return "takes no map of so many cells"
        design = mechanism.calibrate(grid[len(grid) // 2], facts, BUDGET)
        if design is None:
            return "no design of the grid can be had at this budget"
        prepared = mechanism.prepare(replace(design, paths=1), facts, records)
        ready = time.process_time()
        for _ in range(2):
            draw_release(prepared, SystemEntropy())
        drawn = (time.process_time() - ready) / 2.0
    except CoreError as error:
        return str(error)
    return f"{ready - started:9.2f}  {drawn:9.3f}  {(_peak() - held) / 1024.0:9.0f}"


def _peak() -> float:
    """Largest resident set so far, kB."""
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def measured(name: str, cells: int, public: bool) -> str:
    """The same in a process of its own, ended by the system after `LONGEST` CPU seconds."""
    arguments: Sequence[str] = ("--one", name, str(cells), *(("--public",) if public else ()))
    done = subprocess.run(
        [sys.executable, "-m", "studies.speed.mechanisms", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode == -signal.SIGXCPU:
        return f"given up after {LONGEST} s"
    done.check_returncode()
    return done.stdout.rstrip("\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=list(CELLS))
    parser.add_argument("--one", nargs=2, metavar=("NAME", "CELLS"), help="one measurement, in this process")
    parser.add_argument("--public", action="store_true", help="with --one: places are public")
    asked = parser.parse_args()
    if asked.one is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST + 10))
        print(one(asked.one[0], int(asked.one[1]), asked.public))
        return
    print(f"{'cells':>7}  {'mechanism':24}  places    prepare s  release s  memory MB")
    for cells in asked.cells:
        for name, mechanism in MECHANISMS.items():
            for public in (False, True):
                values_only = mechanism.protection.what == "values"
                if public == values_only or (public and name == "spectral-statistics"):
                    words = "public" if public else "hidden"
                    print(f"{cells:7,}  {name:24}  {words:8}{measured(name, cells, public)}", flush=True)
    print(f"Seed {SEED}; {RECORDS:,} records; noise of the operating system.")


if __name__ == "__main__":
    main()
