"""The paper's figure 2, curve by curve, and exact noise of the same trace that beats it on every one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from dpgp_core.errors import InvalidValue
from hexcursion_traces.mathematics.closed_form import Shape, single_secret_noise
from hexcursion_traces.mathematics.dominate import multiple_secrets_noise
from hexcursion_traces.mathematics.loss import loss
from hexcursion_traces.mathematics.optimum import best_noise
from hexcursion_traces.mathematics.posterior import (
    concentrated_noise,
    interval,
    posterior_covariance,
    uniform_noise,
)
from hexcursion_traces.mathematics.prior import TracePrior
from hexcursion_traces.mathematics.published import published_noise
from hexcursion_traces.mathematics.secret import Secret

Matrix = NDArray[np.float64]
MIDDLE = Secret((24,))


def rbf(scale: float) -> Matrix:
    """Fifty records, one unit apart."""
    return TracePrior(scale).covariance(np.arange(50))


def daily(scale: float) -> Matrix:
    """Two days of a temperature, one record an hour: the second repeats the first."""
    return TracePrior(scale, period=24.0).covariance(np.arange(48))


def bit(covariance: Matrix, size: float = 1e-10) -> Matrix:
    """What makes a singular sum of prior and noise computable."""
    return covariance + size * np.eye(len(covariance))


def as_published(covariance: Matrix, noise: Matrix, secret: Secret) -> float:
    """The interval as the published program computes it: its jitter decides the concentrated curve."""
    n, index = len(covariance), np.array(secret.records)

    def inverse(matrix: Matrix) -> Matrix:
        return np.asarray(np.linalg.pinv(matrix + 1e-6 * np.mean(np.diag(matrix)) * np.eye(n)))

    posterior = np.linalg.pinv(inverse(covariance) + inverse(noise))
    return 2.0 * math.sqrt(float(np.linalg.eigvalsh(posterior[np.ix_(index, index)])[0]))


FIGURE_2A = [  # lengthscale, interval under: paper, uniform, concentrated, block, full
    (1.0, 0.99661, 0.27107, 0.79721, 1.05144, 1.25728),
    (2.49209, 0.63777, 0.18474, 0.00376, 0.73954, 0.94457),
    (3.3795, 0.55513, 0.16083, 0.00294, 0.66651, 0.84745),
    (4.07818, 0.50871, 0.1476, 0.00269, 0.62516, 0.79053),
    (4.67355, 0.47718, 0.13867, 0.00257, 0.59669, 0.75083),
    (5.20121, 0.45364, 0.13204, 0.00249, 0.57515, 0.72062),
    (5.68007, 0.43504, 0.12681, 0.00244, 0.55792, 0.69641),
    (6.12158, 0.41977, 0.12254, 0.0024, 0.54364, 0.67631),
    (6.53332, 0.4069, 0.11893, 0.00237, 0.53148, 0.65919),
    (6.9206, 0.39581, 0.11582, 0.00234, 0.52091, 0.64431),
    (7.28734, 0.3861, 0.11314, 0.00232, 0.51158, 0.63119),
    (7.63648, 0.37749, 0.11078, 0.00231, 0.50324, 0.61948),
    (7.97034, 0.36978, 0.10866, 0.00229, 0.49571, 0.60894),
    (8.29077, 0.3628, 0.10672, 0.00228, 0.48887, 0.59938),
    (8.59927, 0.35645, 0.10494, 0.00227, 0.48263, 0.59066),
    (8.89707, 0.35063, 0.10332, 0.00226, 0.47689, 0.58265),
    (9.18523, 0.34526, 0.10183, 0.00225, 0.4716, 0.57526),
    (9.46462, 0.34028, 0.10048, 0.00224, 0.46669, 0.56839),
    (9.73599, 0.33566, 0.09925, 0.00224, 0.46211, 0.56198),
    (10.0, 0.33134, 0.09812, 0.00223, 0.45781, 0.55596),
]


@pytest.mark.parametrize(("scale", "paper", "uniform", "concentrated", "block", "full"), FIGURE_2A)
def test_figure_2a_one_moment(
    scale: float, paper: float, uniform: float, concentrated: float, block: float, full: float
) -> None:
    covariance = rbf(scale)

    def width(shape: Shape) -> float:
        noise = single_secret_noise(covariance, MIDDLE, 1.0, shape=shape, bare=True)
        assert np.trace(noise) == pytest.approx(1.0, rel=1e-9)
        return interval(bit(covariance, 1e-12), noise, MIDDLE)

    assert width("paper") == pytest.approx(paper, abs=1e-3)
    assert width("block") == pytest.approx(block, abs=1e-3)
    assert width("full") == pytest.approx(full, abs=1e-3)
    assert interval(covariance, uniform_noise(50, 1.0), MIDDLE) == pytest.approx(uniform, abs=1e-3)
    crowded = as_published(covariance, concentrated_noise(50, 1.0, (MIDDLE,)), MIDDLE)
    assert crowded == pytest.approx(concentrated, abs=1e-3)


PAIR = Secret((24, 25), "separately")
DAYS = Secret((16, 32), "separately")


@pytest.mark.parametrize(
    ("scale", "paper", "uniform", "concentrated"),
    [(6.0, 0.0674, 0.0310, 0.0020), (1.0, 0.6771, 0.2621, 0.5921)],
)
def test_figure_2b_two_moments(scale: float, paper: float, uniform: float, concentrated: float) -> None:
    covariance = rbf(scale)
    noise = published_noise(covariance, PAIR, 1.0)
    assert np.trace(noise) == pytest.approx(1.0, rel=1e-9)
    assert interval(bit(covariance, 1e-12), noise, PAIR) == pytest.approx(paper, abs=1e-4)
    assert interval(covariance, uniform_noise(50, 1.0), PAIR) == pytest.approx(uniform, abs=2e-3)
    crowded = as_published(covariance, concentrated_noise(50, 1.0, (PAIR,)), PAIR)
    assert crowded == pytest.approx(concentrated, abs=1e-4)
    best = best_noise([covariance], [PAIR], 1.0, floor=1e-6).noise
    assert interval(covariance, best, PAIR) > 1.2 * paper


def test_figure_2c_every_moment() -> None:
    """The paper's inputs need 17.37 of trace; uniform noise of that trace hides less."""
    covariance = rbf(6.0)
    secrets = [Secret((i,)) for i in range(50)]
    found = multiple_secrets_noise(covariance, secrets, 1.0, shape="paper", bare=True)
    trace = float(np.trace(found))
    assert trace == pytest.approx(17.37, abs=0.05)
    assert mean_width(bit(covariance), found) == pytest.approx(0.710, abs=0.005)
    assert mean_width(covariance, uniform_noise(50, trace)) == pytest.approx(0.463, abs=0.005)


