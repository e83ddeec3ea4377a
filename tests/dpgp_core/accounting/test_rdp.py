"""The RDP of posterior paths: against 50-digit arithmetic, the paper's own form, and its limits."""

from __future__ import annotations

from itertools import pairwise

import mpmath
import numpy as np
import pytest

from dpgp_core import ORDERS, path_rdp, variance_bound
from dpgp_core.accounting.rdp import covariance_rdp

RIDGES = (1e-3, 0.3, 1.0, 7.0, 300.0, 1e6)


def exact_covariance(order: float, ridge: float, variance: float) -> mpmath.mpf:
    """f1 + f2 of docs/mathematics.md, section 7, as written."""
    a, p = mpmath.mpf(order), mpmath.mpf(variance) / (mpmath.mpf(variance) + mpmath.mpf(ridge) ** 2)
    f1 = -(mpmath.log(1 + (a - 1) * p) + (a - 1) * mpmath.log(1 - p)) / (2 * (a - 1))
    f2 = -(mpmath.log(1 - a * p) - a * mpmath.log(1 - p)) / (2 * (a - 1))
    return f1 + f2


def paper_covariance(order: float, tau: float) -> mpmath.mpf:
    """2 psi_alpha(tau) of arXiv:2606.17995 v1, Theorem 3.1."""
    a, t = mpmath.mpf(order), mpmath.mpf(tau)
    one = mpmath.log(1 + t) / 2 - mpmath.log((1 + a * t) / (1 + t)) / (2 * (a - 1))
    two = -mpmath.log(1 + t) / 2 - mpmath.log(1 - (a - 1) * t) / (2 * (a - 1))
    return 2 * max(one, two)


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("variance", [1.0, 0.3, 1e-7])
def test_the_covariance_term_is_exact_from_above(ridge: float, variance: float) -> None:
    """At least f1 + f2 in 60 digits, above it by rounding only, from orders next to 1 to the range's end."""
    tau = variance / ridge**2
    near_end = np.array([0.5, 0.99, 0.999999]) / tau
    orders = 1.0 + np.concatenate([[1e-12, 1e-6], np.geomspace(1e-3, 1e5, 41), near_end])
    got = covariance_rdp(orders, ridge, variance)
    with mpmath.workdps(60):
        for order, value in zip(orders, got, strict=True):
            if (order - 1.0) * tau >= 1.0:
                assert value == np.inf
                continue
            exact = exact_covariance(order, ridge, variance)
            assert 0 < exact <= value, order
            if (order - 1.0) * tau < 0.9999 and order >= 1.0 + 1e-3:
                assert value <= exact * (1 + mpmath.mpf("1e-8")), order


def test_the_covariance_term_is_at_most_the_papers() -> None:
    for ridge in (0.5, 2.0, 20.0):
        tau = 1.0 / ridge**2
        orders = ORDERS[(ORDERS - 1.0) * tau < 1.0]
        got = covariance_rdp(orders, ridge, 1.0)
        with mpmath.workdps(40):
            paper = np.array([float(paper_covariance(order, tau)) for order in orders])
        assert np.all(got <= paper * (1.0 + 1e-9))
        assert np.all(got >= 0.5 * paper)


def naive_rdp(order: float, ridge: float, scale: float, variance: float, delta: float) -> float:
    """Theorem 3.1 as the paper prints its mean term, with section 7's covariance term."""
    mean = order / 2.0 * (variance + ridge**2) / (ridge**2 - (order - 1.0) * variance) * (delta / scale) ** 2
    return float(exact_covariance(order, ridge, variance)) + mean


def naive_noisy_rdp(
    order: float, ridge: float, sigma: float, eta: float, variance: float, delta: float
) -> float:
    """The paper's Prop. 2 with tau~ and A as printed; the covariance term with p = tau~/(1 + tau~)."""
    a = sigma**2 * ridge**2 + eta**2 * (variance + ridge**2)
    tau = sigma**2 * variance / a
    mean = order / 2.0 * (variance + ridge**2) / (a * (1.0 - (order - 1.0) * tau)) * delta**2
    return float(exact_covariance(order, float(np.sqrt(1.0 / tau)), 1.0)) + mean


