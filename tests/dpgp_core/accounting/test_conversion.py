"""Conversions to (epsilon, delta): known numbers, exact arithmetic, safe rounding, round trips."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from dpgp_core import (
    ORDERS,
    RdpCurve,
    epsilon_from_rdp,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    group_privacy,
    path_rdp,
)
from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.composition import delta as delta_of
from dpgp_core.accounting.rdp import conversion_cost, epsilons_from_rdp, odds_factor
from dpgp_core.accounting.tails import rounded_up

# (sigma, delta) of a Gaussian mechanism of sensitivity 1: epsilon by Canonne-Kamath-Steinke, and exactly.
# Computed with Google's dp-accounting 0.6.0, which cannot be installed beside this project's packages.
KNOWN = {(1.0, 1e-5): (4.728, 4.377), (10.0, 1e-5): (0.375, 0.341)}


@pytest.mark.parametrize(("sigma", "delta"), KNOWN)
def test_known_conversions_of_gaussian_mechanisms(sigma: float, delta: float) -> None:
    """The grid may cost 0.1 % over the reference's; it may not undercut it by more than its rounding."""
    renyi, exact = KNOWN[(sigma, delta)]
    assert RdpCurve.gaussian(1.0 / sigma).epsilon(delta).epsilon == pytest.approx(renyi, abs=1.5e-3)
    assert gaussian_epsilon(1.0 / sigma, delta) == pytest.approx(exact, abs=6e-4)


# 1/mu that solves gaussian_delta(epsilon, mu) = delta: independent root finding with SciPy's normal CDF.
ANALYTIC = {
    (0.1, 1e-2): 9.541823088828874,
    (0.1, 1e-6): 36.304690426194995,
    (0.5, 1e-3): 4.61012795072814,
    (1.0, 1e-5): 3.7306316348134088,
    (1.0, 1e-4): 3.1857029899606966,
    (3.0, 1e-2): 0.8259921380656077,
    (3.0, 1e-6): 1.543861417775638,
}


@pytest.mark.parametrize(("epsilon", "delta"), ANALYTIC)
def test_known_analytic_gaussian_noise(epsilon: float, delta: float) -> None:
    assert 1.0 / gaussian_mu(epsilon, delta) == pytest.approx(ANALYTIC[(epsilon, delta)], rel=1e-9)


def mp_gaussian_delta(epsilon: float, mu: float) -> mpmath.mpf:
    e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
    return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


def test_gaussian_delta_is_exact_from_above() -> None:
    """Never below 60-digit arithmetic, within 1e-6 of it: mu from 1e-6 to 100, tails down to 1e-250."""
    with mpmath.workdps(60):
        for mu in (1e-6, 1e-3, 0.1, 1.0, 10.0, 30.0, 100.0):
            for t in (-30.0, -10.0, -1.0, 0.0, 0.5, 1.0, 3.0, 5.0, 15.0, 30.0):
                epsilon = mu * (t + mu / 2.0)
                if epsilon < 0.0:
                    continue
                exact = mp_gaussian_delta(epsilon, mu)
                got = gaussian_delta(epsilon, mu)
                assert exact <= got, (mu, t)
                assert got <= max(exact * (1 + mpmath.mpf("1e-6")), mpmath.mpf("1e-300")), (mu, t)


def test_a_delta_too_small_for_doubles_is_raised() -> None:
    """Below 1e-307 doubles lose digits, and 4.1373e-319 stood for 4.13731e-319."""
    epsilon, mu = 1.5417919283440704, 0.04056017441617101
    with mpmath.workdps(60):
        assert mpmath.mpf("4.1e-319") < mp_gaussian_delta(epsilon, mu) < mpmath.mpf("1e-300")
    assert gaussian_delta(epsilon, mu) == 1e-300
    assert gaussian_delta(1e6, 1e-3) == 1e-300
    both = [Cost.gaussian(0.0613), Cost.pure(0.0551)]  # within 1e-500 of pure epsilon 0.0551, but not there
    assert delta_of(both, 3.0) == pytest.approx(1e-300, rel=1e-12, abs=0.0)


def test_the_margin_of_gaussian_delta_is_sixteen_roundings_of_both_terms() -> None:
    """At epsilon 0 and mu 1e-8 both terms are 1, and half of 16 * 2^-52 * 2 is added to their difference."""
    with mpmath.workdps(60):
        above = gaussian_delta(0.0, 1e-8) - mp_gaussian_delta(0.0, 1e-8)
    assert float(above) == pytest.approx(3.553e-15, rel=0.05, abs=0.0)


