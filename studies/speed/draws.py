"""Time of one released path against the number of cells.

Command: `python -m studies.speed.draws [--largest 200000]`.

A draw is what a release does after its prior exists: factor the posterior of 30,000 records, solve for the
mean, colour fresh operating-system noise. CPU seconds of one thread, so that a busy machine does not matter;
the median of several runs. The dense route draws from the same lattice prior through full matrices;
"spread" is the exact posterior variance of every cell.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.linalg import solve_triangular

from dpgp_core.noise import SystemEntropy
from dpgp_core.posterior.fitting import fit
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.registry import make_prior
from studies.material.disk import disk
from studies.reporting.measures import cpu_seconds, growth

LENGTHSCALE = 3_000.0
RECORDS = 30_000
RIDGE, SCALE = 10.0, 0.3
SEED = 0
DENSE_UP_TO = 4_000


def dense_draw(covariance: np.ndarray, records: CollapsedRecords) -> np.ndarray:
    """The textbook route: posterior covariance of all cells, its Cholesky factor, one path."""
    cross = covariance[:, records.index]
    gram = cross[records.index] + np.diag(RIDGE**2 / records.count)
    factor = np.linalg.cholesky(gram)
    white = solve_triangular(factor, cross.T, lower=True, check_finite=False)
    mean = white.T @ solve_triangular(factor, records.mean, lower=True, check_finite=False)
    root = np.linalg.cholesky(covariance - white.T @ white)
    return np.asarray(mean + SCALE * root @ SystemEntropy().normal(covariance.shape[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--largest", type=int, default=200_000, help="largest number of cells (default 200000)"
    )
    largest = parser.parse_args().largest
    print(
        f"{'cells':>8} {'band':>5} {'prior s':>9} {'draw s':>9} {'spread s':>9} {'dense s':>9} {'ratio':>7}"
    )
    sizes, times = [], []
    generator = np.random.default_rng(SEED)
    for cells in (1_000, 2_000, 4_000, 10_000, 20_000, 50_000, 100_000, 200_000):
        if cells > largest:
            break
        lattice = disk(cells)
        _ = lattice.ordering
        index = generator.integers(0, lattice.size, RECORDS)
        records = CollapsedRecords.from_records(index, generator.uniform(-1, 1, RECORDS))
        start = time.process_time()
        prior = make_prior("car", lattice, LENGTHSCALE)
        making = time.process_time() - start
        runs = 9 if cells <= 20_000 else 3
        drawing = cpu_seconds(lambda: fit(prior, records, RIDGE).draw(SCALE, 1, SystemEntropy()), runs)  # noqa: B023
        posterior = fit(prior, records, RIDGE)
        spread = cpu_seconds(lambda: posterior.variance, 1)  # noqa: B023
        dense = ratio = ""
        if cells <= DENSE_UP_TO:
            covariance = prior.correlation()
            full = cpu_seconds(lambda: dense_draw(covariance, records), 3)  # noqa: B023
            dense, ratio = f"{full:.3f}", f"{full / drawing:.0f}x"
        band = lattice.ordering.bandwidth
        print(
            f"{lattice.size:>8} {band:>5} {making:>9.3f} {drawing:>9.4f} {spread:>9.3f} {dense:>9} {ratio:>7}"
        )
        sizes.append(lattice.size)
        times.append(drawing)
    print(
        f"Seed {SEED} draws {RECORDS:,} records, the operating system the paths; CPU seconds: draw, median "
        "of 9 runs up to 20,419 cells and of 3 beyond; dense, median of 3; prior and spread, once."
    )
    if len(sizes) > 1:
        print(f"draw time grows like cells^{growth(sizes, times):.2f} (dense: cells^3)")


if __name__ == "__main__":
    main()
