"""Sharpened posterior sampling: it costs the budget and no more, and no explicit neighbours cost more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.mechanisms import paths, questions
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.priors.registry import make_prior
from dpgp_core.releasing import PublicFacts
from tests.dpgp_core.hexmap import disk
from tests.oracles.hockey import gaussian_profile

Floats = np.ndarray
SAMPLING = MECHANISMS["posterior-sampling"]
DELTA = 1e-3
SHAPE = PosteriorSamplingDesign("car", 1_500.0, 4.0, 1.0)


def sharpened(shape: PosteriorSamplingDesign, facts: PublicFacts, epsilon: float) -> PosteriorSamplingDesign:
    budget = Budget(epsilon, DELTA)
    made = SAMPLING.calibrate(shape, facts, budget)
    assert isinstance(made, PosteriorSamplingDesign)
    less = questions.sharpened(made, facts, budget)
    assert isinstance(less, PosteriorSamplingDesign)
    assert replace(less, scale=made.scale, noise_scale=made.noise_scale) == made
    assert less.noise_share == pytest.approx(made.noise_share, abs=1e-8)
    assert 0.8 < less.scale / made.scale < 0.97, "about a tenth less noise"
    return less


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(("paths", "noise"), [(1, 0.0), (4, 0.0), (1, 1.0)])
def test_what_is_sharpened_costs_the_budget_and_no_more(epsilon: float, paths: int, noise: float) -> None:
    facts = PublicFacts(disk(2), 900)
    design = sharpened(replace(SHAPE, ridge=9.0, paths=paths, noise_scale=noise), facts, epsilon)
    cost = SAMPLING.guarantee(design, facts)
    assert epsilon * (1 - 1e-6) < cost.epsilon(DELTA).epsilon <= epsilon < cost.curve.epsilon(DELTA).epsilon


def law(
    covariance: Floats, records: list[tuple[int, float]], design: PosteriorSamplingDesign
) -> tuple[Floats, Floats]:
    """Mean and covariance of one path at all cells, by the textbook."""
    cells, responses = (np.array(column) for column in zip(*records, strict=True))
    across = covariance[:, cells]
    weights = np.linalg.solve(across[cells] + design.ridge**2 * np.eye(cells.size), across.T).T
    left = covariance - weights @ across.T
    return weights @ responses, design.scale**2 * left + design.noise_scale**2 * covariance


@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_no_explicit_neighbours_cost_more_than_what_is_certified(noise: float) -> None:
    """Exact hockey-stick divergences of neighbours with extreme responses, over all pairs of six cells.

    The same pairs catch an accountant who charges .85 of the noise as if it were all of it.
    """
    facts, random = PublicFacts(disk(1), 3), np.random.default_rng(4)
    prior = facts.prior("car", 1_500.0)
    root = prior.colour(np.eye(prior.white_size))
    covariance = root @ root.T
    design = sharpened(replace(SHAPE, noise_scale=noise), facts, 1.0)
    certified = SAMPLING.guarantee(design, facts).epsilon(DELTA)
    assert certified.order is not None
    worst = {1.0: 0.0, 0.85: 0.0}
    for _ in range(60):
        core = [
            (int(cell), float(sign))
            for cell, sign in zip(random.integers(0, 7, 2), random.choice([-1, 1], 2), strict=True)
        ]
        one, other = random.integers(0, 7, 2)
        sign = float(random.choice([-1, 1]))
        for part in worst:
            less = replace(design, scale=part * design.scale, noise_scale=part * design.noise_scale)
            (mean, cov), (mean_b, cov_b) = (
                law(covariance, [*core, last], less) for last in ((int(one), sign), (int(other), -sign))
            )
            at = np.unique([one, other])  # given these values the rest of a path tells nothing more
            exact = gaussian_profile(
                mean[at],
                cov[np.ix_(at, at)],
                mean_b[at],
                cov_b[np.ix_(at, at)],
                1,
                certified.epsilon,
                certified.order,
            )
            worst[part] = max(worst[part], exact / DELTA)
    assert worst[1.0] <= 1.0
    assert worst[0.85] > 1.9


def test_a_mechanism_whose_calibration_is_exact_is_left_alone() -> None:
    facts, budget = PublicFacts(disk(1), 50), Budget(1.0, DELTA)
    noisy = MECHANISMS["noisy-cell-statistics"]
    made = noisy.calibrate(NoisyCellStatisticsDesign("car", 900.0, 1.0, 1.0, 1.0), facts, budget)
    assert made is not None
    assert questions.sharpened(made, facts, budget) is made
    mean_only = PosteriorSamplingDesign("car", 900.0, 4.0, 0.0, noise_scale=1.0)
    assert questions.sharpened(mean_only, facts, budget) is mean_only


def test_a_design_that_cannot_be_sharpened_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not made noisier by what covers the rounding of two scales."""
    design = PosteriorSamplingDesign("car", 1_500.0, 4.0, 0.05, noise_scale=0.02)
    monkeypatch.setattr(paths, "least_total", lambda *_, start, **__: start)
    assert (
        paths.sharpened_paths(design, 500, make_prior("car", disk(3), 1_500.0), 50.0, 1e-5)
        == design.rounded_up()
    )
