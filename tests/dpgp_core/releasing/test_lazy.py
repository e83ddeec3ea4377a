"""A path answered point by point: its law is that of a path drawn at once, and it is one path."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpgp_core import CollapsedRecords, SimulationEntropy, make_prior
from dpgp_core.errors import InvalidValue
from dpgp_core.posterior.fitting import fit
from dpgp_core.priors.dense import DensePrior
from dpgp_core.releasing import LazyPath
from tests.dpgp_core.hexmap import disk

RIDGE, SCALE, NOISE = 2.0, 0.4, 0.2
RECORDS = CollapsedRecords(np.array([0, 3, 5]), np.array([4, 1, 2]), np.array([0.5, -0.8, 0.2]))


class OneAtATime:
    """Hands out given normal numbers: shows the linear map from noise to answers."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.left = numbers

    def normal(self, shape: int | tuple[int, ...]) -> np.ndarray:
        assert isinstance(shape, int)
        found, self.left = self.left[:shape], self.left[shape:]
        return found


def prior(name: str = "exponential") -> DensePrior:
    found = make_prior(name, disk(1), 900.0)
    assert isinstance(found, DensePrior)
    return found


def path(name: str = "exponential") -> LazyPath:
    return LazyPath(prior(name), float(np.hypot(SCALE, NOISE)))


@pytest.mark.parametrize("name", ["exponential", "matern32", "squared-exponential"])
@pytest.mark.parametrize("noise", [0.0, NOISE])
def test_answers_given_the_path_at_all_records_do_not_depend_on_records(name: str, noise: float) -> None:
    """The law of a posterior path at asked places given its values at those that hold records,
    by dense algebra that knows the records, is what a path answers that has never seen them. Where one
    place with records is not among the values that were shown, it is not.

    Theorem (lazy path) of docs/mathematics.md; Theorem (lazy path) of docs/report.
    """
    whole, cells = prior(name), prior(name).lattice.domain_centres
    posterior, correlation = fit(whole, RECORDS, RIDGE), whole.correlation()
    cross = correlation[:, RECORDS.index]
    data = correlation[np.ix_(RECORDS.index, RECORDS.index)] + np.diag(RIDGE**2 / RECORDS.count)
    left = correlation - cross @ np.linalg.solve(data, cross.T)
    law = SCALE**2 * left + noise**2 * correlation
    values = np.random.default_rng(1).uniform(-1.0, 1.0, whole.size)

    def difference(shown: list[int], asked: list[int]) -> tuple[float, float]:
        weights = np.linalg.solve(law[np.ix_(shown, shown)], law[np.ix_(shown, asked)]).T
        mean = posterior.mean[asked] + weights @ (values[shown] - posterior.mean[shown])
        spread = law[np.ix_(asked, asked)] - weights @ law[np.ix_(shown, asked)]

        def answers(white: np.ndarray) -> np.ndarray:
            followed, entropy = LazyPath(whole, float(np.hypot(SCALE, noise))), OneAtATime(white)
            followed.learn(cells[shown], values[shown])
            return np.array([followed.ask(cells[[at]], entropy)[0] for at in asked])  # type: ignore[arg-type]

        middle = answers(np.zeros(len(asked)))
        link = np.column_stack([answers(row) - middle for row in np.eye(len(asked))])
        return float(np.abs(middle - mean).max()), float(np.abs(link @ link.T - spread).max())

    assert max(difference([0, 3, 5], [1, 2, 4, 6])) < 2e-5
    assert max(difference([0, 1, 3, 5], [6, 2])) < 2e-5
    assert difference([0, 5, 1], [2, 4, 6])[0] > 1e-3


def test_places_between_cells_and_far_away_have_the_law_of_the_process() -> None:
    """Two hundred paths asked between the cells in three questions, and as many at once: no Kolmogorov-
    Smirnov test of a random projection tells them apart at 1e-3."""
    places = np.array([[0.0, 0.0], [130.0, 40.0], [130.0, 41.0], [5_000.0, 0.0], [-300.0, 260.0]])
    entropy = SimulationEntropy(1)

    def drawn(parts: list[list[int]]) -> np.ndarray:
        found = []
        for _ in range(200):
            asked = path()
            for part in parts:
                asked.ask(places[part], entropy)
            found.append(asked.ask(places, entropy))
        return np.array(found)

    lazy, at_once = drawn([[3], [1, 0], [4]]), drawn([[0, 1, 2, 3, 4]])
    for direction in np.random.default_rng(2).standard_normal((6, 5)):
        assert stats.ks_2samp(lazy @ direction, at_once @ direction).pvalue > 1e-3
    law = 0.2 * np.exp(-np.linalg.norm(places[:, None] - places[None], axis=2) / 900.0)
    for drawn_paths in (lazy, at_once):  # moments: within five standard errors of 200 draws
        assert np.abs(drawn_paths.mean(axis=0)).max() < 5.0 * np.sqrt(0.2 / 200)
        assert np.abs(np.cov(drawn_paths.T) - law).max() < 5.0 * 0.2 * np.sqrt(2.0 / 200)
    close = lazy[:, 1] - lazy[:, 2]  # a metre apart: variance 2 (scale^2 + noise^2) (1 - e^(-1/900))
    assert close.std() == pytest.approx(np.sqrt(2.0 * 0.2 * (1.0 - np.exp(-1.0 / 900.0))), rel=0.2)


def test_a_place_asked_again_has_its_answer_and_the_path_goes_on_from_what_it_answered() -> None:
    """A path restored from its answers continues with the law, and on equal noise the numbers, of it."""
    first, entropy = path(), SimulationEntropy(3)
    one = first.ask(np.array([[10.0, 0.0], [70.0, 20.0], [10.0, 0.0]]), entropy)
    assert one[0] == one[2]
    assert first.places.tolist() == [[10.0, 0.0], [70.0, 20.0]]
    assert first.ask(np.array([[70.0, 20.0], [-0.0, 0.0]]), entropy)[0] == one[1]
    restored = path()
    restored.learn(first.places[:2], first.values[:2])
    restored.learn(first.places[2:], first.values[2:])
    more = np.array([[500.0, 100.0], [0.0, 0.0]])
    answers = [each.ask(more, SimulationEntropy(4)) for each in (first, restored)]
    np.testing.assert_allclose(*answers, atol=2.0**-19)
    assert answers[1][1] == first.ask(np.array([[0.0, 0.0]]), entropy)[0]


def test_what_is_no_question_is_refused_and_nothing_is_drawn() -> None:
    asked, entropy = path(), SimulationEntropy(5)
    for places in (np.array([1.0, 2.0]), np.array([[np.nan, 0.0]]), np.zeros((6_001, 2))):
        with pytest.raises(InvalidValue, match="places"):
            asked.ask(places, entropy)
    assert asked.values.size == 0
    asked.learn(np.array([[0.0, 0.0]]), np.array([0.25]))
    for values in (np.array([0.5]), np.array([0.5, 1.0])):
        with pytest.raises(InvalidValue, match="taken over once"):
            asked.learn(np.array([[0.0, 0.0]]), values)
    with pytest.raises(InvalidValue, match="deviation must be a positive"):
        LazyPath(prior(), 0.0)
