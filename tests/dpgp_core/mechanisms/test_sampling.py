"""Released draws by sampling: bands from the number of draws, and broken samplers that must be caught."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import chi2

from dpgp_core.linalg import Floats
from dpgp_core.mechanisms import posterior_sampling as mechanisms
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign as Design
from dpgp_core.noise import SimulationEntropy, SystemEntropy
from dpgp_core.posterior.exact_paths import ExactPaths, exact_paths
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Prior
from dpgp_core.priors.registry import PRIORS, make_prior
from tests.dpgp_core.drawing import draw_paths
from tests.dpgp_core.hexmap import disk, records_on, textbook

DRAWS = 3_000
FEW = 1_000  # enough to catch a mutant
FAILURE = 1e-9
"""Probability with which each test below fails although the sampler is right."""

Sampler = Callable[[int], Floats]


def check_law(sampler: Sampler, mean: Floats, covariance: Floats, draws: int = DRAWS) -> None:
    """Assert that draws follow N(mean, covariance); a false alarm has probability at most FAILURE.

    Every cell, every difference and sum of two successive cells, and fifty fixed random directions are
    exactly normal under the claim: their means are tested by normal bands, their mean squares by chi-square
    bands, both exact for any number of draws, with Bonferroni's correction over all tests.
    """
    size = mean.size
    eye = np.eye(size)
    random_directions = np.random.default_rng(0).normal(size=(50, size))
    directions = np.vstack([eye, eye[1:] - eye[:-1], eye[1:] + eye[:-1], random_directions])
    values = (sampler(draws) - mean) @ directions.T
    values /= np.sqrt(np.einsum("di,ij,dj->d", directions, covariance, directions))
    share = FAILURE / (4 * directions.shape[0])
    assert np.abs(values.mean(axis=0)).max() * np.sqrt(draws) < ndtri(1 - share), "the mean is off"
    squares = np.square(values).sum(axis=0)
    assert chi2.ppf(share, draws) < squares.min(), "the draws vary too little"
    assert squares.max() < chi2.isf(share, draws), "the draws vary too much"


def check_fresh(sampler: Sampler) -> None:
    """Assert that two releases differ in every cell: their noise cannot be subtracted from each other."""
    first, second = sampler(1), sampler(1)
    assert np.all(first != second), "two releases share their noise"


def setting(name: str) -> tuple[Design, Prior, CollapsedRecords, Floats, Floats]:
    """A design on a small map, and the law it must draw from by the definition."""
    prior = make_prior(name, disk(2, padding=1), 900.0)
    cells, responses, records = records_on(prior.lattice, 30, seed=7)
    design = Design(prior=name, lengthscale=900.0, ridge=1.5, scale=0.4, noise_scale=0.2)
    mean, covariance = textbook(prior.correlation(), cells, responses, design.ridge)
    law = design.scale**2 * covariance + design.noise_scale**2 * prior.correlation()
    return design, prior, records, mean, law


def released(design: Design, prior: Prior, records: CollapsedRecords) -> Sampler:
    return lambda paths: draw_paths(replace(design, paths=paths), prior, records, SystemEntropy())


every_prior = pytest.mark.parametrize("name", sorted(PRIORS))


def daily(*names: str) -> pytest.MarkDecorator:
    """Every prior, on ordinary days these alone: thousands of paths are drawn of each."""
    marked = [pytest.param(name, marks=() if name in names else pytest.mark.slow) for name in sorted(PRIORS)]
    return pytest.mark.parametrize("name", marked)


@daily("car", "exponential")  # one with a sparse and one with a dense matrix
def test_released_paths_follow_the_designs_law(name: str) -> None:
    design, prior, records, mean, law = setting(name)
    check_law(released(design, prior, records), mean, law)


@every_prior
def test_releases_are_fresh(name: str) -> None:
    design, prior, records, _, _ = setting(name)
    check_fresh(released(design, prior, records))


def half_the_scale(
    prior: Prior, records: CollapsedRecords, ridge: float, scale: float, noise_scale: float
) -> ExactPaths:
    """Mutant: paths of half the scale that was paid for."""
    return exact_paths(prior, records, ridge, 0.5 * scale, noise_scale)


def forgotten_noise(
    prior: Prior, records: CollapsedRecords, ridge: float, scale: float, noise_scale: float
) -> ExactPaths:
    """Mutant: paths that leave the extra prior noise out."""
    return exact_paths(prior, records, ridge, scale)


@daily("exponential")  # the band that both priors are held to
@pytest.mark.parametrize("mutant", [half_the_scale, forgotten_noise])
def test_a_broken_sampler_is_caught(
    name: str, mutant: Callable[..., ExactPaths], monkeypatch: pytest.MonkeyPatch
) -> None:
    design, prior, records, mean, law = setting(name)
    monkeypatch.setattr(mechanisms, "exact_paths", mutant)
    with pytest.raises(AssertionError, match="vary too little"):
        check_law(released(design, prior, records), mean, law, FEW)


@every_prior
def test_a_leaked_seed_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: the operating system's generator restarts from a known state at every release.

    Within a release it goes on: an exact sampler asks for digits until two numbers differ.
    """
    design, prior, records, _, _ = setting(name)
    honest = released(design, prior, records)

    def leaked(paths: int) -> Floats:
        monkeypatch.setattr(os, "urandom", random.Random(20).randbytes)
        return honest(paths)

    with pytest.raises(AssertionError, match="share their noise"):
        check_fresh(leaked)


@every_prior
def test_a_seeded_source_is_refused_for_a_release(name: str) -> None:
    design, prior, records, _, _ = setting(name)
    with pytest.raises(ValueError, match="must draw from SystemEntropy"):
        draw_paths(design, prior, records, SimulationEntropy(1))


@every_prior
def test_a_seeded_source_in_disguise_is_refused_for_a_release(name: str) -> None:
    class Disguised(SimulationEntropy):
        __name__ = "SystemEntropy"

    class Derived(SystemEntropy):
        def normal(self, shape: int | tuple[int, ...]) -> Floats:
            return np.random.default_rng(0).standard_normal(shape)

    design, prior, records, _, _ = setting(name)
    for source in (Disguised(1), Derived()):
        with pytest.raises(ValueError, match="must draw from SystemEntropy"):
            draw_paths(design, prior, records, source)


def test_the_check_itself_lets_the_right_law_pass_and_small_errors_not() -> None:
    """Power of the check: an error of 15 % in scale is found, the exact law is not blamed."""
    covariance = make_prior("exponential", disk(2), 900.0).correlation()
    root, mean = np.linalg.cholesky(covariance), np.zeros(19)
    entropy = SystemEntropy()
    check_law(lambda paths: entropy.normal((paths, 19)) @ root.T, mean, covariance)
    with pytest.raises(AssertionError, match="too little"):
        check_law(lambda paths: 0.85 * entropy.normal((paths, 19)) @ root.T, mean, covariance)
    with pytest.raises(AssertionError, match="mean is off"):
        check_law(lambda paths: entropy.normal((paths, 19)) @ root.T + 0.3, mean, covariance)
