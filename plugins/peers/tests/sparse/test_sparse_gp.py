"""The sparse Gaussian process as a mechanism: priced exactly, drawn from integers, read in two ways."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.errors import BoundRefused, DesignError, InvalidValue
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts, draw_release
from hexcursion_peers.sparse.mechanism import MOST_POINTS, SparseGp, SparseGpDesign, inducing_cells
from hexcursion_peers.sparse.moments import sensitivity
from hexcursion_peers.sparse.posterior import chosen_regularisation, errors_in_variables, private_posterior
from tests.dpgp_core.hexmap import disk

MECHANISM = SparseGp()
LATTICE = disk(4, padding=1)
FACTS = PublicFacts(LATTICE, 800)
DESIGN = SparseGpDesign("exponential", 1500.0, 1.0, 0.5, 900.0, 3.0, paths=4)
READINGS = pytest.mark.parametrize("reading", ["shrunken", "errors-in-variables"])


def records(n: int = 800) -> CollapsedRecords:
    generator = np.random.default_rng(5)
    cells = generator.integers(0, LATTICE.size, n)
    high = np.where(LATTICE.domain_centres[cells, 0] > LATTICE.domain_centres[:, 0].mean(), 0.6, -0.6)
    return CollapsedRecords.from_records(cells, np.clip(high + 0.2 * generator.normal(size=n), -1.0, 1.0))


def test_what_is_calibrated_costs_its_budget_and_no_more() -> None:
    found = MECHANISM.calibrate(DESIGN, FACTS, Budget(2.0, 1e-5))
    assert found is not None
    assert 1.999 < MECHANISM.guarantee(found, FACTS).epsilon(1e-5).epsilon <= 2.0
    # Rounded noise is not quite the ideal: its distance is charged.
    assert MECHANISM.guarantee(found, FACTS).cost.distance == 2.0**-150


@pytest.mark.parametrize("balance", [1.0, 0.05])
def test_the_exact_mu_of_every_exchanged_record_is_at_most_the_declared_one(balance: float) -> None:
    """All places and both ends for one record, and the pairs of cells that are furthest apart."""
    design = replace(DESIGN, balance=balance)
    plan = MECHANISM.plan(design, FACTS)
    first_noise, second_noise = plan.noises(design)
    whole, worst = plan.features.whole, 0.0
    cells = range(LATTICE.size)
    for one in cells:
        for other in cells:
            for sign in (1, -1):
                first = (whole[one] - sign * whole[other]) * 2.0**-15
                second = (np.outer(whole[one], whole[one]) - np.outer(whole[other], whole[other])) * 4.0**-15
                square = first @ first / first_noise**2 + np.sum(second**2) / second_noise**2
                worst = max(worst, math.sqrt(square))
    assert 0.7 * design.mu < worst <= design.mu


def test_inducing_points_come_from_public_parents_or_squares() -> None:
    squares = inducing_cells(FACTS, 900.0)
    assert np.unique(squares).size == squares.size
    parents = (np.arange(LATTICE.size) // 7,)
    tree = PublicFacts(LATTICE, 800, parents=parents)
    chosen = inducing_cells(tree, 400.0 * math.sqrt(7))
    assert chosen.size == np.unique(parents[0]).size
    assert sorted(parents[0][chosen]) == list(range(chosen.size))
    assert inducing_cells(tree, 100.0).size == LATTICE.size  # no level of that size: squares


@pytest.mark.parametrize(("times", "points"), [(0.49, 34), (0.5, 9), (2.0, 9), (2.1, 4)])
def test_a_level_within_a_factor_of_two_gives_the_inducing_points(times: float, points: int) -> None:
    """Nine parents of 61 hexagons; beyond twice or half their size squares of the asked side."""
    tree = PublicFacts(LATTICE, 800, parents=(np.arange(LATTICE.size) // 7,))
    size = LATTICE.spacing * np.sqrt(LATTICE.size / 9)
    assert inducing_cells(tree, times * size).size == points


def test_a_covariance_that_rounding_made_indefinite_is_drawn_from(monkeypatch: pytest.MonkeyPatch) -> None:
    eigh = np.linalg.eigh

    def rounded(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, vector = eigh(matrix)
        return np.where(np.arange(value.size) == 0, -1e-18, value), vector

    prepared = MECHANISM.prepare(DESIGN, FACTS, records())
    monkeypatch.setattr(np.linalg, "eigh", rounded)
    assert np.all(np.isfinite(prepared.draw(SystemEntropy()).paths))


def test_moments_are_read_in_units_of_the_scale_with_the_square_of_the_ridge() -> None:
    """Scale .5 and ridge 1.5: a record's variance is 2.25 of the field's; the map is in response units."""
    design = replace(DESIGN, ridge=1.5)
    plan = MECHANISM.plan(design, FACTS)
    moments = MECHANISM.prepare(design, FACTS, records()).moments(SimulationEntropy(2))
    own = moments.scaled(0.5)
    expected = {
        "errors-in-variables": errors_in_variables(plan.between, own, 2.25),
        "shrunken": private_posterior(plan.between, own, 2.25, chosen_regularisation("raised", own, 2.25)),
    }
    for reading, posterior in expected.items():
        read = replace(design, reading=reading, regularisation="raised")  # type: ignore[arg-type]
        found, mean, sd = plan.field(moments, read)
        np.testing.assert_allclose(found.mean, posterior.mean, rtol=1e-9, atol=1e-12)
        at, variance = posterior.at(plan.projection, plan.between, plan.prior_variance)
        np.testing.assert_allclose(mean, 0.5 * at, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(sd, 0.5 * np.sqrt(variance), rtol=1e-9)


def test_points_carry_values_to_all_cells_by_the_priors_correlation() -> None:
    """With a nugget of a millionth at the points themselves; balance 1/4 doubles the second noise."""
    plan = MECHANISM.plan(DESIGN, FACTS)
    correlation = FACTS.prior("exponential", 1500.0).correlation()
    between = correlation[np.ix_(plan.chosen, plan.chosen)] + 1e-6 * np.eye(plan.chosen.size)
    np.testing.assert_allclose(plan.between, between, rtol=1e-12)
    carried = correlation[:, plan.chosen] @ np.linalg.inv(between)
    np.testing.assert_allclose(plan.projection, carried, atol=1e-9)
    assert plan.prior_variance == pytest.approx(np.ones(61))
    first, second = plan.noises(replace(DESIGN, balance=0.25))
    assert second == pytest.approx(2.0 * first, rel=1e-12)
    free = plan.noises(replace(DESIGN, balance=0.1))[0]  # the second moment costs nothing beside the first
    assert free == pytest.approx(2.0 * np.sqrt(plan.features.norm) / 3.0, rel=1e-9)
    exact = sensitivity(1.0, plan.features.norm, 0.25) / 3.0
    assert first / exact - 1.0 == pytest.approx(2.0**-40, rel=1e-2)


@READINGS
def test_a_release_shows_the_high_side(reading: str) -> None:
    design = replace(DESIGN, reading=reading, mu=8.0)  # type: ignore[arg-type]
    released = draw_release(
        MECHANISM.prepare(design, FACTS, records()), SimulationEntropy(3), simulation=True
    )
    assert released.paths.shape == (4, LATTICE.size)
    probability = released.probability(0.0)
    assert probability is not None
    east = LATTICE.domain_centres[:, 0] > LATTICE.domain_centres[:, 0].mean()
    assert np.mean((probability > 0.5) == east) > 0.75


@READINGS
def test_paths_have_the_law_of_the_reading(reading: str) -> None:
    design = replace(DESIGN, reading=reading, paths=3000)  # type: ignore[arg-type]
    prepared = MECHANISM.prepare(design, FACTS, records())
    released = draw_release(prepared, SimulationEntropy(4), simulation=True)
    assert released.mean is not None
    assert released.sd is not None
    error = (released.paths.mean(axis=0) - released.mean) / released.sd * np.sqrt(3000)
    assert np.abs(error).max() < 5.0
    np.testing.assert_allclose(released.paths.std(axis=0), released.sd, rtol=0.08)


def test_the_reading_that_models_all_noise_is_the_calibrated_one() -> None:
    """Standardised errors of 30 worlds: about 1 with errors in variables, far more when shrunken."""
    prior = FACTS.prior(DESIGN.prior, DESIGN.lengthscale)
    spread = {}
    for reading in ("shrunken", "errors-in-variables"):
        generator, errors = np.random.default_rng(3), []
        design = replace(DESIGN, reading=reading, scale=0.2, mu=2.0)  # type: ignore[arg-type]
        for seed in range(30):
            field = 0.2 * prior.colour(generator.normal(size=(prior.white_size, 1)))[:, 0]
            cells = generator.integers(0, LATTICE.size, 800)
            values = np.clip(field[cells] + 0.2 * generator.normal(size=800), -1, 1)
            prepared = MECHANISM.prepare(design, FACTS, CollapsedRecords.from_records(cells, values))
            (released,) = prepared.without_paths(SimulationEntropy(seed), 1)
            errors.append((field - released.mean) / released.sd)
        spread[reading] = float(np.std(errors))
    assert spread["errors-in-variables"] == pytest.approx(1.0, abs=0.2)
    assert spread["shrunken"] > 1.1 * spread["errors-in-variables"]


def test_the_grid_keeps_to_few_inducing_points() -> None:
    designs = MECHANISM.search.grid(FACTS, SearchSpec(("exponential",)))
    assert designs
    assert all(inducing_cells(FACTS, design.spacing).size <= MOST_POINTS for design in designs)
    with pytest.raises(InvalidValue, match="space them wider apart"):
        MECHANISM.prepare(
            replace(DESIGN, spacing=100.0),
            PublicFacts(disk(8), 50),
            CollapsedRecords.from_records([0], [0.5]),
        )


def test_designs_travel_as_mappings_and_impossible_ones_do_not_exist() -> None:
    assert SparseGpDesign.from_mapping(DESIGN.to_mapping()) == DESIGN
    for wrong in ({"balance": 0.0}, {"reading": "best"}, {"regularisation": "none"}, {"smoothing": 1}):
        with pytest.raises(DesignError):
            replace(DESIGN, **wrong)  # type: ignore[arg-type]
    with pytest.raises(BoundRefused, match="replace-one"):
        MECHANISM.guarantee(DESIGN, PublicFacts(LATTICE, 800, "add-or-remove"))


def test_a_release_draws_from_the_operating_system() -> None:
    prepared = MECHANISM.prepare(DESIGN, FACTS, records())
    one, other = draw_release(prepared, SystemEntropy()), draw_release(prepared, SystemEntropy())
    assert not np.array_equal(one.raw[0], other.raw[0])
    with pytest.raises(ValueError, match="must draw from SystemEntropy"):
        draw_release(prepared, SimulationEntropy(1))
