"""The parts of an audit: confidence limits, the epsilon they prove, and Renyi divergences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpgp_core import SimulationEntropy
from dpgp_core.audit.attack import (
    ErrorCounts,
    best_threshold,
    count_errors,
    epsilon_lower_bound,
    rate_above,
    rate_below,
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


def test_the_best_threshold_proves_most() -> None:
    members, others = SimulationEntropy(5).normal(5000) + 1.0, SimulationEntropy(6).normal(5000)
    counts = count_errors(members, others, best_threshold(members, others, 1e-3))
    everywhere = [
        epsilon_lower_bound(count_errors(members, others, float(t)), 1e-3) for t in np.linspace(-3, 4, 200)
    ]
    assert epsilon_lower_bound(counts, 1e-3) > 0.7 * max(everywhere)


@pytest.mark.parametrize("order", [1.2, 2.0, 7.0])
def test_the_divergence_agrees_with_the_oracle(order: float) -> None:
    entropy = SimulationEntropy(9)
    for _ in range(20):
        means, roots = entropy.normal((2, 2)), entropy.normal((2, 2, 2))
        one, two = (root @ root.T + 0.5 * np.eye(2) for root in roots)
        ours = renyi_divergence(means[0], one, means[1], two, order)
        oracle = renyi(means[:1], one[None], means[1:], two[None], np.array([order]))[0, 0]
        assert ours == pytest.approx(oracle, rel=1e-6) or ours == oracle
