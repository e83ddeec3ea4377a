"""A private choice of the range: folds that predict, neighbours' probabilities, what is public."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.accounting.composition import Cost, epsilon
from dpgp_core.errors import InvalidValue
from dpgp_core.mechanisms.grids import FOLDS, RangeChoice, field_models, place_folds
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.registry import make_prior
from dpgp_core.private_choice import (
    Fold,
    ValueSums,
    choice_cost,
    largest_sensitivity,
    squared_error,
)
from dpgp_core.public_places import PublicPlaces
from tests.dpgp_core.hexmap import disk
from tests.oracles.exponential import choice_probabilities
from tests.oracles.papers import posterior_weights

LATTICE = disk(6, padding=1)


def made(records: CollapsedRecords, lengthscale: float) -> PublicPlaces:
    return PublicPlaces(make_prior("car", LATTICE, lengthscale), records.index, records.count)


def simulated(n: int, lengthscale: float, noise: float, seed: int = 2) -> CollapsedRecords:
    generator = np.random.default_rng(seed)
    prior = make_prior("car", LATTICE, lengthscale)
    field = 0.5 * prior.colour(generator.normal(size=(prior.white_size, 1)))[:, 0]
    cells = generator.integers(0, LATTICE.size, n)
    return CollapsedRecords.from_records(
        cells, np.clip(field[cells] + noise * generator.normal(size=n), -1, 1)
    )


def planned(records: CollapsedRecords) -> RangeChoice:
    return RangeChoice.plan(LATTICE, records, lambda lengthscale: made(records, lengthscale))


def mean_errors(choice: RangeChoice, records: CollapsedRecords) -> np.ndarray:
    """(J,) mean squared errors of all candidates, less a number that they have in common."""
    sums = ValueSums(records.units, records.count)
    return np.array([squared_error(folds, sums) / (1 << 100) / records.n for folds in choice.folds])


def test_each_fold_predicts_as_a_process_on_the_others_does() -> None:
    records = simulated(90, 400.0, 0.2)
    places = made(records, 400.0)
    for fold in place_folds(places, 0.7):
        weights = posterior_weights(
            places.cross[places.index][np.ix_(fold.train, fold.train)],
            places.cross[places.index][np.ix_(fold.test, fold.train)],
            places.noise(0.7)[fold.train],
        )
        np.testing.assert_allclose(fold.weights * records.count[fold.train], weights, atol=1e-9)
    few = CollapsedRecords.from_records([0, 1, 2, 3], np.zeros(4))
    with pytest.raises(InvalidValue, match=f"at least {FOLDS} hexagons"):
        place_folds(made(few, 400.0), 1.0)


def test_candidates_are_public_and_no_finer_than_two_cells() -> None:
    models = field_models(LATTICE)
    extent = float(np.ptp(LATTICE.domain_centres, axis=0).max())
    assert [each.ridge for each in models[:3]] == [0.7, 1.5, 3.0]
    assert models[0].lengthscale == pytest.approx(extent / 2.5)
    assert models[-1].lengthscale == 2.0 * LATTICE.spacing
    assert len(set(models)) == len(models)


def test_the_plan_knows_places_alone_and_the_choice_finds_the_model() -> None:
    records = simulated(4_000, LATTICE.spacing * 8, 0.05)
    choice = planned(records)
    other = CollapsedRecords(records.index, records.count, -records.mean)
    again = planned(other)
    assert again.sensitivity == choice.sensitivity
    assert all(
        np.array_equal(a.whole, b.whole)
        for one, two in zip(choice.folds, again.folds, strict=True)
        for a, b in zip(one, two, strict=True)
    )
    errors = mean_errors(choice, records)
    model, paid = choice.draw(records, 1e6, SimulationEntropy(1), simulation=True)
    assert model == choice.models[int(np.argmin(errors))]
    assert paid.cost.pure_epsilon == 1e6
    assert choice.sharpness(4_000, 0.5) == pytest.approx(choice.sensitivity / 1_000)
    blind = [choice.draw(records, 1e-9, SimulationEntropy(s), simulation=True)[0] for s in range(40)]
    assert len(set(blind)) > 5


def test_no_neighbours_are_told_apart_by_more_than_epsilon() -> None:
    """A value of every third hexagon is moved to either end: no exact probability changes by more."""
    records, asked = simulated(60, 500.0, 0.3), 2.0
    choice, worst = planned(records), 0.0
    before = np.log(_probabilities(choice, records, asked))
    for cell in range(0, records.index.size, 3):
        for end in (-1024, 1024):
            totals = records.units.copy()
            alone = CollapsedRecords(records.index, records.count, records.mean, totals)
            totals[cell] += end - round(totals[cell] / records.count[cell])
            worst = max(worst, float(np.abs(np.log(_probabilities(choice, alone, asked)) - before).max()))
    assert 0.0 < worst <= asked
    assert worst <= 0.25 * asked, "as loose as docs/public-places.md says"


def _probabilities(choice: RangeChoice, records: CollapsedRecords, asked: float) -> np.ndarray:
    return choice_probabilities(mean_errors(choice, records) * records.n, choice.sensitivity, asked)


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
