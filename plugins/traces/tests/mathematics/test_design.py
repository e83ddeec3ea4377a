"""Designs of noise: optimal by their own lower bound, robust, dominating, windowed; certified as drawn."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.errors import InvalidValue
from dpgp_core.noise import SimulationEntropy
from hexcursion_traces.mathematics import windows
from hexcursion_traces.mathematics.closed_form import single_secret_noise
from hexcursion_traces.mathematics.dominate import dominating_noise, multiple_secrets_noise
from hexcursion_traces.mathematics.fitting import fitted_prior
from hexcursion_traces.mathematics.loss import loss
from hexcursion_traces.mathematics.optimum import best_noise
from hexcursion_traces.mathematics.posterior import interval
from hexcursion_traces.mathematics.prior import TracePrior
from hexcursion_traces.mathematics.secret import Secret

FIFTY = np.arange(50)
SIX = TracePrior(6.0)


def test_the_search_finds_the_closed_form() -> None:
    covariance, secret = SIX.covariance(FIFTY), Secret((24,))
    closed = loss(covariance, single_secret_noise(covariance, secret, 1.0, floor=0.002), secret)
    # Twice the same secret: the search may not take the shortcut of one term.
    found = best_noise([covariance, covariance], [secret], 1.0, floor=0.002)
    assert found.worst == pytest.approx(closed, rel=1e-6)
    assert closed == pytest.approx(8.34, abs=0.01)
    assert found.least <= closed * (1 + 1e-9)
    assert found.gap < 1e-4


def test_robust_noise_on_the_reference_configuration() -> None:
    """Five lengthscales at once: every loss at most 11.085, of the noise that keeps budget and floor."""
    covariances = [candidate.covariance(FIFTY) for candidate in SIX.candidates()]
    found = best_noise(covariances, [Secret((24,))], 1.0)
    assert found.worst == pytest.approx(11.085, abs=0.002)
    assert found.gap < 1e-4
    assert np.trace(found.noise) == pytest.approx(1.0, rel=1e-9)
    assert np.linalg.eigvalsh(found.noise)[0] >= 0.02 / 50 * (1 - 1e-9)
    widths = [interval(covariance, found.noise, Secret((24,))) for covariance in covariances]
    assert min(widths) == pytest.approx(0.575, abs=0.002)
    # The noise that is best for one lengthscale fails a smoother truth; robust noise does not.
    point = single_secret_noise(SIX.covariance(FIFTY), Secret((24,)), 1.0, floor=1e-9)
    assert loss(covariances[4], point, Secret((24,))) > 300.0


@pytest.mark.parametrize(("scale", "right"), [(1.0, 2.961338), (6.0, 205.601)])
def test_a_compound_secret_against_a_semidefinite_solver(scale: float, right: float) -> None:
    """Values of an interior-point solver for the matrix inequality, without a floor."""
    found = best_noise(
        [TracePrior(scale).covariance(FIFTY)], [Secret((24, 25), "separately")], 1.0, floor=1e-6
    )
    assert found.worst == pytest.approx(right, rel=3e-3)


def test_records_that_move_together_cost_less_than_separately() -> None:
    covariance = TracePrior(6.0, 1.0, 0.1).covariance(FIFTY)
    stop = tuple(range(20, 26))
    together = best_noise([covariance], [Secret(stop)], 1.0)
    separately = best_noise([covariance], [Secret(stop, "separately")], 1.0)
    assert together.worst < separately.worst / 2.5


def test_one_noise_for_several_secrets_is_not_their_worst_alone() -> None:
    covariances = [SIX.covariance(FIFTY)]
    secrets = [Secret((10,)), Secret((24,)), Secret((40,))]
    found = best_noise(covariances, secrets, 1.0)
    losses = [loss(covariances[0], found.noise, secret) for secret in secrets]
    assert max(losses) == pytest.approx(found.worst, rel=1e-9)
    assert min(losses) > 0.99 * max(losses)  # the budget is shared until all are equal
    assert found.gap < 1e-3


def test_a_dominating_noise_dominates_exactly() -> None:
    one, two = np.diag([1.0, 4.0]), np.diag([3.0, 2.0])
    found = dominating_noise([one, two])
    assert np.trace(found) == pytest.approx(7.0, rel=1e-3)  # diag(3, 4)
    for each in (one, two):
        assert np.linalg.eigvalsh(found - each)[0] >= 0.0


def test_multiple_secrets_keep_every_secrets_guarantee() -> None:
    covariance = TracePrior(3.0).covariance(np.arange(9))
    secrets = [Secret((i,)) for i in (1, 4, 7)]
    found = multiple_secrets_noise(covariance, secrets, 0.5, floor=0.001)
    for secret in secrets:
        alone = single_secret_noise(covariance, secret, 0.5, floor=0.001)
        assert np.linalg.eigvalsh(found - alone)[0] >= -1e-12
        assert loss(covariance, found, secret) <= loss(covariance, alone, secret)
    assert np.trace(found) < 0.5 * len(secrets)
    better = best_noise([covariance], secrets, float(np.trace(found)))
    assert better.worst < max(loss(covariance, found, secret) for secret in secrets)


def test_a_long_trace_is_certified_as_the_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The banded certificate bounds the dense one from above, closely, outside of the window, too."""
    times = np.arange(500) * 10.0
    prior = TracePrior(60.0, 500.0, 3.0)
    stop = Secret(tuple(range(250, 262)))
    noise = windows.design_noise(times, [stop], prior, 2500.0, mode="exact")
    assert len(noise.blocks) == 1
    assert noise.blocks[0][0] > 150
    assert noise.variance[0] == pytest.approx(50.0)
    dense = windows.standing(times, noise, stop, prior, 200.0, factors=(1.0,))
    monkeypatch.setattr(windows, "_DENSE", 1)
    long = windows.standing(times, noise, stop, prior, 200.0, factors=(1.0,))
    assert dense.certificate.mu <= long.certificate.mu <= 1.0001 * dense.certificate.mu
    assert long.interval == pytest.approx(dense.interval, rel=1e-3)
    assert np.trace(noise.dense()) == pytest.approx(float(noise.variance.sum()))


