"""The price in numbers: noise, weights and relations for features whose inner products are known."""

from __future__ import annotations

import math

import pytest

from dpgp_core.features.gridded import InnerProducts
from dpgp_core.spectral.cost import SpectralNoise, free_weight, noise_for, release_mu

WHITE = InnerProducts(1.0, 0.0, 2.0)
ONE_EIGHTH = InnerProducts(1.0, -0.125, 2.25)


def test_white_features_cost_what_noisy_cell_statistics_cost() -> None:
    noise = noise_for(0.5, WHITE)
    assert noise.sums == pytest.approx(4.0, rel=1e-12)
    assert noise.counts == pytest.approx(4.0, rel=1e-12)
    assert noise.sums >= 4.0


def test_kappa_is_paid_by_the_counts_alone() -> None:
    noise = noise_for(0.5, ONE_EIGHTH)
    assert noise.sums == pytest.approx(4.0, rel=1e-12)
    assert noise.weight == pytest.approx(math.sqrt(0.875 / 1.125), rel=1e-12)
    assert noise.counts == pytest.approx(4.53557367611073, rel=1e-12)


def test_the_other_relations() -> None:
    removed = noise_for(0.5, ONE_EIGHTH, "add-or-remove")
    assert removed.sums == pytest.approx(2.8284271247461903, rel=1e-12)
    assert removed.weight == 1.0
    assert noise_for(0.5, ONE_EIGHTH, "add-or-remove", weight=0.5).sums == pytest.approx(
        2.23606797749979, rel=1e-12
    )
    values = noise_for(0.5, ONE_EIGHTH, "values-only")
    assert values.sums == pytest.approx(4.0, rel=1e-12)
    assert values.counts is None


def test_short_features_need_less_noise() -> None:
    short = InnerProducts(0.25, 0.0, 0.5)
    assert noise_for(1.0, short).sums == pytest.approx(1.0, rel=1e-12)
    assert noise_for(1.0, short, "values-only").sums == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("mu", [0.013, 0.5, 1.0, 3.7, 41.0])
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove", "values-only"])
def test_noise_and_price_are_inverse_and_rounded_to_the_safe_side(mu: float, relation: str) -> None:
    noise = noise_for(mu, ONE_EIGHTH, relation)  # type: ignore[arg-type]
    found = release_mu(ONE_EIGHTH, noise, relation)  # type: ignore[arg-type]
    assert mu * (1 - 1e-12) < found <= mu


def test_equal_features_carry_full_counts_and_opposite_ones_none() -> None:
    assert free_weight(InnerProducts(1.0, 1.0, 0.0)) == 1.0
    assert free_weight(InnerProducts(1.0, 0.5, 1.0)) == 1.0
    assert free_weight(InnerProducts(1.0, -1.0, 4.0)) == 0.0


def test_what_is_not_priced_is_refused() -> None:
    with pytest.raises(ValueError, match="weight is at most 1"):
        SpectralNoise(2.0, 1.9)
    with pytest.raises(ValueError, match="counts are released exactly when places are private"):
        release_mu(WHITE, SpectralNoise(2.0, None), "replace-one")
    with pytest.raises(ValueError, match="counts are released exactly when places are private"):
        release_mu(WHITE, SpectralNoise(2.0, 2.0), "values-only")
    with pytest.raises(ValueError, match="unknown neighbouring relation"):
        noise_for(1.0, WHITE, "swap")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"weight of the counts must lie in \(0, 1\]"):
        noise_for(1.0, WHITE, weight=1.2)
    with pytest.raises(ValueError, match="positive"):
        noise_for(0.0, WHITE)
    with pytest.raises(ValueError, match="squared lengths"):
        InnerProducts(1.5, 0.0, 2.0)
