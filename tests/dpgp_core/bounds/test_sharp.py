"""The certified supremum of Theorem A+: its rewriting, its enclosures, its tightness."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dpgp_core import (
    sensitivity_bounds,
    sensitivity_maximum_principle,
    sensitivity_separate,
    sensitivity_sharp,
    sensitivity_triangle,
    variance_bound,
)
from dpgp_core.bounds.sensitivities import sensitivity_paper_code
from dpgp_core.bounds.sharp import sharp_supremum
from dpgp_core.bounds.sharp_objective import upper_bounds, value

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def from_the_matrices(v: float, w: float, c: float, ridge: float, n: int) -> float:
    """Theorem A+'s expression as it is written in docs/mathematics.md, section 6, with 2x2 matrices."""
    a, b = 1.0 / (v + ridge**2), 1.0 / (w + ridge**2)
    j = np.array([[a * a * v, -a * b * c], [-a * b * c, b * b * w]])
    k0 = np.array([[v, c], [c, w]])
    g = k0 @ j @ k0
    s = np.trace(g)
    root = np.sqrt(max(0.0, s * s - 4.0 * g[0, 1] ** 2))
    first = np.sqrt(a * a * v + b * b * w + 2.0 * a * b * abs(c))
    return float(first + np.sqrt(n - 1) / ridge * np.sqrt(max(0.0, np.trace(j @ k0) - (s + root) / 2.0)))


def random_setting(random: np.random.Generator) -> tuple[float, int, float]:
    ridge, n = 10.0 ** random.uniform(-1.5, 1.5), int(10.0 ** random.uniform(0.31, 6.0))
    return ridge, n, float(random.choice([1.0, random.uniform(0.02, 1.0)]))


def test_the_rewriting_is_exact() -> None:
    random = np.random.default_rng(1)
    for _ in range(500):
        ridge, n, top = random_setting(random)
        v = top * random.random()
        w, angle = v * random.random(), random.uniform(0.0, 0.5 * np.pi)
        point = np.array([[0.25 * np.log(v * w)], [0.25 * np.log(v / w)], [angle]])
        got = value(point, np.array([ridge**2]), np.array([np.sqrt(n - 1) / ridge]))[0]
        expected = from_the_matrices(v, w, np.sqrt(v * w) * np.cos(angle), ridge, n)
        assert got == pytest.approx(expected, rel=1e-10)


def test_no_point_of_a_box_exceeds_its_bound_and_falling_boxes_fall() -> None:
    """2,000 boxes of all sizes and places; 300 points in each, corners included."""
    random = np.random.default_rng(2)
    falling = 0
    for _ in range(2000):
        ridge, n, top = random_setting(random)
        half = 10.0 ** random.uniform(-3.0, -0.3, size=(3, 1))
        f = half[1, 0] + random.choice([0.0, 0.3 * random.exponential()])
        m = 0.5 * np.log(top) - 0.5 * random.exponential() - f
        angle = np.clip(random.uniform(0.0, 0.5 * np.pi), half[2, 0], 0.5 * np.pi - half[2, 0])
        box = np.array([[m], [f], [angle]])
        r2, growth = np.array([ridge**2]), np.array([np.sqrt(n - 1) / ridge])
        found = upper_bounds(box, half, r2, growth, np.zeros(1))
        points = random.uniform(-1.0, 1.0, size=(3, 300))
        points[:, :64] = np.sign(points[:, :64])
        points = box + half * points
        points = points[:, points[0] + points[1] <= 0.5 * np.log(top)]
        if points.shape[1] == 0:
            continue
        values = value(points, r2, growth)
        assert values.max() <= found.upper[0], (ridge, n, top, box.ravel(), half.ravel())
        if found.falls[0]:
            falling += 1
            lower = points - np.array([[0.0], [1.0], [0.0]]) * random.random(points.shape[1]) * (
                points[1] - (f - half[1, 0])
            )
            assert np.all(value(lower, r2, growth) >= values * (1.0 - 1e-12))
    assert falling > 50


