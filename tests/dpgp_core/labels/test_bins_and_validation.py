"""Bin means and private cross-validation: the exact noise law, disjoint bins, and the safe sensitivity."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.labels.bins import bin_of, means_of_sums, read_bins
from dpgp_core.labels.discrete_laplace import discrete_laplace
from dpgp_core.labels.regression import posterior_weights
from dpgp_core.labels.validation import (
    Fold,
    choice_probabilities,
    choose_candidate,
    error_sensitivity,
    squared_error,
)
from dpgp_core.linalg.numerics import Floats
from dpgp_core.noise.entropy import SimulationEntropy, SystemEntropy
from dpgp_core.priors.kernels import squared_exponential


def kernel(a: Floats, b: Floats) -> Floats:
    return squared_exponential(np.abs(a[:, None] - b[None, :]))


def test_a_place_on_an_edge_is_in_one_bin() -> None:
    found = bin_of([-0.1, 0.0, 0.5, 1.0, 1.999, 2.0], [0.0, 1.0, 2.0])
    assert found.tolist() == [-1, 0, 0, 1, 1, -1]
    with pytest.raises(InvalidValue, match="strictly increasing"):
        bin_of([0.0], [1.0, 1.0])


@pytest.mark.parametrize("scale", [0.4, 3.0, 17.25])
def test_the_noise_has_the_discrete_laplace_law(scale: float) -> None:
    draws = discrete_laplace(scale, 20_000, SimulationEntropy(11))
    ratio = np.exp(-1.0 / scale)
    at = np.arange(-6, 7)
    expected = (1 - ratio) / (1 + ratio) * ratio ** np.abs(at)
    observed = np.array([(draws == value).mean() for value in at])
    np.testing.assert_allclose(observed, expected, atol=5 * np.sqrt(0.25 / draws.size))
    assert np.mean(np.abs(draws)) == pytest.approx(2 * ratio / (1 - ratio**2), rel=0.05)
    assert abs(draws.mean()) < 6 * scale * np.sqrt(2 / draws.size)


def test_bin_means_know_their_noise() -> None:
    """Sums of values in [-1, 1] change by 2: variance 2 (2/(n epsilon))^2, nothing said of empty bins."""
    means = means_of_sums(np.array([3.0, 1.0, 0.0]), np.array([6, 2, 0]), 0.5, 2.0)
    np.testing.assert_allclose(means.mean, [0.5, 0.5, 0.0])
    np.testing.assert_allclose(means.variance, [32.0 / 36.0, 8.0, np.inf])


def test_the_process_on_bins_uses_averages_of_the_kernel() -> None:
    fine = np.linspace(0, 4, 80, endpoint=False) + 0.025
    owner = bin_of(fine, [0.0, 1.0, 2.0, 3.0, 4.0])
    average = np.eye(4)[:, owner] / 20.0
    prior = kernel(fine, fine)
    between, cross = average @ prior @ average.T, prior @ average.T
    truth = np.sin(fine)
    means = means_of_sums(20.0 * average @ truth, np.full(4, 20), 1e6, 1.0)
    reading = read_bins(means, between, cross, prior, np.full(4, 1e-9))
    np.testing.assert_allclose(average @ reading.mean, average @ truth, atol=1e-6)  # averages are kept
    assert np.abs(reading.mean - truth).max() < 0.3
    nothing = read_bins(means_of_sums(np.zeros(4), np.zeros(4), 1.0, 1.0), between, cross, prior, np.ones(4))
    np.testing.assert_allclose(nothing.covariance, prior)


def folds(places: Floats, noise: float, count: int, seed: int = 0) -> list[Fold]:
    order = np.random.default_rng(seed).permutation(places.size)
    made = []
    for part in np.array_split(order, count):
        train = np.setdiff1d(order, part)
        at, to = places[train], places[part]
        made.append(Fold(train, part, posterior_weights(kernel(at, at), kernel(to, at), noise)))
    return made


def test_no_changed_value_moves_the_error_further_than_declared() -> None:
    generator = np.random.default_rng(3)
    for _ in range(40):
        places = generator.uniform(0, 3, 6)
        split = folds(places, float(generator.uniform(0.01, 1)), int(generator.integers(2, 4)))
        bound, worst = error_sensitivity(split, 6, 1.0), 0.0
        for values in generator.integers(0, 2, (20, 6)).astype(float):
            for j in range(6):
                other = values.copy()
                other[j] = 1.0 - other[j]
                worst = max(worst, abs(squared_error(split, values, 1.0) - squared_error(split, other, 1.0)))
        assert 0.1 * bound < worst <= bound


def test_squares_move_by_more_than_the_square_of_the_change() -> None:
    """One test place, one training place of weight 1: errors 1 -> .25, so .75 where .5^2 was counted."""
    fold = [Fold(np.array([0]), np.array([1]), np.array([[0.5]]))]
    moved = squared_error(fold, np.array([0.0, 1.0]), 1.0) - squared_error(fold, np.array([1.0, 1.0]), 1.0)
    assert moved == pytest.approx(0.75)
    assert 0.5**2 < moved <= error_sensitivity(fold, 2, 1.0)


def test_the_exponential_mechanism_of_the_example() -> None:
    found = choice_probabilities(np.array([10.0, 12.0, 15.0]), 4.0, 1.0)
    np.testing.assert_allclose(found, [0.43214, 0.33655, 0.23131], atol=1e-5)


def test_the_choice_follows_the_errors_and_states_its_cost() -> None:
    generator = np.random.default_rng(5)
    places = np.sort(generator.uniform(0, 8, 60))
    values = 0.5 + 0.5 * np.sin(places)
    good, bad = (
        folds(places, 0.01, 5),
        [Fold(f.train, f.test, 0.0 * f.weights) for f in folds(places, 1.0, 5)],
    )
    chosen = choose_candidate([bad, good], values, 1.0, 200.0, SimulationEntropy(1), simulation=True)
    assert chosen.index == 1
    assert chosen.cost.pure_epsilon == 200.0
    picks = [
        choose_candidate([bad, good], values, 1.0, 1e-6, SimulationEntropy(s), simulation=True).index
        for s in range(60)
    ]
    assert 15 < sum(picks) < 45  # without a budget the values decide nothing
    with pytest.raises(ValueError, match="SystemEntropy"):
        choose_candidate([bad, good], values, 1.0, 1.0, SimulationEntropy(1))
    assert choose_candidate([good], values, 1.0, 1.0, SystemEntropy()).index == 0


def test_a_long_range_is_chosen_where_the_noise_is_large() -> None:
    """Counting the public noise of the release makes smoother candidates better at a small epsilon."""
    values = np.array([0.1, 0.9, 0.2, 0.8])
    sharp = [Fold(np.array([0, 1]), np.array([2, 3]), np.eye(2), noise=3.0)]
    smooth = [Fold(np.array([0, 1]), np.array([2, 3]), np.full((2, 2), 0.5), noise=0.5)]
    assert squared_error(sharp, values, 1.0) > squared_error(smooth, values, 1.0)


def test_a_fold_cannot_test_what_trained_it() -> None:
    with pytest.raises(InvalidValue, match="keep the two sets apart"):
        Fold(np.array([0, 1]), np.array([1]), np.ones((1, 2)))
