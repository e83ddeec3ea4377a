"""Time and memory of exact posterior paths, which are what a release of posterior sampling draws.

Command: `python -m studies.speed.exact_draws [--largest 16900]`.

Floats propose and whole numbers prove the rounding (docs/exact-paths.md); for comparison the same number of
paths in floats, as simulations draw them. CPU seconds of one thread, so that a busy machine does not matter.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable

import numpy as np

from dpgp_core.noise import SystemEntropy
from dpgp_core.posterior.exact_paths import exact_paths
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import make_prior
from studies.reporting.measures import cpu_seconds

SPACING = 400.0
RANGE, RIDGE, SCALE = 10 * SPACING, 5.0, 0.1  # a range of ten spacings, as in docs/exact-paths.md
RECORDS_PER_CELL, SEED = 5, 0
SIDES = {"car": (20, 49, 130), "exponential": (20, 49)}


def megabytes(work: Callable[[], object]) -> float:
    """The most memory that Python's objects and arrays hold at once during `work`."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--largest", type=int, default=16_900, help="largest number of cells (default 16900)")
    largest = parser.parse_args().largest
    print(f"{'prior':>12} {'cells':>6} {'paths':>5} {'exact s':>8} {'floats s':>8} {'exact MB':>8}")
    generator, entropy = np.random.default_rng(SEED), SystemEntropy()
    for name, sides in SIDES.items():
        for side in (side for side in sides if side * side <= largest):
            lattice = Lattice.grid(rows=side, columns=side, spacing=SPACING)
            records = RECORDS_PER_CELL * lattice.size
            collapsed = CollapsedRecords.from_records(
                generator.integers(0, lattice.size, records), generator.uniform(-1, 1, records)
            )
            prior = make_prior(name, lattice, RANGE)
            ready, posterior = exact_paths(prior, collapsed, RIDGE, SCALE), fit(prior, collapsed, RIDGE)
            memory = megabytes(lambda: ready.draw(1, entropy))  # noqa: B023
            for paths in (1, 25):
                exact = cpu_seconds(lambda: ready.draw(paths, entropy), 1)  # noqa: B023
                floats = cpu_seconds(lambda: posterior.draw(SCALE, paths, entropy), 1)  # noqa: B023
                print(
                    f"{name:>12} {lattice.size:>6} {paths:>5} {exact:>8.2f} {floats:>8.3f} {memory:>8.0f}",
                    flush=True,
                )
    print(
        f"Seed {SEED} draws {RECORDS_PER_CELL} records a cell, the operating system the paths; memory is "
        "that of one path, as further ones are drawn one by one."
    )


if __name__ == "__main__":
    main()
