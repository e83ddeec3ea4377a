"""Cutoffs: agreement and area error by hand, and the rule that needs no reference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpgp_core.spectral import best_cutoff, expected_iou_cutoff, score_cutoffs
from dpgp_core.spectral.cutoff import OWN_CUTOFFS, CutoffScore, cutoff_for_map


def test_agreement_and_area_error_by_hand() -> None:
    probability = np.array([[0.9, 0.6, 0.4, 0.1], [0.9, 0.3, 0.45, 0.1]])
    baseline = np.array([True, True, False, False])
    loose, half = score_cutoffs(probability, baseline, (0.4, 0.5))
    assert loose.iou == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert loose.area_error == pytest.approx((0.5 + 0.0) / 2)
    assert half.iou == pytest.approx((1.0 + 0.5) / 2)
    assert half.iou_sd == pytest.approx(0.5 / np.sqrt(2))
    assert half.area_error == pytest.approx((0.0 - 0.5) / 2)
    assert score_cutoffs(probability, np.zeros(4, dtype=bool), (0.5,))[0].area_error == np.inf


def scores(*means: float) -> tuple[CutoffScore, ...]:
    return tuple(CutoffScore(0.3 + 0.1 * k, mean, 0.0, 0.0) for k, mean in enumerate(means))


def test_the_best_cutoff_is_good_beside_its_neighbours() -> None:
    assert best_cutoff(scores(0.7, 0.8, 0.79, 0.6)).cutoff == pytest.approx(0.4)
    assert best_cutoff(scores(0.9, 0.2, 0.8, 0.81, 0.8)).cutoff == pytest.approx(0.6)
    assert best_cutoff(scores(0.5, 0.5, 0.5, 0.5)).cutoff == pytest.approx(0.5)


def test_the_cutoff_from_probabilities_alone_is_optimal() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        p = generator.uniform(0.0, 1.0, 9) ** generator.choice([0.5, 1.0, 3.0])

        def ratio(inside: np.ndarray, p: np.ndarray = p) -> float:
            return float(p[inside].sum() / (inside.sum() + p[~inside].sum()))

        best = max(ratio(np.array(s)) for s in itertools.product([False, True], repeat=9) if any(s))
        cutoff = expected_iou_cutoff(p)
        assert ratio(p > cutoff) == pytest.approx(best, abs=1e-9)
        assert cutoff == pytest.approx(best / (1.0 + best), abs=1e-9)


def test_certain_probabilities_are_cut_at_one_half() -> None:
    assert expected_iou_cutoff(np.array([0.0, 1.0, 1.0])) == pytest.approx(0.5)


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
