"""Beliefs outside the class: Theorem 3.3 by hand and by quadrature, the sharper bound for shifts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from dpgp_core.errors import InvalidValue
from hexcursion_traces.mathematics.beliefs import renyi_of_other_beliefs, shifted_beliefs
from hexcursion_traces.mathematics.loss import Certificate, certify, loss_matrix
from hexcursion_traces.mathematics.prior import TracePrior
from hexcursion_traces.mathematics.secret import Secret, conditional

Density = NDArray[np.float64]
PLACES = np.linspace(-60.0, 60.0, 48_001)


def _renyi(order: float, first: Density, second: Density) -> float:
    """Of two log densities on `PLACES`, by the trapezoidal rule."""
    inside = np.exp(order * first - (order - 1.0) * second)
    return math.log(float(np.trapezoid(inside, PLACES))) / (order - 1.0)


def test_theorem_3_3_by_hand() -> None:
    """At order 2: 1.5 D(4) + D(5) + 1.25 e(6), with D(a) = a/2 .5^2 and e(a) = a/2 .8^2."""
    bound = renyi_of_other_beliefs(2.0, lambda order: 0.32 * order, lambda order: 0.125 * order)
    assert bound == pytest.approx(3.775, rel=1e-11)
    assert bound >= 3.775


def test_theorem_3_3_without_another_belief_costs_at_least_the_loss() -> None:
    assert renyi_of_other_beliefs(3.0, lambda order: order, lambda _: 0.0) == pytest.approx(11.25)


@pytest.mark.parametrize("order", [1.0, 0.5, math.nan])
def test_an_order_that_the_theorem_lacks_is_refused(order: float) -> None:
    with pytest.raises(InvalidValue, match="above 1"):
        renyi_of_other_beliefs(order, lambda _: 0.0, lambda _: 0.0)


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
def test_a_mixture_of_two_ways_stays_below_theorem_3_3(order: float) -> None:
    """The adversary knows two streets, the class one; record 1 follows the secret by 0.8 of its shift."""
    slope, spread, noise, apart = 0.8, 1.0, (0.9, 0.7), 1.0

    def streets(at: float, variance: float) -> Density:
        deviation = math.sqrt(variance)
        ways = (
            math.log(0.6) + norm.logpdf(PLACES, at - 0.4, deviation),
            math.log(0.4) + norm.logpdf(PLACES, at + 0.6, deviation),
        )
        return np.asarray(np.logaddexp(*ways))

    class_prior = norm.logpdf(PLACES, 0.0, math.sqrt(spread))

    def distance(order: float) -> float:
        ways = streets(0.0, spread)
        return max(_renyi(order, class_prior, ways), _renyi(order, ways, class_prior))

    mu_square = apart**2 * (1.0 / noise[0] + slope**2 / (spread + noise[1]))
    seen = [streets(slope * secret, spread + noise[1]) for secret in (0.0, apart)]
    loss = 0.5 * order * apart**2 / noise[0] + max(_renyi(order, *seen), _renyi(order, *seen[::-1]))
    bound = renyi_of_other_beliefs(order, lambda order: 0.5 * order * mu_square, distance)
    assert 0.2 * bound < loss < bound


def _trip() -> tuple[NDArray[np.float64], NDArray[np.float64], Secret, Certificate]:
    covariance = TracePrior(3.0).covariance(np.arange(9)) + 1e-4 * np.eye(9)
    noise, secret = 0.8 * np.eye(9), Secret((4,))
    return covariance, noise, secret, certify((covariance,), noise, secret, 0.5)


def _against(toward: Callable[[NDArray[np.float64]], NDArray[np.float64]], deviations: float) -> float:
    """The distance of two hypotheses whose expected places are shifted by +-e, e of a length under D."""
    covariance, noise, secret, certificate = _trip()
    given = conditional(covariance, secret)
    others = np.array([record for record in range(9) if record not in secret.records])
    move = given.at[:, 0] * certificate.radius
    towards = toward(move)[others]
    inner = given.spread[np.ix_(others, others)]
    shift = np.zeros(9)
    shift[others] = towards * deviations / math.sqrt(towards @ np.linalg.solve(inner, towards))
    apart = move + 2.0 * shift
    return math.sqrt(apart @ np.linalg.solve(given.spread + noise, apart))


@pytest.mark.parametrize("deviations", [0.05, 0.25, 1.0, 3.0])
def test_no_shift_of_beliefs_beats_the_bound(deviations: float) -> None:
    certificate = _trip()[-1]
    bound = shifted_beliefs(certificate, deviations).mu
    rng = np.random.default_rng(11)
    losses = [_against(lambda _: rng.normal(size=9), deviations) for _ in range(300)]
    covariance, noise, secret, _ = _trip()
    spread = conditional(covariance, secret).spread
    losses.append(_against(lambda move: spread @ np.linalg.solve(spread + noise, move), deviations))
    assert max(losses) <= bound
    # The last shift helps most at first order: the class alone does not bound it.
    assert max(losses) > certificate.mu + 0.2 * deviations


def test_the_bound_of_shifts_is_sharper_than_theorem_3_3() -> None:
    certificate = Certificate(0.69, 100.0)
    sharp = shifted_beliefs(certificate, 0.1).renyi(20.0)
    general = renyi_of_other_beliefs(20.0, certificate.renyi, lambda order: 0.005 * order)
    assert sharp == pytest.approx(7.921, rel=1e-9)  # 10 (.69 + .2)^2
    assert general == pytest.approx(19.402477631598, rel=1e-9)  # 39/38 .2 + .385 + 77/76 39 .69^2
    assert sharp < general


def test_the_loss_matrix_of_the_test_is_the_program_s() -> None:
    covariance, noise, secret, certificate = _trip()
    assert _against(lambda move: move, 0.0) == pytest.approx(
        0.5 * math.sqrt(loss_matrix(covariance, noise, secret)[0, 0]), rel=1e-6
    )
    assert certificate.mu == pytest.approx(_against(lambda move: move, 0.0), rel=1e-6)


@pytest.mark.parametrize("deviations", [-0.1, math.inf, math.nan])
def test_an_impossible_shift_is_refused(deviations: float) -> None:
    with pytest.raises(InvalidValue, match="deviations"):
        shifted_beliefs(Certificate(1.0, 1.0), deviations)


@pytest.mark.parametrize(
    ("deviations", "odds", "by_theorem"),
    [(0.0, 26.733, 1930.84), (0.1, 75.742, 2195.61), (0.25, 389.353, 4207.01), (0.5, 7281.36, 33564.94)],
)
def test_the_table_of_the_page(deviations: float, odds: float, by_theorem: float) -> None:
    """The table of traces.md, rounded up there; the theorem's odds take the best of many orders."""
    certificate = Certificate(0.69, 100.0)
    assert shifted_beliefs(certificate, deviations).odds(1e-5) == pytest.approx(odds, rel=1e-4)
    orders = 1.0 + 0.02 * np.arange(1, 2000)
    logarithms = [
        renyi_of_other_beliefs(order, certificate.renyi, lambda of: 0.5 * of * deviations**2)
        + math.log(2e5) / (order - 1.0)
        for order in orders
    ]
    assert math.exp(min(logarithms)) == pytest.approx(by_theorem, rel=1e-4)
