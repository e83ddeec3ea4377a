"""What designs cost and how much noise meets a budget, in literal numbers on 37 hexagons."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpgp_core.errors import BoundRefused, InvalidValue
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.cell_sums import (
    NoisyStatistics,
    noisy_totals,
    statistic_mu,
    statistic_noise_for,
    statistics_cost,
)
from dpgp_core.mechanisms.design import Budget
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts
from tests.dpgp_core.hexmap import ZeroEntropy, disk
from tests.dpgp_core.mechanisms.beside import rows
from tests.dpgp_core.mechanisms.designs.test_stated import DESIGNS

LATTICE = disk(3, padding=1)
HIDDEN, OPEN = PublicFacts(LATTICE, 150), PublicFacts(LATTICE, 150, "add-or-remove")
PUBLIC = PublicFacts(LATTICE, 150, places_public=True)
SAMPLING: Any = MECHANISMS["posterior-sampling"]
SHAPE = PosteriorSamplingDesign("exponential", 1500.0, 4.0, 0.5, paths=3)


@pytest.mark.parametrize(
    ("prior", "noise", "bound", "scale", "chosen"),
    [
        ("exponential", 0.0, None, 2.0771442074, "joint-sharp"),
        ("exponential", 0.0, "sharp", 3.1750673383, "sharp"),
        ("exponential", 0.5, None, 1.0071592369, "joint-sharp"),
        ("exponential", 0.5, "separate", 1.6416618992, "separate"),
        ("car", 0.0, None, 2.1225967965, "joint-sharp"),
        ("car", 0.5, None, 0.9930362763, "joint-maximum-principle"),
        ("car", 0.5, "sharp", 1.2652257319, "sharp"),
    ],
)
def test_three_paths_need_this_scale_for_epsilon_1_at_the_best_bound(
    prior: str, noise: float, bound: str | None, scale: float, chosen: str
) -> None:
    """Ridge 4; half of the variance as prior noise needs less of both. No bound of the prior does better."""
    design = replace(SHAPE, prior=prior, noise_scale=noise)
    found = SAMPLING.calibrate(design, HIDDEN, Budget(1.0, 1e-5, bound))
    assert (found.scale, found.bound) == (pytest.approx(scale, rel=1e-6), chosen)
    assert found.noise_scale == pytest.approx(scale if noise else 0.0, rel=1e-6)
    assert replace(found, scale=0.5, noise_scale=noise, bound="sharp") == design


def test_no_scale_meets_the_budget_of_a_ridge_that_is_too_small() -> None:
    assert SAMPLING.calibrate(replace(SHAPE, ridge=0.2), HIDDEN, Budget(1.0, 1e-5)) is None


@pytest.mark.parametrize(
    ("prior", "bound", "epsilon", "best"),
    [
        ("exponential", None, 2.8316311630, "joint-sharp"),
        ("exponential", "sharp", 3.3198714188, "sharp"),
        ("exponential", "separate", 4.3372281234, "separate"),
        ("car", None, 2.7348606452, "joint-maximum-principle"),
    ],
)
def test_three_paths_at_scale_a_half_cost_this_under_the_bound_that_prices_them_lowest(
    prior: str, bound: str | None, epsilon: float, best: str
) -> None:
    design = replace(SHAPE, prior=prior)
    found, cost = questions.priced(design, HIDDEN, 1e-5, bound)
    assert (found, cost) == (replace(design, bound=best), pytest.approx(epsilon, rel=1e-6))


def test_what_remains_of_paths_whatever_their_scale_is_their_covariance() -> None:
    assert questions.floor(SHAPE, HIDDEN, 1e-5) == pytest.approx(0.6891731415, rel=1e-6)
    assert questions.floor(replace(SHAPE, paths=1), HIDDEN, 1e-5) == pytest.approx(0.5639886146, rel=1e-6)
    assert questions.floor(replace(SHAPE, prior="car", paths=2), HIDDEN, 1e-3) == pytest.approx(
        0.3361232186, rel=1e-6
    )
    for name in sorted(set(DESIGNS) - {"posterior-sampling"}):
        assert questions.floor(DESIGNS[name], PUBLIC, 1e-5) == 0.0


@pytest.mark.parametrize(
    ("name", "mu", "pure"),
    [
        ("posterior-sampling", None, None),
        ("noisy-cell-statistics", 1.0, None),  # sensitivity 2 over the noise 2
        ("spectral-statistics", 2.0, None),  # its own mu
        ("bin-means", None, 2.0),
        *rows("LEAST_COSTS"),
    ],
)
def test_what_a_release_costs_at_least_by_its_design_alone(
    name: str, mu: float | None, pure: float | None
) -> None:
    cost = questions.least_cost(DESIGNS[name])
    assert (cost is None) == (mu is None and pure is None)
    if cost is not None:
        assert (cost.gaussian_mu, cost.pure_epsilon, cost.distance) == (
            mu,
            pure,
            0.0 if mu is None else 2.0**-150,
        )


@pytest.mark.parametrize("name", sorted(set(DESIGNS) - {"spectral-statistics"}))
def test_one_record_more_or_less_is_refused_and_meets_no_budget(name: str) -> None:
    public = replace(OPEN, places_public=True, cache=None)
    with pytest.raises(BoundRefused, match=r"choose (the relation )?'replace-one'"):
        MECHANISMS[name].guarantee(DESIGNS[name], public)
    assert MECHANISMS[name].calibrate(DESIGNS[name], public, Budget(1.0, 1e-5)) is None


@pytest.mark.parametrize("noise", [0.3, 3.0, 7.7])
def test_the_mu_of_cell_statistics_is_rounded_up_by_a_unit_of_2_to_the_minus_50(noise: float) -> None:
    exact = Fraction(2) / Fraction(noise)
    mu = statistics_cost(noise, 7).gaussian_mu
    assert mu is not None
    assert Fraction(1, 2**52) < Fraction(mu) / exact - 1 < Fraction(1, 2**49)
    assert statistic_mu(noise) == 2.0 / noise
    assert statistic_mu(0.0) == statistic_mu(-1.0) == float("inf")


def test_the_noise_of_cell_statistics_is_twice_one_over_the_mu_of_the_budget_rounded_up() -> None:
    """mu .26805112321104796 for epsilon 1 at delta 1e-5, with room for the distance of the exact sampler."""
    noise = statistic_noise_for(1.0, 1e-5)
    assert 0.0 <= noise / (2.0 / 0.26805112321104796) - 1.0 < 3e-15
    with pytest.raises(InvalidValue):
        statistic_noise_for(0.0, 1e-300)


def test_groups_of_cells_are_added_up_exactly() -> None:
    """Three cells in two groups: sums -.25 and .5, one and four records."""
    held = CollapsedRecords(np.array([0, 1, 2]), np.array([3, 1, 1]), np.array([0.25, -0.25, -0.25]))
    found = noisy_totals(held, np.array([1, 0, 1]), 1e-9, ZeroEntropy())
    assert found.tolist() == [[-0.25, 0.5], [1.0, 4.0]]
    drawn = noisy_totals(held, np.zeros(3, dtype=np.int64), 2.0, SimulationEntropy(1))
    white = SimulationEntropy(1).normal((2, 1))
    np.testing.assert_allclose(drawn - [[0.25], [5.0]], 2.0 * white, atol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sums": np.zeros((1, 3))},
        {"sums": np.zeros(0), "counts": np.zeros(0)},
        {"counts": np.array([0.0, np.inf, 0.0])},
        {"sums": np.array([0.0, np.nan, 0.0])},
        {"noise": 0.0},
        {"noise": np.inf},
        {"noise": np.nan},
        {"n": 0},
    ],
)
def test_statistics_that_cannot_be_do_not_exist(wrong: dict[str, Any]) -> None:
    values: dict[str, Any] = {"sums": np.zeros(3), "counts": np.zeros(3), "noise": 1e-9, "n": 1}
    assert NoisyStatistics(**values).n == 1
    with pytest.raises(InvalidValue):
        NoisyStatistics(**{**values, **wrong})
