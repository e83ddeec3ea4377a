"""Private selection: the exact output law of neighbours against its curve."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from dpgp_core.accounting.composition import selection_curve
from dpgp_core.accounting.rdp import ORDERS
from dpgp_core.posterior.records import CollapsedRecords


def choice_law(sets: np.ndarray, records: CollapsedRecords, level: float, epsilon: float) -> np.ndarray:
    """Log probabilities of every candidate: excess masses, tempered for records in [-1, 1]."""
    rows = list(zip(records.index, records.count, records.mean, strict=True))
    scores = np.array([sum(m * (y - level) for i, m, y in rows if chosen[i]) for chosen in sets])
    return log_softmax(scores * epsilon / (2 * (1 + abs(level))))


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0, 20.0])
@pytest.mark.parametrize("level", [-0.8, 0.0, 0.3, 1.5])
def test_no_pair_of_neighbours_diverges_more_than_the_curve(epsilon: float, level: float) -> None:
    generator = np.random.default_rng(1)
    curve, worst = selection_curve(epsilon).values, 0.0
    for trial in range(200):
        sets = generator.random((generator.integers(2, 6), 4)) < 0.5
        cells = generator.integers(0, 4, 5)
        responses = generator.choice([-1.0, 1.0, 0.3], 5)
        other_cells, other_responses = cells.copy(), responses.copy()
        other_cells[0], other_responses[0] = generator.integers(0, 4), -responses[0]
        if trial == 0:  # the extreme pair: two opposite candidates, one record that flips between them
            sets = np.array([[True, False, False, False], [False, True, False, False]])
            cells[0], other_cells[0], responses[0], other_responses[0] = 0, 1, 1.0, 1.0
            if level > 0:
                responses[0] = other_responses[0] = -1.0
        p = choice_law(sets, CollapsedRecords.from_records(cells, responses), level, epsilon)
        q = choice_law(sets, CollapsedRecords.from_records(other_cells, other_responses), level, epsilon)
        assert np.abs(p - q).max() <= epsilon * (1 + 1e-9)
        exponents = ORDERS[:, None] * p - (ORDERS[:, None] - 1) * q
        top = exponents.max(axis=1)
        renyi = (top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))) / (ORDERS - 1)
        assert np.all(renyi <= curve + 1e-9)
        worst = max(worst, float(np.max(renyi / curve)))
    assert worst > 0.5  # the curve is not empty talk
