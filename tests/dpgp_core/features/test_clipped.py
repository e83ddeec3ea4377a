"""Clipped responses: moments by quadrature, and levels between known and vague."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from dpgp_core.spectral.prior import ClippedPrior, PublicPrior, clipped_moments, unclipped


@pytest.mark.parametrize("value", [-2.3, -0.4, 0.0, 0.9, 3.0])
@pytest.mark.parametrize("scatter", [0.1, 0.7, 4.0])
def test_moments_agree_with_quadrature(value: float, scatter: float) -> None:
    def moment(power: int) -> float:
        return quad(
            lambda e: np.clip(value + e, -1.0, 1.0) ** power * norm.pdf(e, scale=scatter),
            -12 * scatter,
            12 * scatter,
            points=sorted({-1.0 - value, 1.0 - value}),
            limit=200,
        )[0]

    first, second = clipped_moments(np.array(value), scatter)
    assert float(first) == pytest.approx(moment(1), abs=1e-7)
    assert float(second) == pytest.approx(moment(2), abs=1e-7)


def test_moments_over_the_prior_agree_with_simulation() -> None:
    prior = PublicPrior(-0.4, 0.9, 0.8)
    clipped = ClippedPrior.of(prior)
    generator = np.random.default_rng(8)
    field = -0.4 + 0.9 * generator.standard_normal(400_000)
    given = clipped_moments(field, 0.72)[0]
    response = np.clip(field + 0.72 * generator.standard_normal(400_000), -1.0, 1.0)
    assert clipped.mean == pytest.approx(float(response.mean()), abs=4e-3)
    assert clipped.deviation == pytest.approx(float(given.std()), abs=3e-3)
    assert clipped.record_noise == pytest.approx(float((response - given).std()), abs=3e-3)


def test_a_wide_clip_changes_nothing() -> None:
    clipped = ClippedPrior.of(PublicPrior(0.01, 0.05, 0.5))
    assert clipped.mean == pytest.approx(0.01, abs=1e-9)
    assert clipped.deviation == pytest.approx(0.05, abs=1e-6)
    assert clipped.record_noise == pytest.approx(0.025, abs=1e-6)
    assert float(clipped.level(0.07)) == pytest.approx(0.07, abs=1e-9)


def test_levels_run_from_known_to_vague() -> None:
    clipped = ClippedPrior.of(PublicPrior(0.0, 1.5, 0.6))
    known, half, vague = (float(clipped.level(0.5, share)) for share in (0.0, 0.5, 1.0))
    assert known == pytest.approx(float(clipped_moments(np.array(0.5), 0.9)[0]), abs=1e-12)
    assert vague == pytest.approx(clipped.deviation / 3.0, abs=1e-12)
    assert half == pytest.approx(0.5 * (known + vague), abs=1e-12)
    assert known > vague
    assert np.all(np.diff(clipped.level(np.linspace(-3.0, 3.0, 50))) > 0)


def test_the_prior_probability_is_kept_where_nothing_is_known() -> None:
    clipped = ClippedPrior.of(PublicPrior(0.2, 0.8, 0.5))
    stated = norm.sf(float(clipped.level(0.9, 1.0)), clipped.mean, clipped.deviation)
    assert stated == pytest.approx(norm.sf(0.9, 0.2, 0.8), abs=1e-12)


def test_impossible_priors_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        PublicPrior(float("nan"), 1.0, 1.0)
    with pytest.raises(ValueError, match="standard deviation"):
        PublicPrior(0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="ridge"):
        PublicPrior(0.0, 1.0, -1.0)


@pytest.mark.parametrize("paths", [0, 1, 3])
def test_the_deviation_before_clipping_is_the_same_beside_however_many_paths(paths: int) -> None:
    """Of cells that are known alike and of cells that are alone; what was given stays as it was."""
    prior = ClippedPrior.of(PublicPrior(0.1, 0.5, 1.0))
    clipped, spread = np.array([0.4, -0.3, 0.2, 0.3, 0.01]), np.array([0.05, 0.2, 0.2, 0.3, 0.1])
    drawn = np.tile(clipped, (paths, 1))
    found, mean, deviation = unclipped(clipped, spread, prior, drawn)
    assert mean == pytest.approx([0.4368086, -0.3356193, 0.2226842, 0.3451276, 0.0108213], abs=1e-6)
    assert deviation == pytest.approx([0.0545977, 0.2238161, 0.2225800, 0.3449625, 0.1077074], abs=1e-6)
    assert found == pytest.approx(np.tile(mean, (paths, 1)))
    assert clipped.tolist() == [0.4, -0.3, 0.2, 0.3, 0.01]