def test_the_unified_form_is_the_papers_theorem_and_its_proposition_2() -> None:
    for ridge, scale, variance, delta in (
        (3.0, 0.4, 1.0, 0.2),
        (0.8, 2.0, 0.6, 1.7),
        (20.0, 0.01, 0.9, 0.003),
    ):
        for share in (0.05, 0.5, 0.9):
            order = 1.0 + share * ridge**2 / variance
            kind = {"ridge": ridge, "variance": variance, "sensitivity": delta}
            got = path_rdp([order], scale=scale, **kind)[0]
            assert got == pytest.approx(naive_rdp(order, ridge, scale, variance, delta), rel=1e-9)
            got = path_rdp([order], scale=scale, noise_scale=0.7 * scale, **kind)[0]
            assert got == pytest.approx(
                naive_noisy_rdp(order, ridge, scale, 0.7 * scale, variance, delta), rel=1e-9
            )


SETTING = {"ridge": 4.0, "variance": 0.97, "sensitivity": 0.2}


def test_limits() -> None:
    """Infinite scale leaves the covariance term; scale 0 is a Gaussian mechanism; no noise costs inf."""
    covariance = covariance_rdp(ORDERS, 4.0, 0.97)
    endless = path_rdp(ORDERS, scale=np.inf, **SETTING)
    inside = np.isfinite(covariance)
    assert endless[inside] == pytest.approx(covariance[inside], rel=1e-12)
    assert np.all(np.isinf(endless[~inside]))
    large = path_rdp(ORDERS, scale=1e9, **SETTING)
    assert large[inside] == pytest.approx(covariance[inside], rel=1e-6)
    plain = path_rdp(ORDERS, scale=0.0, noise_scale=0.5, **SETTING)
    assert plain == pytest.approx(0.5 * ORDERS * (0.2 / 0.5) ** 2, rel=1e-12)
    assert np.all(path_rdp(ORDERS, scale=0.0, **SETTING) == np.inf)
    drowned = path_rdp(ORDERS, scale=1.0, noise_scale=1e9, **SETTING)
    assert np.max(drowned) < 1e-8
    assert np.all(drowned > 0.0)


def test_nearly_no_posterior_share_tends_to_the_gaussian_mechanism() -> None:
    plain = path_rdp(ORDERS, scale=0.0, noise_scale=0.5, **SETTING)
    nearly = path_rdp(ORDERS[:300], scale=1e-9, noise_scale=0.5, **SETTING)
    assert nearly == pytest.approx(plain[:300], rel=1e-9)


@pytest.mark.parametrize("field", ["scale", "noise_scale", "sensitivity", "variance", "paths"])
def test_monotone_in_every_argument(field: str) -> None:
    """More noise never costs more; a larger sensitivity, variance or number of paths never costs less."""
    base = {"ridge": 3.0, "scale": 0.3, "noise_scale": 0.1, "variance": 0.8, "sensitivity": 0.2, "paths": 2}
    if field == "scale":  # with prior noise, more scale also brings a covariance term: see the next test
        base["noise_scale"] = 0.0
    values = {
        "scale": (0.01, 0.1, 0.3, 2.0, 1e6),
        "noise_scale": (0.0, 1e-3, 0.1, 1.0, 1e4),
        "sensitivity": (1e-6, 0.1, 0.2, 5.0),
        "variance": (1e-9, 0.2, 0.8, 1.0),
        "paths": (1, 2, 3, 100),
    }[field]
    curves = [path_rdp(ORDERS, **{**base, field: value}) for value in values]
    grows = field in ("sensitivity", "variance", "paths")
    for first, second in pairwise(curves):
        low, high = (first, second) if grows else (second, first)
        assert np.all(low <= high * (1.0 + 1e-12)), field
        assert np.any(low < high), field