def test_drawn_noise_has_the_covariance_that_was_certified() -> None:
    times = np.arange(6) * 10.0
    noise = windows.design_noise(times, [Secret((2, 3))], TracePrior(30.0, 100.0, 3.0), 400.0)
    entropy = SimulationEntropy(3)
    draws = np.concatenate([noise.draw(entropy) for _ in range(6000)])
    assert np.cov(draws.T) == pytest.approx(noise.dense(), abs=30.0)
    assert np.mean(np.var(draws, axis=0)) == pytest.approx(400.0, rel=0.03)


def test_traces_that_are_hardly_traces() -> None:
    prior = TracePrior(60.0, 500.0, 3.0)
    two = windows.design_noise([0.0, 5.0], [Secret((0,))], prior, 100.0)
    assert windows.standing([0.0, 5.0], two, Secret((0,)), prior, 50.0).certificate.mu < 10.0
    gap = [0.0, 10.0, 86_400.0, 86_410.0]
    day = windows.design_noise(gap, [Secret((2,))], prior, 100.0)
    assert windows.standing(gap, day, Secret((2,)), prior, 50.0).interval > 5.0
    with pytest.raises(InvalidValue, match="nothing is hidden"):
        windows.design_noise(gap, [], prior, 100.0)
    with pytest.raises(InvalidValue, match="thin it"):
        windows.design_noise(np.arange(20_001), [Secret((2,))], prior, 100.0)
    with pytest.raises(InvalidValue, match="thin the trace"):
        windows.design_noise(np.arange(3000), [Secret(tuple(range(500, 1500)))], prior, 100.0)


def test_a_lengthscale_is_found_again() -> None:
    times = np.arange(200) * 5.0
    covariance = TracePrior(40.0, 100.0).covariance(times) + 9.0 * np.eye(200)
    draws = np.random.default_rng(2).multivariate_normal(np.zeros(200), covariance, size=2)
    assert fitted_prior(times, draws).lengthscale == pytest.approx(40.0, rel=0.15)
    with pytest.raises(InvalidValue, match="fewer than 4"):
        fitted_prior([0.0, 1.0], draws[:, :2])
    with pytest.raises(InvalidValue, match="does not move"):
        fitted_prior(times, np.zeros((2, 200)))
