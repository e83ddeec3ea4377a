"""Mechanisms for public places: priced exactly, refused where places are private, and calibrated as maps."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgp_core.errors import BoundRefused, DesignError, InvalidValue
from dpgp_core.mechanisms.bin_means import BinMeans, BinMeansDesign, square_bins
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.registry import MECHANISMS, mechanism_of
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.public_places import MOST_CELLS
from dpgp_core.releasing import PublicFacts, draw_release
from tests.dpgp_core.hexmap import disk, line
from tests.dpgp_core.mechanisms.beside import table

LATTICE = disk(3, padding=1)
FACTS = PublicFacts(LATTICE, 150, places_public=True)
MODEL = ("exponential", 1500.0, 1.0, 0.5)
BIN_MEANS = BinMeans()
EVERY: dict[str, tuple[Any, Any]] = {
    "bin-means": (BIN_MEANS, BinMeansDesign(*MODEL, 900.0, 1.5, paths=4)),
    **{name: (mechanism_of(design), design) for name, design in table("KNOWN_PLACES").items()},
}
every = pytest.mark.parametrize("name", sorted(EVERY))


def cells_of(n: int = 150) -> np.ndarray:
    return np.random.default_rng(5).integers(0, LATTICE.size, n)


def records(n: int = 150, noise: float = 0.2) -> CollapsedRecords:
    cells = cells_of(n)
    high = np.where(LATTICE.domain_centres[cells, 0] > LATTICE.domain_centres[:, 0].mean(), 0.6, -0.6)
    values = high + noise * np.random.default_rng(6).normal(size=n)
    return CollapsedRecords.from_records(cells, np.clip(values, -1.0, 1.0))


@every
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_what_is_calibrated_costs_its_budget_and_no_more(name: str, epsilon: float) -> None:
    mechanism, design = EVERY[name]
    found = mechanism.calibrate(design, FACTS, Budget(epsilon, 1e-5))
    cost = mechanism.guarantee(found, FACTS).epsilon(1e-5).epsilon
    assert 0.99 * epsilon < cost <= epsilon


def test_one_value_moves_one_bin_by_at_most_two() -> None:
    """Pure epsilon: probabilities of the integers before and after differ by at most the factor e^epsilon."""
    bins = square_bins(LATTICE, 900.0)
    assert bins.min() == 0
    assert np.unique(bins).size == bins.max() + 1
    corner, width = LATTICE.domain_centres.min(axis=0), 900.0
    for cell, found in enumerate(bins):
        inside = np.floor((LATTICE.domain_centres[cell] - corner) / width)
        same = np.all(np.floor((LATTICE.domain_centres - corner) / width) == inside, axis=1)
        np.testing.assert_array_equal(bins[same], found)
    design = BIN_MEANS.calibrate(EVERY["bin-means"][1], FACTS, Budget(1.0, 1e-5))
    assert design is not None
    assert 0.999 < design.pure_epsilon <= 1.0
    assert BIN_MEANS.guarantee(design, FACTS).cost.pure_epsilon == design.pure_epsilon
    prepared = BIN_MEANS.prepare(design, FACTS, CollapsedRecords.from_records([0], [1.0]))
    entropy = SimulationEntropy(1)
    draws = np.array([prepared.noisy(entropy)[0] for _ in range(4000)])
    assert draws.mean() == pytest.approx(1.0, abs=0.2)
    assert draws.std() == pytest.approx(np.sqrt(8.0) / design.pure_epsilon, rel=0.08)


@pytest.mark.parametrize("epsilon", [0.01, 0.7, 1.0, 3.3, 97.1])
def test_the_noise_of_bins_is_rounded_upwards(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of 2 is 2^11 units: noise of at least 2^11 over the pure epsilon, in exact arithmetic."""
    scales: list[float] = []

    def noise(scale: float, size: int, entropy: object) -> np.ndarray:
        scales.append(scale)
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr("dpgp_core.mechanisms.bin_means.discrete_laplace", noise)
    design = BinMeansDesign(*MODEL, 900.0, epsilon)
    BIN_MEANS.prepare(design, FACTS, records()).noisy(SimulationEntropy(1))
    above = Fraction(scales[0]) * Fraction(epsilon) / 2**11 - 1
    assert float(above) == pytest.approx(2.0**-40, rel=1e-2)


