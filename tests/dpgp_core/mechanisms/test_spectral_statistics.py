"""Spectral statistics as a mechanism: priced as calibrated, drawn from integers, read as probabilities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.accounting.gaussian import gaussian_epsilon
from dpgp_core.errors import DesignError
from dpgp_core.excursion import cutoff_for_map, exceedance_probability
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from dpgp_core.mechanisms.spectral_statistics import SpectralStatistics, stated
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from dpgp_core.simulation import World
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


def test_a_release_may_choose_its_own_cutoff_and_then_keeps_it() -> None:
    facts, own = PublicFacts(LATTICE, 400), replace(DESIGN, mu=0.2, cutoff_from="release")
    released = draw_release(MECHANISM.prepare(own, facts, records()), SimulationEntropy(6), simulation=True)
    assert released.mean is not None
    assert released.sd is not None
    assert released.map_sd is not None
    assert np.all((released.map_sd > 0.0) & (released.map_sd < released.sd))
    settled = own.settled(released, 0.0, "above")
    shown = exceedance_probability(released.mean, released.map_sd, 0.0)
    stated = exceedance_probability(released.mean, released.sd, 0.0)
    assert settled.cutoff == cutoff_for_map(stated, shown) != 0.5
    assert settled.cutoff_from == "release"
    assert own.settled(released, 0.0, "below").cutoff == cutoff_for_map(1.0 - stated, 1.0 - shown)
    given = own.with_cutoff(0.3)
    assert (given.cutoff, given.cutoff_from) == (0.3, "design")
    assert given.settled(released, 0.0, "above") is given
    with pytest.raises(DesignError, match="unknown cutoff_from 'reader': choose design or release"):
        replace(DESIGN, cutoff_from="reader")  # type: ignore[arg-type]


def test_simulated_releases_are_cut_by_the_design_or_each_by_its_own_cutoff() -> None:
    held, facts = records(), PublicFacts(LATTICE, 400)
    none = np.empty(0, dtype=np.int64)
    world = World(facts, held, held, none, none.astype(bool), 0.0, "above", np.zeros(LATTICE.size))
    given = replace(DESIGN, mu=0.2)
    probability, cut, no_cutoffs = stated(given, world, held)
    assert no_cutoffs is None
    assert cut is probability
    np.testing.assert_array_equal(questions.simulate(given.with_cutoff(0.7), world), probability >= 0.7)
    chosen = replace(given, cutoff_from="release")
    again, _, own = stated(chosen, world, held)
    np.testing.assert_allclose(again, probability, atol=1e-12)
    assert own is not None
    assert float(np.ptp(own)) > 0.0
    np.testing.assert_array_equal(questions.simulate(chosen, world), probability >= own[:, None])


def test_the_records_of_a_free_map_are_not_those_of_the_public_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So the public counts stay as they are; only beside the reference's own records are they drawn anew."""
    seen: list[bool] = []

    def readings(*_: object, same: bool = True) -> None:
        seen.append(same)
        raise StopIteration

    monkeypatch.setattr("dpgp_core.mechanisms.spectral_statistics.SharedReadings", readings)
    held, none = records(), np.empty(0, dtype=np.int64)
    world = World(
        PublicFacts(LATTICE, 400), held, held, none, none.astype(bool), 0.0, "above", np.zeros(LATTICE.size)
    )
    with pytest.raises(StopIteration):
        questions.simulated_sets(DESIGN, world, held, 2, SimulationEntropy(1))
    assert seen == [False]


def test_only_what_is_hidden_of_an_unknown_mean_makes_the_map_less_sure() -> None:
    facts = PublicFacts(LATTICE, 400)
    sure, unsure = (
        draw_release(MECHANISM.prepare(each, facts, records()), SimulationEntropy(3), simulation=True)
        for each in (replace(DESIGN, common=0.3, spread=1e-9, amplitude=0.6e9), replace(DESIGN, common=0.3))
    )
    assert sure.map_sd is not None
    assert unsure.map_sd is not None
    np.testing.assert_allclose(sure.mean, unsure.mean, atol=1e-5)
    assert float((unsure.map_sd / sure.map_sd).min()) > 1.0


def test_without_reference_data_no_cutoff_is_taken_from_simulated_fields() -> None:
    facts, budget, blind = PublicFacts(LATTICE, 400), Budget(1.0, 1e-5), replace(DESIGN, common=0.3)
    assert {each.cutoff_from for each in MECHANISM.search.variants(blind, SearchSpec(("car",)))} == {"design"}
    assert questions.sharpened(DESIGN.with_cutoff(0.4), facts, budget) == DESIGN.with_cutoff(0.4)
    found = questions.sharpened(blind.with_cutoff(0.4), facts, budget)
    assert (found.cutoff_from, found.cutoff) == ("release", 0.5)
    assert MECHANISM.search.place_of(found, facts) == replace(blind, mu=1.0)


def test_the_local_stage_goes_as_far_up_as_down() -> None:
    """Lengthscale, signal, amplitude and ridge one at a time; amplitude against ridge, which change alike."""
    moved = MECHANISM.search.refinement([DESIGN], PublicFacts(LATTICE, 400), SearchSpec(("exponential",)))
    ratios = {
        tuple(
            round(getattr(each, name) / getattr(DESIGN, name), 9)
            for name in ("lengthscale", "signal", "amplitude", "ridge")
        )
        for each in moved
    }
    assert ratios == {
        (1.6, 1.0, 1.0, 1.0),
        (0.625, 1.0, 1.0, 1.0),
        (1.0, 2.56, 1.0, 1.0),
        (1.0, 0.390625, 1.0, 1.0),
        (1.0, 1.0, 1.6, 1.0),
        (1.0, 1.0, 0.625, 1.0),
        (1.0, 1.0, 1.0, 1.6),
        (1.0, 1.0, 1.0, 0.625),
        (1.0, 1.0, 1.6, 0.625),
        (1.0, 1.0, 0.625, 1.6),
    }
