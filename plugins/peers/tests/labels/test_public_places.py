"""Cloaking and functional noise: priced exactly by the integers that are summed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.accounting.gaussian import gaussian_mu
from dpgp_core.errors import DesignError
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from hexcursion_peers import CLOAKING, FUNCTIONAL
from hexcursion_peers.labels.features import cloaked_rows, functional_rows
from tests.dpgp_core.mechanisms.test_public_places import EVERY, FACTS, cells_of, records
from tests.oracles.papers import function_sensitivity

gaussian = pytest.mark.parametrize("name", ["cloaking", "cloaking by volume", "functional"])


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
        (released,) = mechanism.prepare(tight, FACTS, records()).without_paths(SimulationEntropy(1), 1)
        spread.append(released.sd.mean())
    assert spread[1] < 0.99 * spread[0]
    with pytest.raises(DesignError):
        replace(design, blur=0.0)


def test_cloaking_needs_less_noise_than_noise_on_every_value() -> None:
    """Mean square of the noise at the occupied cells, against the same mu on each value itself."""
    held, mu = records(), gaussian_mu(1.0, 1e-5)
    deviations = {}
    for name in ("cloaking", "functional"):
        mechanism, design = EVERY[name]
        prepared = mechanism.prepare(replace(design, mu=mu, paths=1), FACTS, held)
        (released,) = prepared.without_paths(SimulationEntropy(1), 1)
        deviations[name] = float(np.mean(np.square(released.sd)))
    assert deviations["cloaking"] <= deviations["functional"] * 1.05
    assert deviations["cloaking"] < 0.25  # the prior's variance: something was learned


def test_an_unknown_criterion_is_refused() -> None:
    with pytest.raises(DesignError, match="unknown criterion 'least': choose mean-square or volume"):
        replace(EVERY["cloaking"][1], criterion="least")
