"""Laws of the excursion products, and the inner set against a search through its whole family."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpgp_core.excursion import (
    agreed,
    agreed_each,
    excursion,
    excursion_function,
    inner_set,
    outer_set,
    released_set,
    three_way,
    told,
    vorobev_set,
    vote_fraction,
)

Floats = np.ndarray

some_paths = st.tuples(st.integers(1, 7), st.integers(1, 9)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0]))
)
some_level = st.sampled_from([-0.75, -0.5, 0.0, 0.1, 0.9])
some_confidence = st.floats(0.05, 1.0)
both_directions = pytest.mark.parametrize("direction", ["above", "below"])


def mirrored(direction: str) -> str:
    return "below" if direction == "above" else "above"


@given(some_paths, some_level)
def test_below_is_the_complement_of_above(paths: Floats, level: float) -> None:
    above, below = excursion(paths, level), excursion(paths, level, "below")
    np.testing.assert_array_equal(above, ~below)
    np.testing.assert_allclose(vote_fraction(paths, level) + vote_fraction(paths, level, "below"), 1.0)


@given(some_paths, some_level)
def test_votes_are_multiples_of_one_over_the_number_of_paths(paths: Floats, level: float) -> None:
    steps = vote_fraction(paths, level) * len(paths)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)


@both_directions
@given(some_paths, some_level, some_confidence)
def test_inner_is_the_largest_vote_set_that_enough_paths_contain(
    direction: str, paths: Floats, level: float, confidence: float
) -> None:
    inside = excursion(paths, level, direction)
    votes = inside.mean(axis=0)
    best = np.zeros(votes.size, dtype=bool)
    for threshold in np.unique(votes):
        candidate = votes >= threshold - 1e-12
        containing = np.mean([np.all(path[candidate]) for path in inside])
        if containing >= confidence - 1e-9 and candidate.sum() > best.sum():
            best = candidate
    np.testing.assert_array_equal(inner_set(paths, level, confidence, direction), best)


@both_directions
@given(some_paths, some_level, some_confidence)
def test_outer_is_the_complement_of_the_other_directions_inner(
    direction: str, paths: Floats, level: float, confidence: float
) -> None:
    outer = outer_set(paths, level, confidence, direction)
    np.testing.assert_array_equal(outer, ~inner_set(paths, level, confidence, mirrored(direction)))
    escaping = np.mean([np.any(path & ~outer) for path in excursion(paths, level, direction)])
    assert escaping <= 1 - confidence + 1e-9


@both_directions
@given(some_paths, some_level, st.floats(0.51, 1.0))
def test_inner_lies_in_the_median_sets_and_these_in_outer(
    direction: str, paths: Floats, level: float, confidence: float
) -> None:
    inner = inner_set(paths, level, confidence, direction)
    outer = outer_set(paths, level, confidence, direction)
    majority = released_set(paths, level, 0.5, direction)
    vorobev = vorobev_set(paths, level, direction)
    assert np.all(inner <= majority)
    assert np.all(majority <= outer)
    assert np.all(inner <= outer)
    # Every cell of the inner set has at least the confidence's votes; the Vorob'ev set is a vote set too.
    votes = vote_fraction(paths, level, direction)
    assert np.all(votes[inner] >= confidence - 1e-9)
    assert np.all(inner <= vorobev) or np.all(vorobev <= inner)


@both_directions
@given(some_paths)
def test_sets_shrink_as_the_level_moves_away(direction: str, paths: Floats) -> None:
    levels = [-0.75, -0.5, 0.0, 0.1, 0.9]
    ordered = levels if direction == "above" else levels[::-1]
    for near, far in pairwise(ordered):
        for product in (
            lambda level: excursion(paths, level, direction),
            lambda level: released_set(paths, level, 0.5, direction),
        ):
            assert np.all(product(far) <= product(near))
        assert np.all(vote_fraction(paths, far, direction) <= vote_fraction(paths, near, direction))


@given(some_paths, some_level, some_confidence, some_confidence)
def test_more_confidence_says_less(paths: Floats, level: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert np.all(inner_set(paths, level, high) <= inner_set(paths, level, low))
    assert np.all(outer_set(paths, level, high) >= outer_set(paths, level, low))


@given(some_paths, some_level, st.floats(0.05, 1.0), st.floats(0.05, 1.0))
def test_a_higher_cutoff_keeps_less(paths: Floats, level: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert np.all(released_set(paths, level, high) <= released_set(paths, level, low))


@given(some_paths, some_level)
def test_vorobev_set_has_the_mean_area(paths: Floats, level: float) -> None:
    votes = vote_fraction(paths, level)
    chosen = vorobev_set(paths, level)
    mean_area = excursion(paths, level).sum(axis=1).mean()
    assert chosen.sum() >= mean_area - 1e-9
    if chosen.any():
        threshold = votes[chosen].min()
        np.testing.assert_array_equal(chosen, votes >= threshold)
        assert np.count_nonzero(votes > threshold) < mean_area + 1e-9
    else:
        assert mean_area == 0


@given(some_paths, some_level, st.floats(0.51, 1.0))
def test_three_way_is_inner_above_inner_below_and_the_rest(
    paths: Floats, level: float, confidence: float
) -> None:
    answer = three_way(paths, level, confidence)
    np.testing.assert_array_equal(answer == 1, inner_set(paths, level, confidence))
    np.testing.assert_array_equal(answer == -1, ~outer_set(paths, level, confidence))
    assert answer.dtype == np.int8


@given(some_paths, some_level)
def test_one_path_is_its_own_every_product(paths: Floats, level: float) -> None:
    one = paths[:1]
    truth = excursion(one, level)[0]
    for product in (released_set(one, level), vorobev_set(one, level), inner_set(one, level, 0.95)):
        np.testing.assert_array_equal(product, truth)
    np.testing.assert_array_equal(outer_set(one, level, 0.95), truth)
    assert not np.any(three_way(one, level, 0.95) == 0)


def test_what_is_told_from_the_inner_sets_of_both_sides() -> None:
    """A cell that both sides claim, as they can at low confidence, is one of which nothing can be told."""
    above, below = np.array([True, False, False, True]), np.array([False, True, False, True])
    assert told(above, below).tolist() == [1, -1, 0, 0]
    assert told(above, below).dtype == np.int8


SETS = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1], [0, 1, 1, 0]], dtype=bool)


def test_the_excursion_function_by_hand() -> None:
    assert excursion_function([SETS[:2], SETS[2:]], np.array([0, 1, 2, 3])).tolist() == [0.8, 0.6, 0.4, 0.2]
    assert excursion_function([SETS], np.array([2, 1, 0, 3])).tolist() == [0.4, 0.6, 0.8, 0.2]
    with pytest.raises(ValueError, match="at least one"):
        excursion_function([], np.arange(2))


def test_shares_at_the_cutoff_and_within_its_slack_are_inside() -> None:
    shares = np.array([0.3, 0.1 + 0.2, 0.3 - 0.9e-9, 0.3 - 1.1e-9])
    assert agreed(shares, 0.3).tolist() == [True, True, True, False]
    assert agreed(np.array([0.5 - 1e-9]), 0.5).tolist() == [True]
    assert agreed(shares, 0.1 + 0.2).tolist() == [True, True, True, False]
    assert agreed_each(np.stack([shares, shares]), np.array([0.3, 0.5])).sum(axis=1).tolist() == [3, 0]


def test_a_cutoff_meets_votes_that_floats_cannot_represent() -> None:
    paths = np.array([[1.0]] * 3 + [[-1.0]] * 7)
    assert released_set(paths, 0.0, 0.1 + 0.2)[0]
    assert inner_set(paths, 0.0, 0.1 + 0.2)[0]


@pytest.mark.parametrize("cutoff", [0.0, 1.1, -0.5, float("nan")])
def test_a_cutoff_outside_its_range_is_refused(cutoff: float) -> None:
    with pytest.raises(ValueError, match="cutoff must be in"):
        released_set(np.zeros((2, 3)), 0.0, cutoff)


@pytest.mark.parametrize("confidence", [0.0, 1.1, float("nan")])
def test_a_confidence_outside_its_range_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence must be in"):
        inner_set(np.zeros((2, 3)), 0.0, confidence)


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="must be finite"):
        excursion(np.array([[0.0, np.nan]]), 0.0)
    with pytest.raises(ValueError, match="must be finite"):
        excursion(np.zeros((1, 2)), float("nan"))
    with pytest.raises(ValueError, match="'above' or 'below'"):
        excursion(np.zeros((1, 2)), 0.0, "over")  # type: ignore[arg-type]
