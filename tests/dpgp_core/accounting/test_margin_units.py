"""Margins for rounding in units of 2^-52, neither halved nor doubled; profiles in literals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import erfcx

from dpgp_core import ORDERS, RdpCurve
from dpgp_core.accounting import composition, gaussian, guarantee, tails
from dpgp_core.accounting.composition import Cost, delta
from dpgp_core.accounting.gaussian import gaussian_delta, largest_power, surest_guess
from dpgp_core.accounting.pld import PrivacyLoss, _shortened
from dpgp_core.accounting.rdp import amplitude
from dpgp_core.accounting.tails import GaussianPairs, Tails, inversion, pair_logs

UNIT = 2.0**-52


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(1.0, 0.3), (0.1, 1.0), (5.0, 2.0), (0.01, 0.01), (3.0, 5.0), (40.0, 2.0)]
)
def test_the_delta_of_a_gaussian_mechanism_has_room_for_every_rounding(epsilon: float, mu: float) -> None:
    """8 far (1 + |near|), 16 of the sum of two terms over their difference, and 4 near^2; in 80 digits."""
    near, far = epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0
    with mpmath.workdps(80):
        at = mpmath.mpf(epsilon) / mu
        exact = mpmath.ncdf(mpmath.mpf(mu) / 2 - at) - mpmath.exp(epsilon) * mpmath.ncdf(
            -mpmath.mpf(mu) / 2 - at
        )
        above = float((gaussian_delta(epsilon, mu) / exact - 1) * 2**52)
    left, right = float(erfcx(near * math.sqrt(0.5))), float(erfcx(far * math.sqrt(0.5)))
    room = 8.0 * far * (1.0 + abs(near)) + 16.0 * (left + right) / (left - right) + 4.0 * near**2
    assert above == pytest.approx(room, rel=0.12)


@pytest.mark.parametrize(
    ("mu", "leverage", "paths", "logs"),
    [
        (0.25, 0.01, 1, [0.89914512835, -0.92598234384, -1.91398284252, -0.87537391334, 30.8863636841]),
        (0.25, 0.0005, 1, [0.89914304283, -0.92606262267, -1.91456283261, -0.90450626764, 30.8706840954]),
        (0.6, 0.04, 3, [0.89924653025, -0.92207417816, -0.85711985145, 14.736105982, math.inf]),
        (1.5, 0.15, 1, [0.89969122113, -0.01404872706, 9.38954984029, math.inf, math.inf]),
        (3.0, 0.02, 1, [0.89915148581, 4.63485169326, 47.3110573694, 488.285535055, 5391.1678043]),
    ],
)
def test_the_sharper_profile_at_five_orders(
    mu: float, leverage: float, paths: int, logs: list[float]
) -> None:
    """Orders 1.04, 1.86, 3.9, 11 and 35 of a Gaussian curve; from 1/leverage on nothing is proved."""
    values = RdpCurve.gaussian(mu).values
    first = 2.0 * float(values[0]) / float(ORDERS[0])
    found = pair_logs(ORDERS, values, GaussianPairs(leverage, paths), first)
    assert found[[120, 220, 260, 300, 340]].tolist() == pytest.approx(logs, rel=1e-8)
    assert np.array_equal(np.isfinite(found), covariance_is_finite(leverage))


@pytest.mark.parametrize(
    ("mu", "leverage", "paths", "place", "log"),
    [
        (3.0, 0.4, 3, 221, 6.1872091956),
        (0.1, 0.04, 1, 311, -2.4062562985),
        (0.6, 0.15, 3, 279, 3.460256804),
        (0.05, 0.002, 1, 336, -3.8011945405),
        (0.05, 0.002, 1, 421, 201.94556942),
        (0.05, 0.002, 1, 425, 262.02047025),
    ],
)
def test_the_third_group_of_pairs_where_it_decides(
    mu: float, leverage: float, paths: int, place: int, log: float
) -> None:
    """Places at which the ratio by which the shift falls, and both ends of a group, change the profile."""
    values = RdpCurve.gaussian(mu).values
    first = 2.0 * float(values[0]) / float(ORDERS[0])
    found = pair_logs(ORDERS, values, GaussianPairs(leverage, paths), first)
    assert float(found[place]) == pytest.approx(log, rel=1e-8)


def covariance_is_finite(leverage: float) -> np.ndarray:
    """Where alpha p < 1 and alpha (alpha-1) p^2 < 1 - p."""
    steep = ORDERS * (ORDERS - 1.0) * leverage**2 / (1.0 - leverage)
    return np.asarray((ORDERS * leverage < 1.0) & (steep < 1.0))


def test_a_first_order_of_which_nothing_is_proved_leaves_two_groups_of_pairs() -> None:
    """The bound on the shift is then inf: no third group, and the profile is what the curve's shift says."""
    values = RdpCurve.gaussian(0.25).values
    known, unknown = (pair_logs(ORDERS, values, GaussianPairs(0.01), first) for first in (0.0625, math.inf))
    assert np.all(known <= unknown + 1e-9)
    assert np.any(known < unknown - 0.1)


