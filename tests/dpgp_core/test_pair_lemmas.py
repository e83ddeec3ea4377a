"""The lemmas under the sharper conversion, and the price of a nearly ideal sampler, at random pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from tests.oracles.hockey import finite_profile, planar_profile

Floats = np.ndarray


@dataclass(frozen=True)
class Tilted:
    """A whitened pair N(mean, first) against N(0, second) of leverage p, tilted at an order."""

    p: float
    order: float
    mean: Floats
    first: Floats
    second: Floats

    def mixed(self, order: float) -> Floats:
        return order * self.second + (1.0 - order) * self.first

    @property
    def gradient(self) -> Floats:
        """w = S_alpha^-1 d."""
        return np.linalg.solve(self.mixed(self.order), self.mean)

    @property
    def square(self) -> float:
        """s^2 = d' S_alpha^-1 d."""
        return float(self.mean @ self.gradient)

    @property
    def covariance(self) -> Floats:
        """T, of the tilted law, from its precision."""
        inverse = np.linalg.inv
        return inverse(self.order * inverse(self.first) + (1.0 - self.order) * inverse(self.second))

    @property
    def linear(self) -> float:
        """b^2 = w' T w."""
        return float(self.gradient @ self.covariance @ self.gradient)

    def characteristic(self, t: Floats) -> Floats:
        """|phi(t)| of the loss under the tilted law, by diagonalising its quadratic form."""
        root = np.linalg.cholesky(self.covariance)
        form = -0.5 * root.T @ (np.linalg.inv(self.first) - np.linalg.inv(self.second)) @ root
        values, turn = np.linalg.eigh(form)
        slope = turn.T @ root.T @ self.gradient
        wide = 1.0 + 4.0 * values**2 * t[:, None] ** 2
        return np.prod(wide**-0.25 * np.exp(-0.5 * t[:, None] ** 2 * slope**2 / wide), axis=1)

    @property
    def log_moment(self) -> float:
        """log E_P e^(c L), from the Renyi divergence of the two normal laws."""
        logs = [np.linalg.slogdet(each)[1] for each in (self.mixed(self.order), self.first, self.second)]
        c = self.order - 1.0
        covariance = -(logs[0] + c * logs[1] - self.order * logs[2]) / (2.0 * c)
        return c * (covariance + 0.5 * self.order * self.square)


def tilted(random: np.random.Generator) -> Tilted:
    p = float(random.choice([0.01, 0.05, 0.2, 0.5]))
    parts = p * np.append(random.uniform(0.0, 1.0, 2), 1.0)
    turn, course = random.uniform(0.0, 2.0 * math.pi, 2)
    h = np.array([math.cos(turn), math.sin(turn)])
    mean = 10.0 ** random.uniform(-1.0, 0.5) * np.array([math.cos(course), math.sin(course)])
    order = 1.0 + (1.0 / p - 1.0) * random.uniform(0.02, 0.9)
    return Tilted(
        p,
        order,
        mean,
        np.diag([1.0 - parts[0], 1.0]),
        np.eye(2) - parts[1 + int(random.integers(2))] * np.outer(h, h),
    )


PAIRS = [tilted(np.random.default_rng(seed)) for seed in range(300)]


def test_the_inversion_is_never_below_the_profile() -> None:
    """Lemma 1 of docs/accounting.md: exact profiles on a dense grid against the integral of |phi|."""
    t = np.linspace(0.0, 400.0, 80_001)
    ratios = []
    for pair in PAIRS[:12]:
        c, m = pair.order - 1.0, math.sqrt((pair.order - 1.0) * pair.order)
        epsilon = pair.log_moment / c
        area = float(np.trapezoid(pair.characteristic(t) / (m**2 + t**2), t)) / math.pi
        allowed = math.exp(pair.log_moment - c * epsilon) * area
        exact = float(planar_profile(pair.mean, pair.first, pair.second, np.array([epsilon]), 401)[0])
        ratios.append(exact / allowed)
    assert 0.8 < max(ratios) <= 1.0 + 1e-3


def test_the_tilted_loss_is_as_said() -> None:
    """Lemma 2 of docs/accounting.md: T = S_1 S_alpha^-1 S_2, w the gradient at its mean, |phi| bounded."""
    t = np.geomspace(1e-2, 1e3, 60)
    for pair in PAIRS:
        said = pair.first @ np.linalg.solve(pair.mixed(pair.order), pair.second)
        assert said == pytest.approx(pair.covariance, rel=1e-6, abs=1e-9)
        centre = pair.covariance @ (pair.order * np.linalg.solve(pair.first, pair.mean))
        slope = np.linalg.solve(pair.first, pair.mean - centre) + np.linalg.solve(pair.second, centre)
        assert slope == pytest.approx(pair.gradient, rel=1e-6, abs=1e-9)
        spread = pair.p / (2.0 * (1.0 - pair.order * pair.p))
        tau = t**2 / (1.0 + 4.0 * spread**2 * t**2)
        assert np.all(pair.characteristic(t) <= np.exp(-0.5 * pair.linear * tau) * (1.0 + 1e-9))


def test_the_linear_part_is_as_large_as_said() -> None:
    """Lemma 3 of docs/accounting.md, all three parts; the first is nearly attained."""
    closest = math.inf
    for pair in PAIRS:
        c, order = pair.order - 1.0, pair.order
        xi = float(pair.gradient @ (pair.second - pair.first) @ pair.gradient) / pair.square
        if order * xi <= 1.0:
            first = pair.square * (1.0 - order * xi) * (1.0 - c * xi)
            assert pair.linear >= first * (1.0 - 1e-9)
            closest = min(closest, pair.linear / first)
        for lower in np.linspace(1.0, order, 5):
            square = float(pair.mean @ np.linalg.solve(pair.mixed(lower), pair.mean))
            assert square >= pair.square * (1.0 + xi * (order - lower)) * (1.0 - 1e-9)
        least = 1.0 / ((1.0 + c * pair.p) * (1.0 + order * pair.p / (1.0 - pair.p)))
        assert pair.linear >= least * pair.square * (1.0 - 1e-9)
    assert closest < 1.01


def test_a_sampler_near_the_ideal_one_costs_no_more_than_said() -> None:
    """Theorem 3 of docs/accounting.md: laws on five points, each moved by total variation t."""
    random, closest = np.random.default_rng(7), 0.0
    for _ in range(400):
        p, q = random.dirichlet(np.ones(5), 2)
        t, epsilon = float(random.uniform(0.0, 0.2)), float(random.uniform(0.0, 1.5))
        gain, loss = int(np.argmax(p - math.exp(epsilon) * q)), int(np.argmin(p - math.exp(epsilon) * q))
        t = min(t, p[loss], q[gain])
        near_p, near_q = p.copy(), q.copy()
        near_p[gain], near_p[loss] = p[gain] + t, p[loss] - t
        near_q[gain], near_q[loss] = q[gain] - t, q[loss] + t
        ideal, real = finite_profile(p, q, epsilon), finite_profile(near_p, near_q, epsilon)
        assert real <= ideal + (1.0 + math.exp(epsilon)) * t + 1e-12
        if t > 1e-3:
            closest = max(closest, (real - ideal) / ((1.0 + math.exp(epsilon)) * t))
    assert closest > 0.99
