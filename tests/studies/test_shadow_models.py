"""The membership attack: density models, likelihood ratios, rates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dpgp_core import SimulationEntropy
from studies.attacks import shadow_models as module
from studies.attacks.shadow_models import (
    Attack,
    LatentMixture,
    Mixture,
    Statistics,
    area_under_curve,
    roc,
    true_positive_rates,
)


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


def test_rates_are_those_of_the_scores() -> None:
    members, others = SimulationEntropy(5).normal(5000) + 1.0, SimulationEntropy(6).normal(5000)
    rates, hits = roc(members, others)
    assert rates[0] == 0.0
    assert rates[-1] == 1.0
    assert np.all(np.diff(hits) >= 0.0)
    one = true_positive_rates(members, others, np.array([0.1]))[0]
    assert one == pytest.approx(stats.norm.sf(stats.norm.isf(0.1) - 1.0), abs=0.05)
