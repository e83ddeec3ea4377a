"""Every rounding of the accountant goes to the safe side, in exact rational arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpgp_core import ORDERS, RdpCurve
from dpgp_core.accounting.composition import Cost, compose, delta, merged_mu
from dpgp_core.accounting.composition import epsilon as composed_epsilon
from dpgp_core.accounting.gaussian import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    largest_power,
    surest_guess,
)
from dpgp_core.accounting.guarantee import _moments, chain_epsilon, group_cost, group_curve
from dpgp_core.accounting.pld import PrivacyLoss, _shortened, gaussian_loss, response_loss
from dpgp_core.accounting.rdp import (
    amplitude,
    conversion_cost,
    covariance_term,
    epsilon_from_rdp,
    group_privacy,
    leverage,
    odds_factor,
    rdp_from_shift,
)
from dpgp_core.accounting.tails import (
    GaussianPairs,
    Tails,
    inversion,
    pair_logs,
    pair_tails,
    renyi_tails,
    rounded_up,
)
from dpgp_core.errors import InvalidValue

UNIT = Fraction(1, 2**52)


def over(value: float, exact: Fraction) -> float:
    """How far above the exact value a double lies, in units of 2^-52 of it."""
    return float((Fraction(value) / exact - 1) / UNIT)


@pytest.mark.parametrize("mu", [0.1, 0.3, 1.0, 7.3])
def test_the_curve_of_a_gaussian_mechanism(mu: float) -> None:
    """alpha mu^2/2, and 1e-15 of it: four or five units of 2^-52 before three roundings."""
    found = RdpCurve.gaussian(mu).values
    above = [
        over(float(found[k]), Fraction(float(ORDERS[k])) * Fraction(mu) ** 2 / 2) for k in range(0, 601, 10)
    ]
    assert min(above) > 1.0
    assert 3.0 < sum(above) / len(above) < 6.5


def test_a_gaussian_mechanism_with_next_to_no_noise_costs_inf() -> None:
    """Also where mu^2 is beyond all doubles; at 1e15 the bound is still a number."""
    assert gaussian_epsilon(1e15, 1e-5) == pytest.approx(5e29, rel=1e-6)
    assert math.isinf(gaussian_epsilon(1e160, 1e-5))
    assert math.isinf(RdpCurve.gaussian(1e160).values[0])


def test_distances_pure_epsilons_and_mus_of_several_releases() -> None:
    """Doubles whose sums are rounded down by themselves: 2^-48 is added to each."""
    far = compose([Cost.gaussian(0.1, 0.1), Cost.gaussian(0.2, 0.2), Cost.gaussian(0.7, 0.7 - 2**-52)])
    exact = Fraction(0.1) + Fraction(0.2) + Fraction(0.7 - 2**-52)
    assert far.distance == 1.0 - 2.0**-53  # never 1
    near = compose([Cost.gaussian(0.1, 0.1), Cost.gaussian(0.2, 0.2)])
    assert 14.0 < over(near.distance, exact - Fraction(0.7 - 2**-52)) < 18.0
    pure = compose([Cost.pure(0.1), Cost.pure(0.2), Cost.pure(0.7)]).pure_epsilon
    assert pure is not None
    assert 14.0 < over(pure, Fraction(0.1) + Fraction(0.2) + Fraction(0.7)) < 18.0
    assert 28.0 < over(merged_mu([0.3, 0.4]) ** 2, Fraction(0.3) ** 2 + Fraction(0.4) ** 2) < 36.0


def test_the_curves_of_several_releases() -> None:
    """k units of 2^-50 for k curves."""
    one, other = RdpCurve.gaussian(0.3), RdpCurve.gaussian(0.7)
    total = compose([Cost.renyi(one), Cost.renyi(other)]).curve.values
    for k in range(0, 601, 60):
        exact = Fraction(float(one.values[k])) + Fraction(float(other.values[k]))
        assert 6.0 < over(float(total[k]), exact) < 10.0


@pytest.mark.parametrize(("epsilon", "mu"), [(1.0, 0.3), (0.1, 1.0), (5.0, 2.0), (40.0, 10.0), (0.0, 0.01)])
def test_the_delta_of_a_gaussian_mechanism(epsilon: float, mu: float) -> None:
    """In 60 digits: never below, and above by a millionth of a millionth."""
    with mpmath.workdps(60):
        far = mpmath.mpf(epsilon) / mu
        exact = mpmath.ncdf(mpmath.mpf(mu) / 2 - far) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mpmath.mpf(mu) / 2 - far
        )
        assert exact <= gaussian_delta(epsilon, mu) <= exact * (1 + mpmath.mpf("1e-11"))


def test_the_ends_of_the_delta_of_a_gaussian_mechanism() -> None:
    assert gaussian_delta(1e300, 1e-5) == gaussian_delta(1e10, 1.0) == 1e-300
    assert gaussian_delta(1.0, 100.0) == 1.0
    assert gaussian_delta(0.0, 41.0) == 1.0  # but 2e-93
    assert gaussian_delta(0.0, 10.0) == pytest.approx(1.0 - 5.733031e-7, abs=1e-12)


@pytest.mark.parametrize("delta_", [1e-9, 1e-5, 0.2])
def test_the_least_epsilon_and_the_largest_mu_are_feasible_and_their_neighbours_are_not(
    delta_: float,
) -> None:
    epsilon = gaussian_epsilon(0.7, delta_)
    assert gaussian_delta(epsilon, 0.7) <= delta_ < gaussian_delta(float(np.nextafter(epsilon, 0.0)), 0.7)
    mu = gaussian_mu(1.3, delta_)
    assert gaussian_delta(1.3, mu) <= delta_ < gaussian_delta(1.3, float(np.nextafter(mu, 9.0)))


@pytest.mark.parametrize("delta_", [1e-9, 1e-5, 0.2])
def test_what_an_order_adds_to_a_divergence(delta_: float) -> None:
    """log((alpha-1)/alpha) - (log delta + log alpha)/(alpha-1), in 60 digits at every sixtieth order."""
    found = conversion_cost(ORDERS, delta_)
    with mpmath.workdps(60):
        for k in range(0, 601, 60):
            a = mpmath.mpf(float(ORDERS[k]))
            first, second = mpmath.log((a - 1) / a), -(mpmath.log(delta_) + mpmath.log(a)) / (a - 1)
            margin = (
                8 * mpmath.mpf(2) ** -52 * (abs(first) + (abs(mpmath.log(delta_)) + mpmath.log(a)) / (a - 1))
            )
            assert 0.5 * margin < float(found[k]) - first - second < 1.5 * margin


def test_the_edge_of_the_orders_is_told() -> None:
    """The best of three in the middle; at either end; beside an order of which nothing is proved."""
    orders = [2.0, 4.0, 8.0]
    assert not epsilon_from_rdp(orders, [9.0, 1.0, 9.0], 1e-5).at_edge
    assert epsilon_from_rdp(orders, [0.0, 90.0, 90.0], 1e-5).at_edge
    assert epsilon_from_rdp(orders, [90.0, 90.0, 1.0], 1e-5).at_edge
    assert epsilon_from_rdp(orders, [9.0, 1.0, math.inf], 1e-5).at_edge
    assert epsilon_from_rdp(orders, [math.inf, 1.0, 9.0], 1e-5).at_edge
    nothing = epsilon_from_rdp(orders, [math.inf] * 3, 1e-5)
    assert (nothing.epsilon, nothing.order, nothing.at_edge) == (math.inf, None, True)


def test_odds_and_groups_by_the_textbook() -> None:
    with mpmath.workdps(40):
        for value in (0.1, 1.0, 20.0, 708.0):
            assert (
                mpmath.exp(value) <= odds_factor(value) <= mpmath.exp(value) * (1 + 8 * mpmath.mpf(2) ** -52)
            )
    assert (odds_factor(0.0), odds_factor(709.0), odds_factor(math.inf)) == (1.0, math.inf, math.inf)
    epsilon, delta_ = group_privacy(0.1, 1e-6, 3)
    assert epsilon == math.nextafter(3 * 0.1, math.inf)
    exact = 3.0 * math.exp(0.2) * 1e-6
    assert exact < delta_ < exact * (1.0 + 2e-12)
    assert group_privacy(0.1, 1e-6, 1) == (0.1, 1e-6)
    assert group_privacy(9.0, 1e-3, 5)[1] == 1.0


def test_a_sum_of_two_exponents() -> None:
    """32 units of the two and of 1, upwards; what is no number is unproved."""
    for one, other in ((0.1, 0.2), (-0.7, 0.1), (1e6, -3.0), (0.0, 0.0)):
        found = float(rounded_up(np.array([one]), np.array([other]))[0])
        size = abs(Fraction(one)) + abs(Fraction(other)) + 1
        assert 30 * UNIT * size < Fraction(found) - Fraction(one) - Fraction(other) < 34 * UNIT * size
    assert rounded_up(np.array([np.inf, np.inf]), np.array([-np.inf, 0.0])).tolist() == [np.inf, np.inf]


def test_tails_by_hand() -> None:
    """Rates 1 and 3: exp(.5 - e) and exp(2 - 3 e) meet at .75; the second is unproved in the other."""
    tails = Tails(np.array([1.0, 3.0]), np.array([0.5, 2.0]))
    exact = [1.0, math.exp(-0.25), math.exp(-1.0)]
    found = tails.deltas(np.array([0.25, 0.75, 1.0])).tolist()
    for value, least in zip(found, exact, strict=True):
        assert least <= value <= min(1.0, least * (1.0 + 1e-14))
    epsilon, order = tails.epsilon(math.exp(-1.0))
    assert (epsilon, order) == (pytest.approx(1.0, abs=1e-14), 4.0)
    assert epsilon >= 1.0
    one = Tails(np.array([1.0, 3.0]), np.array([0.5, np.inf]))
    assert one.epsilon(math.exp(-1.0)) == (pytest.approx(1.5, abs=1e-14), 2.0)
    assert one.reach(math.exp(-1.0)) == one.epsilon(math.exp(-1.0))[0]
    assert float(one.deltas(np.array([1.5]))[0]) == pytest.approx(math.exp(-1.0))
    assert Tails(np.array([1.0]), np.array([np.inf])).epsilon(0.1) == (math.inf, None)
    assert Tails(np.array([1.0]), np.array([-9.0])).epsilon(0.1)[0] == 0.0


def test_the_profile_of_renyi_divergences_by_its_formula() -> None:
    """(alpha-1) R + (alpha-1) log(1 - 1/alpha) - log(alpha) at every sixtieth order."""
    curve = RdpCurve.gaussian(0.4)
    tails = renyi_tails(curve)
    with mpmath.workdps(40):
        for k in range(0, 601, 60):
            a = mpmath.mpf(float(ORDERS[k]))
            exact = (
                (a - 1) * mpmath.mpf(float(curve.values[k])) + (a - 1) * mpmath.log(1 - 1 / a) - mpmath.log(a)
            )
            assert exact < float(tails.logs[k]) < exact + mpmath.mpf("1e-13") * (1 + abs(exact))
    assert np.array_equal(tails.rates, ORDERS - 1.0)


def test_the_leverage_of_a_record() -> None:
    """V/(V + r^2) less the share of prior noise, 64 units upwards."""
    exact = Fraction(3, 4) * Fraction(1, 2) / (Fraction(1, 2) + 9)
    assert 60.0 < over(float(leverage(3.0, 0.5, 0.25)), exact) < 68.0
    assert float(leverage(3.0, 0.5, 1.0)) == 0.0
    for share in (-0.001, 1.001, math.nan):
        with pytest.raises(ValueError, match="noise_share"):
            leverage(3.0, 0.5, share)


def test_the_covariance_term_where_an_order_is_admissible_and_where_not() -> None:
    """-log(1 - 6 p^2/(1-p))/4 at order 3; from alpha p = 1 on, or alpha (alpha-1) p^2 >= 1 - p, nothing."""
    orders = np.array([3.0])
    assert covariance_term(orders, np.array(0.25))[0] == pytest.approx(-math.log(0.5) / 4.0, rel=1e-14)
    assert math.isinf(covariance_term(orders, np.array(1.0 / 3.0))[0])
    assert math.isfinite(covariance_term(orders, np.array(0.3333))[0])
    assert covariance_term(orders, np.array(0.0))[0] == 0.0


def test_the_divergence_of_paths_from_its_parts() -> None:
    """2 (0.1 + 3/2 * 0.2/0.25) = 2.6, 16 units upwards; nothing is proved where the shift is inf."""
    found = rdp_from_shift(
        np.array([3.0, 4.0]), np.array([0.2, np.inf]), np.array([0.1, 0.1]), np.asarray(0.5), 2
    )
    exact = 2 * (Fraction(0.1) + Fraction(3, 2) * Fraction(0.2) * 4)
    assert 10.0 < over(float(found[0]), exact) < 22.0
    assert math.isinf(found[1])


def test_two_scales_as_one_and_the_share_of_prior_noise() -> None:
    assert amplitude(0.0, 0.0) == (0.0, 1.0)
    assert amplitude(0.0, 0.3) == (0.3, 1.0)
    assert amplitude(0.3, 0.0) == (0.3, 0.0)
    assert amplitude(math.inf, 0.3) == (math.inf, 0.0)
    total, share = amplitude(0.3, 0.4)
    assert total == pytest.approx(0.5, rel=1e-15)
    exact = Fraction(0.4) ** 2 / (Fraction(0.3) ** 2 + Fraction(0.4) ** 2)
    assert -14.0 < over(share, exact) < -2.0  # downwards, which costs more


@pytest.mark.parametrize("k", [300, 450, 600])
def test_the_sharper_profile_keeps_its_slack_where_divergences_are_large(k: int) -> None:
    """Without leverage: (alpha-1) R + log J, and 8e-12 of (alpha-1) R; 1e-12 of it is lost inside J."""
    values = RdpCurve.gaussian(1.0).values
    pairs = GaussianPairs(0.0)
    found = float(pair_logs(ORDERS[[k]], values[[k]], pairs, math.inf)[0])
    order, value = float(ORDERS[k]), float(values[k])
    middle, shift = math.sqrt((order - 1.0) * order), 2.0 * value / order
    plain = inversion(np.array([middle]), np.array([shift]), np.array([0.0]))
    above = found - (order - 1.0) * value - math.log(float(plain[0]))
    assert 6e-12 < above / ((order - 1.0) * value) < 9e-12 + 1e-10 / value


def test_the_inversion_integral_by_its_ends() -> None:
    """1/(2m) without a linear term, and 1e-11 of it; and never less than a fine sum in its middle."""
    assert inversion(np.array([3.0]), np.array([0.0]), np.array([0.0]))[0] == pytest.approx(1 / 6, rel=2e-11)
    assert inversion(np.array([3.0]), np.array([0.0]), np.array([0.0]))[0] > (1 / 6) * (1.0 + 5e-12)


def test_a_moment_between_two_orders_lies_on_their_chord_or_above() -> None:
    """At the public orders themselves it is theirs; nothing is said from the last one on."""
    curve = RdpCurve.gaussian(0.4)
    own = (ORDERS - 1.0) * curve.values
    at = _moments(curve, ORDERS[:-1])
    assert np.all(at >= own[:-1])
    np.testing.assert_allclose(at, own[:-1], rtol=1e-11)
    assert np.all(np.isinf(_moments(curve, np.array([ORDERS[-1], 1e6]))))
    middle = 0.25 * ORDERS[9] + 0.75 * ORDERS[10]
    assert _moments(curve, np.array([middle]))[0] == pytest.approx(0.25 * own[9] + 0.75 * own[10], rel=1e-9)
    below = 1.0 + 0.25 * (ORDERS[0] - 1.0)
    assert _moments(curve, np.array([below]))[0] == pytest.approx(0.25 * own[0], rel=1e-9)
    nothing = RdpCurve(np.full(601, np.inf))
    assert np.all(np.isinf(_moments(nothing, np.array([below, middle, ORDERS[-1], 1e6]))))
    steep = RdpCurve(np.full(601, 1e305))
    assert np.all(np.isinf(_moments(steep, np.array([500.0 * ORDERS[-1], ORDERS[-2]]))))


def test_a_group_of_pure_releases_has_q_times_their_epsilon_and_the_curve_of_that() -> None:
    group = group_cost(Cost.pure(0.05, distance=1e-9), 3)
    assert group.pure_epsilon == pytest.approx(0.15, rel=2e-12)
    assert group.pure_epsilon is not None
    assert group.pure_epsilon > 0.15
    assert group.distance == 1e-9
    assert np.all(group.curve.values <= group.pure_epsilon)
    weak = group_cost(Cost.pure(0.05, RdpCurve.gaussian(0.001)), 3)
    assert np.all(weak.curve.values <= group_curve(RdpCurve.gaussian(0.001), 3).values)


def test_a_chain_of_steps_is_sought_below_the_given_epsilon_and_up_to_it() -> None:
    """One step: the least of 401 places of the grid at which the profile is below delta."""
    tails = renyi_tails(RdpCurve.gaussian(0.25))
    least = tails.epsilon(1e-5)[0]
    last = 1.001 * least
    assert chain_epsilon(tails, 1, 1e-5, last) == pytest.approx(last, rel=2e-12)
    assert chain_epsilon(tails, 1, 1e-5, last) > last
    assert math.isinf(chain_epsilon(tails, 1, 1e-5, 0.999 * least))
    assert chain_epsilon(tails, 1, 1e-5, 4.0 * least) == pytest.approx(1.01 * least, rel=0.011)
    for most in (0.0, -1.0, 300.0, math.inf, math.nan):
        assert math.isinf(chain_epsilon(tails, 1, 1e-5, most))
    assert math.isfinite(chain_epsilon(tails, 1, 1e-5, 299.9))


def test_two_steps_of_a_chain_by_hand() -> None:
    """delta(a) + e^a delta(b) with the best split of the grid; here all of it in one step each."""
    tails = renyi_tails(RdpCurve.gaussian(0.25))
    most = 3.0
    grid = most / 400 * np.arange(401)
    single = tails.deltas(grid)
    twice = [min(single[i] + math.exp(grid[i]) * single[n - i] for i in range(n + 1)) for n in range(401)]
    first = next(n for n in range(401) if twice[n] <= 1e-4)
    assert chain_epsilon(tails, 2, 1e-4, most) == pytest.approx(float(grid[first]), rel=1e-9)


def test_mass_that_is_moved_to_infinity_is_all_of_it() -> None:
    """1e-23 at the largest loss goes, with what its mirror image has; the first mass always stays."""
    masses, infinite = _shortened(0.5, np.array([0.9, 0.1, 1e-23]), 0.25)
    assert masses.tolist() == [0.9, 0.1]
    assert infinite == 0.25
    masses, infinite = _shortened(0.5, np.array([0.9, 2e-23, 1e-23]), 0.0)
    least = 2e-23 * (1.0 + math.exp(-0.5)) + 1e-23 * (1.0 + math.exp(-1.0))
    assert masses.tolist() == [0.9]
    assert least < infinite < least * (1.0 + 2e-9)
    masses, infinite = _shortened(0.5, np.array([1e-30, 1e-30]), 0.0)
    assert masses.tolist() == [1e-30]
    kept = np.array([0.9, 2e-22])
    assert _shortened(0.5, kept, 0.125) == (kept, 0.125)


def test_a_grid_of_losses_by_hand() -> None:
    """Masses .5, .2, .3 at losses 0, .5, 1 and their mirrored ones: delta and epsilon at and between them."""
    loss = PrivacyLoss(0.5, np.array([0.5, 0.2, 0.3]), 0.01)
    e = math.exp(-0.5)
    exact = [0.01 + 0.2 * (1 - e) + 0.3 * (1 - e * e), 0.01 + 0.3 * (1 - e), 0.01]
    profile = loss.profile()
    for value, least in zip(profile.tolist(), exact, strict=True):
        assert least * (1.0 - 1e-16) <= value <= least * (1.0 + 1e-14)
    assert loss.reach == 1.0
    assert loss.delta(1.0) == pytest.approx(profile[2], rel=1e-10)
    assert loss.delta(1.1) == loss.delta(7.0) == profile[2]
    between = (math.exp(0.25) - 1.0) / (math.exp(0.5) - 1.0)
    assert loss.delta(0.25) == pytest.approx(exact[0] + between * (exact[1] - exact[0]), rel=1e-10)
    assert loss.delta(0.75) == pytest.approx(exact[1] + between * (exact[2] - exact[1]), rel=1e-10)
    middle = 0.5 * (exact[0] + exact[1])
    assert loss.epsilon(middle) == pytest.approx(math.log(1.0 + 0.5 * (math.exp(0.5) - 1.0)), rel=1e-8)
    assert loss.delta(loss.epsilon(middle)) <= middle * (1.0 + 1e-12)
    assert loss.epsilon(0.9) == 0.0
    assert math.isinf(loss.epsilon(0.005))
    assert loss._both().tolist() == pytest.approx([0.3 * e * e, 0.2 * e, 0.5, 0.2, 0.3], rel=1e-14)


def test_a_profile_of_three_points_becomes_the_masses_at_its_corners() -> None:
    """delta .3, .2, .05 at losses 0, .5, 1: by how much slopes of the hull in e^loss change, mirrored."""
    loss = PrivacyLoss.from_profile(0.5, np.array([0.3, 0.2, 0.05]))
    at = [1.0, math.exp(0.5), math.e]
    one, two = -0.1 / (at[1] - 1.0), -0.15 / (at[2] - at[1])
    masses = [2.0 * one + 0.7, at[1] * (two - one), at[2] * -two]
    assert loss.masses.tolist() == pytest.approx(masses, rel=1e-12)
    assert loss.infinite == 0.05
    profile = loss.profile()
    assert profile.tolist() == pytest.approx([0.3, 0.2, 0.05], rel=1e-12)
    assert np.all(profile >= [0.3, 0.2, 0.05])


@pytest.mark.parametrize("high", [0.6, 0.45])
def test_a_profile_that_starts_too_high_starts_at_its_second_point(high: float) -> None:
    """Such a delta at 0 lies above the line to (e^.5, .15) from its mirror image (e^-.5, 1 - .85/e^.5).

    The line passes 1 at .358, so from there on; its slope at 0 would be at least -(1 - high)/2.
    """
    loss = PrivacyLoss.from_profile(0.5, np.array([high, 0.15, 0.05]))
    at = [1.0, math.exp(0.5), math.e]
    slope, mirrored = -0.1 / (at[2] - at[1]), -0.85 / (1.0 + at[1])
    masses = [0.0, at[1] * (slope - mirrored), at[2] * -slope]
    assert loss.masses.tolist() == pytest.approx(masses, rel=1e-12, abs=1e-15)
    assert loss.profile()[0] == pytest.approx(0.15 + 0.85 * (at[1] - 1.0) / (1.0 + at[1]), rel=1e-12)


@pytest.mark.parametrize("make", [lambda: gaussian_loss(0.5, 2.0**-6), lambda: response_loss(0.7, 2.0**-6)])
def test_all_masses_of_a_loss_and_of_its_mirror_image_add_up_to_one(make: Callable[[], PrivacyLoss]) -> None:
    loss = make()
    mirrored = loss.masses[1:] * np.exp(-loss.step * np.arange(1, loss.masses.size))
    assert loss.masses.sum() + mirrored.sum() + loss.infinite == pytest.approx(1.0, abs=1e-12)
    assert loss.masses.sum() + mirrored.sum() + loss.infinite >= 1.0


def test_the_power_of_an_attack_by_hand() -> None:
    """e a + delta on the steep side, 1 - (1 - delta - a)/e on the flat one, 8 units of 2^-52 upwards."""
    steep = Fraction(math.e) * Fraction(0.01) + Fraction(0.001)
    assert 4.0 < over(float(largest_power(1.0, 0.001, 0.01)), steep) < 14.0
    flat = 1.0 - (1.0 - 0.001 - 0.9) / math.e
    assert flat < float(largest_power(1.0, 0.001, 0.9)) < flat * (1.0 + 6e-15)
    assert surest_guess(0.0, 0.0) == pytest.approx(0.5, rel=4e-15)
    assert surest_guess(0.0, 0.0) > 0.5


def test_the_sharper_profile_is_never_above_the_coarser_one() -> None:
    curve = RdpCurve.gaussian(0.25)
    sharper, coarser = pair_tails(curve, GaussianPairs(0.01)), renyi_tails(curve)
    assert np.all(sharper.logs <= coarser.logs)
    assert np.any(sharper.logs < coarser.logs - 1.0)
    assert not sharper.logs.flags.writeable


def test_delta_of_pure_and_composed_releases() -> None:
    """At and beyond a pure epsilon nothing is left but the distance; below it what its curve proves."""
    pure = Cost.pure(0.5, distance=1e-9)
    assert delta(pure, 0.5) == pytest.approx((1.0 + math.exp(0.5)) * 1e-9, rel=1e-12)
    assert delta(Cost.pure(0.5), 0.5) == 0.0
    exact = (math.exp(0.5) - math.exp(0.25)) / (1.0 + math.exp(0.5))
    assert exact <= delta(Cost.pure(0.5), 0.25) <= 1.001 * exact


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 5e-324), (0.0, 1e-310), (1.0, 5e-324)])
def test_a_delta_below_all_that_is_computed_with_buys_no_noise(epsilon: float, delta: float) -> None:
    """Deltas below 1e-300 are raised to that, so no mu reaches them: 0 would mean noise without end."""
    with pytest.raises(InvalidValue, match="no positive mu reaches this epsilon and delta"):
        gaussian_mu(epsilon, delta)


def test_masses_of_negative_losses_have_four_units_of_room() -> None:
    """q(k) e^(-k step) by 50 digits: on average four units of 2^-52 above it, over 200 masses."""
    generator = np.random.default_rng(3)
    loss = PrivacyLoss(2.0**-7, generator.uniform(0.5, 1.0, 201), 0.0)
    mirrored = loss._both()[:200][::-1]
    with mpmath.workdps(50):
        above = [
            (
                mpmath.mpf(float(mirrored[k])) / (mpmath.mpf(float(mass)) * mpmath.exp(-(k + 1) * loss.step))
                - 1
            )
            * 2**52
            for k, mass in enumerate(loss.masses[1:])
        ]
    assert min(above) > 1.0
    assert 3.6 < sum(above) / len(above) < 4.4


def test_a_delta_that_the_distance_takes_whole_proves_nothing() -> None:
    """Twice a distance of .1 is lost at epsilon 0, rounded up: exactly this delta."""
    cost = Cost.pure(1e-9, distance=0.1)
    assert composed_epsilon(cost, 0.2 * (1.0 + 2.0**-48)).method == "unproved"
    assert composed_epsilon(cost, 0.21).epsilon == 0.0
