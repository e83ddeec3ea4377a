"""Smith et al.'s bicycle table on the trips at hand: Jersey City, January 2017, beside the checkout.

Command: `python -m plugins.peers.studies.bicycles [FOLDER]`.

As in the paper: journey time from the coordinates of start and end (a squared exponential kernel in four
dimensions), durations above 2,000 s count as 2,000 s, 4,900 trips to learn from and 100 to predict, delta
.01; cloaking at five ranges beside Laplace noise on the means of public bins. Only durations are hidden. The
paper's trips are New York's, its prior variances are lost from the text, and its cloaking took the classical
constants: here the prior deviation is 500 s around 500 s, one trip scatters by 300 s, the Gaussian profile
is exact, and the process on binned means (the range of the best cloaking at epsilon 1) averages the kernel
over the trips of a bin, whose places are public, instead of over its area.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from pathlib import Path

import numpy as np
import pandas
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist

from dpgp_core import gaussian_mu
from hexcursion_peers.labels.cloak import make_cloak
from studies.material.real_files import real_files_parser

FILE = Path("other") / "JC-201701-citibike-tripdata.csv.gz"
COLUMNS = [f"{end} station {axis}" for end in ("start", "end") for axis in ("latitude", "longitude")]
SEED, FOLDS, LEARNED, PREDICTED = 41, 10, 4_900, 100
MOST, MIDDLE, SPREAD, SCATTER = 2_000.0, 500.0, 500.0, 300.0  # seconds
RANGES = (0.002, 0.005, 0.012, 0.03, 0.08)  # degrees
PROCESS = 0.03  # degrees: range of the process on bins
SIDES = (3, 6, 10)  # bins along each of the four axes
EPSILONS, DELTA = (np.inf, 1.0, 0.5, 0.2), 0.01
Rows = tuple[np.ndarray, np.ndarray]
"""Places (n, 4), degrees, and durations (n,), seconds."""


def cloaked(
    learn: Rows, targets: np.ndarray, reach: float, generator: np.random.Generator
) -> list[np.ndarray]:
    """Predictions (P,) at each epsilon. Trips between the same stations share a mean, exactly."""
    places, pair, count = np.unique(learn[0], axis=0, return_inverse=True, return_counts=True)
    mean = np.bincount(pair.ravel(), learn[1] - MIDDLE) / count
    among, across = (np.exp(-0.5 * np.square(cdist(ends, places) / reach)) for ends in (places, targets))
    weights = np.linalg.solve(among + np.diag(SCATTER**2 / SPREAD**2 / count), across.T).T
    exact = MIDDLE + weights @ mean
    cloak = make_cloak(weights / count, sweeps=200)  # what one trip moves
    predictions = []
    for epsilon in EPSILONS:
        if np.isinf(epsilon):
            predictions.append(exact)
            continue
        covariance = cloak.covariance(MOST, gaussian_mu(epsilon, DELTA))
        value, vector = np.linalg.eigh(covariance)
        noise = vector @ (np.sqrt(np.maximum(value, 0.0)) * generator.standard_normal(value.size))
        predictions.append(MIDDLE + cloak.basis @ (cloak.basis.T @ (exact - MIDDLE)) + noise)
    return predictions


def bin_of(places: np.ndarray, side: int) -> np.ndarray:
    """The bin (n,) of each trip in a public box around the city, `side` bins along each of its axes."""
    low = np.array([40.69, -74.10, 40.69, -74.10])
    high = np.array([40.76, -73.98, 40.76, -73.98])
    axis = np.clip(((places - low) / (high - low) * side).astype(np.int64), 0, side - 1)
    return np.asarray(axis @ side ** np.arange(4))


def binned(learn: Rows, targets: np.ndarray, side: int, generator: np.random.Generator) -> list[np.ndarray]:
    """The same from means of public bins with Laplace noise; bins without a trip say the public middle."""
    count = np.bincount(bin_of(learn[0], side), minlength=side**4)
    total = np.bincount(bin_of(learn[0], side), learn[1], side**4)
    mean = np.where(count > 0, total / np.maximum(count, 1), MIDDLE)
    noise = generator.laplace(size=side**4) / np.maximum(count, 1) * (count > 0)
    return [
        (mean + (0.0 if np.isinf(epsilon) else MOST / epsilon) * noise)[bin_of(targets, side)]
        for epsilon in EPSILONS
    ]


def process(learn: Rows, targets: np.ndarray, side: int, generator: np.random.Generator) -> list[np.ndarray]:
    """A Gaussian process on the same noisy means: each is the field's average over its bin's trips."""
    _, which, count = np.unique(bin_of(learn[0], side), return_inverse=True, return_counts=True)
    average = csr_matrix((1.0 / count[which], (which, np.arange(which.size))))
    among, across = (
        SPREAD**2 * np.exp(-0.5 * np.square(cdist(ends, learn[0]) / PROCESS)) for ends in (learn[0], targets)
    )
    between, cross = average @ (average @ among).T, (average @ across.T).T
    mean = average @ (learn[1] - MIDDLE)
    noise = generator.laplace(size=count.size) / count
    predictions = []
    for epsilon in EPSILONS:
        scale = 0.0 if np.isinf(epsilon) else MOST / epsilon
        variance = SCATTER**2 / count + 2.0 * np.square(scale / count)
        predictions.append(
            MIDDLE + cross @ np.linalg.solve(between + np.diag(variance), mean + scale * noise)
        )
    return predictions


def main() -> int:
    file = real_files_parser(__doc__ or "").parse_args().folder / FILE
    if not file.is_file():
        print(f"The trips are not there: {file.name} is read from a folder of real files.", file=sys.stderr)
        return 1
    table = pandas.read_csv(file, usecols=[*COLUMNS, "tripduration"])
    places, seconds = table[COLUMNS].to_numpy(), np.minimum(table["tripduration"].to_numpy(float), MOST)
    generator, apart = np.random.default_rng(SEED), np.random.default_rng([SEED, 1])
    ways = [(f"cloaking, range {reach:g} degrees", cloaked, reach) for reach in RANGES]
    ways += [(f"bins, {side**4:,}", binned, side) for side in SIDES]
    ways += [(f"process on {side**4:,} bins", process, side) for side in SIDES]
    errors: dict[str, list[list[float]]] = {name: [] for name, _, _ in ways}
    for _ in range(FOLDS):
        order = generator.permutation(len(seconds))
        learn, test = order[:LEARNED], order[LEARNED : LEARNED + PREDICTED]
        for name, way, how in ways:
            draws = apart if way is process else generator
            predictions = way((places[learn], seconds[learn]), places[test], how, draws)  # type: ignore[arg-type]
            errors[name].append(
                [float(np.sqrt(np.mean((prediction - seconds[test]) ** 2))) for prediction in predictions]
            )
    heads = ["no privacy" if np.isinf(epsilon) else f"epsilon {epsilon:g}" for epsilon in EPSILONS]
    print(
        f"Error (root mean square, seconds) and standard error over folds\n{'':32}",
        *(f"{h:>14}" for h in heads),
    )
    for name, rows in errors.items():
        values = np.array(rows)
        error = values.std(axis=0, ddof=1) / np.sqrt(FOLDS)
        cells = (
            f"{value:7.0f} ({spread:3.0f})" for value, spread in zip(values.mean(axis=0), error, strict=True)
        )
        print(f"{name:32}", *(f"{cell:>14}" for cell in cells))
    print(
        f"\nSeed {SEED}; {FOLDS} folds of {LEARNED:,} trips to learn from and {PREDICTED} to predict, of "
        f"{len(seconds):,}; delta {DELTA:g}."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
