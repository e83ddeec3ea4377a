"""Time and quality of a release, as in figure 5 of Raisa and others: a network beside training at release.

Command: `python -m plugins.peers.studies.deployment`.

The paper compares one pass through its network with a sparse variational Gaussian process that is trained on
the private records by noisy gradients, for several numbers of steps. Built here for this comparison alone:
the whitened variational posterior of inducing values, every record's gradient clipped, all records in every
step (so steps compose exactly: mu grows with their root), Adam, the last half of the steps averaged. It
knows the law's covariance and scatter, which the paper's trains too; step size and clip bound are the best on
four tasks of their own. The private sparse process (one release of two moments) stands beside both.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import itertools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.noise import SimulationEntropy
from hexcursion_peers.neural.line import CELLS, CLIP
from hexcursion_peers.neural.simulated.line_tasks import Law
from hexcursion_peers.studies.neural_line import (
    DELTA,
    Inducing,
    Predicted,
    Sample,
    draw,
    network_predictions,
    nothing,
    sparse_prediction,
    without_privacy,
)
from studies.reporting.pictures import draw_lines

SEED, TASKS, TUNING, TUNED_ON = 5, 12, 4, 256
LAWS = {"Gaussian kernel": Law("eq", 0.71), "sawtooth": Law("sawtooth", 0.5)}
NUMBERS, EPSILON, SPACING = (128, 512), 1.0, 1.0
STEPS = (30, 100, 300, 1_000, 3_000)
RATES, CLIPS = (0.01, 0.03, 0.1), (3.0, 30.0)
Drawn = list[tuple[Sample, Sample]]
"""Records and held-out ones of each task."""


@dataclass(frozen=True)
class Training:
    """How the variational process is trained at release."""

    steps: int
    rate: float
    clip: float


def clipped_gradient(phi: np.ndarray, apart: np.ndarray, turned: np.ndarray, clip: float) -> np.ndarray:
    """Sum of the records' gradients in mean (first column) and root, each at most `clip` long.

    A record's gradient is apart phi in the mean and the lower triangle of -phi turned' in the root.
    """
    squares = np.einsum("ij,ij->i", phi, phi) * (apart**2 + np.einsum("ij,ij->i", turned, turned))
    weight = np.minimum(1.0, clip / np.maximum(np.sqrt(squares), 1e-12))
    return np.column_stack([phi.T @ (weight * apart), np.tril(-(phi.T * weight) @ turned)])


def trained(law: Law, sample: Sample, mu: float, how: Training, random: np.random.Generator) -> Predicted:
    """Train on one sample, mu for all steps together where one record is exchanged, and predict."""
    inducing = Inducing.of(law, SPACING)
    variance = float(law.covariance(np.zeros(1))[0])
    rows = np.linalg.solve(np.linalg.cholesky(inducing.between), inducing.cross.T).T * np.sqrt(
        variance
    )  # public
    phi, responses, scatter = rows[sample.at], np.clip(sample.said, -CLIP, CLIP), law.scatter**2
    size = rows.shape[1]
    mean, root = np.zeros(size), np.eye(size)
    noise = 2.0 * how.clip * np.sqrt(how.steps) / mu
    first = second = np.zeros((size, size + 1))
    total, averaged = np.zeros((size, size + 1)), 0
    for step in range(1, how.steps + 1):
        pull = clipped_gradient(phi, (responses - phi @ mean) / scatter, phi @ root / scatter, how.clip)
        pull += noise * random.standard_normal(pull.shape)
        pull[:, 0] -= mean
        pull[:, 1:] = np.tril(pull[:, 1:] - root) + np.diag(1.0 / root.diagonal())
        first, second = 0.9 * first + 0.1 * pull, 0.999 * second + 0.001 * pull**2
        move = first / (1.0 - 0.9**step) / (np.sqrt(second / (1.0 - 0.999**step)) + 1e-8)
        mean = mean + how.rate * move[:, 0]
        root = root + how.rate * move[:, 1:]
        np.fill_diagonal(root, np.maximum(root.diagonal(), 1e-3))
        if 2 * step > how.steps:
            total, averaged = total + np.column_stack([mean, root]), averaged + 1
    mean, root = total[:, 0] / averaged, total[:, 1:] / averaged
    left = np.maximum(variance - np.square(rows).sum(axis=1), 0.0) + np.square(rows @ root).sum(axis=1)
    return Predicted(rows @ mean, np.sqrt(left + scatter))


def judged(method: Callable[[Sample], Predicted], tasks: Drawn) -> tuple[float, float, float]:
    """Mean NLL of held-out responses, its standard error, and CPU seconds of a release with its reading."""
    begun = time.process_time()
    predictions = [method(sample) for sample, _ in tasks]
    spent = (time.process_time() - begun) / len(tasks)
    scores = [
        prediction.nll(held_out.at, held_out.said)
        for prediction, (_, held_out) in zip(predictions, tasks, strict=True)
    ]
    return float(np.mean(scores)), float(np.std(scores, ddof=1) / np.sqrt(len(scores))), spent


def best_training(law: Law, mu: float, steps: int) -> Training:
    """The step size and clip bound that serve tasks of their own best."""
    rng = np.random.default_rng([SEED, steps])
    tasks = [draw(law, TUNED_ON, rng) for _ in range(TUNING)]
    trainings = [Training(steps, rate, clip) for rate, clip in itertools.product(RATES, CLIPS)]
    return min(trainings, key=lambda how: judged(lambda sample: trained(law, sample, mu, how, rng), tasks)[0])


def main() -> int:
    mu, curves = float(gaussian_mu(EPSILON, DELTA)), []
    print(
        f"Epsilon {EPSILON:g}, delta {DELTA:g}, {TASKS} tasks: NLL of a held-out response (standard error), "
        "CPU milliseconds\nof a release and its reading, and the same as a multiple of the network's.\n"
    )
    for title, law in LAWS.items():
        ways = {steps: best_training(law, mu, steps) for steps in STEPS}
        for number in NUMBERS:
            rng = np.random.default_rng([SEED, number])
            tasks = [draw(law, number, rng) for _ in range(TASKS)]
            entropy = SimulationEntropy(SEED)

            def network(sample: Sample, law: Law = law, rng: np.random.Generator = rng) -> Predicted:
                return network_predictions(law.family, [sample], mu, rng)[0]

            def sparse(sample: Sample, law: Law = law, entropy: SimulationEntropy = entropy) -> Predicted:
                return sparse_prediction(law, sample, mu, entropy, SPACING)

            network(tasks[0][0]), sparse(tasks[0][0])  # loads what is public
            results = {"neural process": judged(network, tasks), "sparse process": judged(sparse, tasks)}
            for steps, how in ways.items():

                def training(
                    sample: Sample, law: Law = law, how: Training = how, rng: np.random.Generator = rng
                ) -> Predicted:
                    return trained(law, sample, mu, how, rng)

                results[f"trained, {steps:,} steps"] = judged(training, tasks)
            results["without privacy"] = judged(lambda sample, law=law: without_privacy(law, sample), tasks)  # type: ignore[misc]
            results["nothing released"] = judged(lambda _, law=law: nothing(law), tasks)  # type: ignore[misc]
            base = results["neural process"][2]
            print(f"{title}, {number} records")
            for name, (score, error, spent) in results.items():
                timed = name not in ("without privacy", "nothing released")
                cost = f"{1e3 * spent:10.2f} {spent / base:9.2f}" if timed else ""
                print(f"  {name:24} {score:7.3f} ({error:.3f}) {cost}", flush=True)
            if number == NUMBERS[-1]:
                trained_ones = (results[f"trained, {steps:,} steps"] for steps in STEPS)
                curves += [
                    (spent / base, score, f"trained at release: {title}") for score, _, spent in trained_ones
                ]
                curves.append((1.0, results["neural process"][0], f"neural process: {title}"))
    draw_lines(
        "deployment",
        f"Quality of a release against its time, {NUMBERS[-1]} records, epsilon {EPSILON:g}",
        ("CPU time, multiples of the network's (log scale)", "negative log-likelihood, lower is better"),
        curves,
        log_x=True,
    )
    print(
        f"\nSeed {SEED}; {CELLS:,} places. Not in the times: tuning, {len(RATES) * len(CLIPS)} settings on "
        f"{TUNING} simulated tasks each,\nand the network's own training. "
        "Picture: docs/pictures/deployment.svg."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
