"""Margins for rounding are as large as they are said to be, added to every bound, and not twice as large."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from dpgp_core import ORDERS, RdpCurve, epsilon_from_rdp, gaussian_delta
from dpgp_core.accounting.composition import Cost, compose, delta, epsilon, merged_mu, pure_curve
from dpgp_core.accounting.gaussian import (
    gaussian_epsilon,
    gaussian_mu,
    largest_power,
    period_epsilons,
    surest_gaussian_guess,
    surest_guess,
)
from dpgp_core.accounting.guarantee import chain_epsilon, group_cost, group_curve, group_epsilon
from dpgp_core.accounting.pld import PrivacyLoss, gaussian_loss, response_loss
from dpgp_core.accounting.rdp import conversion_cost
from dpgp_core.accounting.tails import GaussianPairs, Tails, pair_tails, rounded_up
from dpgp_core.errors import InvalidValue


def test_the_delta_of_gaussian_releases_is_rounded_upwards() -> None:
    exact = gaussian_delta(1.0, 0.5)
    assert exact < delta(Cost.gaussian(0.5), 1.0) <= exact * (1.0 + 2.0**-47)


def test_a_divergence_of_zero_is_a_divergence() -> None:
    assert 0.0 <= epsilon_from_rdp([2.0, 1e6], [0.0, 0.0], 1e-5).epsilon < 1e-4


def test_a_group_of_gaussian_releases_carries_a_margin_of_one_in_a_million_millions() -> None:
    mu = group_cost(Cost.gaussian(1.0), 3).gaussian_mu
    assert mu is not None
    assert mu / 3.0 - 1.0 == pytest.approx(1e-12, abs=1e-15)


def test_a_chain_of_two_is_split_at_the_published_places() -> None:
    """At order 1.0215: 9.5e-5 above alpha/2, the exact value; other places would prove another number."""
    twice = group_curve(RdpCurve.gaussian(0.5), 2).values
    assert float(twice[100]) == pytest.approx(0.51082066, rel=1e-7)


def test_losses_are_discretised_up_to_300() -> None:
    PrivacyLoss.from_profile(1.0, np.zeros(301))
    with pytest.raises(ValueError, match="up to losses of 300: use"):
        PrivacyLoss.from_profile(1.0, np.zeros(302))
    PrivacyLoss(1.0, np.zeros(1200), 0.0)
    with pytest.raises(ValueError, match="below 1200"):
        PrivacyLoss(1.0, np.zeros(1201), 0.0)


def test_an_epsilon_off_the_grid_of_losses_carries_a_millionth_of_a_millionth() -> None:
    loss = PrivacyLoss(0.5, np.array([0.5, 0.2, 0.3]), 0.0)
    assert loss.masses.dtype == PrivacyLoss(0.5, np.array([0, 1]), 0.0).masses.dtype == np.float64
    assert loss.epsilon(float(loss.profile()[1])) - 0.5 == pytest.approx(1e-12, abs=1e-15)


def test_arrays_of_values_are_read_only_and_not_printed() -> None:
    loss = gaussian_loss(0.5, 0.125)
    arrays = (loss.masses, pair_tails(RdpCurve.gaussian(0.25), GaussianPairs(0.01)).logs, ORDERS)
    assert not any(each.flags.writeable for each in arrays)
    assert "masses" not in repr(loss)


def units(value: float, exact: mpmath.mpf) -> float:
    """By how many units of 2^-52 of it a double lies above an exact value."""
    return float((mpmath.mpf(value) / exact - 1) * 2**52)


def test_what_comes_without_rounding_carries_its_margin_to_the_unit() -> None:
    """8 units of guesses and powers, 16 of sums, 32 of exponents; 4 of 8 at an odds of 1/2."""
    assert units(surest_guess(0.0, 0.0), mpmath.mpf(0.5)) == 8.0
    assert units(surest_gaussian_guess(0.0), mpmath.mpf(0.5)) == 8.0
    assert units(float(largest_power(0.0, 2.0**-9, 0.0)), mpmath.mpf(2.0**-9)) == 8.0
    assert units(merged_mu([3.0, 4.0]), mpmath.mpf(5)) == pytest.approx(16.0, abs=1.0)
    assert merged_mu([]) == 0.0
    halves = compose([Cost.pure(0.5, distance=0.25)] * 2)
    assert halves.pure_epsilon == 1.0 + 2.0**-48
    assert halves.distance == 0.5 * (1.0 + 2.0**-48)
    assert float(rounded_up(np.array([1.0]), np.array([1.0]))[0]) == 2.0 + 96.0 * 2.0**-52
    assert delta(Cost.gaussian(0.5), 1.0) == gaussian_delta(1.0, 0.5) * (1.0 + 2.0**-48)
    lost = 0.25 * (1.0 + math.exp(0.5)) * (1.0 + 2.0**-48)
    assert delta(Cost.pure(0.5, distance=0.25), 0.5) == lost
    certain = PrivacyLoss(0.5, np.array([1.0]), 0.25)
    both = certain.compose(certain)
    assert (both.masses.tolist(), both.infinite) == ([1.0 + 9 * 2.0**-52], 0.5 * (1.0 + 2.0**-50))
    far = Cost.pure(0.1)
    assert group_cost(far, 1) is far
    assert delta(Cost.pure(0.5, distance=0.9), 0.5) == delta(Cost.gaussian(9.0, 0.9), 0.1) == 1.0


@pytest.mark.parametrize(("epsilon", "mu", "above"), [(112.5, 5.0, 5945.0), (5e5, 1000.0, 8016.0)])
def test_the_margin_of_gaussian_delta_where_its_terms_are_magnified(
    epsilon: float, mu: float, above: float
) -> None:
    """Of near 20 and far 25, and of near 0 and far 1000: 8 far (1 + near), 4 near^2 and 16 of both."""
    with mpmath.workdps(400):
        far = mpmath.mpf(epsilon) / mu
        exact = mpmath.ncdf(mpmath.mpf(mu) / 2 - far) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mpmath.mpf(mu) / 2 - far
        )
        assert units(gaussian_delta(epsilon, mu), exact) == pytest.approx(above, rel=0.008)


def test_margins_are_on_average_what_they_are_said_to_be() -> None:
    """8 units of a conversion's terms; 8 of a profile's exponent and log delta; 4 and 4 of a delta."""
    with mpmath.workdps(40):
        log = mpmath.log(1e-5)
        above = []
        for order, got in zip(ORDERS[::6], conversion_cost(ORDERS, 1e-5)[::6], strict=True):
            a, got = mpmath.mpf(float(order)), float(got)
            first, second = mpmath.log((a - 1) / a), (mpmath.log(a) - log) / (a - 1)
            exact = first - (log + mpmath.log(a)) / (a - 1)
            above.append(float((got - exact) / (abs(first) + second) * 2**52))
        assert np.mean(above) == pytest.approx(8.0, abs=0.4)
        one = Tails(np.array([1.0]), np.array([1.0]))
        above = [units(one.epsilon(2.0**-k)[0], 1 + k * mpmath.log(2)) for k in range(1, 200)]
        assert np.mean(above) == pytest.approx(8.0, abs=0.4)
        one = Tails(np.array([1.0]), np.array([-8.0]))
        places = np.linspace(0.0, 8.0, 257)
        found = one.deltas(places).tolist()
        above = [units(found[k], mpmath.exp(-8 - places[k])) for k in range(257)]
        assert np.mean(above) == pytest.approx(4.0 + 4.0 * 12.0, abs=0.4)


def test_randomised_response_at_every_order() -> None:
    """By 60 digits: a share of 1e-12, and 1e-15/(alpha - 1) only where alpha epsilon is above 1."""
    with mpmath.workdps(60):
        for value in (1e-9, 1e-5, 1e-3, 0.1, 0.9, 1.0, 3.0, 40.0, 800.0):
            found, e = pure_curve(value).values, mpmath.mpf(value)
            for k in range(0, 601, 40):
                a = mpmath.mpf(float(ORDERS[k]))
                exact = mpmath.log(mpmath.cosh((a - 0.5) * e) / mpmath.cosh(e / 2)) / (a - 1)
                room = exact * mpmath.mpf("1.1e-12") + (1.1e-15 / (a - 1) if a * e > 1 else 0)
                assert min(exact, e) <= float(found[k]) <= min(exact + room, e)


def test_a_delta_is_never_above_1() -> None:
    heavy = PrivacyLoss(0.5, np.array([0.0, 0.0, 5.0]), 0.9)
    assert heavy.profile().tolist() == [1.0, 1.0, 0.9 * (1.0 + 24.0 * 2.0**-52)]
    assert heavy.delta(0.25) == 1.0


def test_periods_share_a_budget_by_the_squares_of_their_mu() -> None:
    """1 at delta 1e-5 is mu .268051; half of it, a half and a sixth of its square, in 80 digits."""
    assert period_epsilons(1.0, 1e-5, 1, front_loaded=True) == pytest.approx([1.0], rel=2e-9)
    assert period_epsilons(1.0, 1e-5, 4) == pytest.approx([0.46871015835431533] * 4, rel=2e-9)
    uneven = [0.6841489242268454, *[0.37581016735081757] * 3]
    assert period_epsilons(1.0, 1e-5, 4, front_loaded=True) == pytest.approx(uneven, rel=2e-9)
    assert period_epsilons(1.0, 1e-5, 2, front_loaded=True) == period_epsilons(1.0, 1e-5, 2)
    (less,) = set(period_epsilons(1.0, 1e-5, 4))
    assert less == pytest.approx(0.46871015835431533 * (1.0 - 1e-9), rel=2e-11)
    with pytest.raises(InvalidValue, match="so small a budget cannot be divided at this delta"):
        period_epsilons(0.001, 0.3, 100)


def test_a_guess_about_a_record_of_a_gaussian_mechanism() -> None:
    """Phi(1/2) is .69146246127401310, and the distance comes on top; never above 1."""
    assert surest_gaussian_guess(1.0) == pytest.approx(0.6914624612740131, rel=3e-15)
    assert surest_gaussian_guess(1.0, 0.01) == pytest.approx(0.7014624612740131, rel=3e-15)
    assert surest_gaussian_guess(1.0, 0.31) == surest_gaussian_guess(40.0) == 1.0
    for wrong in ((-0.1, 0.0), (1.0, -0.1)):
        with pytest.raises(InvalidValue, match="must be"):
            surest_gaussian_guess(*wrong)


@pytest.mark.parametrize("mu", [1.0, 2.0])
def test_a_mu_that_is_reached_exactly_is_given(mu: float) -> None:
    """Powers of two are where the search turns from doubling to halving."""
    assert gaussian_mu(0.5, gaussian_delta(0.5, mu)) >= mu
    assert gaussian_epsilon(mu, gaussian_delta(mu, mu)) <= mu


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_what_samplers_may_differ_is_taken_off_the_delta_of_a_group(share: float) -> None:
    near = Cost.renyi(RdpCurve.gaussian(0.25), GaussianPairs(0.01))
    distance = share * 1e-5 / (1.0 + math.exp(epsilon(group_cost(near, 2), 1e-5).epsilon + 0.5))
    far = replace(near, distance=distance)
    most = epsilon(group_cost(far, 2), 1e-5).epsilon
    left = 1e-5 - distance * (1.0 + math.exp(most))
    assert 0.0 < left < 1e-5
    found = group_epsilon(far, 2, 1e-5)
    assert found.method == "gaussian-pairs"
    tails = pair_tails(RdpCurve.gaussian(0.25), GaussianPairs(0.01))
    assert found.epsilon == pytest.approx(chain_epsilon(tails, 2, left, most), rel=1e-9)
    assert found.epsilon > chain_epsilon(tails, 2, 1e-5, most)


def test_a_profile_of_one_delta_carries_eight_units_and_four_of_its_mass() -> None:
    loss = PrivacyLoss.from_profile(0.5, np.array([0.25]))
    assert (loss.masses.tolist(), loss.infinite) == ([0.75 + 11.0 * 2.0**-52], 0.25)


@pytest.mark.parametrize("value", [0.3, 0.7, 2.0])
def test_the_profile_of_randomised_response_lies_sixteen_units_above_it(
    value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """(e^v - e^x)/(1 + e^v) in 50 digits, at all places but those where it ends."""
    monkeypatch.setattr(PrivacyLoss, "from_profile", lambda _, deltas: deltas)
    found = np.asarray(response_loss(value, 2.0**-8))
    with mpmath.workdps(50):
        top = mpmath.exp(value)
        above = [
            units(float(found[k]), (top - mpmath.exp(k * 2.0**-8)) / (1 + top)) for k in range(found.size - 2)
        ]
    assert min(above) > 12.0
    assert np.mean(above) == pytest.approx(16.0, abs=0.5)