def test_scale_on_top_of_prior_noise_brings_a_covariance_term() -> None:
    """Alone, prior noise allows every order; any posterior share bounds the orders."""
    assert np.all(np.isfinite(path_rdp(ORDERS, scale=0.0, noise_scale=1.0, **SETTING)))
    assert np.any(np.isinf(path_rdp(ORDERS, scale=1.0, noise_scale=1.0, **SETTING)))


def test_the_ridge_helps_at_fixed_sensitivity() -> None:
    curves = [
        path_rdp(ORDERS, ridge=r, scale=0.3, variance=0.9, sensitivity=0.1) for r in (0.05, 0.5, 3.0, 100.0)
    ]
    assert all(np.all(later <= earlier) for earlier, later in pairwise(curves))


def test_paths_add_up() -> None:
    one = path_rdp(ORDERS, scale=0.4, **SETTING)
    seven = path_rdp(ORDERS, scale=0.4, paths=7, **SETTING)
    assert seven == pytest.approx(7.0 * one, rel=1e-12)


def test_never_negative_never_nan() -> None:
    """10,000 random designs over many decades: every value is positive, or inf outside the range."""
    random = np.random.default_rng(5)
    size = 10_000
    ridge, variance = 10.0 ** random.uniform(-6, 9, size), 10.0 ** random.uniform(-16, 0, size)
    share = random.choice([0.0, 1e-12, 0.3, 1.0 - 1e-12], size)
    values = covariance_rdp(ORDERS[::20], ridge, variance, share)
    assert not np.any(np.isnan(values))
    assert np.all(values > 0.0)
    outside = (ORDERS[::20] - 1.0) * (variance / ridge**2)[:, None] >= 1.0
    assert np.all(np.isinf(values[outside & (share == 0.0)[:, None]]))


@pytest.mark.parametrize(
    "bad",
    [
        {"ridge": 0.0},
        {"ridge": -1.0},
        {"ridge": np.nan},
        {"variance": 0.0},
        {"variance": 1.1},
        {"scale": -0.1},
        {"scale": np.nan},
        {"noise_scale": -1.0},
        {"sensitivity": 0.0},
        {"sensitivity": np.inf},
        {"paths": 0},
        {"paths": 1.5},
    ],
)
def test_bad_arguments_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"must|whole"):
        path_rdp(ORDERS, **{"scale": 1.0, **SETTING, **bad})


@pytest.mark.parametrize("orders", [[], [1.0], [0.5, 2.0], [np.nan], [np.inf], [[2.0]]])
def test_bad_orders_are_refused(orders: list[float]) -> None:
    with pytest.raises(ValueError, match="orders"):
        path_rdp(orders, scale=1.0, **SETTING)


@pytest.mark.parametrize("kappa", [0.0, 0.3, 0.999999, 1.0])
@pytest.mark.parametrize("ridge", [1e-6, 0.1, 5.0, 1e9])
def test_the_variance_bound_is_exact_from_above(kappa: float, ridge: float) -> None:
    for n in (1, 2, 1000, 10_000_000):
        got = variance_bound(n, ridge, kappa)
        with mpmath.workdps(60):
            exact = 1 - mpmath.mpf(kappa) ** 2 * (n - 1) / (n - 1 + mpmath.mpf(ridge) ** 2)
            assert exact <= got <= min(1, exact * (1 + mpmath.mpf("1e-14")))
        assert got == 1.0 or n > 1


@pytest.mark.parametrize("kappa", [-0.1, 1.1, np.nan])
def test_a_kappa_that_is_no_correlation_is_refused(kappa: float) -> None:
    with pytest.raises(ValueError, match="kappa"):
        variance_bound(10, 1.0, kappa)
