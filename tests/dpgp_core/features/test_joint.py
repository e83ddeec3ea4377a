"""Joint statements from excursion sets: how often they hold, and shares of areas."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.excursion import area_shares, excursion_function
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.registry import make_prior
from dpgp_core.spectral.model import PublicCounts
from dpgp_core.spectral.prior import PublicPrior
from dpgp_core.spectral.reading import FieldPosterior
from dpgp_core.spectral.sums import GridRecords, release_sums
from tests.dpgp_core.features.worlds import FakeNoise, model_on, plan_for
from tests.dpgp_core.hexmap import disk
from tests.oracles.readings import exceedance, excursions, read

SETS = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1], [0, 1, 1, 0]], dtype=bool)


def test_shares_of_areas_by_hand() -> None:
    weights = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 3.0]])
    whole, other = area_shares([SETS], weights, 0.5)
    assert whole.mean == pytest.approx((1.0 + 1.0 + 0.5 + 1.0 + 0.5) / 5)
    assert (whole.low, whole.high) == (1.0, 1.0)
    assert other.mean == pytest.approx((0.25 + 0.0 + 0.25 + 1.0 + 0.25) / 5)
    assert (other.low, other.high) == (0.25, 0.25)
    most = area_shares([SETS], weights, 0.7)[1]
    assert (most.low, most.high) == (0.0, 0.25)
    with pytest.raises(ValueError, match="every area must hold"):
        area_shares([SETS], np.zeros((1, 4)))
    with pytest.raises(ValueError, match="at least one"):
        area_shares([], weights)
    with pytest.raises(ValueError, match="strictly between"):
        area_shares([SETS], weights, 1.0)


def test_all_of_an_area_is_exactly_one_however_its_parts_are_added() -> None:
    weights = np.random.default_rng(4).uniform(0.1, 9.0, (300, 333))
    found = area_shares([np.ones((2, 333), dtype=bool), np.ones((3, 333), dtype=bool)], weights)
    assert {(each.mean, each.low, each.high) for each in found} == {(1.0, 1.0, 1.0)}


def released_worlds(count: int, seed: int):  # type: ignore[no-untyped-def]
    """(true field, posterior) of simulated releases on a disk of 169 cells with uneven records."""
    generator = np.random.default_rng(seed)
    field = PublicPrior(0.0, 0.8, 1.0)
    made = model_on(7).prepare(plan_for(mu=1.0, density=5.0, field=field))
    prior = make_prior("exponential", disk(7, 3), 1_500.0)
    for number in range(count):
        truth = field.deviation * prior.colour(generator.standard_normal((169, 1)))[:, 0]
        density = np.exp(0.7 * prior.colour(generator.standard_normal((169, 1)))[:, 0])
        cells = generator.choice(169, 845, p=density / density.sum())
        records = GridRecords.of(cells, truth[cells] + field.scatter * generator.standard_normal(845))
        released = release_sums(made.features, made.nodes, records, made.noise, FakeNoise(seed + number))
        yield truth, read(made, released, PublicCounts("unknown", 845.0))


def test_excursion_sets_have_the_stated_probabilities() -> None:
    _, posterior = next(iter(released_worlds(1, 3)))
    sets = np.concatenate(list(excursions(posterior, 0.2, 1_500, SimulationEntropy(1))))
    assert sets.shape == (1_500, 169)
    assert np.allclose(sets.mean(axis=0), exceedance(posterior, 0.2), atol=0.06)
    below = np.concatenate(list(excursions(posterior, 0.2, 1_500, SimulationEntropy(1), -1.0)))
    assert np.array_equal(below, ~sets)


def sizes_of_areas() -> np.ndarray:
    """A left half, a right half and a middle disk."""
    centres = disk(7, 3).domain_centres
    return np.stack(
        [centres[:, 0] < 0, centres[:, 0] >= 0, np.linalg.norm(centres, axis=1) < 1_300.0]
    ).astype(float)


def share_held(worlds: int, seed: int) -> float:
    """How often the stated 90 % interval holds an area's true share."""
    weights, held = sizes_of_areas(), []
    for number, (truth, posterior) in enumerate(released_worlds(worlds, seed)):
        true = [each.mean for each in area_shares([(truth > 0.2)[None]], weights)]
        answers = area_shares(excursions(posterior, 0.2, 400, SimulationEntropy(number)), weights)
        held += [a.low <= share <= a.high for a, share in zip(answers, true, strict=True)]
    return float(np.mean(held))


def test_intervals_of_areas_hold_about_as_often_as_stated() -> None:
    assert 0.8 <= share_held(25, 5) <= 0.98


@pytest.mark.slow
def test_intervals_of_areas_hold_as_often_as_stated() -> None:
    assert 0.88 <= share_held(200, 50) <= 0.92


def test_inner_sets_hold_as_a_whole() -> None:
    """At confidence one half, about half of the worlds have every claimed cell right (wide margin: 20)."""
    right = []
    for truth, posterior in released_worlds(20, 9):
        order = np.lexsort((-posterior.mean(), -exceedance(posterior, 0.2)))
        sure = excursion_function(excursions(posterior, 0.2, 300, SimulationEntropy(2)), order) >= 0.5
        right.append(bool(np.all(truth[sure] > 0.2)))
        assert isinstance(posterior, FieldPosterior)
    assert 0.25 <= float(np.mean(right)) <= 0.85
