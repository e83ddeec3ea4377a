"""What accepts the neural process and needs a run.

Command: `python -m plugins.peers.studies.convcnp_acceptance [FOLDER]`.

On a line, Gaussian kernel, records even in [-2, 2], scatter .2, delta .001. For every lengthscale, number of
records and epsilon: the exact posterior without privacy, what the best reader of our own signal channel could
reach that knows the law, the records' places and no clipping, and the network, which knows neither. Then the
CPU time of one reading beside the sparse process, and the share of people within 95 % intervals at 300
records. FOLDER is ../shared/data beside the checkout unless named; without it, people are left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dpgp_core import gaussian_mu
from dpgp_core.linalg import Floats
from dpgp_core.noise import SimulationEntropy
from hexcursion_peers.neural.line import CELLS, CLIP, LineEncoder
from hexcursion_peers.neural.simulated.line_tasks import Law
from hexcursion_peers.studies.neural_line import (
    DELTA,
    PLACES,
    RESPONSES,
    Predicted,
    Sample,
    draw,
    mean_nll,
    network_predictions,
    read_people,
    sparse_prediction,
    without_privacy,
)
from studies.material.real_files import real_files_parser

SEED, TASKS = 1617, 64
LENGTHS, NUMBERS, EPSILONS = (0.25, 0.71, 2.0), (64, 128, 256, 512), (1.0, 3.0)
PEOPLE, SPLITS = 300, 64


def bound(law: Law, sample: Sample, mu: float, rng: np.random.Generator) -> Predicted:
    """The best reader of the signal channel alone, given what no reader of a release is given."""
    encoder = LineEncoder.shared()
    phi, noise = encoder.features.values[sample.at], CLIP * encoder.noise(mu).sums
    observed = phi.T @ sample.said + noise * rng.standard_normal(phi.shape[1])
    between = _covariance(law)
    prior = between[np.ix_(sample.at, sample.at)] + law.scatter**2 * np.eye(sample.at.size)
    total = phi.T @ prior @ phi + noise**2 * np.eye(phi.shape[1])
    cross = phi.T @ between[sample.at]
    gain = np.linalg.solve(total, cross)
    variance = 1.0 - np.einsum("ij,ij->j", cross, gain) + law.scatter**2
    return Predicted(gain.T @ observed, np.sqrt(np.maximum(variance, law.scatter**2)))


def _covariance(law: Law) -> Floats:
    step = law.covariance(PLACES - PLACES[0])
    at = np.arange(CELLS)
    return np.asarray(step[np.abs(at[:, None] - at)])


def order(tasks: int) -> Iterator[str]:
    """A line for each lengthscale, number of records and epsilon."""
    rng = np.random.default_rng(SEED)
    for length in LENGTHS:
        law = Law("eq", length)
        for number in NUMBERS:
            pairs = [draw(law, number, rng) for _ in range(tasks)]
            samples, held_out = [sample for sample, _ in pairs], [sample for _, sample in pairs]
            exact = mean_nll([without_privacy(law, sample) for sample in samples], held_out)
            for epsilon in EPSILONS:
                mu = float(gaussian_mu(epsilon, DELTA))
                best = mean_nll([bound(law, sample, mu, rng) for sample in samples], held_out)
                ours = network_predictions(law.family, samples, mu, rng)
                scores = [
                    prediction.nll(to.at, to.said) for prediction, to in zip(ours, held_out, strict=True)
                ]
                error = float(np.std(scores, ddof=1)) / tasks**0.5
                yield (
                    f"{length:5.2f}  {number:7}  {epsilon:7.1f}  {exact:6.3f}  {best:6.3f}  "
                    f"{np.mean(scores):6.3f}  {error:.3f}  {np.mean(scores) - best:+.3f}"
                )


def times(repeats: int = 20) -> Iterator[str]:
    """CPU milliseconds of one reading of 512 records' release, with its release."""
    law, rng = Law("eq", 0.71), np.random.default_rng(SEED)
    sample, mu = draw(law, 512, rng)[0], float(gaussian_mu(1.0, DELTA))
    entropy = SimulationEntropy(SEED)
    for name, once in (
        ("network", lambda: network_predictions("eq", [sample], mu, rng)),
        ("sparse process, hyperparameters known", lambda: sparse_prediction(law, sample, mu, entropy, 1.0)),
    ):
        once()
        begun = time.process_time()
        for _ in range(repeats):
            once()
        yield f"{name}: {1e3 * (time.process_time() - begun) / repeats:.1f} ms"


def people(table: Path) -> Iterator[str]:
    """Share of held-out people within 95 % intervals."""
    for response in RESPONSES:
        everybody, rng = read_people(table, response), np.random.default_rng(SEED)
        orders = [rng.permutation(everybody.at.size) for _ in range(SPLITS)]

        def part(rows: np.ndarray, of: Sample = everybody) -> Sample:
            return Sample(of.at[rows], of.said[rows])

        predictions = network_predictions(
            "people",
            [part(permutation[:PEOPLE]) for permutation in orders],
            float(gaussian_mu(1.0, DELTA)),
            rng,
        )
        held_out = [part(permutation[PEOPLE:]) for permutation in orders]
        shares = [
            prediction.covered(to.at, to.said) for prediction, to in zip(predictions, held_out, strict=True)
        ]
        yield f"{response}: {np.mean(shares):.3f} of held-out people, standard error of {SPLITS} splits " + (
            f"{np.std(shares, ddof=1) / SPLITS**0.5:.3f}, NLL {mean_nll(predictions, held_out):.3f}"
        )


def main() -> None:
    parser = real_files_parser(__doc__)
    parser.add_argument("--tasks", type=int, default=TASKS, help="fields of each row")
    options = parser.parse_args()
    begun = time.process_time()
    print(f"Seed {SEED}, {options.tasks} fields of each lengthscale and number of records, delta {DELTA:g}.")
    print("length  records  epsilon  no privacy, best reader, network, its s.e., network less best reader")
    for line in order(options.tasks):
        print(line, flush=True)
    print("One release and its reading, 512 records:", *times(), sep="\n  ")
    table = options.folder / "other" / "Howell1.csv"
    if table.is_file():
        print(f"{PEOPLE} people, epsilon 1, within 95 % intervals:", *people(table), sep="\n  ")
    print(f"The whole benchmark took {time.process_time() - begun:.0f} s of CPU time.")


if __name__ == "__main__":
    main()