def test_bins_without_a_record_are_not_released_and_the_others_sum_up_their_values() -> None:
    """Seven cells in a row, bins of two: records in the first, the third and the last, hardly any noise."""
    facts = PublicFacts(line(7), 5, places_public=True)
    held = CollapsedRecords.from_records([0, 1, 5, 6, 6], [0.5, -0.25, 1.0, -0.75, 0.125])
    design = BinMeansDesign("car", 900.0, 1.0, 0.5, 800.0, 1e9)
    prepared = BIN_MEANS.prepare(design, facts, held)
    assert prepared.noisy(SimulationEntropy(1)).tolist() == pytest.approx([0.25, 1.0, -0.625], abs=1e-3)
    assert prepared.rows.tolist() == [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    noisy = BIN_MEANS.prepare(replace(design, pure_epsilon=0.5), facts, held)
    assert noisy.variance == pytest.approx(np.full(3, 32.0), rel=1e-6)  # 2 (2/.5)^2


@every
def test_a_release_shows_the_high_side(name: str) -> None:
    mechanism, design = EVERY[name]
    prepared = mechanism.prepare(design, FACTS, records())
    released = draw_release(prepared, SimulationEntropy(3), simulation=True)
    assert released.paths.shape == (4, LATTICE.size)
    probability = released.probability(0.0)
    east = LATTICE.domain_centres[:, 0] > LATTICE.domain_centres[:, 0].mean()
    assert probability is not None
    assert np.mean((probability > 0.5) == east) > 0.75


@every
def test_paths_have_the_law_of_the_reading(name: str) -> None:
    mechanism, design = EVERY[name]
    prepared = mechanism.prepare(replace(design, paths=3000), FACTS, records())
    released = draw_release(prepared, SimulationEntropy(4), simulation=True)
    assert released.mean is not None
    assert released.sd is not None
    error = (released.paths.mean(axis=0) - released.mean) / released.sd * np.sqrt(3000)
    assert np.abs(error).max() < 5.0
    np.testing.assert_allclose(released.paths.std(axis=0), released.sd, rtol=0.08)


@every
def test_the_probabilities_are_calibrated(name: str) -> None:
    """Fields drawn from the model, released and read: standardised errors have deviation 1."""
    mechanism, design = EVERY[name]
    cells, generator, errors = cells_of(), np.random.default_rng(9), []
    small = replace(design, scale=0.15, ridge=1.0)  # hardly ever clipped
    prior = FACTS.prior(design.prior, design.lengthscale)
    for seed in range(40):
        field = 0.15 * prior.colour(generator.normal(size=(prior.white_size, 1)))[:, 0]
        values = np.clip(field[cells] + 0.15 * generator.normal(size=cells.size), -1, 1)
        prepared = mechanism.prepare(small, FACTS, CollapsedRecords.from_records(cells, values))
        (released,) = prepared.without_paths(SimulationEntropy(seed), 1)
        errors.append((field - released.mean) / released.sd)
    assert np.std(errors) == pytest.approx(1.0, abs=0.08)


@every
def test_private_places_are_refused_with_the_remedy(name: str) -> None:
    mechanism, design = EVERY[name]
    private = PublicFacts(LATTICE, 150)
    with pytest.raises(BoundRefused, match="set `places_public`"):
        mechanism.guarantee(design, private)
    with pytest.raises(BoundRefused, match="set `places_public`"):
        mechanism.prepare(design, private, records())
    assert mechanism.calibrate(design, private, Budget(1.0, 1e-5)) is None
    assert mechanism.search.grid(private, SearchSpec(("exponential",))) == ()
    with pytest.raises(BoundRefused, match="replace-one"):
        mechanism.guarantee(design, PublicFacts(LATTICE, 150, "add-or-remove", places_public=True))


@every
def test_designs_travel_as_mappings_and_impossible_ones_do_not_exist(name: str) -> None:
    mechanism, design = EVERY[name]
    assert mechanism.design_type.from_mapping(design.to_mapping()) == design
    assert mechanism.search.grid(FACTS, SearchSpec(("exponential",)))
    for wrong in ({"scale": 0.0}, {"ridge": -1.0}, {"smoothing": 1}, {"lengthscale": np.inf}):
        with pytest.raises(DesignError):
            replace(design, **wrong)


@every
def test_a_release_draws_from_the_operating_system(name: str) -> None:
    mechanism, design = EVERY[name]
    prepared = mechanism.prepare(design, FACTS, records())
    one, other = draw_release(prepared, SystemEntropy()), draw_release(prepared, SystemEntropy())
    assert not np.array_equal(one.raw[0], other.raw[0])
    with pytest.raises(ValueError, match="must draw from SystemEntropy"):
        draw_release(prepared, SimulationEntropy(1))


def test_a_large_domain_is_refused_before_a_matrix_is_made() -> None:
    wide = disk(45)
    assert wide.size > MOST_CELLS
    facts = PublicFacts(wide, 10, places_public=True)
    with pytest.raises(InvalidValue, match="coarser resolution"):
        BIN_MEANS.prepare(EVERY["bin-means"][1], facts, CollapsedRecords.from_records([1], [0.5]))


def test_what_a_release_hides_by_its_noise_depends_on_public_places() -> None:
    """Spectral statistics leave the counts out where they are known, and so no longer hide places."""
    private = PublicFacts(LATTICE, 150)
    for name, known in (
        ("bin-means", "values"),
        ("noisy-cell-statistics", "values and places"),
        ("spectral-statistics", "values"),
    ):
        assert MECHANISMS[name].protection.hides(FACTS) == known
    assert MECHANISMS["spectral-statistics"].protection.hides(private) == "values and places"