@pytest.mark.slow
def test_one_noise_over_the_best_of_every_moment() -> None:
    """Exact noise for each record, dominated: 8.351 of trace leaves .722. A short search stops one to three
    percent above, where exactly depends on how a processor rounds (8.49 and 8.55 were seen)."""
    covariance = bit(rbf(6.0), 1e-9)
    secrets = [Secret((i,)) for i in range(50)]
    found = multiple_secrets_noise(covariance, secrets, 1.0, bare=True, steps=2000)
    assert float(np.trace(found)) == pytest.approx(8.351, abs=0.005)
    assert mean_width(bit(rbf(6.0)), found) == pytest.approx(0.7224, abs=0.001)
    short = multiple_secrets_noise(covariance, secrets, 1.0, bare=True)
    assert 8.42 < float(np.trace(short)) < 8.61


def mean_width(covariance: Matrix, noise: Matrix) -> float:
    """The published measure where every record is a secret."""
    return 2.0 * math.sqrt(float(posterior_covariance(covariance, noise).diagonal().mean()))


@pytest.mark.parametrize(
    ("scale", "right", "shorter", "longer"),
    [
        (1.0, 0.99661, 1.19519, 0.85945),
        (2.49209, 0.63777, 0.64413, 0.55437),
        (6.12158, 0.41977, 0.41512, 0.39257),
    ],
)
def test_figure_2d_another_lengthscale(scale: float, right: float, shorter: float, longer: float) -> None:
    noise = published_noise(rbf(scale), MIDDLE, 1.0)
    widths = [interval(bit(rbf(scale * factor), 1e-6), noise, MIDDLE) for factor in (1.0, 0.5, 1.5)]
    assert widths == pytest.approx([right, shorter, longer], abs=1e-3)


