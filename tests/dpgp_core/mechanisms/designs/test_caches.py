"""What mechanisms keep in a cache for each other, and the limits of what they reckon."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpgp_core.mechanisms import (
    questions,
)
from dpgp_core.mechanisms.paths import PathReader
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.posterior.ridge_family import Cache
from dpgp_core.releasing import PublicFacts
from dpgp_core.simulation import World
from dpgp_core.spectral.model import SpectralModel
from tests.dpgp_core.hexmap import disk
from tests.dpgp_core.mechanisms.beside import table
from tests.dpgp_core.mechanisms.designs.test_simulation import records, world
from tests.dpgp_core.mechanisms.designs.test_stated import DESIGNS

LATTICE = disk(3, padding=1)
HIDDEN = PublicFacts(LATTICE, 150)
KNOWN = PublicFacts(LATTICE, 150, places_public=True)

CHANGES: dict[str, list[dict[str, Any]]] = {
    "posterior-sampling": [{"lengthscale": 1400.0}, {"ridge": 0.5}, {"prior": "exponential"},
                           {"noise_scale": 0.7}, {"paths": 1}, {"smoothing": 6}],
    "noisy-cell-statistics": [{"lengthscale": 1400.0}, {"ridge": 0.5}, {"statistic_noise": 0.3},
                              {"scale": 0.9}],
    "spectral-statistics": [{"lengthscale": 1400.0}, {"ridge": 0.5}, {"mu": 9.0}, {"signal": 0.1},
                            {"middle": 0.4}, {"spread": 0.2}, {"common": 0.3}],
    "bin-means": [{"lengthscale": 1400.0}, {"width": 500.0}, {"pure_epsilon": 9.0}],
    **table("CHANGES"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CHANGES))
def test_what_is_kept_of_one_simulation_is_never_taken_for_another(name: str) -> None:
    """Other designs, records, levels, public means: with one cache as with an empty one."""
    made = world(name)
    designs = [DESIGNS[name], *(replace(DESIGNS[name], **change) for change in CHANGES[name])]
    worlds = [
        made,
        replace(made, records=records(7)),
        replace(made, records=CollapsedRecords(made.records.index, made.records.count, -made.records.mean)),
        replace(made, level=-0.3),
        replace(made, direction="below"),
        replace(made, offset=-made.offset),
    ]

    def fresh(other: World) -> World:
        return replace(other, facts=replace(other.facts, cache=Cache(LATTICE)))

    cases = [(each, made) for each in designs] + [(designs[0], each) for each in worlds]
    questions.simulate(designs[0], made)
    for design, other in cases:
        np.testing.assert_array_equal(
            questions.simulate(design, other), questions.simulate(design, fresh(other))
        )
    drawn = [questions.simulate(*case).tobytes() for case in cases]
    assert len(set(drawn)) > len(cases) // 2, "the cases differ"


def test_only_simulations_take_the_noise_of_counts_from_some_pairs_of_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is priced and drawn has the exact plan."""
    mechanism: Any = MECHANISMS["spectral-statistics"]
    made, design = world("spectral-statistics"), DESIGNS["spectral-statistics"]
    asked: list[bool] = []
    real = SpectralModel.prepare

    def prepare(self: Any, plan: Any) -> Any:
        asked.append(plan.rough)
        return real(self, plan)

    monkeypatch.setattr(SpectralModel, "prepare", prepare)
    questions.simulate(design, made)
    questions.simulated_sets(design, made, made.records, 1, SimulationEntropy(1))
    questions.simulate_held_out(design, made)
    assert asked == [True, True, True]
    mechanism.guarantee(design, made.facts)
    mechanism.prepare(design, made.facts, made.records)
    questions.seen(design, made.facts, made.records, [0], questions.Draws(1, SimulationEntropy(1)))
    assert asked[3:] == [False, False, False]


@pytest.mark.parametrize("name", sorted(DESIGNS))
def test_releases_that_are_ready_are_compared_as_objects(name: str) -> None:
    """Their records and matrices are never compared number by number."""
    made, mechanism = world(name), MECHANISMS[name]
    one, other = (mechanism.prepare(DESIGNS[name], made.facts, made.records) for _ in range(2))
    assert one == one
    assert one != other
    assert len({one, other}) == 2


def test_field_draws_of_paths_are_a_hundred_on_the_grid_and_know_public_places() -> None:
    """Of records their places alone, and only where these are public."""
    design, path = DESIGNS["posterior-sampling"], 0.1 * np.random.default_rng(2).normal(size=(3, 37))
    held, other = records(1), records(7)
    hidden = [
        questions.read(design, HIDDEN, each, path, SimulationEntropy(1)).mean.tolist()
        for each in (held, other)
    ]
    public = [
        questions.read(design, KNOWN, each, path, SimulationEntropy(1)).mean.tolist()
        for each in (held, other)
    ]
    assert hidden[0] == hidden[1] != public[0] != public[1]
    found = questions.read(design, KNOWN, held, path, SimulationEntropy(1))
    assert found.draws.shape == (100, 37)
    known = np.zeros(37)
    known[held.index] = held.count
    by_hand = PathReader(design, KNOWN, known).read(path, 100, SimulationEntropy(1)).on_grid()
    np.testing.assert_array_equal(found.mean, by_hand.mean)
    np.testing.assert_array_equal(found.draws, by_hand.draws)


def test_no_module_of_mechanisms_reads_a_clock_or_the_systems_noise_by_itself() -> None:
    """Noise comes from the entropy that a draw is handed."""
    ours = (
        "base",
        "bin_means",
        "cell_sums",
        "noisy_cell_statistics",
        "posterior_sampling",
        "spectral_statistics",
        "label_sums",
    )
    for name in (*(f"dpgp_core.mechanisms.{name}" for name in ours), *table("MODULES")):
        module = importlib.import_module(name)
        assert not hasattr(module, "SystemEntropy")
        assert not hasattr(module, "time")
