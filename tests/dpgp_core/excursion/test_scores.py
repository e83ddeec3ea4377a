"""Scores, smoothing and the cutoff of a map against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from dpgp_core.excursion import (
    OWN_CUTOFFS,
    PROBABILITY_FLOOR,
    Direction,
    JointField,
    agreement_range,
    bce,
    cutoff_for_map,
    exceedance_probability,
    iou,
    ious,
)
from dpgp_core.priors.lattice import domain_adjacency, smooth
from tests.dpgp_core.hexmap import disk, islands

a_set = arrays(np.bool_, 12)


@given(a_set, a_set)
def test_iou_is_a_symmetric_similarity(one: np.ndarray, other: np.ndarray) -> None:
    union = set(np.flatnonzero(one)) | set(np.flatnonzero(other))
    common = set(np.flatnonzero(one)) & set(np.flatnonzero(other))
    if not union:
        assert np.isnan(iou(one, other))  # undefined: nothing agrees with nothing
        return
    assert iou(one, other) == iou(other, one) == len(common) / len(union)
    assert not one.any() or iou(one, one) == 1.0


@given(arrays(np.bool_, (5, 12)), a_set)
def test_ious_are_those_of_the_single_sets(sets: np.ndarray, truth: np.ndarray) -> None:
    singles = [iou(one, truth) for one in sets]
    np.testing.assert_allclose(ious(sets, truth), singles)


def test_two_empty_sets_have_no_agreement() -> None:
    """1 was said: a map that shows nothing where nothing is looked perfect."""
    sets = np.array([[False, False], [True, False]])
    np.testing.assert_array_equal(ious(sets, np.array([False, False])), [np.nan, 0.0])
    np.testing.assert_array_equal(ious(sets, np.array([True, False])), [0.0, 1.0])


def test_sets_over_different_domains_are_refused() -> None:
    with pytest.raises(ValueError, match="same domain"):
        iou(np.zeros(3, dtype=bool), np.zeros(4, dtype=bool))
    with pytest.raises(ValueError, match="same domain"):
        ious(np.zeros((2, 3), dtype=bool), np.zeros(4, dtype=bool))
    with pytest.raises(ValueError, match="same cells"):
        bce(np.zeros(3), np.zeros(4, dtype=bool))


@given(arrays(np.float64, 6, elements=st.floats(0.01, 0.99)), arrays(np.bool_, 6))
def test_bce_is_the_mean_negative_log_likelihood(probability: np.ndarray, label: np.ndarray) -> None:
    likelihood = np.where(label, probability, 1 - probability)
    assert bce(probability, label) == pytest.approx(-np.mean(np.log(likelihood)))


def test_bce_stays_finite_when_one_cell_is_surely_wrong() -> None:
    assert bce(np.array([0.0]), np.array([True])) == pytest.approx(-np.log(PROBABILITY_FLOOR))


def test_exceedance_is_the_normal_tail_and_handles_no_spread() -> None:
    mean, deviation = np.array([0.3, -0.2, 1.0, 0.0]), np.array([0.5, 2.0, 0.0, 0.0])
    expected = [norm.sf(0.1, 0.3, 0.5), norm.sf(0.1, -0.2, 2.0), 1.0, 0.0]
    np.testing.assert_allclose(exceedance_probability(mean, deviation, 0.1), expected)


def test_a_round_of_smoothing_averages_a_cell_with_its_neighbours_in_the_domain() -> None:
    lattice = disk(2, padding=2)
    values = np.random.default_rng(0).normal(size=lattice.size)
    near = np.linalg.norm(lattice.domain_centres[:, None] - lattice.domain_centres[None], axis=2) < 1.1 * 400
    expected = np.array([values[row].mean() for row in near])
    np.testing.assert_allclose(smooth(lattice, values, 1), expected)
    np.testing.assert_allclose(smooth(domain_adjacency(lattice), values[None], 1), expected[None])
    np.testing.assert_allclose(
        smooth(lattice, np.stack([values, -values]), 2)[1], -smooth(lattice, expected, 1)
    )


def test_smoothing_keeps_constants_bounds_and_islands() -> None:
    lattice = islands()
    np.testing.assert_allclose(smooth(lattice, np.full((2, 8), 3.5), 7), 3.5)
    values = np.arange(8.0)
    smoothed = smooth(lattice, values, 50)
    assert smoothed[7] == values[7]
    assert values[:4].min() <= smoothed[:4].min() <= smoothed[:4].max() <= values[:4].max()
    np.testing.assert_array_equal(smooth(lattice, values, 0), values)


def test_smoothing_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        smooth(disk(1), np.zeros(7), -1)
    with pytest.raises(ValueError, match="same number of cells"):
        smooth(disk(1), np.zeros(8), 1)


def test_a_release_is_cut_where_it_is_expected_to_agree_best_with_the_map() -> None:
    """By hand: the first cell alone gives .9/1.7, the first two 1.7/2 (best), the first three 1.7/3."""
    probability, shown = np.array([0.45, 0.4, 0.2]), np.array([0.9, 0.8, 0.0])
    assert cutoff_for_map(probability, shown) == 0.4
    assert cutoff_for_map(probability, np.array([0.9, 0.1, 0.0])) == 0.45
    assert cutoff_for_map(probability, np.array([0.9, 0.8, 0.9])) == 0.2
    generator = np.random.default_rng(2)
    for _ in range(20):
        p, q = generator.uniform(0.0, 1.0, (2, 30))

        def ratio(cutoff: float, p: np.ndarray = p, q: np.ndarray = q) -> float:
            inside = p >= cutoff
            return float(q[inside].sum() / max(1e-12, inside.sum() + q[~inside].sum()))

        found = cutoff_for_map(p, q)
        assert ratio(found) == pytest.approx(max(map(ratio, OWN_CUTOFFS)), abs=1e-12)
        level = [each for each in OWN_CUTOFFS if ratio(each) > ratio(found) - 1e-12]
        assert abs(found - 0.5) == pytest.approx(min(abs(each - 0.5) for each in level))


@pytest.mark.parametrize(
    ("sides", "direction", "low", "high"),
    [
        ((1.0, 1.0), "above", 0.0, 1.0),
        ((1.0, -1.0), "above", 0.5, 0.5),
        ((1.0, -1.0), "below", 0.25, 0.25),
    ],
)
def test_a_range_of_agreements_needs_to_know_how_cells_vary_together(
    sides: tuple[float, float], direction: Direction, low: float, high: float
) -> None:
    """Two shown cells at the level, which rise together or against each other, and two sure ones."""
    up = np.arange(-4.5, 5.0)[:, None]
    draws = 7.0 + np.hstack([sides[0] * up, sides[1] * up, 0.0 * up, 0.0 * up])
    mean, sd = np.array([0.0, 0.0, -9.0, -9.0]), np.array([1.0, 1.0, 1.0, 1.0])
    inside = np.array([True, True, False, False])
    field = JointField(mean, sd, draws)
    assert agreement_range(field, 0.0, direction, inside) == (low, high)
    assert agreement_range(field, 0.0, direction, ~inside & inside) is None


def test_a_range_of_agreements_leaves_out_a_tenth_of_the_draws_at_either_end() -> None:
    """Of ten shown cells draw k of 0 ... 10 holds k: a tenth of them lies up to .1, and up to .9."""
    draws = (np.arange(11.0)[:, None] - 5.0) * np.ones(10)
    field = JointField(4.5 - np.arange(10.0), np.full(10, np.sqrt(10.0)), draws)
    low, high = agreement_range(field, 0.0, "above", np.ones(10, dtype=bool)) or (0.0, 0.0)
    assert (low, high) == (pytest.approx(0.1), pytest.approx(0.9))
