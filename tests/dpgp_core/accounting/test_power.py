"""The attacker's best power: never below the exact power against a Gaussian mechanism, and nowhere slack."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from dpgp_core.accounting.gaussian import gaussian_epsilon, largest_power, surest_guess

RATES = np.concatenate([[0.0], np.geomspace(1e-9, 0.5, 400), 1.0 - np.geomspace(0.5, 1e-9, 400), [1.0]])
DELTAS = (1e-7, 1e-5, 1e-3, 0.05)


def exact_power(mu: float, rates: np.ndarray) -> np.ndarray:
    """Neyman and Pearson's test of N(0, 1) against N(mu, 1)."""
    return np.asarray(ndtr(ndtri(rates) + mu))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 2.5, 6.0])
def test_no_attack_on_a_gaussian_mechanism_is_better(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    assert np.all(largest_power(epsilon, delta, RATES) >= exact_power(mu, RATES))
    assert surest_guess(epsilon, delta) >= ndtr(mu / 2.0)  # half the sum of TPR and 1 - FPR, at its best


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_with_less_epsilon_than_the_mechanism_costs_the_bound_is_broken(mu: float, delta: float) -> None:
    """The exact epsilon gives a tangent of the trade-off; 2 % less and the line cuts it."""
    epsilon = 0.98 * gaussian_epsilon(mu, delta)
    assert np.any(largest_power(epsilon, delta, RATES) < exact_power(mu, RATES))


@given(
    st.floats(0.0, 30.0),
    st.sampled_from(DELTAS),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
)
def test_randomised_response_attains_the_bound(
    epsilon: float, delta: float, first: float, second: float
) -> None:
    """Told with chance delta, otherwise randomised response: its best tests are the corners."""
    grow = math.exp(epsilon)
    corner = (1.0 - delta) / (1.0 + grow)
    corners = [(0.0, delta), (corner, 1.0 - corner), (1.0 - delta, 1.0), (1.0, 1.0)]
    rates, powers = np.array(corners).T
    assert largest_power(epsilon, delta, rates) == pytest.approx(powers, abs=1e-12)
    low, high = sorted((first, second))
    one, other = largest_power(epsilon, delta, [low, high])
    assert low - 1e-15 <= one <= other <= 1.0
    assert np.interp(low, rates, powers) <= one + 1e-12
    assert surest_guess(epsilon, delta) == pytest.approx(1.0 - corner, abs=1e-12)


@given(st.floats(0.0, 20.0), st.floats(0.0, 20.0), st.sampled_from(DELTAS))
def test_more_epsilon_never_means_less_power(one: float, other: float, delta: float) -> None:
    low, high = sorted((one, other))
    assert np.all(largest_power(low, delta, RATES) <= largest_power(high, delta, RATES) + 1e-15)
    assert surest_guess(low, delta) <= surest_guess(high, delta) + 1e-15


def test_belief_without_slack_is_the_logistic_function_rounded_up() -> None:
    for epsilon, share in ((0.0, 0.5), (1.0, 0.7310585786300049), (3.0, 0.9525741268224334)):
        assert share <= surest_guess(epsilon, 0.0) <= share * (1.0 + 1e-14)
    assert surest_guess(1.0, 0.1) == pytest.approx((math.e + 0.1) / (math.e + 1.0), rel=1e-14)
    with pytest.raises(ValueError, match="epsilon"):
        surest_guess(-1.0, 0.0)


def test_no_guarantee_means_certainty() -> None:
    assert np.all(largest_power(math.inf, 1e-5, RATES) == 1.0)
    assert surest_guess(math.inf, 1e-5) == 1.0
    assert np.all(largest_power(1e4, 1e-5, RATES[1:]) == 1.0)


@pytest.mark.parametrize("wrong", [{"epsilon": -1.0}, {"epsilon": math.nan}, {"delta": 0.0}, {"delta": 1.0},
                                   {"rate": -0.1}, {"rate": 1.1}, {"rate": math.nan}])  # fmt: skip
def test_nonsense_is_refused(wrong: dict[str, float]) -> None:
    values = {"epsilon": 1.0, "delta": 1e-5, "rate": 0.1, **wrong}
    with pytest.raises(ValueError, match=r"must|lie"):
        largest_power(values["epsilon"], values["delta"], values["rate"])
