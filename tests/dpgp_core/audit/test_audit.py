"""The parts of an audit: confidence limits, density models, likelihood ratios, rates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpgp_core import SimulationEntropy
from dpgp_core.audit import attack as module
from dpgp_core.audit.attack import (
    Attack,
    ErrorCounts,
    LatentMixture,
    Mixture,
    Statistics,
    area_under_curve,
    best_threshold,
    count_errors,
    epsilon_lower_bound,
    rate_above,
    rate_below,
    roc,
    true_positive_rates,
)
from dpgp_core.audit.design import renyi_divergence
from tests.oracles.divergence import renyi


@pytest.mark.parametrize(("successes", "trials"), [(0, 50), (1, 50), (17, 50), (49, 50), (50, 50)])
@pytest.mark.parametrize("failure", [0.2, 0.01, 1e-6])
def test_confidence_limits_are_those_of_the_binomial_law(successes: int, trials: int, failure: float) -> None:
    """At the lower limit so many successes or more have probability `failure`; at the upper, so few."""
    low, high = rate_below(successes, trials, failure), rate_above(successes, trials, failure)
    assert 0.0 <= low <= successes / trials <= high <= 1.0
    if successes > 0:
        assert stats.binom.sf(successes - 1, trials, low) == pytest.approx(failure, rel=1e-6)
    else:
        assert low == 0.0
    if successes < trials:
        assert stats.binom.cdf(successes, trials, high) == pytest.approx(failure, rel=1e-6)
    else:
        assert high == 1.0


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
def test_the_lower_bound_stays_under_randomised_response(epsilon: float) -> None:
    """Randomised response has exactly this epsilon at delta 0. Each bound errs with probability at most 0.05;
    that 300 of them err more than 33 times has probability below 1e-4."""
    entropy, truth, trials = SimulationEntropy(1), 1.0 / (1.0 + np.exp(-epsilon)), 500
    hits = (entropy.uniform((300, trials)) < truth).sum(axis=1)
    alarms = (entropy.uniform((300, trials)) < 1.0 - truth).sum(axis=1)
    bounds = [
        epsilon_lower_bound(ErrorCounts(int(h), trials, int(a), trials), 1e-9)
        for h, a in zip(hits, alarms, strict=True)
    ]
    assert stats.binom.sf(33, 300, 0.05) < 1e-4
    assert sum(bound > epsilon + 1e-9 for bound in bounds) <= 33
    if epsilon > 0.0:
        assert np.median(bounds) > 0.5 * epsilon  # and it says something


def test_the_lower_bound_looks_from_both_sides_and_takes_delta_off() -> None:
    rare_alarm = ErrorCounts(5_000, 10_000, 10, 10_000)
    mirrored = ErrorCounts(9_990, 10_000, 5_000, 10_000)
    assert epsilon_lower_bound(rare_alarm, 1e-6) == pytest.approx(epsilon_lower_bound(mirrored, 1e-6))
    assert epsilon_lower_bound(rare_alarm, 1e-6) > epsilon_lower_bound(rare_alarm, 0.1) > 3.0
    assert epsilon_lower_bound(rare_alarm, 0.6) == 0.0
    assert epsilon_lower_bound(rare_alarm, 1e-6, 0.999) < epsilon_lower_bound(rare_alarm, 1e-6, 0.9)
    with pytest.raises(ValueError, match="exceed"):
        ErrorCounts(11, 10, 0, 10)


@pytest.mark.parametrize("noise", [0.0, 0.03, 0.4, 3.0])
def test_a_latent_density_integrates_to_one(noise: float) -> None:
    model = LatentMixture(Mixture(np.array([0.3, 0.7]), np.array([-2.0, 1.0]), np.array([0.4, 1.5])), noise)
    edge = 1.0 - 1e-9 if noise == 0.0 else 1.0 + 9.0 * noise
    grid = np.linspace(-edge, edge, 400_001)
    assert np.trapezoid(np.exp(model.log_density(grid)), grid) == pytest.approx(1.0, abs=2e-3)


def test_the_fits_gradient_is_the_slope_of_its_loss() -> None:
    samples = np.tanh(0.5 * SimulationEntropy(2).normal(4000)) + 0.1 * SimulationEntropy(3).normal(4000)
    grid, count = module._linear_counts(samples)
    assert count.sum() == pytest.approx(1.0)
    assert count @ grid == pytest.approx(samples.mean(), abs=1e-9)
    theta = np.array([0.3, 0.5, 2.0, -0.2, 0.1, -2.0])
    steps = 1e-5 * np.eye(6)
    slope = [
        (module._loss(theta + s, grid, count)[0] - module._loss(theta - s, grid, count)[0]) / 2e-5
        for s in steps
    ]
    assert module._loss(theta, grid, count)[1] == pytest.approx(slope, abs=1e-6)


def test_fits_find_the_law_that_made_the_samples() -> None:
    """Held-out log density falls short of the true law's by at most 0.01 nats; with 20,000 samples and six
    parameters the expected shortfall is 1.5e-4 (Akaike), so chance has no say here."""
    entropy, size = SimulationEntropy(4), 20_000
    truth = LatentMixture(Mixture(np.array([0.4, 0.6]), np.array([-2.5, 2.0]), np.array([0.6, 1.0])), 0.2)

    def draw() -> np.ndarray:
        first = entropy.uniform(size) < 0.4
        z = entropy.normal(size)
        phi = np.where(first, -2.5 + 0.6 * z, 2.0 + 1.0 * z)
        return np.tanh(0.5 * phi) + 0.2 * entropy.normal(size)

    fitted, held_out = LatentMixture.fit(draw()), draw()
    assert np.mean(truth.log_density(held_out) - fitted.log_density(held_out)) < 0.01
    plain = Mixture.fit(np.where(entropy.uniform(size) < 0.5, -3.0, 3.0) + entropy.normal(size))
    assert plain.means == pytest.approx([-3.0, 3.0], abs=0.1)
    assert plain.deviations == pytest.approx([1.0, 1.0], abs=0.1)


def test_the_area_counts_pairs() -> None:
    members, others = np.array([3.0, 1.0, 2.0, 2.0]), np.array([0.0, 2.0, 1.0])
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in members for b in others]
    assert area_under_curve(members, others) == pytest.approx(np.mean(pairs))


def test_rates_and_thresholds_are_those_of_the_scores() -> None:
    members, others = SimulationEntropy(5).normal(5000) + 1.0, SimulationEntropy(6).normal(5000)
    rates, hits = roc(members, others)
    assert rates[0] == 0.0
    assert rates[-1] == 1.0
    assert np.all(np.diff(hits) >= 0.0)
    one = true_positive_rates(members, others, np.array([0.1]))[0]
    assert one == pytest.approx(stats.norm.sf(stats.norm.isf(0.1) - 1.0), abs=0.05)
    counts = count_errors(members, others, best_threshold(members, others, 1e-3))
    everywhere = [
        epsilon_lower_bound(count_errors(members, others, float(t)), 1e-3) for t in np.linspace(-3, 4, 200)
    ]
    assert epsilon_lower_bound(counts, 1e-3) > 0.7 * max(everywhere)


def test_an_attack_without_a_difference_is_a_coin() -> None:
    """Both hypotheses alike: the area is 1/2 up to five of its largest standard deviations (below 1e-6).

    The variance of the area of n members and n others is at most 1/(4 n) (Birnbaum and Klose 1957).
    """
    entropy = SimulationEntropy(7)

    def seen() -> Statistics:
        return Statistics.of(0.3 + 0.5 * entropy.normal((3000, 4)))

    attack = Attack.learn(seen(), seen())
    inside, outside = attack.score(seen()), attack.score(seen())
    assert abs(area_under_curve(inside.combined, outside.combined) - 0.5) < 5.0 * np.sqrt(0.25 / 3000)


def test_a_single_path_has_no_variance_statistic() -> None:
    assert Statistics.of(SimulationEntropy(8).normal((10, 1))).log_variance is None


@pytest.mark.parametrize("order", [1.2, 2.0, 7.0])
def test_the_divergence_agrees_with_the_oracle(order: float) -> None:
    entropy = SimulationEntropy(9)
    for _ in range(20):
        means, roots = entropy.normal((2, 2)), entropy.normal((2, 2, 2))
        one, two = (root @ root.T + 0.5 * np.eye(2) for root in roots)
        ours = renyi_divergence(means[0], one, means[1], two, order)
        oracle = renyi(means[:1], one[None], means[1:], two[None], np.array([order]))[0, 0]
        assert ours == pytest.approx(oracle, rel=1e-6) or ours == oracle
