"""What adversaries with other lengthscales would know of a secret, for noises of the same size."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from dpgp_core.errors import CoreError
from hexcursion_traces.mathematics.dominate import multiple_secrets_noise
from hexcursion_traces.mathematics.optimum import FLOOR_SHARE, noise_for
from hexcursion_traces.mathematics.posterior import concentrated_noise, interval, uniform_noise
from hexcursion_traces.mathematics.published import published_noise
from hexcursion_traces.mathematics.secret import Secret
from hexcursion_traces.plan import TracePlan

FACTORS = (0.35, 0.5, 0.65, 0.8, 1.0, 1.25, 1.5, 1.8, 2.2)
NoiseName = Literal[
    "nothing released",
    "this noise",
    "best for the stated lengthscale",
    "the paper's",
    "the paper's for all secrets",
    "uniform",
    "concentrated",
]
BEFORE: Final = "nothing released"
DESIGNED: Final = "this noise"
EXACT: Final = "best for the stated lengthscale"
PAPER: Final = "the paper's"
PAPER_ALL: Final = "the paper's for all secrets"
UNIFORM: Final = "uniform"
CONCENTRATED: Final = "concentrated"
KINDS: tuple[NoiseName, ...] = (BEFORE, DESIGNED, EXACT, PAPER, PAPER_ALL, UNIFORM, CONCENTRATED)
_NEAR = 400  # records around a secret that are examined
_APART = 4  # records that move separately up to which the best noise is computed
# Records, and secret ones, up to which the paper's noise for all secrets is computed.
_SHORT, _ALL = 120, 60

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """The width of an adversary's 68 % interval at a secret, `metres` per axis, for his lengthscale in
    seconds and a noise."""

    lengthscale: float
    noise: NoiseName
    metres: float


def known_by(plan: TracePlan, number: int) -> tuple[Known, ...]:
    """Intervals at secret `number`, from 0, of adversaries with shorter and longer lengthscales, for this
    trip.

    After figure 2 d of Meehan and Chaudhuri (2021): from at most 400 records around the secret, where
    all noises have the same trace. "best for the stated lengthscale" and "the paper's" spend it on this
    secret alone. A noise that this prior makes impossible to compute is missing."""
    secret, n = plan.secrets[number], plan.trace.size
    room = max(0, (_NEAR - len(secret.records)) // 2)
    first, last = max(0, secret.records[0] - room), min(n, secret.records[-1] + 1 + room)
    inside = _moved(secret, first)
    near = [
        _moved(neighbour, first)
        for neighbour in plan.secrets
        if first <= neighbour.records[0] and neighbour.records[-1] < last
    ]
    shaped = plan.noise.within(first, last)
    times = plan.times[first:last]
    noises: dict[NoiseName, Matrix] = {
        DESIGNED: shaped,
        **_others(plan.settings.prior.covariance(times), inside, near, shaped),
    }
    intervals = []
    for factor in FACTORS:
        scale = plan.settings.lengthscale * factor
        covariance = replace(plan.settings.prior, lengthscale=scale).covariance(times)
        intervals.append(Known(scale, BEFORE, _width(covariance, inside)))
        intervals += [
            Known(scale, name, interval(covariance, noise, inside)) for name, noise in noises.items()
        ]
    return tuple(intervals)


def _moved(secret: Secret, first: int) -> Secret:
    return Secret(tuple(record - first for record in secret.records), secret.moves)


def _others(
    covariance: Matrix, secret: Secret, near: list[Secret], shaped: Matrix
) -> dict[NoiseName, Matrix]:
    """Other noises of the same trace."""
    n, budget = len(shaped), float(np.trace(shaped))
    noises: dict[NoiseName, Matrix] = {
        UNIFORM: uniform_noise(n, budget),
        CONCENTRATED: concentrated_noise(n, budget, (secret,)),
    }
    with suppress(CoreError):
        if secret.moves == "together" or len(secret.records) <= _APART:
            noises[EXACT] = noise_for([covariance], secret, budget, floor=FLOOR_SHARE * budget / n)
    with suppress(CoreError):
        noises[PAPER] = published_noise(covariance, secret, budget)
        if len(near) > 1 and n <= _SHORT and sum(len(neighbour.records) for neighbour in near) <= _ALL:
            together = multiple_secrets_noise(covariance, near, budget, shape="paper", bare=True)
            noises[PAPER_ALL] = together * (budget / float(np.trace(together)))
    return noises


def _width(covariance: Matrix, secret: Secret) -> float:
    """The interval before a release."""
    inner = covariance[np.ix_(secret.records, secret.records)]
    square = inner.mean() if secret.moves == "together" else np.linalg.eigvalsh(inner)[0]
    return 2.0 * float(np.sqrt(max(float(square), 0.0)))
