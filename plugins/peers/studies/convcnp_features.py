"""What the features leave to any network on Gaussian fields.

Command: `python -m plugins.peers.studies.convcnp_features`.

The best linear reader, which on a Gaussian field no network can beat, of the set convolution's features (five
widths, the best one) and of water-filled eigenfunctions of the field's own covariance (the spectral
statistics' features), at the same price and with the records' places known. Pixels of the window, 4,000
records, as much scatter as signal: the settings of `plugins.peers.studies.convcnp`. Nothing here is random.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Iterator
from typing import Literal

import numpy as np

from dpgp_core import gaussian_mu
from dpgp_core.features.gridded import Features
from dpgp_core.features.strategies import water_filling
from dpgp_core.linalg import Floats
from hexcursion_peers.neural.encoder import Encoder
from hexcursion_peers.neural.lattice import AXIS
from hexcursion_peers.neural.simulated.tasks import WIDTHS

DELTA, EPSILONS = 1e-5, (0.5, 1.0, 3.0)
RECORDS, SPREAD, RIDGE = 4_000, 0.4, 1.0
RANGE = 0.3  # window units
Kind = Literal["smooth (Gaussian kernel)", "rough (exponential)"]
KINDS: tuple[Kind, ...] = ("smooth (Gaussian kernel)", "rough (exponential)")


def covariance(kind: Kind, places: Floats) -> Floats:
    """(M, M) prior correlation between places (M, 2)."""
    apart = np.sqrt(np.square(places[:, None, :] - places[None, :, :]).sum(axis=2)) / RANGE
    return np.asarray(np.exp(-np.square(apart) / 2.0) if kind == KINDS[0] else np.exp(-apart))


def left(rows: Floats, prior: Floats, noise: float) -> tuple[float, float]:
    """Mean posterior variance in units of the prior's, and mean NLL in nats, of a field of deviation SPREAD.

    Sums over c records a place of `phi (f + scatter)`, plus white noise of deviation `noise`.
    """
    phi = Features.of("read", rows).values
    c = RECORDS / rows.shape[0]
    covariance = c * SPREAD**2 * (prior @ phi)  # covariance of the field with the sums
    total = c * phi.T @ covariance + c * (RIDGE * SPREAD) ** 2 * phi.T @ phi + noise**2 * np.eye(phi.shape[1])
    gain = np.linalg.solve(total, covariance.T)
    variance = SPREAD**2 - np.einsum("ij,ji->i", covariance, gain)
    nll = 0.5 * np.log(2.0 * np.pi * np.e * variance)
    return float(variance.mean()) / SPREAD**2, float(nll.mean())


def lines() -> Iterator[str]:
    """One for each kind and epsilon."""
    places = np.array([(x, y) for x in AXIS for y in AXIS])
    for kind in KINDS:
        prior = covariance(kind, places)
        value, vector = np.linalg.eigh(prior)
        c = RECORDS / places.shape[0]
        for epsilon in EPSILONS:
            noise = 2.0 / float(gaussian_mu(epsilon, DELTA))
            losses = {width: left(Encoder.of(width).rows(places), prior, noise) for width in WIDTHS}
            width = min(losses, key=lambda candidate: losses[candidate][0])
            power = water_filling(
                (c * SPREAD) ** 2 * np.maximum(value, 0.0),
                c * (RIDGE * SPREAD) ** 2,
                noise,
                float(places.shape[0]),
            )
            positive = power > 0
            ours, theirs = losses[width], left(vector[:, positive] * np.sqrt(power[positive]), prior, noise)
            yield (
                f"{kind:24}  {epsilon:7.1f}  {ours[0]:.3f}  {ours[1]:+.3f}  {width:5.2f}  "
                f"{theirs[0]:.3f}  {theirs[1]:+.3f}  {int(positive.sum()):5}  {ours[1] - theirs[1]:+.3f}"
            )


def main() -> None:
    print(f"No random numbers. {RECORDS:,} records, delta {DELTA:g}, range {RANGE} of half the window.")
    print("                                   set convolution         water-filled")
    print("field                     epsilon  left   NLL     width  left   NLL     sums   NLL gained")
    for line in lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
