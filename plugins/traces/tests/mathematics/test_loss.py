"""The loss of noise on a trace: against simulated likelihoods, closed forms and a reference table."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dpgp_core.accounting.rdp import odds_factor
from dpgp_core.errors import InvalidValue, NumericalFailure
from hexcursion_traces.mathematics.closed_form import Shape, single_secret_noise
from hexcursion_traces.mathematics.loss import Certificate, certify, joined, loss, loss_matrix
from hexcursion_traces.mathematics.posterior import (
    concentrated_noise,
    estimate,
    posterior_covariance,
    uniform_noise,
)
from hexcursion_traces.mathematics.prior import TracePrior
from hexcursion_traces.mathematics.secret import Secret, conditional

THREE = TracePrior(1.5).covariance(np.arange(3))
MIDDLE = Secret((1,))


@pytest.mark.parametrize(
    ("shape", "right"), [("paper", 11.921099658665), ("block", 10.605649245146), ("full", 6.324251699898)]
)
def test_three_records_by_hand(shape: Shape, right: float) -> None:
    noise = single_secret_noise(THREE, MIDDLE, 0.3, shape=shape, bare=True)
    assert np.trace(noise) == pytest.approx(0.3, rel=1e-12)
    assert loss(THREE, noise + 1e-13 * np.eye(3), MIDDLE, exact=True) == pytest.approx(right, rel=1e-8)


def test_uniform_noise_on_three_records() -> None:
    assert loss(THREE, 0.1 * np.eye(3), MIDDLE, exact=True) == pytest.approx(15.605911656774, rel=1e-12)


def test_full_noise_of_three_records_is_written_out() -> None:
    noise = single_secret_noise(THREE, MIDDLE, 0.3, bare=True)
    assert noise[0] == pytest.approx([0.0578527315, 0.1032566819, 0.0578527315], abs=1e-9)
    assert noise[1, 1] == pytest.approx(0.184294537, abs=1e-9)


def test_the_certificate_rounds_up() -> None:
    noise = single_secret_noise(THREE, MIDDLE, 0.3, floor=0.01)
    bare, safe = loss(THREE, noise, MIDDLE, exact=True), loss(THREE, noise, MIDDLE)
    assert bare < safe < bare * 1.000001


def test_the_loss_is_the_mean_log_likelihood_ratio() -> None:
    """Renyi order 1: E log p(Z | s) / p(Z | s') = v'Qv / 2, over simulated releases; its variance is v'Qv."""
    covariance = TracePrior(3.0).covariance(np.arange(12)) + 1e-6 * np.eye(12)
    secret = Secret((4, 7), "separately")
    rng = np.random.default_rng(5)
    root = rng.normal(size=(12, 12))
    noise = root @ root.T / 30.0 + 0.05 * np.eye(12)
    given = conditional(covariance, secret)
    v = np.array([0.3, -0.2])
    whole = given.spread + noise
    draws = rng.multivariate_normal(given.at @ v, whole, size=40_000, method="cholesky")
    precision = np.linalg.inv(whole)

    def log_density(mean: np.ndarray) -> np.ndarray:
        apart = draws - mean
        return -0.5 * np.einsum("ij,jk,ik->i", apart, precision, apart)

    ratio = log_density(given.at @ v) - log_density(np.zeros(12))
    square = float(v @ loss_matrix(covariance, noise, secret) @ v)
    assert square > 0.05
    assert np.mean(ratio) == pytest.approx(square / 2, rel=0.05)
    assert np.var(ratio) == pytest.approx(square, rel=0.05)


def test_the_loss_is_the_precision_gained() -> None:
    """Q = P_SS^-1 - S_SS^-1, with P from conditioning the joint normal distribution."""
    covariance = TracePrior(2.0).covariance([0.0, 1.0, 1.5, 4.0, 7.0])
    noise = np.diag([0.1, 0.3, 0.2, 0.1, 0.5])
    secret = Secret((1, 3), "separately")
    joint = np.block([[covariance, covariance], [covariance, covariance + noise]])
    posterior = joint[:5, :5] - joint[:5, 5:] @ np.linalg.inv(joint[5:, 5:]) @ joint[5:, :5]
    assert posterior_covariance(covariance, noise) == pytest.approx(posterior, abs=1e-12)
    pick = np.ix_((1, 3), (1, 3))
    gained = np.linalg.inv(posterior[pick]) - np.linalg.inv(covariance[pick])
    assert loss_matrix(covariance, noise, secret, exact=True) == pytest.approx(gained, rel=1e-9)


def test_more_noise_loses_less_and_correlated_noise_beats_independent() -> None:
    covariance = TracePrior(6.0).covariance(np.arange(50))
    secret = Secret((24,))
    assert loss(covariance, uniform_noise(50, 1.0), secret) == pytest.approx(260.60, abs=0.01)
    assert loss(covariance, uniform_noise(50, 2.0), secret) < 260.0
    floor = 1e-9 * np.eye(50)
    made = {
        shape: loss(
            covariance, single_secret_noise(covariance, secret, 1.0, shape=shape, bare=True) + floor, secret
        )
        for shape in ("paper", "block", "full")
    }
    assert made["paper"] == pytest.approx(21.27, abs=0.01)
    assert made["block"] == pytest.approx(12.35, abs=0.01)
    assert made["full"] == pytest.approx(7.61, abs=0.01)


def test_two_axes_need_the_larger_loss_and_no_sum() -> None:
    covariance = TracePrior(6.0).covariance(np.arange(50))
    noise = single_secret_noise(covariance, Secret((24,)), 1.0, floor=0.002)
    found = certify((covariance,), noise, Secret((24,)), 0.25)
    assert found.mu == pytest.approx(0.25 * math.sqrt(loss(covariance, noise, Secret((24,)))), rel=1e-9)
    assert certify((covariance,), noise, Secret((24,)), 0.5).mu == pytest.approx(2 * found.mu, rel=1e-9)


def test_a_compound_secret_may_move_anywhere_in_a_disc() -> None:
    q = np.array([[3.0, -1.0], [-1.0, 2.0]])
    secret = Secret((0, 1), "separately")
    assert secret.square(q) == pytest.approx(2 * (5 + math.sqrt(5)) / 2)


def test_odds_and_epsilon_of_a_certificate() -> None:
    found = Certificate(0.69, 200.0)
    assert found.epsilon(1e-5) == pytest.approx(2.86, abs=0.01)
    assert found.renyi(2.0) == pytest.approx(0.4761)
    assert found.delta(2.8617) == pytest.approx(1e-5, rel=0.02)


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01, 0.3, 0.99])
@pytest.mark.parametrize("mu", [0.01, 0.69, 2.0, 8.0])
def test_odds_move_further_than_said_no_more_often_than_said(mu: float, delta: float) -> None:
    """Exact, in 40 digits, for every smaller distance too; e^epsilon is passed up to seven times as often."""
    with mpmath.workdps(40):

        def passed(at: float, factor: float) -> mpmath.mpf:
            """Probability that the odds move by more than a factor, up or down, under either hypothesis."""
            far = mpmath.log(mpmath.mpf(factor))
            up, down = far / at - mpmath.mpf(at) / 2, far / at + mpmath.mpf(at) / 2
            return mpmath.ncdf(-up) + mpmath.ncdf(-down)

        said = Certificate(mu, 1.0).odds(delta)
        for share in (0.1, 0.5, 0.9, 1.0):
            assert passed(share * mu, said) <= delta
        assert passed(mu, said) >= 0.49 * delta
        if (mu, delta) == (0.69, 1e-5):
            common = odds_factor(Certificate(mu, 1.0).epsilon(delta))
            assert float(passed(mu, common)) == pytest.approx(7.5e-5, rel=0.02)


