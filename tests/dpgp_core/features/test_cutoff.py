"""Cutoffs: agreement and area error by hand, and the rule that needs no reference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpgp_core.spectral import best_cutoff, expected_iou_cutoff, score_cutoffs
from dpgp_core.spectral.cutoff import CutoffScore


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
