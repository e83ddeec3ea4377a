"""The lemma on residuals: the exact profile of a Gaussian pair is quasi-convex and even in the mean shift."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.oracles.hockey import planar_profile

EPSILONS = np.array([0.05, 0.4, 1.5])


def covariances(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two covariances as different as they like, without any structure of posterior sampling."""
    roots = random.normal(size=(2, 2, 2))
    made = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(2)
    return made[0], made[1]


def test_no_mean_between_two_others_costs_more_than_both() -> None:
    """Random segments of mean shifts; somewhere inside costs less than both ends: it is not quasi-concave.

    Lemma (residuals) of docs/exact-profile.md.
    """
    random, dipped = np.random.default_rng(14), False
    for _ in range(40):
        cov_a, cov_b = covariances(random)
        start, end = random.normal(size=(2, 2)) * random.choice([0.3, 1.0, 3.0])
        share = random.uniform(0.1, 0.9)
        low, high, middle = (
            planar_profile(mean, cov_a, cov_b, EPSILONS, 301)
            for mean in (start, end, share * start + (1.0 - share) * end)
        )
        assert np.all(middle <= np.maximum(low, high) * (1.0 + 2e-3) + 1e-9)
        dipped |= bool(np.any(middle < 0.9 * np.minimum(low, high)))
    assert dipped


def test_the_profile_is_even_and_grows_along_rays() -> None:
    random = np.random.default_rng(15)
    for _ in range(20):
        cov_a, cov_b = covariances(random)
        mean = random.normal(size=2)
        steps = [planar_profile(part * mean, cov_a, cov_b, EPSILONS, 301) for part in (0.0, 0.5, 1.0, 2.0)]
        for near, far in pairwise(steps):
            assert np.all(near <= far * (1.0 + 2e-3) + 1e-9)
        assert np.allclose(steps[2], planar_profile(-mean, cov_a, cov_b, EPSILONS, 301), rtol=2e-3, atol=1e-9)


def test_over_a_polygon_of_residuals_a_vertex_is_worst() -> None:
    """Residuals of the lattice bound at ridge 5: random points of the hexagon against its six vertices."""
    random = np.random.default_rng(16)
    for t in (0.0, 0.15, 0.6):
        p = 1.0 / 26.0
        g, h = np.array([1.0, 0.0]), np.array([t, np.sqrt(1.0 - t * t)])
        cov_a, cov_b = np.eye(2) - p * np.outer(g, g), np.eye(2) - p * np.outer(h, h)
        half = np.array([[2.0, 2.0 - 2.0 * t], [2.0 - 2.0 * t, 2.0], [2.0, -2.0]])
        vertices = np.concatenate([half, -half])

        means = 0.1 * (vertices @ np.stack([g, -h]))
        worst = np.max([planar_profile(mean, cov_a, cov_b, EPSILONS, 301) for mean in means], axis=0)
        for weights in random.dirichlet(np.full(6, 0.4), size=12):
            inside = planar_profile(weights @ means, cov_a, cov_b, EPSILONS, 301)
            assert np.all(inside <= worst * (1.0 + 2e-3) + 1e-9)
