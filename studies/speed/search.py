"""The search against the plain way of doing it.

Command: `python -m studies.speed.search [--cells 700] [--records 3000]`.

Both score the same designs in this one run: every (lengthscale, ridge) of a grid at every epsilon, by the
mean IoU of the same number of simulated releases. The plain way factors each candidate's posterior by a dense
Cholesky of its own, searches the scale by bisection with a scalar accountant (a Python loop over orders), and
draws each candidate's paths anew; it runs second and finds the certified sensitivities in the cache, which is
in its favour. CPU seconds of one thread; both ways' answers are compared too.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time

import numpy as np

from dpgp_core import CollapsedRecords, SimulationEntropy, make_prior
from dpgp_core.bounds.registry import smallest_scale_for, variance_bound
from dpgp_core.bounds.sensitivities import sensitivity_sharp
from dpgp_core.excursion import ious
from dpgp_core.posterior.ridge_family import RidgeFamily
from studies.material.disk import disk
from studies.prices.accountant import scalar_epsilon

EPSILONS = (0.5, 1.0, 2.0, 4.0)
RIDGES = tuple(float(r) for r in np.geomspace(2.0, 40.0, 10))
SEED, RELEASES, DELTA = 3, 12, 1e-5

Answers = dict[tuple[float, float, float], float]


def ours(lattice, records, truth, lengthscales) -> Answers:
    """One eigendecomposition per lengthscale, shared draws, scales in closed form for all ridges."""
    found: Answers = {}
    for lengthscale in lengthscales:
        prior = make_prior("exponential", lattice, lengthscale)
        family = RidgeFamily(prior, records, RELEASES, SimulationEntropy(SEED))
        scales = {
            epsilon: smallest_scale_for(
                "sharp", epsilon, DELTA, n=records.n, ridge=np.array(RIDGES), kappa=prior.kappa
            ).scale
            for epsilon in EPSILONS
        }
        for number, ridge in enumerate(RIDGES):
            state = family.at(ridge)
            for epsilon in EPSILONS:
                scale = scales[epsilon][number]
                if np.isfinite(scale):
                    sets = state.mean + scale * state.residual_paths > 0.0
                    found[lengthscale, ridge, epsilon] = float(ious(sets, truth).mean())
    return found


def plain(lattice, records, truth, lengthscales) -> Answers:
    """Every candidate on its own: Cholesky, bisection over a scalar accountant, paths drawn anew."""
    found: Answers = {}
    entropy, index = SimulationEntropy(SEED), records.index
    distance = np.linalg.norm(lattice.domain_centres[:, None] - lattice.domain_centres, axis=2)
    for lengthscale in lengthscales:
        kappa = float(np.exp(-distance.max() / lengthscale))
        for ridge in RIDGES:
            variance = variance_bound(records.n, ridge, kappa)
            sensitivity = float(sensitivity_sharp(records.n, ridge, variance))
            for epsilon in EPSILONS:
                scale = scalar_scale(ridge, variance, sensitivity, epsilon)
                if not np.isfinite(scale):
                    continue
                covariance = np.exp(-distance / lengthscale)
                gram = covariance[np.ix_(index, index)] + np.diag(ridge**2 / records.count)
                factor = np.linalg.cholesky(gram)
                white = np.linalg.solve(factor, covariance[index])
                mean = white.T @ np.linalg.solve(factor, records.mean)
                root = np.linalg.cholesky(covariance - white.T @ white)
                sets = mean + scale * entropy.normal((RELEASES, mean.size)) @ root.T > 0.0
                found[lengthscale, ridge, epsilon] = float(ious(sets, truth).mean())
    return found


def scalar_scale(ridge: float, variance: float, sensitivity: float, epsilon: float) -> float:
    """The least scale by bisection to 1e-6, inf if even a huge one does not fit the budget."""
    low, high = 1e-6, 1e6
    if scalar_epsilon(ridge, variance, sensitivity, high) > epsilon:
        return float("inf")
    while high > low * (1.0 + 1e-6):
        middle = float(np.sqrt(low * high))
        if scalar_epsilon(ridge, variance, sensitivity, middle) <= epsilon:
            high = middle
        else:
            low = middle
    return high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=700, help="cells of the domain (default 700)")
    parser.add_argument("--records", type=int, default=3000, help="records (default 3000)")
    parser.add_argument("--lengthscales", type=int, default=2, help="lengthscales of the grid (default 2)")
    asked = parser.parse_args()
    lattice = disk(asked.cells)
    lengthscales = tuple(float(x) for x in np.geomspace(1500.0, 6000.0, asked.lengthscales))
    entropy = SimulationEntropy(SEED)
    centres = lattice.domain_centres / np.ptp(lattice.domain_centres, axis=0).max()
    field = np.cos(5.0 * centres[:, 0]) * np.cos(4.0 * centres[:, 1])
    index = (entropy.uniform(asked.records) * lattice.size).astype(np.int64)
    response = np.clip(0.6 * field[index] + 0.3 * entropy.normal(asked.records), -1.0, 1.0)
    records = CollapsedRecords.from_records(index, response)
    seconds, answers = [], []
    for way in (ours, plain):
        start = time.process_time()
        answers.append(way(lattice, records, field > 0.0, lengthscales))
        seconds.append(time.process_time() - start)
    both = answers[0].keys() & answers[1].keys()
    apart = np.array([answers[0][key] - answers[1][key] for key in both])
    print(
        f"{lattice.size} cells, {records.n:,} records, {len(lengthscales)} lengthscales, "
        f"{len(RIDGES)} ridges, {len(EPSILONS)} budgets: {len(both)} feasible designs, "
        f"{RELEASES} releases each"
    )
    print(f"ours {seconds[0]:.2f} s, plain {seconds[1]:.2f} s: {seconds[1] / seconds[0]:.0f} times faster")
    print(
        f"mean IoU differs by {apart.mean():+.4f} on average, {np.abs(apart).max():.3f} at most (simulation)"
    )
    print(f"Seed {SEED}; each way timed once, in CPU seconds of one thread.")


if __name__ == "__main__":
    main()
