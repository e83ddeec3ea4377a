"""Composition of costs: exact where it can be, never below the truth, the least of the valid bounds."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dpgp_core import ORDERS, RdpCurve, gaussian_epsilon
from dpgp_core.accounting.composition import Cost, compose, delta, epsilon, merged_mu, pure_curve
from dpgp_core.accounting.tails import GaussianPairs, renyi_tails
from tests.oracles.hockey import mp_gaussian_and_responses, mp_gaussian_profile

DELTAS = (1e-3, 1e-5, 1e-8)


def by_curve(cost: Cost, at: float) -> float:
    return renyi_tails(cost.curve).epsilon(at)[0]


def test_gaussian_releases_compose_exactly() -> None:
    """Literal: 0.3 and 0.4 are 0.5, which at 1e-5 costs 1.99309; the Renyi sum would say 7.5 % more."""
    account = compose([Cost.gaussian(0.3), Cost.gaussian(0.4)])
    assert account.gaussian_mu == pytest.approx(0.5, rel=1e-14)
    assert account.gaussian_mu is not None
    assert account.gaussian_mu >= 0.5
    found = epsilon(account, 1e-5)
    assert (found.method, found.epsilon) == ("gaussian", pytest.approx(1.99309, abs=1e-5))
    assert by_curve(account, 1e-5) > 1.07 * found.epsilon
    many = [Cost.gaussian(0.01)] * 2500
    assert epsilon(many, 1e-5).epsilon == pytest.approx(gaussian_epsilon(0.5, 1e-5), rel=1e-12)
    assert epsilon(many, 1e-5).epsilon >= gaussian_epsilon(0.5, 1e-5)
    assert merged_mu([]) == 0.0


def test_nothing_costs_nothing() -> None:
    assert epsilon([], 1e-5).epsilon == 0.0
    assert epsilon(Cost.nothing(), 1e-5).method == "nothing"
    assert delta([], 0.0) == 0.0
    one = Cost.gaussian(0.3)
    assert compose([Cost.nothing(), one, Cost.nothing()]) == one
    assert compose([compose([one, one]), one]) == compose([one, one, one])


# Computed with Google's dp-accounting 0.6.0 on a grid of 1e-4, which cannot be installed beside this
# project's packages. Pessimistic like ours; twenty times rounded up it is 20 steps above the truth. LAPLACE
# composes Laplace noise, which we charge as randomised response, so ours must be above.
OTHERS = (
    ([Cost.gaussian(0.3), Cost.pure(0.5)], (1.185304742695393, 1.5965099393462712, 2.042037708263676), 2e-4),
    ([Cost.gaussian(1.0)] + [Cost.pure(0.3)] * 3, (3.58951837689, 4.91411912645, 6.38531943297), 2e-4),
    ([Cost.pure(0.1)] * 20, (1.155578645581396, 1.599790147451444, 1.9980370509541696), 2.1e-3),
)
LAPLACE = (1.166362874854681, 1.5823771851295396, 2.031082103766378)


@pytest.mark.parametrize(("costs", "known", "slack"), OTHERS)
def test_mixed_accounts_agree_with_another_program(
    costs: list[Cost], known: tuple[float, ...], slack: float
) -> None:
    for at, other in zip(DELTAS, known, strict=True):
        found = epsilon(costs, at)
        assert found.epsilon == pytest.approx(other, abs=slack)
        assert found.method == "privacy-loss"
        assert found.epsilon < by_curve(compose(costs), at)


def test_laplace_noise_costs_at_most_what_randomised_response_does() -> None:
    for at, other in zip(DELTAS, LAPLACE, strict=True):
        assert other < epsilon([Cost.gaussian(0.3), Cost.pure(0.5)], at).epsilon < 1.02 * other


@pytest.mark.parametrize(("mu", "responses"), [(0.3, [0.5]), (1.0, [0.3, 0.3]), (0.1, [1.5])])
def test_mixed_accounts_are_never_below_the_exact_mixture(mu: float, responses: list[float]) -> None:
    """Theorem 1 of docs/accounting.md."""
    costs = [Cost.gaussian(mu), *(Cost.pure(value) for value in responses)]
    with mpmath.workdps(40):
        for at in DELTAS:
            found = epsilon(costs, at).epsilon
            assert mp_gaussian_and_responses(mu, responses, found) <= at
            assert mp_gaussian_and_responses(mu, responses, 0.998 * found) > at
            assert delta(costs, found) <= at * (1.0 + 1e-6)
            assert float(mp_gaussian_and_responses(mu, responses, 0.7)) <= delta(costs, 0.7)


def test_what_has_a_curve_only_beats_the_sum_of_curves_and_stays_above_the_truth() -> None:
    """A Gaussian that is known by its curve only, beside one that is known exactly.

    Theorem 1 of docs/accounting.md.
    """
    with mpmath.workdps(40):
        for known, hidden in ((0.3, 0.02), (0.3, 0.2), (0.3, 0.6), (2.0, 0.3)):
            costs = [Cost.gaussian(known), Cost.renyi(RdpCurve.gaussian(hidden))]
            for at in DELTAS:
                found = epsilon(costs, at)
                assert mp_gaussian_profile(math.hypot(known, hidden), found.epsilon) <= at
                assert found.epsilon < 0.997 * by_curve(compose(costs), at)
                assert found.method == "privacy-loss"
    tiny = epsilon([Cost.gaussian(0.3), Cost.renyi(RdpCurve.gaussian(0.02))], 1e-5).epsilon
    assert tiny == pytest.approx(1.13662, abs=1e-4)  # the truth is 1.13454, the sum of curves says 1.23793


def test_posterior_sampling_composes_through_its_sharper_profile() -> None:
    curve, pairs = RdpCurve.gaussian(0.25), GaussianPairs(0.01)
    one = Cost.renyi(curve, pairs)
    found = epsilon(one, 1e-5)
    assert found.method == "gaussian-pairs"
    assert gaussian_epsilon(0.25, 1e-5) <= found.epsilon < 0.93 * by_curve(one, 1e-5)
    two = epsilon([one, one], 1e-5)
    merged = epsilon([Cost.renyi(curve), Cost.renyi(curve)], 1e-5)
    assert gaussian_epsilon(0.25 * math.sqrt(2.0), 1e-5) <= two.epsilon < 0.97 * merged.epsilon
    mixed = epsilon([one, Cost.gaussian(0.25)], 1e-5)
    assert gaussian_epsilon(0.25 * math.sqrt(2.0), 1e-5) <= mixed.epsilon < two.epsilon
    assert epsilon([one] * 30, 1e-5).epsilon <= by_curve(compose([one] * 30), 1e-5)


def test_pure_releases_never_cost_more_than_their_sum() -> None:
    assert epsilon(Cost.pure(0.5), 1e-9).epsilon <= 0.5
    assert epsilon([Cost.pure(0.5), Cost.pure(0.25)], 1e-12).epsilon == pytest.approx(0.75, rel=1e-9)
    assert delta([Cost.pure(0.5), Cost.pure(0.25)], 0.76) == 0.0
    assert epsilon([Cost.pure(0.05)] * 100, 1e-5).epsilon < 3.0


def test_the_curve_of_pure_privacy_is_that_of_randomised_response() -> None:
    """log cosh ratio in 60 digits, at small and large odds and orders, never below it and within 1e-9."""
    for value in (1e-6, 1e-3, 0.3, 1.0, 5.0, 300.0):
        curve = pure_curve(value).values
        with mpmath.workdps(60):
            for k in range(0, ORDERS.size, 50):
                a, e = mpmath.mpf(ORDERS[k]), mpmath.mpf(value)
                exact = mpmath.log(mpmath.cosh((a - mpmath.mpf(0.5)) * e) / mpmath.cosh(e / 2)) / (a - 1)
                assert (
                    exact * (1 - mpmath.mpf("1e-30"))
                    <= curve[k]
                    <= min(exact * (1 + mpmath.mpf("1e-9")), value * (1 + 1e-15))
                )


def test_the_distance_to_the_ideal_is_added_to_delta() -> None:
    """(1 + e^epsilon) times the total variation, for one release and for several."""
    ideal, real = Cost.gaussian(0.5), Cost.gaussian(0.5, distance=1e-7)
    assert delta(real, 1.0) == pytest.approx(delta(ideal, 1.0) + (1.0 + math.e) * 1e-7, rel=1e-9)
    found = epsilon(real, 1e-5).epsilon
    assert found == pytest.approx(epsilon(ideal, 1e-5 - (1.0 + math.exp(found)) * 1e-7).epsilon, rel=1e-9)
    assert found > epsilon(ideal, 1e-5).epsilon
    assert compose([real, real, ideal]).distance == pytest.approx(2e-7)
    far = [Cost.gaussian(0.5, distance=share) for share in (0.4, 0.3, 0.4)]
    assert 0.7 < compose(far[:2]).distance < 0.7 + 1e-9
    assert compose(far).distance == 1.0 - 2.0**-53  # the most that two laws can differ by, but one rounding
    assert math.isinf(epsilon(real, 1e-8).epsilon)
    tiny = Cost.gaussian(0.5, distance=2.0**-150)
    assert epsilon(tiny, 1e-5).epsilon == pytest.approx(epsilon(ideal, 1e-5).epsilon, rel=1e-12)
    assert epsilon(tiny, 1e-5).epsilon >= epsilon(ideal, 1e-5).epsilon


def test_what_is_not_proved_costs_infinity() -> None:
    nothing = Cost.renyi(RdpCurve(np.full(ORDERS.shape, np.inf)))
    assert epsilon(nothing, 1e-5).method == "unproved"
    assert math.isinf(epsilon([nothing, Cost.gaussian(0.1)], 1e-5).epsilon)
    assert delta([nothing, Cost.gaussian(0.1)], 3.0) == 1.0
    for wrong in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="number"):
            Cost.gaussian(wrong)
        with pytest.raises(ValueError, match="number"):
            Cost.pure(wrong)
    with pytest.raises(ValueError, match="variation"):
        Cost.gaussian(0.1, distance=math.nan)
    with pytest.raises(ValueError, match="delta"):
        epsilon(Cost.gaussian(0.1), 1.0)
