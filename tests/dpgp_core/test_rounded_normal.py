"""Exactly rounded Gaussian noise: the law at every scale, the same integers for the same ideal sums."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2

from dpgp_core.noise import (
    LARGEST_SIGMA,
    NUMBER_DISTANCE,
    RELEASE_DISTANCE,
    SimulationEntropy,
    SystemEntropy,
    Uniforms,
    _candidates,
    below,
    distance_of,
    less,
    noisy_integers,
    rounded_normal,
)

FAILURE = 1e-6
"""Chance that a chi-square test fails for a right sampler; seeds are fixed, so it passes for good."""


def cell_probabilities(sigma: float, edges: list[int]) -> np.ndarray:
    """P(edges[i] <= round(sigma w) < edges[i+1]) in 40 digits, with what is below and above at the ends."""
    with mpmath.workdps(40):
        cdf = [mpmath.ncdf((mpmath.mpf(edge) - mpmath.mpf("0.5")) / mpmath.mpf(sigma)) for edge in edges]
        cdf = [mpmath.mpf(0), *cdf, mpmath.mpf(1)]
        return np.array([float(b - a) for a, b in pairwise(cdf)])


def statistic(sigma: float, values: np.ndarray) -> tuple[float, int]:
    """Chi-square over cells of about equal width from -5 to 5 standard deviations, rare ones joined."""
    width = max(1, math.ceil(sigma / 4.0))
    reach = math.ceil(5.0 * sigma / width)
    edges = [width * i for i in range(-reach, reach + 2)]
    expected = cell_probabilities(sigma, edges) * values.size
    observed = np.bincount(np.searchsorted(edges, values, side="right"), minlength=expected.size).astype(
        float
    )
    order = np.argsort(expected)
    rare = order[: np.count_nonzero(np.cumsum(expected[order]) < 8.0) + 1]
    common = np.setdiff1d(order, rare)
    cells = np.append(expected[common], expected[rare].sum())
    seen = np.append(observed[common], observed[rare].sum())
    return float(((seen - cells) ** 2 / cells).sum()), cells.size - 1


@pytest.mark.parametrize(
    ("sigma", "width", "size"),
    [
        (0.15, 64, 90_000),
        (0.3, 64, 60_000),
        (1.0, 64, 90_000),
        (1.0, 2, 30_000),
        (2.5, 1, 20_000),
        (37.5, 64, 90_000),
        (3.1e9, 64, 60_000),
    ],
)
def test_the_law_is_the_rounded_normal(sigma: float, width: int, size: int) -> None:
    """Exact cell probabilities; digits of one and two bits, so that ties happen all the time.

    Proposition (rounded noise is the ideal mechanism, rounded) of docs/report.
    """
    values = rounded_normal(sigma, size, SimulationEntropy(20), width)
    value, freedom = statistic(sigma, values)
    assert value < chi2.isf(FAILURE, freedom)


def test_candidates_that_are_drawn_alone_follow_the_same_law() -> None:
    """k + x of accepted candidates in eighths against the half normal: no candidate leans on its batch."""
    source, values = SimulationEntropy(31), []
    for _ in range(9000):
        whole, fraction = _candidates(source, 1, 64)
        if whole.size:
            values.append(8 * int(whole[0]) + (int(fraction.level(0)[0]) >> 61))
    edges = np.arange(25) / 8.0
    expected = np.append(np.diff(2.0 * ndtr(edges)), 2.0 * ndtr(-edges[-1])) * len(values)
    observed = np.bincount(np.minimum(values, 24), minlength=25)
    assert len(values) > 4000
    assert float(((observed - expected) ** 2 / expected).sum()) < chi2.isf(FAILURE, 24)


def test_a_wrong_sampler_is_caught() -> None:
    """One per cent less noise, a shift of a twentieth, or tails cut at four standard deviations."""
    values = rounded_normal(37.5, 100_000, SimulationEntropy(20))
    for wrong in (np.rint(0.985 * values), values + 2, values[np.abs(values) < 112]):
        value, freedom = statistic(37.5, np.asarray(wrong, dtype=np.int64))
        assert value > chi2.isf(FAILURE, freedom)


def test_tails_have_their_mass() -> None:
    """Beyond 4 standard deviations: 6.33e-5 of 400,000, within five standard deviations of a Poisson."""
    values = rounded_normal(1e6, 400_000, SimulationEntropy(4))
    far = int(np.count_nonzero(np.abs(values) > 4_000_000))
    assert abs(far - 400_000 * 6.334e-5) < 5.0 * math.sqrt(25.3)
    assert abs(int(np.sign(values).sum())) < 5.0 * math.sqrt(400_000)


def test_a_small_sigma_is_almost_always_nought() -> None:
    assert np.count_nonzero(rounded_normal(0.01, 2000, SimulationEntropy(1))) == 0
    assert rounded_normal(5.0, 0, SimulationEntropy(1)).size == 0


def test_simulations_repeat_and_releases_do_not() -> None:
    one, two = (rounded_normal(1e9, 50, SimulationEntropy(3)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert one.dtype == np.int64
    assert not np.array_equal(
        rounded_normal(1e9, 50, SystemEntropy()), rounded_normal(1e9, 50, SystemEntropy())
    )


def test_sigma_that_is_no_number_of_the_grid_is_refused() -> None:
    assert LARGEST_SIGMA == 2.0**55
    assert np.abs(rounded_normal(LARGEST_SIGMA, 100, SimulationEntropy(1))).max() < 2**62
    for wrong in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="sigma"):
            rounded_normal(wrong, 1, SimulationEntropy(1))
    with pytest.raises(ValueError, match="coarser grid"):
        rounded_normal(2.0**56, 1, SimulationEntropy(1))


def test_the_distance_is_stated_once() -> None:
    assert NUMBER_DISTANCE == 2.0**-200
    assert RELEASE_DISTANCE == 2.0**-150
    assert distance_of(2**50) == RELEASE_DISTANCE
    assert distance_of(0) == 0.0
    with pytest.raises(ValueError, match="fewer cells"):
        distance_of(2**50 + 1)


class Script:
    """Words from a list, in order."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, shape: int) -> np.ndarray:
        taken, self.left = self.left[:shape], self.left[shape:]
        return np.array(taken, dtype=np.uint64)