def test_gaussian_round_trips_to_the_safe_side() -> None:
    """mu is rounded down and epsilon up, each by at most 1e-9 of itself."""
    with mpmath.workdps(60):
        for epsilon in (1e-3, 0.25, 1.0, 10.0, 200.0):
            for delta in (1e-12, 1e-5, 0.1):
                mu = gaussian_mu(epsilon, delta)
                assert mp_gaussian_delta(epsilon, mu) <= delta
                assert mp_gaussian_delta(epsilon, mu * (1.0 + 1e-9)) > delta * 0.999999
                back = gaussian_epsilon(mu, delta)
                assert back == pytest.approx(epsilon, rel=1e-8)
                assert mp_gaussian_delta(back, mu) <= delta


def test_gaussian_extremes() -> None:
    assert gaussian_delta(0.0, 1e-9) == pytest.approx(1e-9 / math.sqrt(2.0 * math.pi), rel=1e-6)
    assert gaussian_delta(1e6, 1.0) > 0.0
    assert gaussian_delta(0.0, 1e6) == 1.0
    assert gaussian_epsilon(1e-9, 0.1) == 0.0
    assert gaussian_epsilon(1e3, 1e-5) == pytest.approx(5e5, rel=0.02)
    assert gaussian_mu(0.0, 0.1) > 0.0


def canonne(order: float, rdp: float, delta: float) -> mpmath.mpf:
    a, d = mpmath.mpf(order), mpmath.mpf(delta)
    return mpmath.mpf(rdp) + mpmath.log((a - 1) / a) - (mpmath.log(d) + mpmath.log(a)) / (a - 1)


def test_each_order_alone_is_canonne_kamath_steinke_from_above() -> None:
    with mpmath.workdps(50):
        for order in (1.0 + 1e-3, 1.5, 7.0, 1e5):
            for rdp in (1e-12, 0.3, 40.0):
                for delta in (1e-300, 1e-6, 0.5):
                    exact = max(mpmath.mpf(0), canonne(order, rdp, delta))
                    got = epsilon_from_rdp([order], [rdp], delta).epsilon
                    assert exact <= got <= exact * (1 + mpmath.mpf("1e-10")) + mpmath.mpf("1e-12")


@pytest.mark.parametrize("delta", [1e-300, 1e-5, 0.5, 0.999999])
def test_the_price_of_a_conversion_is_rounded_up_at_every_public_order(delta: float) -> None:
    """At the lowest orders and delta near 1 it was 3e-14 too small: log(1 - 1/alpha) had lost digits."""
    cost = conversion_cost(ORDERS, delta)
    with mpmath.workdps(50):
        for order, got in zip(ORDERS.tolist(), cost.tolist(), strict=True):
            exact = canonne(order, 0.0, delta)
            assert exact <= got <= exact + abs(exact) * mpmath.mpf("1e-14") + mpmath.mpf("1e-10")


def test_the_renyi_route_never_undercuts_the_exact_one() -> None:
    for mu in (0.01, 0.3, 1.0, 5.0):
        for delta in (1e-10, 1e-5, 0.01):
            assert RdpCurve.gaussian(mu).epsilon(delta).epsilon >= gaussian_epsilon(mu, delta)


def test_more_orders_never_raise_epsilon() -> None:
    rdp = path_rdp(ORDERS, ridge=5.0, scale=0.3, variance=1.0, sensitivity=0.15)
    coarse = epsilon_from_rdp(ORDERS[::8], rdp[::8], 1e-5).epsilon
    assert epsilon_from_rdp(ORDERS, rdp, 1e-5).epsilon <= coarse
    wide = np.concatenate([[1.0 + 1e-6], ORDERS, [1e9]])
    more = path_rdp(wide, ridge=5.0, scale=0.3, variance=1.0, sensitivity=0.15)
    assert epsilon_from_rdp(wide, more, 1e-5).epsilon <= epsilon_from_rdp(ORDERS, rdp, 1e-5).epsilon


def test_the_fixed_grid_costs_little() -> None:
    """Against a grid 40 times finer the loss is below 0.12 % of epsilon over ordinary designs."""
    fine = 1.0 + np.geomspace(1e-3, 1e5, 16_001)
    for ridge in (2.0, 10.0, 80.0):
        for scale in (0.1, 1.0, 10.0):
            kind = {"ridge": ridge, "variance": 1.0, "sensitivity": 2.8 / ridge**2, "scale": scale / ridge}
            best = epsilon_from_rdp(fine, path_rdp(fine, **kind), 1e-5).epsilon
            assert epsilon_from_rdp(ORDERS, path_rdp(ORDERS, **kind), 1e-5).epsilon <= best * 1.0012 + 1e-9


