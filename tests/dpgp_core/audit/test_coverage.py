"""Simulated coverage: exact on worlds whose answer is known, and telling on a regularised posterior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from dpgp_core.audit.coverage import Share, World, simulated_coverage
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign as Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Prior
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts, draw_release
from tests.dpgp_core.hexmap import disk


def worlds(design: Design, prior: Prior, index: np.ndarray, count: np.ndarray, seed: int) -> World:
    """Drawn from the model: a truth 0.3 GP, records with noise of 0.3, clipped in cell means, released."""
    entropy = SimulationEntropy(seed)

    def world() -> tuple[np.ndarray, np.ndarray]:
        truth = 0.3 * prior.colour(entropy.normal((prior.white_size, 1)))[:, 0]
        noise = 0.3 / np.sqrt(count) * entropy.normal(index.size)
        records = CollapsedRecords(index, count, np.clip(truth[index] + noise, -1.0, 1.0))
        prepared = mechanism_of(design).prepare(design, PublicFacts(prior.lattice, records.n), records)
        return truth, draw_release(prepared, entropy, simulation=True).paths

    return world


def test_interval_is_clopper_pearsons() -> None:
    for hits, trials in ((0, 10), (3, 10), (10, 10), (250, 1000)):
        share = Share.of(hits, trials)
        assert share.value == hits / trials
        assert share.low == pytest.approx(beta.ppf(0.025, hits, trials - hits + 1) if hits else 0.0)
        assert share.high == pytest.approx(beta.ppf(0.975, hits + 1, trials - hits) if hits < trials else 1.0)


def test_paths_that_are_the_truth_cover_always() -> None:
    generator = np.random.default_rng(0)

    def world() -> tuple[np.ndarray, np.ndarray]:
        truth = generator.normal(size=12)
        return truth, np.repeat(truth[None], 5, axis=0)

    found = simulated_coverage(world, 0.2, 0.9, 30)
    assert found.inner.value == found.outer.value == found.both.value == 1.0
    assert found.told == found.told_right == 1.0
    assert found.simulations == 30


def test_paths_that_are_the_opposite_of_the_truth_cover_never() -> None:
    def world() -> tuple[np.ndarray, np.ndarray]:
        truth = np.array([1.0, -1.0, 1.0])
        return truth, -np.repeat(truth[None], 5, axis=0)

    found = simulated_coverage(world, 0.0, 0.9, 10)
    assert found.inner.value == found.outer.value == found.told_right == 0.0


def test_the_side_below_holds_what_lies_at_the_level() -> None:
    """Truth and paths at 0.5, 0 and -0.5: at or under 0 are two of three cells, above it is one."""

    def world() -> tuple[np.ndarray, np.ndarray]:
        truth = np.array([0.5, 0.0, -0.5])
        return truth, np.repeat(np.array([[0.5, 0.0, 0.5]]), 5, axis=0)

    below = simulated_coverage(world, 0.0, 0.9, 2, direction="below")
    assert (below.inner.value, below.outer.value) == (1.0, 0.0)  # cell 2 is missed
    assert below.told_right == pytest.approx(2 / 3)
    above = simulated_coverage(world, 0.0, 0.9, 2)
    assert (above.inner.value, above.outer.value) == (0.0, 1.0)  # cell 2 is falsely in


def test_many_paths_of_the_right_model_cover_as_they_claim() -> None:
    """Truth and paths from one posterior: the claim of 80 % holds up to simulation and selection."""
    prior = make_prior("exponential", disk(3), 1_500.0)
    design = Design(prior="exponential", lengthscale=1_500.0, ridge=1.0, scale=0.3, paths=200)
    index, count = np.arange(0, prior.size, 3), np.full(13, 4)
    world = worlds(design, prior, index, count, 5)
    found = simulated_coverage(world, 0.1, 0.8, 150)
    assert found.inner.high > 0.8 > found.inner.low - 0.1
    assert found.outer.high > 0.8 > found.outer.low - 0.1
    assert 0 < found.told < 1


def test_a_biased_release_is_shown_to_cover_less_than_it_claims() -> None:
    """A huge ridge with a small scale pulls every path to the prior mean, with great confidence."""
    prior = make_prior("exponential", disk(3), 1_500.0)
    design = Design(prior="exponential", lengthscale=1_500.0, ridge=30.0, scale=0.01, paths=50)
    world = worlds(design, prior, np.arange(prior.size), np.full(prior.size, 4), 6)
    found = simulated_coverage(world, 0.1, 0.9, 60)
    assert found.outer.high < 0.5


def test_no_simulation_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one simulation"):
        simulated_coverage(lambda: (np.zeros(1), np.zeros((1, 1))), 0.0, 0.9, 0)
