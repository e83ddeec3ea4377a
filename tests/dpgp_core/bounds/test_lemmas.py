"""The lemmas under the bounds of posterior sampling, at random pairs: each step of a proof by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dpgp_core.accounting.rdp import covariance_term
from dpgp_core.bounds.sensitivities import sensitivity_sharp

Floats = np.ndarray


@dataclass(frozen=True)
class Pair:
    """The core at the two places of a random pair of neighbours: clipped responses, any Gram matrix."""

    n: int  # records of either dataset
    ridge: float
    covariance: Floats  # (2, 2), of the core's posterior at the two places
    means: Floats  # (2,), of the core

    @property
    def radius(self) -> float:
        """R of the proofs."""
        return float(np.sqrt(self.n - 1)) / self.ridge


def random_pair(random: np.random.Generator) -> Pair:
    """Return a pair whose responses lean to one of the two places, where the core's mean is large."""
    n, ridge = int(random.integers(2, 30)), float(10.0 ** random.uniform(-1.0, 1.0))
    features = random.standard_normal((n + 1, int(random.integers(2, 8))))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    gram = features @ features.T
    weights = np.linalg.solve(gram[:-2, :-2] + ridge**2 * np.eye(n - 1), gram[:-2, -2:])
    responses = (
        np.sign(weights @ random.standard_normal(2))
        if random.random() < 0.8
        else random.uniform(-1, 1, n - 1)
    )
    covariance = gram[-2:, -2:] - gram[:-2, -2:].T @ weights
    return Pair(n, ridge, covariance + 1e-12 * np.eye(2), weights.T @ responses)


PAIRS = [random_pair(np.random.default_rng(seed)) for seed in range(300)]


def test_no_core_mean_is_larger_than_proved_and_some_come_close() -> None:
    """Theorem A of docs/mathematics.md: |m| <= R sqrt(v (1 - v)) at either place, reached to a hundredth."""
    variance = np.array([np.diag(pair.covariance) for pair in PAIRS])
    allowed = np.array([pair.radius for pair in PAIRS])[:, None] * np.sqrt(variance * (1.0 - variance))
    share = np.abs([pair.means for pair in PAIRS]) / allowed
    assert 0.99 < share.max() <= 1.0 + 1e-9


def test_both_core_means_lie_where_proved() -> None:
    """Lemma (where core means can be) of docs/joint-bound.md.

    The same is Lemma (where core means can be) of docs/report.
    """
    reached = []
    for pair in PAIRS:
        v, mean = np.diag(pair.covariance), pair.means
        inside = mean @ np.linalg.solve(pair.covariance, mean) + np.max(mean**2 / (1.0 - v))
        reached.append(inside / pair.radius**2)
    assert 0.98 < max(reached) <= 1.0 + 1e-6


def test_the_shift_of_a_pair_is_a_matter_of_two_dimensions() -> None:
    """Lemma (two dimensions) of docs/report: dense posteriors at four places against u'Q^-1 u."""
    random = np.random.default_rng(5)
    for pair in PAIRS[:60]:
        response = random.uniform(-1.0, 1.0, 2)
        v = np.diag(pair.covariance) + pair.ridge**2
        order = 1.0 + random.uniform(0.0, 1.0) * pair.ridge**2 / float(np.diag(pair.covariance).max())
        residual = response - pair.means
        updates = [np.outer(pair.covariance[i], pair.covariance[i]) / v[i] for i in (0, 1)]
        mixed = pair.covariance - (1.0 - order) * updates[0] - order * updates[1]
        moved = pair.covariance[0] * residual[0] / v[0] - pair.covariance[1] * residual[1] / v[1]
        turned = pair.covariance * np.array([[1.0, -1.0], [-1.0, 1.0]])
        middle = np.diag(v)
        small = middle @ np.linalg.solve(turned, middle) + np.diag([(order - 1.0) * v[0], -order * v[1]])
        assert residual @ np.linalg.solve(small, residual) == pytest.approx(
            moved @ np.linalg.solve(mixed, moved), rel=1e-4
        )


def test_the_covariance_term_is_the_largest_of_all_pairs() -> None:
    """Proposition (covariance term) of docs/mathematics.md: random leverages up to P and directions."""
    random = np.random.default_rng(6)
    for _ in range(40):
        most = float(10.0 ** random.uniform(-3.0, -0.1))
        order = 1.0 + (1.0 / most - 1.0) * random.uniform(0.01, 0.99)
        allowed = float(covariance_term(np.array([order]), most)[0])
        found = []
        for p, q, turn in [(most, most, 0.5 * np.pi), *random.uniform(0, [most, most, np.pi], (60, 3))]:
            g, h = np.array([1.0, 0.0]), np.array([np.cos(turn), np.sin(turn)])
            one, two = np.eye(2) - p * np.outer(g, g), np.eye(2) - q * np.outer(h, h)
            logs = [np.linalg.slogdet(each)[1] for each in (order * two + (1.0 - order) * one, one, two)]
            found.append(-(logs[0] - (1.0 - order) * logs[1] - order * logs[2]) / (2.0 * (order - 1.0)))
        assert max(found) <= allowed * (1.0 + 1e-6) + 1e-12
        assert found[0] == pytest.approx(allowed, rel=1e-5, abs=1e-12)


def copied_core_distance(n: int, covariance: float, response: float) -> float:
    """Between the posterior means, in H_0, of n - 1 copies of (x, 1) with (x, 1) or (x', response).

    The kernel has the diagonal 1 and `covariance` between x and x'; the ridge is 1.
    """
    between = np.array([1.0, covariance])
    core = np.array([[1.0, covariance], [covariance, 1.0]])
    core = core - np.outer(between, between) * (n - 1) / n
    means = between * (n - 1) / n
    moved = core[0] * (1.0 - means[0]) / (core[0, 0] + 1.0)
    moved = moved - core[1] * (response - means[1]) / (core[1, 1] + 1.0)
    return float(np.sqrt(moved @ np.linalg.solve(core, moved)))


def test_no_bound_for_a_positive_kernel_falls_with_n() -> None:
    """Lemma B.3 of arXiv:2606.17995 with its adversary: two places, responses of opposite signs.

    The lemma's floor is (1 - c^2)/(1 - c^2 + r^2), 16/41 at c = .6 and r = 1. The distance itself
    falls to (1 + c) sqrt(1 - c^2)/(1 - c^2 + r^2), 32/41.
    """
    sizes = (2, 10, 1_000, 100_000)
    distances = [copied_core_distance(n, 0.6, -1.0) for n in sizes]
    assert min(distances) >= 16 / 41
    assert distances[-1] == pytest.approx(32 / 41, abs=1e-4)
    bounds = [float(sensitivity_sharp(n, 1.0, 1.0)) for n in sizes]
    assert all(distance <= bound for distance, bound in zip(distances, bounds, strict=True))


def test_the_adversary_of_no_decay_needs_opposite_signs() -> None:
    """The response that x predicts at x' tells ever less: the distance falls as 1/n."""
    assert copied_core_distance(100_000, 0.6, 0.6) < 1e-5