def test_edges_are_reported() -> None:
    rising, falling = 0.5 * ORDERS, 1e9 / ORDERS
    assert epsilon_from_rdp(ORDERS, 1e9 * ORDERS**3, 0.9).at_edge
    assert epsilon_from_rdp(ORDERS, falling, 1e-5).at_edge
    middle = epsilon_from_rdp(ORDERS, rising, 1e-5)
    assert not middle.at_edge
    assert middle.order == pytest.approx(5.4, abs=0.2)
    cut = np.where(ORDERS < 4.0, rising, np.inf)
    assert epsilon_from_rdp(ORDERS, cut, 1e-5).at_edge  # the next order has no finite value


def test_nothing_proved_is_inf_and_never_zero() -> None:
    bound = epsilon_from_rdp(ORDERS, np.full(ORDERS.shape, np.inf), 1e-5)
    assert bound.epsilon == math.inf
    assert bound.order is None
    assert bound.at_edge


def test_monotone_in_delta() -> None:
    values = [RdpCurve.gaussian(1.0).epsilon(delta).epsilon for delta in (1e-300, 1e-12, 1e-5, 0.01, 0.99)]
    exact = [gaussian_epsilon(1.0, delta) for delta in (1e-300, 1e-12, 1e-5, 0.01, 0.99)]
    assert all(later <= earlier for earlier, later in pairwise(values))
    assert all(later <= earlier for earlier, later in pairwise(exact))


def test_many_curves_at_once() -> None:
    curves = np.stack([0.5 * ORDERS * mu**2 for mu in (0.1, 1.0, 3.0)])
    assert epsilons_from_rdp(ORDERS, curves, 1e-5) == pytest.approx(
        [epsilon_from_rdp(ORDERS, curve, 1e-5).epsilon for curve in curves]
    )


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, 2.0, math.nan])
def test_a_delta_out_of_range_is_refused(delta: float) -> None:
    for convert in (
        lambda: epsilon_from_rdp(ORDERS, ORDERS, delta),
        lambda: gaussian_epsilon(1.0, delta),
        lambda: gaussian_mu(1.0, delta),
        lambda: group_privacy(1.0, delta, 2),
    ):
        with pytest.raises(ValueError, match="delta"):
            convert()


@pytest.mark.parametrize("value", [-1e-30, math.nan])
def test_a_negative_divergence_is_refused_rather_than_converted(value: float) -> None:
    rdp = 0.5 * ORDERS
    rdp[7] = value
    with pytest.raises(ValueError, match="never negative"):
        epsilon_from_rdp(ORDERS, rdp, 1e-5)


def test_group_privacy() -> None:
    assert group_privacy(0.7, 1e-6, 1) == (0.7, 1e-6)
    epsilon, delta = group_privacy(0.5, 1e-6, 4)
    assert epsilon == pytest.approx(2.0)
    assert delta == pytest.approx(4.0 * math.exp(1.5) * 1e-6)
    assert group_privacy(10.0, 1e-5, 100)[1] == 1.0
    assert all(group_privacy(1.0, 1e-9, q + 1) > group_privacy(1.0, 1e-9, q) for q in range(1, 10))
    with pytest.raises(ValueError, match="whole"):
        group_privacy(1.0, 1e-6, 0)


def test_the_group_guarantee_holds_for_the_gaussian_mechanism() -> None:
    """q records move a mu-Gaussian mechanism by q mu: its exact delta stays below the group formula's."""
    for mu in (0.05, 0.3, 1.0):
        for q in (2, 3, 8):
            epsilon, delta = group_privacy(gaussian_epsilon(mu, 1e-7), 1e-7, q)
            assert gaussian_delta(epsilon, q * mu) <= delta


def test_odds() -> None:
    assert odds_factor(0.0) == 1.0
    assert odds_factor(10.0) == pytest.approx(22026.465794806718)
    with mpmath.workdps(30):
        for epsilon in (1e-9, 0.1, 0.7, 1.0, 3.3, 88.0, 700.0):
            assert mpmath.exp(epsilon) <= odds_factor(epsilon) <= mpmath.exp(epsilon) * (1 + 1e-15)
    assert odds_factor(math.inf) == math.inf
    assert odds_factor(1e4) == math.inf
    with pytest.raises(ValueError, match="epsilon"):
        odds_factor(-1.0)


@pytest.mark.parametrize("rest", [-1000.3, -1.1, -0.1, 0.0, 0.7, 1e9])
@pytest.mark.parametrize("main", [0.0, 0.1, 3.3, 1e7 / 3])
def test_a_sum_of_exponents_is_rounded_up_whatever_their_signs(main: float, rest: float) -> None:
    exact, room = Fraction(main) + Fraction(rest), Fraction(33 * (abs(main) + abs(rest) + 1)) / 2**52
    found = Fraction(float(rounded_up(np.array([main]), np.array([rest]))[0]))
    assert exact + room * Fraction(7, 10) <= found <= exact + room
    assert rounded_up(np.array([math.inf]), np.array([-math.inf])).tolist() == [math.inf]