def test_equal_digits_are_decided_by_further_ones() -> None:
    """0.5|0.25.. against 0.5|0.75..: a second level is drawn, kept, and used by later questions."""
    a, b = Uniforms(Script(1 << 63, 1 << 62), 1), Uniforms(Script(1 << 63, 3 << 62), 1)
    here = np.zeros(1, dtype=np.intp)
    assert less(a, here, b, here).tolist() == [True]
    assert less(b, here, a, here).tolist() == [False]
    assert a.level(1).tolist() == [1 << 62]
    assert a.first_bit().tolist() == [True]


def test_whole_numbers_are_uniform_because_late_words_are_drawn_again() -> None:
    """2^64 = 1 mod 3, so the last word is refused."""
    assert below(Script((1 << 64) - 1, 4, 8), 3, 2).tolist() == [2, 1]
    assert below(Script((1 << 64) - 1), 2, 1).tolist() == [1]
    values = below(SimulationEntropy(2), 6, 60_000)
    assert np.all(np.abs(np.bincount(values.astype(int), minlength=6) - 10_000) < 5.0 * math.sqrt(10_000))


def test_noise_is_added_to_integers_only_by_the_systems_entropy() -> None:
    totals = np.array([[5, -7], [0, 1 << 40]], dtype=np.int64)
    noisy = noisy_integers(totals, 3.0, 2.0**-20, SimulationEntropy(8), simulation=True)
    plain = rounded_normal(3.0 * 2**20, 4, SimulationEntropy(8)).reshape(2, 2)
    np.testing.assert_array_equal(noisy - totals, plain)
    assert noisy_integers(totals, 3.0, 2.0**-20, SystemEntropy()).shape == (2, 2)
    with pytest.raises(ValueError, match="SystemEntropy"):
        noisy_integers(totals, 3.0, 2.0**-20, SimulationEntropy(8))
    with pytest.raises(ValueError, match="power of two"):
        noisy_integers(totals, 3.0, 0.1, SystemEntropy())
    with pytest.raises(ValueError, match="coarser grid"):
        noisy_integers(totals, 3.0, 2.0**-60, SystemEntropy())
