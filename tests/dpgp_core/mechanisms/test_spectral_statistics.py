"""Spectral statistics as a mechanism: priced as calibrated, drawn from integers, read as probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.errors import DesignError
from dpgp_core.mechanisms.base import Budget
from dpgp_core.mechanisms.facts import PublicFacts
from dpgp_core.mechanisms.released import draw_release
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics, SpectralStatisticsDesign
from dpgp_core.noise.entropy import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from tests.dpgp_core.hexmap import disk

MECHANISM = SpectralStatistics()
DESIGN = SpectralStatisticsDesign("water-filled", "car", 900.0, 0.5, 0.1, 0.6, 1.0, 1.2, 1.0, paths=4)
LATTICE = disk(3, padding=1)


def records(n: int = 400) -> CollapsedRecords:
    generator = np.random.default_rng(5)
    cells = generator.integers(0, LATTICE.size, n)
    high = np.where(LATTICE.domain_centres[cells, 0] > LATTICE.domain_centres[:, 0].mean(), 0.8, -0.8)
    return CollapsedRecords.from_records(cells, np.clip(high + 0.2 * generator.normal(size=n), -1.0, 1.0))


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
def test_what_is_calibrated_costs_its_budget_and_no_more(relation: str) -> None:
    facts = PublicFacts(LATTICE, 400, relation=relation)  # type: ignore[arg-type]
    design = MECHANISM.calibrate(DESIGN, facts, Budget(1.0, 1e-5))
    proved = MECHANISM.guarantee(design, facts)
    assert proved.exact_gaussian_mu is not None
    assert 0.999 < proved.epsilon(1e-5).epsilon <= 1.0
    assert proved.epsilon(1e-5).epsilon == pytest.approx(
        gaussian_epsilon(proved.exact_gaussian_mu, 1e-5), rel=1e-9
    )


def test_a_release_shows_the_high_side_and_its_probabilities_are_shares() -> None:
    facts = PublicFacts(LATTICE, 400)
    prepared = MECHANISM.prepare(replace(DESIGN, mu=2.0), facts, records())
    released = draw_release(prepared, SimulationEntropy(3), simulation=True)
    assert released.paths.shape == (4, LATTICE.size)
    probability = released.probability(0.0)
    assert probability is not None
    assert np.all((probability >= 0.0) & (probability <= 1.0))
    east = LATTICE.domain_centres[:, 0] > LATTICE.domain_centres[:, 0].mean()
    assert np.mean((probability > 0.5) == east) > 0.8
    np.testing.assert_allclose(released.probability(0.0, "below"), 1.0 - probability, atol=1e-12)


def test_the_order_of_the_records_changes_nothing_before_the_noise() -> None:
    """The same noise gives the same numbers, whatever the order in which the records were added up."""
    generator = np.random.default_rng(8)
    cells, responses = generator.integers(0, LATTICE.size, 300), generator.uniform(-1, 1, 300)
    turned = generator.permutation(300)
    facts = PublicFacts(LATTICE, 300)
    first, second = (
        draw_release(MECHANISM.prepare(DESIGN, facts, each), SimulationEntropy(1), simulation=True)
        for each in (
            CollapsedRecords.from_records(cells, responses),
            CollapsedRecords.from_records(cells[turned], responses[turned]),
        )
    )
    for one, other in zip(first.raw, second.raw, strict=True):
        assert one.tobytes() == other.tobytes()


def test_two_releases_differ_and_a_seed_cannot_stand_behind_one() -> None:
    prepared = MECHANISM.prepare(DESIGN, PublicFacts(LATTICE, 400), records())
    one, other = draw_release(prepared, SystemEntropy()), draw_release(prepared, SystemEntropy())
    assert np.all(one.raw[0] != other.raw[0])
    with pytest.raises(ValueError, match="must draw from SystemEntropy"):
        draw_release(prepared, SimulationEntropy(1))


@pytest.mark.parametrize(
    "wrong", [{"mu": 0.0}, {"ridge": -1.0}, {"strategy": "free"}, {"smoothing": 2}, {"middle": np.inf}]
)
def test_an_impossible_design_does_not_exist(wrong: dict[str, float]) -> None:
    with pytest.raises(DesignError):
        replace(DESIGN, **wrong)
