"""Private cross-validation: the exact law of the choice, and the safe sensitivity."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.accounting.composition import Cost, epsilon
from dpgp_core.discrete_laplace import exponential_choice
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.priors.dense import squared_exponential
from hexcursion_peers.labels.private_choice import (
    STEPS,
    Fold,
    ValueSums,
    choice_cost,
    choose_candidate,
    error_sensitivity,
    largest_sensitivity,
    squared_error,
)
from tests.oracles.exponential import choice_probabilities
from tests.oracles.papers import posterior_weights


def kernel(a: Floats, b: Floats) -> Floats:
    return squared_exponential(np.abs(a[:, None] - b[None, :]))


def folds(places: Floats, noise: float, count: int, seed: int = 0) -> list[Fold]:
    order = np.random.default_rng(seed).permutation(places.size)
    made = []
    for part in np.array_split(order, count):
        train = np.setdiff1d(order, part)
        at, to = places[train], places[part]
        made.append(Fold(train, part, posterior_weights(kernel(at, at), kernel(to, at), noise)))
    return made


def plain(whole: int) -> float:
    """An error or a sensitivity in units of the interval's width."""
    return whole / 2.0**80 / STEPS**2


def by_hand(split: list[Fold], sums: ValueSums) -> float:
    """Squared error of single values in [0, 1], less the sum of their squares, in floating point."""
    value, total = sums.totals / STEPS, 0.0
    for fold in split:
        predicted = np.clip(fold.weights @ value[fold.train], 0.0, 1.0)
        total += float(np.sum((predicted - value[fold.test]) ** 2 - value[fold.test] ** 2)) + fold.noise
    return total


def test_errors_are_exact_and_those_of_the_values() -> None:
    generator = np.random.default_rng(8)
    places = generator.uniform(0, 3, 12)
    sums = ValueSums.of(generator.uniform(-0.6, 1.6, 12), 1.0)
    assert (sums.totals.min(), sums.totals.max()) == (0, STEPS)
    split = [Fold(f.train, f.test, f.weights, 0.25) for f in folds(places, 0.1, 3)]
    assert plain(squared_error(split, sums)) == pytest.approx(by_hand(split, sums), abs=1e-9)
    grouped = ValueSums(np.array([3, -4]), np.array([2, 1]), -4, 4)  # two values in one place: 1 and 2
    one = [Fold(np.array([1]), np.array([0]), np.array([[0.5]]))]  # predicted: -2, so 9 + 16 less 1 + 4
    assert squared_error(one, grouped) == 20 << 80


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_no_changed_value_moves_the_error_further_than_declared(share: float) -> None:
    """With the squares put back that all candidates have in common; a sensitivity halved is found out."""
    generator, exceeded = np.random.default_rng(3), False
    for _ in range(40):
        places = generator.uniform(0, 3, 6)
        split = folds(places, float(generator.uniform(0.01, 1)), int(generator.integers(2, 4)))
        bound, worst = 0, 0
        for values in generator.integers(0, 2, (20, 6)).astype(float):
            sums = ValueSums.of(values, 1.0)
            bound = int(share * error_sensitivity(split, sums))
            for j in range(6):
                other = values.copy()
                other[j] = 1.0 - other[j]
                moved = ValueSums.of(other, 1.0)
                squares = int(np.sum(sums.totals**2) - np.sum(moved.totals**2)) << 80
                worst = max(worst, abs(squared_error(split, sums) - squared_error(split, moved) + squares))
        assert worst > 0.1 * bound
        exceeded |= worst > bound
    assert exceeded == (share < 1.0)


def test_squares_move_by_more_than_the_square_of_the_change() -> None:
    """One test place, one training place of weight 1/2: errors 1 -> .25, so .75 where .5^2 was counted."""
    fold = [Fold(np.array([0]), np.array([1]), np.array([[0.5]]))]
    before, after = (ValueSums.of(np.array(v), 1.0) for v in ([0.0, 1.0], [1.0, 1.0]))
    moved = plain(squared_error(fold, before) - squared_error(fold, after))
    assert moved == 0.75
    assert 0.5**2 < moved <= plain(error_sensitivity(fold, before)) == 1.0


def test_a_place_with_many_values_counts_as_often_as_it_is_tested() -> None:
    """One value of place 1 changes by the width: five tested values move by 2 * .25 each; one tested by 1."""
    sums = ValueSums(np.array([0, 0]), np.array([5, 1]))
    width = (2 * STEPS) ** 2
    trains = [Fold(np.array([1]), np.array([0]), np.array([[0.25]]))]
    assert error_sensitivity(trains, sums) == int(2.5 * width) << 80
    assert error_sensitivity([Fold(np.array([1]), np.array([0]), np.array([[9.0]]))], sums) == 5 * width << 80
    assert error_sensitivity([Fold(np.array([0]), np.array([1]), np.array([[0.0]]))], sums) == width << 80