@pytest.mark.parametrize(
    ("scale", "right", "shorter", "longer", "uniform", "full"),
    [
        (0.5, 0.51059, 0.50213, 0.49846, 0.15654, 0.80159),
        (1.1, 0.33502, 0.33228, 0.33345, 0.11677, 0.60583),
        (1.5, 0.28105, 0.27948, 0.28043, 0.10577, 0.54706),
    ],
)
def test_figures_2e_and_2h_a_daily_rhythm(
    scale: float, right: float, shorter: float, longer: float, uniform: float, full: float
) -> None:
    noise = published_noise(daily(scale), MIDDLE, 0.96)
    widths = [interval(bit(daily(scale * factor), 1e-8), noise, MIDDLE) for factor in (1.0, 0.5, 1.5)]
    assert widths == pytest.approx([right, shorter, longer], abs=1e-3)
    assert interval(daily(scale), uniform_noise(48, 0.96), MIDDLE) == pytest.approx(uniform, abs=1e-3)
    exact = single_secret_noise(daily(scale), MIDDLE, 0.96, bare=True)
    assert interval(bit(daily(scale)), exact, MIDDLE) == pytest.approx(full, abs=2e-3)


def test_figure_2f_two_moments_of_a_daily_rhythm() -> None:
    """Here the published program solves at ten times the budget, not at a thousand."""
    covariance = daily(1.1)
    noise = published_noise(covariance, DAYS, 0.96, stabiliser=10.0)
    assert interval(bit(covariance), noise, DAYS) == pytest.approx(0.2565, abs=1e-4)
    assert interval(covariance, uniform_noise(48, 0.96), DAYS) == pytest.approx(0.1152, abs=1e-4)
    best = best_noise([covariance], [DAYS], 0.96, floor=1e-6).noise
    assert interval(bit(covariance), best, DAYS) == pytest.approx(0.4555, abs=2e-3)


def test_figure_2g_every_moment_of_a_daily_rhythm() -> None:
    covariance = daily(1.1)
    secrets = [Secret((i,)) for i in range(48)]
    found = multiple_secrets_noise(bit(covariance, 1e-9), secrets, 0.96, shape="paper", bare=True)
    assert float(np.trace(found)) == pytest.approx(10.398, abs=0.02)
    assert mean_width(covariance, found) == pytest.approx(0.576, abs=0.005)
    assert mean_width(covariance, uniform_noise(48, float(np.trace(found)))) == pytest.approx(
        0.331, abs=0.005
    )


@pytest.mark.parametrize(("scale", "paper", "exact"), [(6.0, 858.26, 205.63), (1.0, 6.1845, 2.9616)])
def test_exact_noise_of_the_same_trace_loses_less(scale: float, paper: float, exact: float) -> None:
    """Both are measured by the loss of the noise itself; the paper's program claims less than it loses."""
    covariance = rbf(scale)
    small = 1e-9 * np.eye(50)
    noise = published_noise(covariance, PAIR, 1.0)
    assert loss(bit(covariance, 1e-9), noise + small, PAIR, exact=True) == pytest.approx(paper, rel=1e-3)
    found = best_noise([covariance], [PAIR], 1.0, floor=1e-6)
    assert found.worst == pytest.approx(exact, rel=1e-3)


def test_one_record_is_the_published_closed_form() -> None:
    covariance = rbf(6.0)
    a = np.delete(covariance[:, 24], 24)
    noise = published_noise(covariance, MIDDLE, 2.0)
    assert noise[24, 24] == pytest.approx(2.0 / (1.0 + a @ a), rel=1e-9)
    assert noise[23, 22] == pytest.approx(noise[24, 24] * a[23] * a[22], rel=1e-9)
    assert not noise[24, :24].any()
    with pytest.raises(InvalidValue, match="positive"):
        published_noise(covariance, MIDDLE, 0.0)
