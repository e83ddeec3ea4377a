"""The cutoff that a release chooses for itself, by hand and by trying them all."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.excursion import OWN_CUTOFFS, cutoff_for_map


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