def test_odds_of_a_certificate_in_numbers() -> None:
    assert Certificate(0.69, 200.0).odds(1e-5) == pytest.approx(26.73, abs=0.01)
    assert Certificate(0.0, 200.0).odds(1e-5) == 1.0
    assert Certificate(math.inf, 200.0).odds(1e-5) == math.inf
    for delta in (0.0, 1.0, math.nan):
        with pytest.raises(InvalidValue, match="strictly between 0 and 1"):
            Certificate(1.0, 1.0).odds(delta)


def test_two_releases_are_one_stacked_trace() -> None:
    """Never a sum: the same trace twice under independent noise, judged as one trace of twice the length."""
    times = np.arange(6.0)
    prior = TracePrior(2.0, 1.0, 0.1)
    one, two = 0.2 * np.eye(6), 0.3 * np.eye(6)
    both = joined((one, two))
    stacked = prior.covariance(np.concatenate([times, times]))
    together = loss(stacked, both, Secret((2,)), exact=True)
    mean = (1 / 0.2 + 1 / 0.3) ** -1  # two looks at the same places are one look with this variance
    assert together == pytest.approx(
        loss(prior.covariance(times), mean * np.eye(6), Secret((2,)), exact=True), rel=1e-9
    )
    assert together > loss(prior.covariance(times), one, Secret((2,)), exact=True)


def test_what_cannot_be_certified_is_said() -> None:
    with pytest.raises(InvalidValue, match="without a floor"):
        single_secret_noise(THREE, MIDDLE, 0.3)
    with pytest.raises(InvalidValue, match="takes the whole budget"):
        single_secret_noise(THREE, MIDDLE, 0.3, floor=0.1)
    with pytest.raises(InvalidValue, match="closer than the prior can tell apart"):
        conditional(TracePrior(1000.0).covariance(np.arange(20)), Secret(tuple(range(10)), "separately"))
    with pytest.raises(NumericalFailure, match="floor of noise"):
        loss(TracePrior(6.0).covariance(np.arange(50)), concentrated_noise(50, 1.0, (MIDDLE,)), MIDDLE)
    with pytest.raises(InvalidValue, match="ascending"):
        Secret((3, 2))
    with pytest.raises(InvalidValue, match="has 3 records"):
        conditional(THREE, Secret((3,)))


def test_a_reader_estimates_places_from_known_noise() -> None:
    """Against least squares with the level as one more unknown of a very wide prior."""
    covariance, noise = TracePrior(2.0).covariance(np.arange(5)), 0.5 * np.eye(5)
    released = np.array([10.0, 11.0, 12.5, 12.0, 11.0])
    found = estimate(released, covariance, noise)
    wide = covariance + 1e5
    gain = wide @ np.linalg.inv(wide + noise)
    assert found.mean == pytest.approx(gain @ released, abs=1e-3)
    assert np.diag(found.covariance) == pytest.approx(np.diag(wide - gain @ wide), abs=1e-2)


def test_the_worst_candidate_is_certified() -> None:
    noise = single_secret_noise(TracePrior(6.0).covariance(np.arange(50)), Secret((24,)), 1.0, floor=0.002)
    near, far = (TracePrior(scale).covariance(np.arange(50)) for scale in (6.0, 9.0))
    alone = [certify((one,), noise, Secret((24,)), 1.0).mu for one in (near, far)]
    assert alone[1] > 1.2 * alone[0]
    assert certify((near, far), noise, Secret((24,)), 1.0).mu == alone[1]
    assert certify((far, near), noise, Secret((24,)), 1.0).mu == alone[1]