@pytest.mark.parametrize("seed", range(12))
def test_the_supremum_is_above_every_point_and_tight(seed: int) -> None:
    """Above 200,000 random points, and no more than 0.12 % above the best point that a fine search finds."""
    random = np.random.default_rng(seed)
    ridge, n, top = random_setting(random)
    r2, growth = np.array([ridge**2]), np.sqrt(n - 1) / ridge
    certified = sharp_supremum(n - 1, r2, np.array([top]))[0]
    best, centre, spread = 0.0, np.array([[0.5 * np.log(top)], [0.0], [0.8]]), np.array([[3.0], [1.5], [1.6]])
    for _ in range(20):
        points = centre + spread * random.normal(size=(3, 10_000))
        points[1], points[2] = np.abs(points[1]), np.abs(points[2])
        points[2] = np.where(points[2] > 0.5 * np.pi, np.pi - points[2], points[2])
        points[2] = np.clip(points[2], 0.0, 0.5 * np.pi)
        points[0] = np.minimum(points[0], 0.5 * np.log(top) - points[1])
        values = value(points, r2, np.asarray(growth))
        assert values.max() <= certified
        if values.max() > best:
            best, centre = float(values.max()), points[:, [values.argmax()]]
        spread = spread * 0.7
    assert certified <= best * 1.0012


TABLE = {
    (300, 3.0): (1.3528, 0.9566, 0.6285, 0.4547, 0.2828),
    (600, 5.0): (0.4535, 0.3206, 0.2112, 0.1543, 0.1088),
    (600, 8.0): (0.1248, 0.0883, 0.0623, 0.0475, 0.0435),
    (30000, 30.0): (0.01504, 0.01063, 0.00677, 0.00492, 0.00314),
}


@pytest.mark.parametrize(("n", "ridge"), TABLE)
def test_the_table_of_section_6(n: int, ridge: float) -> None:
    """Five independently computed sensitivities (docs/mathematics.md, section 6) to 0.5 %."""
    variance = variance_bound(n, ridge)
    got = (
        sensitivity_triangle(n, ridge, variance),
        sensitivity_paper_code(n, ridge, variance),
        sensitivity_separate(n, ridge, variance),
        sensitivity_sharp(n, ridge, variance),
        sensitivity_maximum_principle(ridge, variance),
    )
    assert got == pytest.approx(TABLE[(n, ridge)], rel=5e-3)


def test_many_designs_at_once_agree_with_one_by_one() -> None:
    ridge = np.array([0.7, 3.0, 11.0])
    together = sharp_supremum(999, ridge**2, np.array([1.0, 0.8, 0.5]))
    apart = [
        sharp_supremum(999, np.array([r * r]), np.array([v]))[0]
        for r, v in zip(ridge, (1.0, 0.8, 0.5), strict=True)
    ]
    assert together == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 0.1, 1.0, 30.0, 1e4, 1e9])
@pytest.mark.parametrize("n", [1, 2, 50, 10_000_000])
def test_sharper_bounds_are_smaller_in_the_right_order(n: int, ridge: float) -> None:
    """Theorem B <= A+ <= A <= Lemma B.1 up to the certificates' tolerance, for every n and ridge."""
    variance = variance_bound(n, ridge, 0.1)
    triangle, separate, sharp, principle = (
        float(sensitivity_bounds(name, n, ridge, variance))
        for name in ("triangle", "separate", "sharp", "maximum-principle")
    )
    assert 0.0 < sharp <= separate * (1.0 + 1e-3)
    assert separate <= triangle * (1.0 + 1e-3)
    if n == 1:
        assert sharp == pytest.approx(triangle, rel=1e-12)
    else:
        assert principle <= sharp * np.sqrt(2.0)
    assert np.isfinite([triangle, separate, sharp, principle]).all()


def test_monotone_in_n_and_in_the_variance() -> None:
    """The supremum is over a larger set; allow the certificate's own 0.1 %."""
    for ridge in (0.3, 4.0, 50.0):
        by_n = [float(sensitivity_sharp(n, ridge, 0.9)) for n in (1, 2, 3, 10, 100, 10_000)]
        by_v = [float(sensitivity_sharp(100, ridge, v)) for v in (1e-6, 1e-3, 0.03, 0.3, 0.9, 1.0)]
        for values in (by_n, by_v):
            assert all(later >= earlier * (1.0 - 1.1e-3) for earlier, later in pairwise(values))
