"""The registry of sensitivities and bounds: closed forms, labels, units, refusals."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from dpgp_core import (
    BOUNDS,
    sensitivity_bounds,
    sensitivity_maximum_principle,
    sensitivity_separate,
    sensitivity_sharp,
    sensitivity_triangle,
    variance_bound,
)
from dpgp_core.bounds.sensitivities import (
    SensitivityBound,
    _bound,
    sensitivity_line_exponential,
    sensitivity_paper_code,
)


def phi(ridge: float, variance: float) -> float:
    grid = np.linspace(1e-9, variance, 200_001)
    return float(np.max(grid / (grid + ridge**2) ** 2))


@pytest.mark.parametrize(("ridge", "variance"), [(0.3, 1.0), (2.0, 0.8), (0.9, 0.7), (30.0, 1.0)])
def test_closed_forms(ridge: float, variance: float) -> None:
    root = math.sqrt(phi(ridge, variance))
    assert sensitivity_triangle(50, ridge, variance) == pytest.approx(2 * (1 + 7 / ridge) * root, rel=1e-6)
    ratio = sensitivity_paper_code(50, ridge, variance) / sensitivity_triangle(50, ridge, variance)
    assert ratio == pytest.approx(math.sqrt(0.5))
    for bound in (sensitivity_maximum_principle, sensitivity_line_exponential):
        assert bound(ridge, variance) == pytest.approx(2 * math.sqrt(2) * root, rel=1e-6)
    v = np.linspace(1e-9, variance, 200_001)
    separate = 2 * np.max((1 + np.sqrt(49 * v * (1 - v)) / ridge) * np.sqrt(v) / (v + ridge**2))
    assert separate <= sensitivity_separate(50, ridge, variance) <= separate * 1.001
    assert _bound("rkhs", 1, ridge, variance, 2.5) == pytest.approx(2.5 * variance / (variance + ridge**2))


def test_the_constant_kernel_is_exact() -> None:
    """A direct computation: n - 1 copies cancel, the two records push by 2M/(n + r^2)."""
    for n, ridge in ((1, 0.5), (2, 3.0), (1000, 0.1)):
        push, variance = 2.0 / (n + ridge**2), variance_bound(n, ridge, 1.0)
        assert _bound("constant", n, ridge, 1.0, 1.0) == pytest.approx(push / math.sqrt(variance), rel=1e-9)
    assert _bound("constant", 10**6, 2.0, 1.0, 1.0) == pytest.approx(2.0 / (2.0 * 1000.0), rel=1e-2)


@pytest.mark.parametrize("name", BOUNDS)
def test_every_bound_says_what_it_is(name: str) -> None:
    bound = BOUNDS[name]
    assert bound.name == name
    assert bound.source
    assert bound.requires
    assert bound.proved is (name != "paper-code")


NAMED = {
    "triangle": lambda m: sensitivity_triangle(9, 2.0, 0.9, m),
    "separate": lambda m: sensitivity_separate(9, 2.0, 0.9, m),
    "sharp": lambda m: sensitivity_sharp(9, 2.0, 0.9, m),
    "paper-code": lambda m: sensitivity_paper_code(9, 2.0, 0.9, m),
    "maximum-principle": lambda m: sensitivity_maximum_principle(2.0, 0.9, m),
    "diagonal": lambda m: _bound("diagonal", 1, 2.0, 0.9, m),
    "line-exponential": lambda m: sensitivity_line_exponential(2.0, 0.9, m),
    "constant": lambda m: _bound("constant", 9, 2.0, 1.0, m),
    "rkhs": lambda m: _bound("rkhs", 1, 2.0, 0.9, m),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_sensitivity_is_a_float_with_its_origin_and_scales_with_the_response_bound(name: str) -> None:
    one = NAMED[name](1.0)
    assert isinstance(one, float)
    assert isinstance(one, SensitivityBound)
    assert one.name == name
    assert one.source
    assert one.proved is (name != "paper-code")
    assert NAMED[name](3.5) == pytest.approx(3.5 * one, rel=1e-12)
    assert name in repr(one)
    again = pickle.loads(pickle.dumps(one))
    assert (again, again.name, again.proved) == (one, one.name, one.proved)
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="positive finite"):
            NAMED[name](bad)


def test_mean_shifts_have_the_shape_of_their_arguments() -> None:
    orders = np.array([1.5, 2.0, 400.0])
    ridge, variance = np.full((2, 4), 5.0), np.full((2, 4), 0.9)
    for bound in BOUNDS.values():
        many = bound.mean_shift(orders, n=30, ridge=ridge, variance=variance)
        one = bound.mean_shift(orders, n=30, ridge=5.0, variance=0.9)
        assert many.shape == (2, 4, 3)
        assert one.shape == (3,)
        assert np.all(many == one)
        assert np.isinf(one[2])
        assert np.all(np.isfinite(bound.mean_shift(orders, n=30, ridge=5.0, variance=0.9, noise_share=1.0)))


@pytest.mark.parametrize(
    ("n", "ridge", "variance"),
    [
        (0, 1.0, 1.0),
        (1.5, 1.0, 1.0),
        (5, 0.0, 1.0),
        (5, 1e-7, 1.0),
        (5, math.nan, 1.0),
        (5, 1.0, 0.0),
        (5, 1.0, 1.01),
    ],
)
def test_impossible_settings_are_refused(n: float, ridge: float, variance: float) -> None:
    for name in ("triangle", "separate", "sharp"):
        with pytest.raises(ValueError, match="must"):
            sensitivity_bounds(name, n, ridge, variance)
