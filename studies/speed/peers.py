"""One posterior and its paths, here and with scikit-learn's Gaussian process.

Command: `python -m studies.speed.peers`.

Both are given the same collapsed records, the exponential kernel (Matérn 1/2) and no hyperparameter search.
The lattice prior has no counterpart there; its row shows what leaving the dense kernel buys.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from dpgp_core import CollapsedRecords, SimulationEntropy, fit, make_prior
from dpgp_core.priors.lattice import Lattice
from studies.material.disk import disk

RIDGE, LENGTHSCALE_CELLS, PATHS, SEED = 3.0, 6.0, 12, 4


def peer(lattice: Lattice, records: CollapsedRecords, lengthscale: float) -> GaussianProcessRegressor:
    """scikit-learn's posterior of the same records: cell means with noise variance ridge^2 / count."""
    regressor = GaussianProcessRegressor(
        Matern(length_scale=lengthscale, length_scale_bounds="fixed", nu=0.5),
        alpha=RIDGE**2 / records.count,
        optimizer=None,
    )
    return regressor.fit(lattice.domain_centres[records.index], records.mean)


def _row(wanted: int) -> str:
    """CPU seconds for fit, mean and paths on every cell of a disk, and the largest gap of the means."""
    lattice, entropy = disk(wanted), SimulationEntropy(SEED)
    index = np.minimum((entropy.uniform(4 * lattice.size) * lattice.size).astype(np.int64), lattice.size - 1)
    records = CollapsedRecords.from_records(index, np.tanh(entropy.normal(index.size)))
    lengthscale = LENGTHSCALE_CELLS * lattice.spacing

    def ours(name: str) -> float:
        start = time.process_time()
        fit(make_prior(name, lattice, lengthscale), records, RIDGE).draw(1.0, PATHS, entropy)
        return time.process_time() - start

    dense, sparse = ours("exponential"), ours("car")
    start = time.process_time()
    regressor = peer(lattice, records, lengthscale)
    regressor.sample_y(lattice.domain_centres, PATHS, random_state=SEED)
    theirs = time.process_time() - start
    mean = fit(make_prior("exponential", lattice, lengthscale), records, RIDGE).mean
    gap = np.abs(regressor.predict(lattice.domain_centres) - mean).max()
    return (
        f"{lattice.size:>7} {theirs:>15.3f} {dense:>14.3f} {theirs / dense:>7.1f} {sparse:>8.4f} "
        f"{theirs / sparse:>7.0f}  {gap:.1e}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[500, 1000, 2000])
    cells = parser.parse_args().cells
    print(f"{'cells':>7} {'sklearn s':>15} {'exponential s':>14} {'ratio':>7} {'car s':>8} {'ratio':>7} gap")
    for wanted in cells:
        print(_row(wanted))
    print(f"Seed {SEED}; {PATHS} paths each; each way timed once, in CPU seconds of one thread.")


if __name__ == "__main__":
    main()
