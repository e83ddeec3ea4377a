"""The network on a line at smaller epsilon and delta, as figure S6 of Raisa and others.

Command: `python -m plugins.peers.studies.stricter`.

The same releases at epsilon 1/3 and 1, delta 1e-5 and 1e-3: mean negative log-likelihood of held-out
responses of the one network that the plugin ships, over 512 fields a row as in the paper, and the exact
posterior without privacy. As a control the network reads releases of the same records with responses
exchanged among their places.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time

import numpy as np

from dpgp_core.accounting.gaussian import gaussian_mu
from hexcursion_peers.neural.simulated.line_tasks import Law
from hexcursion_peers.studies.neural_line import (
    TITLES,
    Predicted,
    Sample,
    draw,
    network_predictions,
    nothing,
    without_privacy,
)
from studies.reporting.pictures import draw_lines

SEED, TASKS, AT_ONCE = 61, 512, 64
LAWS = (Law("eq", 0.71), Law("sawtooth", 0.5))
NUMBERS, EPSILONS, DELTAS = (64, 128, 256, 512), (1.0 / 3.0, 1.0), (1e-5, 1e-3)


def scores(predicted: list[Predicted], held_out: list[Sample]) -> tuple[float, float]:
    """Mean negative log-likelihood over fields, and its standard error."""
    nll = [
        prediction.nll(other.at, other.said) for prediction, other in zip(predicted, held_out, strict=True)
    ]
    return float(np.mean(nll)), float(np.std(nll, ddof=1) / np.sqrt(len(nll)))


def read(family: str, samples: list[Sample], mu: float, rng: np.random.Generator) -> list[Predicted]:
    """One release of each sample, read some at a time, which bounds the memory."""
    parts = (samples[first : first + AT_ONCE] for first in range(0, len(samples), AT_ONCE))
    return [prediction for part in parts for prediction in network_predictions(family, part, mu, rng)]


def exchanged(sample: Sample, rng: np.random.Generator) -> Sample:
    """The same places and responses, each response at the place of another record."""
    return Sample(sample.at, rng.permutation(sample.said))


def main() -> int:
    begun, curves = time.process_time(), []
    print(
        f"Seed {SEED}, {TASKS} fields a row, 128 held-out responses each: mean negative log-likelihood "
        "(standard error);\nexchanged: responses at the places of other records.\n\n"
        f"{'law':16} {'records':>7} {'epsilon':>8} {'delta':>7} {'mu':>6} {'network':>16} {'exchanged':>16}"
    )
    for law in LAWS:
        title = TITLES[law.family]
        for number in NUMBERS:
            rng = np.random.default_rng([SEED, number])
            tasks = [draw(law, number, rng) for _ in range(TASKS)]
            samples, held_out = [sample for sample, _ in tasks], [sample for _, sample in tasks]
            shuffled = [exchanged(sample, rng) for sample in samples]
            for epsilon in EPSILONS:
                for delta in DELTAS:
                    mu = float(gaussian_mu(epsilon, delta))
                    result = scores(read(law.family, samples, mu, rng), held_out)
                    control = scores(read(law.family, shuffled, mu, rng), held_out)
                    print(
                        f"{title:16} {number:7} {epsilon:8.3f} {delta:7.0e} {mu:6.3f} "
                        f"{result[0]:8.3f} ({result[1]:.3f}) {control[0]:8.3f} ({control[1]:.3f})",
                        flush=True,
                    )
                    if law is LAWS[0]:
                        curves.append((float(number), result[0], f"epsilon {epsilon:.2g}, delta {delta:g}"))
            exact = scores([without_privacy(law, sample) for sample in samples], held_out)
            unseen = scores([nothing(law)] * TASKS, held_out)
            print(
                f"{title:16} {number:7} without privacy {exact[0]:.3f} ({exact[1]:.3f}), nothing released "
                f"{unseen[0]:.3f} ({unseen[1]:.3f})",
                flush=True,
            )
            if law is LAWS[0]:
                curves.append((float(number), exact[0], "without privacy"))
    draw_lines(
        "stricter",
        "The network on a line, Gaussian kernel, at small epsilon and delta",
        ("records", "mean negative log-likelihood of a held-out response"),
        curves,
        log_x=True,
    )
    print(
        f"\nPicture: docs/pictures/stricter.svg. The whole study took {time.process_time() - begun:.0f} s "
        "of CPU time."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
