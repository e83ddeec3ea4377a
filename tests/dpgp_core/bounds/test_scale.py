"""The least noise for a budget: feasible after rounding, minimal, monotone, the same for one and for many."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from dpgp_core import (
    BOUNDS,
    ORDERS,
    epsilon_from_rdp,
    path_rdp,
    sensitivity_sharp,
    smallest_scale,
    variance_bound,
)
from dpgp_core.accounting.rdp import covariance_rdp
from dpgp_core.bounds.registry import smallest_scale_for
from dpgp_core.bounds.sensitivities import SOURCES

DESIGNS = [
    (epsilon, delta, ridge, variance, sensitivity, paths)
    for epsilon in (0.05, 0.7, 5.0, 80.0)
    for delta in (1e-9, 1e-3)
    for ridge, variance, sensitivity in ((2.0, 1.0, 0.9), (15.0, 0.8, 0.01), (200.0, 1.0, 1e-4))
    for paths in (1, 9)
]


def cost(scale: float, delta: float, ridge: float, variance: float, sensitivity: float, paths: int) -> float:
    kind = {"ridge": ridge, "variance": variance, "sensitivity": sensitivity, "paths": paths}
    return epsilon_from_rdp(ORDERS, path_rdp(ORDERS, scale=scale, **kind), delta).epsilon


@pytest.mark.parametrize(("epsilon", "delta", "ridge", "variance", "sensitivity", "paths"), DESIGNS)
def test_feasible_and_minimal(
    epsilon: float, delta: float, ridge: float, variance: float, sensitivity: float, paths: int
) -> None:
    kind = {"ridge": ridge, "variance": variance, "sensitivity": sensitivity, "paths": paths}
    scale = smallest_scale(epsilon, delta, **kind)
    if math.isinf(scale):
        assert cost(1e12, delta, **kind) > epsilon  # no scale at all fits this budget
        return
    assert cost(scale, delta, **kind) <= epsilon
    assert cost(scale * (1.0 - 1e-9), delta, **kind) > epsilon


def test_an_infeasible_budget_is_inf() -> None:
    """The covariance term alone costs more than the budget: only the ridge can help."""
    assert smallest_scale(0.01, 1e-9, ridge=1.0, variance=1.0, sensitivity=0.1) == math.inf
    assert smallest_scale(0.01, 1e-9, ridge=300.0, variance=1.0, sensitivity=1e-6) < math.inf


def test_monotone() -> None:
    kind = {"ridge": 20.0, "variance": 0.9, "sensitivity": 0.01}
    by_epsilon = [smallest_scale(epsilon, 1e-6, **kind) for epsilon in (0.1, 0.3, 1.0, 10.0, 100.0)]
    by_delta = [smallest_scale(1.0, delta, **kind) for delta in (1e-12, 1e-6, 1e-3, 0.1)]
    by_paths = [smallest_scale(1.0, 1e-6, paths=paths, **kind) for paths in (30, 10, 2, 1)]
    by_sensitivity = [smallest_scale(1.0, 1e-6, **{**kind, "sensitivity": s}) for s in (1.0, 0.1, 0.01)]
    for values in (by_epsilon, by_delta, by_paths, by_sensitivity):
        assert all(later < earlier for earlier, later in pairwise(values))


@pytest.mark.parametrize("bound", [name for name in BOUNDS if name in SOURCES])  # the joint ones have none
def test_named_bounds_agree_with_their_sensitivities(bound: str) -> None:
    ridge, kappa, n = 12.0, 0.2, 400
    variance = variance_bound(n, ridge, kappa)
    order = np.array([2.0])
    shift = float(BOUNDS[bound].mean_shift(order, n=n, ridge=ridge, variance=variance)[0])
    p = variance / (variance + ridge**2)
    sensitivity = math.sqrt(shift * (1.0 - 2.0 * p))
    direct = smallest_scale(2.0, 1e-6, ridge=ridge, variance=variance, sensitivity=sensitivity)
    named = smallest_scale_for(bound, 2.0, 1e-6, n=n, ridge=ridge, kappa=kappa)
    assert named.scale == pytest.approx(direct, rel=1e-9)
    assert named.noise_scale == 0.0


@pytest.mark.parametrize("share", [0.0, 0.1, 0.75, 0.999])
def test_the_split_between_scale_and_prior_noise(share: float) -> None:
    n, ridge, kappa = 500, 9.0, 0.05
    found = smallest_scale_for("sharp", 1.0, 1e-6, n=n, ridge=ridge, kappa=kappa, noise_share=share, paths=3)
    total = found.scale**2 + found.noise_scale**2
    assert found.noise_scale**2 == pytest.approx(share * total, rel=1e-9)
    variance = variance_bound(n, ridge, kappa)
    kind = {
        "ridge": ridge,
        "variance": variance,
        "sensitivity": float(sensitivity_sharp(n, ridge, variance)),
        "paths": 3,
    }
    for factor, fits in ((1.0, True), (1.0 - 1e-8, False)):
        rdp = path_rdp(ORDERS, scale=factor * found.scale, noise_scale=factor * found.noise_scale, **kind)
        assert (epsilon_from_rdp(ORDERS, rdp, 1e-6).epsilon <= 1.0 + 1e-12) is fits


def test_prior_noise_reaches_budgets_that_scale_alone_cannot() -> None:
    kind = {"n": 300, "ridge": 1.5, "kappa": 0.0}
    assert smallest_scale_for("sharp", 0.5, 1e-6, **kind).scale == math.inf
    assert smallest_scale_for("sharp", 0.5, 1e-6, noise_share=0.999, **kind).noise_scale < math.inf


def test_many_designs_at_once_agree_with_one_by_one() -> None:
    ridge, kappa = np.meshgrid(np.geomspace(2.0, 60.0, 4), [0.0, 0.3, 0.9])
    together = smallest_scale_for("sharp", 1.0, 1e-5, n=900, ridge=ridge, kappa=kappa, noise_share=0.2)
    assert together.scale.shape == ridge.shape
    for index in np.ndindex(ridge.shape):
        kind = {"n": 900, "ridge": ridge[index], "kappa": kappa[index], "noise_share": 0.2}
        one = smallest_scale_for("sharp", 1.0, 1e-5, **kind)
        assert together.scale[index] == pytest.approx(one.scale, rel=1e-12)
        assert together.noise_scale[index] == pytest.approx(one.noise_scale, rel=1e-12)


def test_scale_cannot_buy_off_the_covariance_term() -> None:
    """A ridge's least epsilon is that of its covariance term; a little above it the scale is finite."""
    least = epsilon_from_rdp(ORDERS, covariance_rdp(ORDERS, 6.0, 1.0), 1e-6).epsilon
    kind = {"ridge": 6.0, "variance": 1.0, "sensitivity": 0.1}
    assert smallest_scale(least * 0.9999, 1e-6, **kind) == math.inf
    assert smallest_scale(least * 1.01, 1e-6, **kind) < math.inf


@pytest.mark.parametrize(
    "bad",
    [
        *({"epsilon": value} for value in (0.0, -1.0, math.nan, math.inf)),
        *({name: 0.0} for name in ("delta", "ridge", "variance", "sensitivity", "paths")),
        {"delta": 1.0},
    ],
)
def test_bad_arguments_are_refused(bad: dict[str, float]) -> None:
    good = {"epsilon": 1.0, "delta": 1e-5, "ridge": 3.0, "variance": 1.0, "sensitivity": 0.1, "paths": 1}
    arguments = {**good, **bad}
    with pytest.raises(ValueError, match=r"must|whole"):
        smallest_scale(arguments.pop("epsilon"), arguments.pop("delta"), **arguments)


@pytest.mark.parametrize("share", [-0.1, 1.0, math.nan])
def test_a_noise_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="noise_share"):
        smallest_scale_for("sharp", 1.0, 1e-5, n=10, ridge=3.0, noise_share=share)
