"""Mechanisms for public places: priced exactly, refused where places are private, and calibrated as maps."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.errors import BoundRefused, DesignError, InvalidValue
from dpgp_core.labels.features import cloaked_rows, functional_rows
from dpgp_core.labels.plan import MOST_CELLS
from dpgp_core.mechanisms.bin_means import BinMeans, BinMeansDesign, square_bins
from dpgp_core.mechanisms.cloaking import Cloaking, CloakingDesign
from dpgp_core.mechanisms.functional import Functional, FunctionalDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.terms import Ask, Budget
from dpgp_core.noise.entropy import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing.facts import PublicFacts
from dpgp_core.releasing.released import draw_release
from tests.dpgp_core.hexmap import disk, line
from tests.oracles.papers import function_sensitivity

LATTICE = disk(3, padding=1)
FACTS = PublicFacts(LATTICE, 150, places_public=True)
MODEL = ("exponential", 1500.0, 1.0, 0.5)
CLOAKING, FUNCTIONAL, BIN_MEANS = Cloaking(), Functional(), BinMeans()
EVERY: dict[str, tuple[Any, Any]] = {
    "cloaking": (CLOAKING, CloakingDesign(*MODEL, 1.5, paths=4)),
    "cloaking by volume": (CLOAKING, CloakingDesign(*MODEL, 1.5, criterion="volume", paths=4)),
    "functional": (FUNCTIONAL, FunctionalDesign(*MODEL, 1.5, paths=4)),
    "bin-means": (BIN_MEANS, BinMeansDesign(*MODEL, 900.0, 1.5, paths=4)),
}
every = pytest.mark.parametrize("name", sorted(EVERY))
gaussian = pytest.mark.parametrize("name", sorted(set(EVERY) - {"bin-means"}))


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


@gaussian
def test_the_distance_of_rounded_noise_to_the_ideal_is_charged(name: str) -> None:
    mechanism, design = EVERY[name]
    assert mechanism.guarantee(design, FACTS).cost.distance == 2.0**-150


@gaussian
def test_the_exact_mu_of_every_changed_value_is_at_most_the_declared_one(name: str) -> None:
    """Every record, largest change, through the integers that are really summed; one of them reaches it."""
    mechanism, design = EVERY[name]
    cells = cells_of(60)
    values = np.where(np.random.default_rng(2).uniform(size=60) < 0.5, -1.0, 1.0)
    base = CollapsedRecords.from_records(cells, values)
    plan = mechanism.plan(design, FACTS, base)
    noise, reached = plan.noise_for(design.mu), []
    for j in range(60):
        other = values.copy()
        other[j] = -other[j]
        moved = plan.exact(CollapsedRecords.from_records(cells, other)) - plan.exact(base)
        reached.append(np.linalg.norm(moved.astype(float)) * 2.0**-30 / noise)
    assert max(reached) <= design.mu
    assert max(reached) == pytest.approx(design.mu, rel=1e-4)
    assert plan.mu(noise) <= design.mu


def test_functional_rows_have_the_exact_length_of_the_function() -> None:
    held = CollapsedRecords.from_records([0, 7, 7, 20], [0.1, 0.2, 0.3, -0.4])
    plan = FUNCTIONAL.plan(EVERY["functional"][1], FACTS, held)
    places = plan.places
    single = np.array([0, 7, 7, 20])
    covariance = places.prior.correlation()[np.ix_(single, single)]
    lengths = np.linalg.norm(plan.features.values, axis=1)
    np.testing.assert_allclose(lengths.max(), 1.0, atol=1e-4)
    # the same records one by one, two of them in one cell
    inverse = np.linalg.inv(covariance + np.eye(4))
    single_lengths = np.sqrt(np.diag(inverse @ covariance @ inverse))
    np.testing.assert_allclose(
        lengths / lengths.max(), single_lengths[[0, 1, 3]] / single_lengths.max(), atol=1e-4
    )
    assert function_sensitivity(covariance, 1.0) == pytest.approx(single_lengths.max())


def test_rows_are_made_for_the_criterion_and_with_blur_times_the_ridge() -> None:
    """Two criteria make two sets of rows; blur 3 of ridge 2 is ridge 6."""
    places = CLOAKING.places_of(EVERY["cloaking"][1], FACTS, records(20))
    made = {}
    for criterion in ("mean-square", "volume"):
        design = replace(EVERY["cloaking"][1], ridge=2.0, blur=3.0, criterion=criterion)
        made[criterion] = CLOAKING.rows(design, places)
        np.testing.assert_array_equal(made[criterion], cloaked_rows(places, 6.0, criterion))  # type: ignore[arg-type]
    assert made["mean-square"].shape != made["volume"].shape or np.any(
        np.abs(made["mean-square"] - made["volume"]) > 1e-3
    )
    design = replace(EVERY["functional"][1], ridge=2.0, blur=3.0)
    np.testing.assert_array_equal(FUNCTIONAL.rows(design, places), functional_rows(places, 6.0))


@pytest.mark.parametrize("name", ["cloaking", "functional"])
def test_a_smoother_release_says_more_at_a_small_budget(name: str) -> None:
    """A larger ridge in what is released needs less noise, and the reading knows which ridge it was."""
    mechanism, design = EVERY[name]
    spread = []
    for blur in (1.0, 16.0):
        tight = replace(design, mu=0.2, blur=blur)
        spread.append(
            mechanism.prepare(tight, FACTS, records()).without_paths(SimulationEntropy(1)).sd.mean()
        )
    assert spread[1] < 0.99 * spread[0]
    with pytest.raises(DesignError):
        replace(design, blur=0.0)


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
        released = prepared.without_paths(SimulationEntropy(seed))
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
    assert mechanism.grid(private, Ask(("exponential",))) == ()
    with pytest.raises(BoundRefused, match="replace-one"):
        mechanism.guarantee(design, PublicFacts(LATTICE, 150, "add-or-remove", places_public=True))


@every
def test_designs_travel_as_mappings_and_impossible_ones_do_not_exist(name: str) -> None:
    mechanism, design = EVERY[name]
    assert mechanism.design_type.from_mapping(design.to_mapping()) == design
    assert mechanism.grid(FACTS, Ask(("exponential",)))
    for wrong in ({"scale": 0.0}, {"ridge": -1.0}, {"smoothing": 1}, {"lengthscale": np.inf}):
        with pytest.raises(DesignError):
            replace(design, **wrong)
    with pytest.raises(DesignError):
        replace(EVERY["cloaking"][1], criterion="least")


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
        CLOAKING.prepare(EVERY["cloaking"][1], facts, CollapsedRecords.from_records([1], [0.5]))


def test_cloaking_needs_less_noise_than_noise_on_every_value() -> None:
    """Mean square of the noise at the occupied cells, against the same mu on each value itself."""
    held, mu = records(), gaussian_mu(1.0, 1e-5)
    deviations = {}
    for name in ("cloaking", "functional"):
        mechanism, design = EVERY[name]
        released = mechanism.prepare(replace(design, mu=mu, paths=1), FACTS, held).without_paths(
            SimulationEntropy(1)
        )
        deviations[name] = float(np.mean(np.square(released.sd)))
    assert deviations["cloaking"] <= deviations["functional"] * 1.05
    assert deviations["cloaking"] < 0.25  # the prior's variance: something was learned


def test_what_a_release_hides_by_its_noise_depends_on_public_places() -> None:
    """Spectral statistics leave the counts out where they are known, and so no longer hide places."""
    private = PublicFacts(LATTICE, 150)
    for name, known in (
        ("cloaking", "values"),
        ("sparse-gp", "values and places"),
        ("spectral-statistics", "values"),
    ):
        assert MECHANISMS[name].hides(FACTS) == known
    assert MECHANISMS["spectral-statistics"].hides(private) == "values and places"
