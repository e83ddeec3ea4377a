"""Releases stacked one below the other: long ones are certified like short ones, never too small."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpgp_core.errors import NumericalFailure
from hexcursion_traces.mathematics.loss import joined, loss
from hexcursion_traces.mathematics.prior import TracePrior
from hexcursion_traces.mathematics.secret import Moves, Secret
from hexcursion_traces.mathematics.windows import TraceNoise, standing

N = 400
TIMES = np.arange(N) * 30.0
PRIOR = TracePrior(120.0, 500.0, 3.0)
SECRET = tuple(range(190, 206))


def block(size: int, square: float, seed: int) -> np.ndarray:
    root = np.random.default_rng(seed).normal(size=(size, size))
    return root @ root.T * square / size + 2.0 * np.eye(size)


ONE = TraceNoise(N, 2.0, ((150, block(100, 900.0, 1)),))
TWO = TraceNoise(N, 2.0, ((180, block(60, 400.0, 2)), (300, block(10, 50.0, 3))))


def stacked(*noises: TraceNoise) -> TraceNoise:
    """Of one floor, one below the other."""
    blocks, at = [], 0
    for noise in noises:
        blocks += [(first + at, part) for first, part in noise.blocks]
        at += noise.size
    return TraceNoise(at, noises[0].floor, tuple(blocks))


def exact(times: np.ndarray, noises: tuple[TraceNoise, ...], secret: Secret, factor: float) -> float:
    """The distance of the worst two hypotheses from full matrices, without any allowance."""
    prior = TracePrior(factor * PRIOR.lengthscale, PRIOR.amplitude, PRIOR.error)
    dense = joined(tuple(noise.dense() for noise in noises))
    many = secret.directions.shape[1]
    return 200.0 * math.sqrt(many * loss(prior.covariance(times), dense, secret, exact=True))


@pytest.mark.parametrize("factor", [0.5, 1.0])
@pytest.mark.parametrize("moves", ["together", "separately"])
def test_two_stacked_releases_are_never_certified_below_their_true_loss(factor: float, moves: Moves) -> None:
    """The receiver's error of one time is one error: as two, mu came out up to 1.32 times too small."""
    times, secret = np.concatenate([TIMES, TIMES]), Secret(SECRET, moves)
    found = standing(times, stacked(ONE, TWO), secret, PRIOR, 200.0, factors=(factor,)).certificate.mu
    right = exact(times, (ONE, TWO), secret, factor)
    assert right * (1.0 - 1e-9) <= found <= right * 1.001


def test_rows_in_any_order_are_one_trace() -> None:
    """Sorted by time, twice the same time in a row, and one record of a third release."""
    twice = np.repeat(TIMES, 2)
    even = TraceNoise(2 * N + 1, 5.0, ((2 * N, np.array([[0.5]])),))
    times = np.append(twice, TIMES[195])
    secret = Secret(tuple(2 * record for record in SECRET))
    found = standing(times, even, secret, PRIOR, 200.0, factors=(1.0,)).certificate.mu
    right = exact(times, (even,), secret, 1.0)
    assert right * (1.0 - 1e-9) <= found <= right * 1.001
    assert found == pytest.approx(581.206, abs=0.001)


def test_a_second_release_tells_more() -> None:
    secret = Secret(SECRET)
    times = np.concatenate([TIMES, TIMES])
    both = standing(times, stacked(ONE, TWO), secret, PRIOR, 200.0, factors=(1.0,))
    alone = [standing(TIMES, noise, secret, PRIOR, 200.0, factors=(1.0,)) for noise in (ONE, TWO)]
    assert both.certificate.mu > max(one.certificate.mu for one in alone)
    assert both.interval < min(one.interval for one in alone)


def test_noise_that_rounding_could_swallow_is_refused() -> None:
    flat = TraceNoise(N, 2.0, ((150, np.diag([1e12, 1e-3])),))
    with pytest.raises(NumericalFailure, match="too uneven"):
        standing(
            np.concatenate([TIMES, TIMES]), stacked(flat, flat), Secret(SECRET), PRIOR, 200.0, factors=(1.0,)
        )