def test_the_exponential_mechanism_of_the_example() -> None:
    found = choice_probabilities(np.array([10.0, 12.0, 15.0]), 4.0, 1.0)
    np.testing.assert_allclose(found, [0.43214, 0.33655, 0.23131], atol=1e-5)


@pytest.mark.parametrize("epsilon", [1.0, 0.3, 6.0])
def test_the_exact_draw_has_the_stated_law(epsilon: float) -> None:
    errors, source = [10, 12, 15, 400], SimulationEntropy(4)
    picks = np.bincount([exponential_choice(errors, 4, epsilon, source) for _ in range(6_000)], minlength=4)
    expected = choice_probabilities(np.array(errors), 4.0, epsilon)
    np.testing.assert_allclose(picks / 6_000, expected, atol=5 * np.sqrt(0.25 / 6_000))
    huge = [error << 90 for error in errors]
    picks = np.bincount(
        [exponential_choice(huge, 4 << 90, epsilon, source) for _ in range(2_000)], minlength=4
    )
    np.testing.assert_allclose(picks / 2_000, expected, atol=5 * np.sqrt(0.25 / 2_000))
    with pytest.raises(InvalidValue, match="at least one candidate"):
        exponential_choice([], 4, 1.0, source)


def test_the_choice_follows_the_errors_and_states_its_cost() -> None:
    generator = np.random.default_rng(5)
    places = np.sort(generator.uniform(0, 8, 60))
    sums = ValueSums.of(0.5 + 0.5 * np.sin(places), 1.0)
    good, bad = (
        folds(places, 0.01, 5),
        [Fold(f.train, f.test, 0.0 * f.weights) for f in folds(places, 1.0, 5)],
    )
    chosen = choose_candidate([bad, good], sums, 200.0, SimulationEntropy(1), simulation=True)
    assert chosen.index == 1
    assert chosen.cost.pure_epsilon == 200.0
    picks = [
        choose_candidate([bad, good], sums, 1e-6, SimulationEntropy(s), simulation=True).index
        for s in range(60)
    ]
    assert 15 < sum(picks) < 45  # without a budget the values decide nothing
    with pytest.raises(ValueError, match="SystemEntropy"):
        choose_candidate([bad, good], sums, 1.0, SimulationEntropy(1))
    assert choose_candidate([good], sums, 1.0, SystemEntropy()).index == 0
    with pytest.raises(ValueError, match="on the same places"):
        choose_candidate([good, good[:-1]], sums, 1.0, SystemEntropy())


def test_a_long_range_is_chosen_where_the_noise_is_large() -> None:
    """Counting the public noise of the release makes smoother candidates better at a small epsilon."""
    sums = ValueSums.of(np.array([0.1, 0.9, 0.2, 0.8]), 1.0)
    sharp = [Fold(np.array([0, 1]), np.array([2, 3]), np.eye(2), noise=3.0)]
    smooth = [Fold(np.array([0, 1]), np.array([2, 3]), np.full((2, 2), 0.5), noise=0.5)]
    assert squared_error(sharp, sums) > squared_error(smooth, sums)


def test_a_fold_cannot_test_what_trained_it() -> None:
    with pytest.raises(InvalidValue, match="keep the two sets apart"):
        Fold(np.array([0, 1]), np.array([1]), np.ones((1, 2)))


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_the_worst_pair_reaches_epsilon_and_a_halved_sensitivity_exceeds_it(share: float) -> None:
    """One candidate predicts 0 and many predict 1; a tested value moves from 0 to 1: errors move apart."""
    low = [Fold(np.array([0]), np.array([1]), np.array([[0.0]]))]
    high = [Fold(np.array([0]), np.array([1]), np.array([[1.0]]))]
    pair = [ValueSums.of(np.array([1.0, value]), 1.0) for value in (0.0, 1.0)]
    sensitivity = share * largest_sensitivity([low, high], pair[0])
    shares = []
    for sums in pair:
        square = int(sums.totals[1]) ** 2 << 80
        errors = np.array([float(squared_error(folds, sums) + square) for folds in (low, high)])
        shares.append(choice_probabilities(errors, sensitivity, 1.0))
    odds = [each[0] / (each[0] + 4_000 * each[1]) for each in shares]
    ratio = abs(float(np.log(odds[0] / odds[1])))
    if share == 1.0:
        assert ratio == pytest.approx(1.0, abs=1e-3)
        assert ratio <= 1.0
    else:
        assert ratio > 1.9


def test_the_cost_beside_a_gaussian_release() -> None:
    """Of bounded range: less than the two epsilons in sum, and never above what a pure mechanism costs."""
    pure, gaussian = choice_cost(0.5), Cost.gaussian(0.25).among("values-only")
    together = epsilon([pure, gaussian], 1e-5).epsilon
    assert epsilon([pure], 1e-5).epsilon <= 0.5
    assert epsilon([gaussian], 1e-5).epsilon < together < epsilon([gaussian], 1e-5).epsilon + 0.5
    assert together <= epsilon([Cost.pure(0.5).among("values-only"), gaussian], 1e-5).epsilon