def test_the_bound_on_the_shift_is_that_of_the_lowest_order() -> None:
    """2 D/alpha, a part in 10^12 upwards."""
    values = RdpCurve.gaussian(0.7).values
    exact = 2 * Fraction(float(values[0])) / Fraction(float(ORDERS[0]))
    assert float(Fraction(tails._shift_bound(values)) / exact - 1) == pytest.approx(1e-12, rel=1e-3)
    assert math.isinf(tails._shift_bound(np.full(601, np.inf)))


def test_the_linear_variance_is_rounded_down_inside_the_integral(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 R/alpha less two parts in 10^12, as the integral falls with it; of the smaller shift one part."""
    seen: list[float] = []

    def one(middle: np.ndarray, linear: np.ndarray, bent: np.ndarray) -> np.ndarray:
        seen.append(float(linear[0]))
        return np.ones(linear.shape)

    monkeypatch.setattr(tails, "inversion", one)
    pair_logs(ORDERS[[300]], np.array([2.0]), GaussianPairs(0.0), 0.125)
    exact = 4 / Fraction(float(ORDERS[300]))
    assert float(Fraction(seen[0]) / exact - 1) == pytest.approx(-2e-12, rel=1e-2)
    assert all(Fraction(linear) < Fraction(1, 8) for linear in seen[1:])
    assert seen[1] / 0.125 - 1.0 == pytest.approx(-2e-12, rel=1e-2)


def test_the_inversion_integral_in_literals() -> None:
    """By the trapezoid rule with a million points, a thousandth upwards at most; never above 1/(2m)."""
    m, b, bent = np.array([0.5, 3.0, 17.0]), np.array([1.0, 0.2, 4.0]), np.array([0.01, 0.1, 0.0])
    found = inversion(m, b, bent)
    for place, value in enumerate(found.tolist()):
        angle = np.linspace(0.0, 0.5 * math.pi, 1_000_001)[:-1]
        t = m[place] * np.tan(angle)
        exact = np.exp(-0.5 * b[place] * t**2 / (1.0 + 4.0 * bent[place] ** 2 * t**2)).mean() / (2 * m[place])
        assert exact * (1.0 - 1e-5) < value < min(exact * 1.004, 0.5 / m[place] * (1.0 + 2e-11))


def test_a_composition_of_two_losses_has_eight_units_and_one_for_each_mass() -> None:
    one, other = (PrivacyLoss(0.5, np.array([mass]), infinite) for mass, infinite in ((0.7, 0.1), (0.9, 0.2)))
    both = one.compose(other)
    exact = Fraction(0.7) * Fraction(0.9)
    assert 8.0 < float(Fraction(float(both.masses[0])) / exact - 1) / UNIT < 10.0
    least = Fraction(0.1) + Fraction(0.2)
    assert 3.0 < float(Fraction(both.infinite) / least - 1) / UNIT < 5.0


@pytest.mark.parametrize("sizes", [(16, 40), (17, 40), (30, 30)])
def test_few_and_many_losses_are_added_in_the_same_way(sizes: tuple[int, int]) -> None:
    generator = np.random.default_rng(3)
    one, other = (PrivacyLoss(0.125, generator.dirichlet(np.ones(size)), 0.0) for size in sizes)
    exact = np.convolve(one._both(), other._both())
    exact = exact[exact.size // 2 :]
    found = one.compose(other).masses
    np.testing.assert_allclose(found, exact[: found.size], rtol=1e-12)
    assert found.size >= exact.size - 1


def test_what_is_read_off_a_grid_of_losses_has_its_margins() -> None:
    """Eight units for each loss of a profile, eight more between two of them, a billionth inside a step."""
    told = PrivacyLoss(0.5, np.zeros(4), 0.25)
    assert told.profile().tolist() == [0.25 * (1.0 + 32.0 * UNIT)] * 4
    assert told.delta(0.7) == 0.25 * (1.0 + 32.0 * UNIT) * (1.0 + 8.0 * UNIT)
    loss = PrivacyLoss(0.5, np.array([0.5, 0.2, 0.3]), 0.01)
    high, low = loss.profile()[:2].tolist()
    middle = 0.5 * (high + low)
    inside = math.log1p(0.5 * (1.0 + 1e-9) * math.expm1(0.5))
    assert loss.epsilon(middle) == pytest.approx(inside * (1.0 + 1e-12) + 1e-12, rel=2e-13)
    least = 2e-23 * (1.0 + math.exp(-0.5))
    moved = _shortened(0.5, np.array([0.9, 2e-23]), 0.0)[1]
    assert moved / least - 1.0 == pytest.approx(1e-9, rel=1e-3)
    mirrored = loss._both()[:2].tolist()
    assert mirrored == pytest.approx([0.3 * math.exp(-1.0), 0.2 * math.exp(-0.5)], rel=1e-14)
    assert mirrored[1] > 0.2 * math.exp(-0.5) * (1.0 + 2.5 * UNIT)


def test_the_mass_at_no_loss_has_eight_units_of_one_and_four_of_itself() -> None:
    """delta .3, .2, .05: twice the first slope and .7."""
    found = float(PrivacyLoss.from_profile(0.5, np.array([0.3, 0.2, 0.05])).masses[0])
    slope = (Fraction(0.2) - Fraction(0.3)) / (Fraction(float(np.exp(0.5))) - 1)
    exact = 2 * slope + 1 - Fraction(0.3)
    assert 8.3 < float(Fraction(found) - exact) / UNIT < 11.0


def test_bounds_that_decay_have_four_and_eight_units_more() -> None:
    """delta: 4 of the exponent's parts and 4 of the number; epsilon: 8 of both logarithms."""
    tails = Tails(np.array([2.0]), np.array([5.0]))
    with mpmath.workdps(40):
        exact = mpmath.exp(5 - 2 * mpmath.mpf(4))
        above = float((mpmath.mpf(float(tails.deltas(np.array([4.0]))[0])) / exact - 1) * 2**52)
        assert above == pytest.approx(4 * (5 + 8) + 4, abs=5.0)
        least = (5 - mpmath.log(mpmath.mpf(1e-5))) / 2
        above = float((mpmath.mpf(tails.epsilon(1e-5)[0]) - least) * 2**52)
    assert above == pytest.approx(8 * (5 + 11.5129) / 2, abs=8.0)


@pytest.mark.parametrize(("scale", "noise"), [(0.3, 0.4), (0.1, 0.9), (1.0, 2.0), (5.0, 0.3)])
def test_the_share_of_prior_noise_is_eight_units_below(scale: float, noise: float) -> None:
    exact = Fraction(noise) ** 2 / (Fraction(scale) ** 2 + Fraction(noise) ** 2)
    assert -11.0 < float(Fraction(amplitude(scale, noise)[1]) / exact - 1) / UNIT < -5.5


def test_the_power_of_an_attack_has_eight_units_more() -> None:
    for rate in (0.01, 0.02, 0.1, 0.2):
        steep = Fraction(math.exp(1.0)) * Fraction(rate) + Fraction(0.001)
        assert 5.5 < float(Fraction(float(largest_power(1.0, 0.001, rate))) / steep - 1) / UNIT < 11.0
    guess = (1 + Fraction(0.001) * Fraction(math.exp(-1.0))) / (1 + Fraction(math.exp(-1.0)))
    assert 5.5 < float(Fraction(surest_guess(1.0, 0.001)) / guess - 1) / UNIT < 11.0
    assert float(largest_power(1.0, 0.001, 0.0)) == pytest.approx(0.001)
    assert float(largest_power(1.0, 0.001, 1.0)) == 1.0


def test_no_delta_is_above_one_however_far_a_release_is_from_the_ideal() -> None:
    for far in (
        Cost.gaussian(0.5, 0.9),
        Cost.pure(0.5, distance=0.9),
        Cost.renyi(RdpCurve.gaussian(1.0), None, 0.9),
    ):
        assert delta(far, 0.2) == delta(far, 3.0) == 1.0
    near = Cost.pure(0.5, distance=1e-9)
    assert (
        float(Fraction(delta(near, 0.6)) / (Fraction(1e-9) * (1 + Fraction(math.exp(0.6)))) - 1) / UNIT > 13.0
    )


@pytest.mark.parametrize(
    ("kept", "most"),
    [
        (composition._losses, 64),
        (tails.pair_tails, 256),
        (guarantee._joined, 256),
        (gaussian.allowed_mu, 256),
    ],
)
def test_how_many_answers_are_kept(kept: Any, most: int) -> None:
    assert kept.cache_info().maxsize == most
