"""Private selection: the exact output law of neighbours against its curve, and that it finds the best map."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax, ndtri, softmax

from dpgp_core.accounting.rdp import ORDERS
from dpgp_core.excursion.selection import excess_mass, select, selection_curve
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords

FAILURE = 1e-9


def choice_law(sets: np.ndarray, records: CollapsedRecords, level: float, epsilon: float) -> np.ndarray:
    """Log probabilities of every candidate, written down independently of the sampler."""
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


def test_the_sampler_follows_the_exponential_law() -> None:
    """Choice frequencies of 4,000 selections, each within a normal band for a binomial count."""
    records = CollapsedRecords.from_records([0, 1, 1, 2], [0.9, 0.2, 0.4, -0.7])
    sets = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]], dtype=bool)
    probability = np.exp(choice_law(sets, records, 0.1, 2.0))
    entropy, draws = SimulationEntropy(8), 4_000
    chosen = [select(sets, records, 0.1, 2.0, entropy, simulation=True).index for _ in range(draws)]
    frequency = np.bincount(chosen, minlength=4) / draws
    band = 1.2 * ndtri(1 - FAILURE / 8) * np.sqrt(probability * (1 - probability) / draws)
    assert np.all(np.abs(frequency - probability) < band)
    np.testing.assert_allclose(probability, softmax(excess_mass(sets, records, 0.1) * 2.0 / 2.2))


class Lead(SimulationEntropy):
    """Gives the second of two candidates a head start, in units of the scores once they are multiplied."""

    def __init__(self, start: float) -> None:
        super().__init__(0)
        self._start = start

    def uniform(self, shape: object) -> np.ndarray:
        return np.exp(-np.exp(-np.array([0.0, self._start])))


@pytest.mark.parametrize("level", [0.5, -0.5])
def test_scores_are_multiplied_by_epsilon_over_twice_one_and_the_size_of_the_level(level: float) -> None:
    """epsilon = 3 and a level of .5, above or below 0: by 3/(2 (1 + .5)) = 1."""
    records = CollapsedRecords.from_records([0], [level + 0.4])
    picks = [
        select(np.array([[True], [False]]), records, level, 3.0, Lead(start), simulation=True).index
        for start in (0.39, 0.41)
    ]
    assert picks == [0, 1]


def test_it_finds_the_best_map_at_a_small_cost() -> None:
    generator = np.random.default_rng(3)
    truth = generator.random(200) < 0.4
    cells = generator.integers(0, 200, 20_000)
    responses = np.clip(np.where(truth[cells], 0.3, -0.3) + generator.normal(0, 0.5, cells.size), -1, 1)
    records = CollapsedRecords.from_records(cells, responses)
    flips = np.array([0.0, 0.1, 0.2, 0.4])
    sets = np.array([truth ^ (generator.random(200) < share) for share in flips])
    picks = [select(sets, records, 0.0, 0.1, SystemEntropy()).index for _ in range(20)]
    assert set(picks) == {0}


def test_excess_mass_is_largest_on_the_set_where_the_cell_means_exceed() -> None:
    records = CollapsedRecords.from_records([0, 1, 1, 3], [0.9, 0.2, 0.4, -0.7])
    sets = (np.arange(16)[:, None] >> np.arange(4)) % 2 == 1
    best = sets[np.argmax(excess_mass(sets, records, 0.25))]
    np.testing.assert_array_equal(best[[0, 1, 3]], [True, True, False])


def test_selection_tells_its_cost_and_nothing_of_the_scores() -> None:
    records = CollapsedRecords.from_records([0], [0.5])
    selection = select(np.eye(2, dtype=bool), records, 0.0, 0.5, SystemEntropy())
    assert set(vars(selection)) == {"index", "epsilon", "curve"}
    assert selection.curve == selection_curve(0.5)
    assert selection.curve.epsilon(1e-6).epsilon <= 0.5 + 1e-4


def test_what_is_refused() -> None:
    records = CollapsedRecords.from_records([2], [0.5])
    sets = np.eye(3, dtype=bool)
    with pytest.raises(ValueError, match="SystemEntropy"):
        select(sets, records, 0.0, 0.5, SimulationEntropy(1))
    with pytest.raises(ValueError, match="positive finite"):
        select(sets, records, 0.0, 0.0, SystemEntropy())
    with pytest.raises(ValueError, match="level must be a finite"):
        select(sets, records, float("nan"), 0.5, SystemEntropy())
    with pytest.raises(ValueError, match="same domain"):
        select(sets[:, :2], records, 0.0, 0.5, SystemEntropy())
