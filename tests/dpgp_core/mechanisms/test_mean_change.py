"""The mean change since a public map, with its stated error, in worlds made record by record."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.features.nodes import Nodes
from dpgp_core.mechanisms.drift_reading import DriftReader
from dpgp_core.spectral.counts import NodeCounts
from dpgp_core.spectral.prior import before_cut, clipped_moments, share_of_yes
from dpgp_core.spectral.public_field import PublicField
from tests.dpgp_core.hexmap import disk

LATTICE, SIZE, FEATURES, NOISE, WORLDS = disk(3), 37, 12, 0.25, 200


@pytest.mark.parametrize("shift", [0.0, 0.9], ids=str)
def test_nine_of_ten_intervals_hold_the_mean_change_beside_the_clip_bound(shift: float) -> None:
    """A response of nearly 1 moves little with the field, so what is read of it is less certain."""
    rng = np.random.default_rng(23)
    count = rng.integers(4, 9, SIZE).astype(np.float64)
    field = PublicField(
        Nodes.of(LATTICE), np.arange(SIZE), count, 0.2 * rng.standard_normal(SIZE), 0.25, 0.3,
        4.0 * LATTICE.spacing,
    )  # fmt: skip
    numbers = rng.integers(30, 60, SIZE)
    a = rng.standard_normal((SIZE, FEATURES)) / np.sqrt(FEATURES * SIZE)
    a[:, 0] = 1.0 / np.sqrt(SIZE)
    counts = NodeCounts.known(numbers.astype(np.float64), FEATURES)
    reader = DriftReader(field, a, counts, NOISE, places_known=True)
    place, held = np.repeat(np.arange(SIZE), numbers), []
    for _ in range(WORLDS):
        change = shift + field.roots[0] @ rng.standard_normal(SIZE)
        response = np.clip(change[place] + 0.3 * rng.standard_normal(place.size), -1.0, 1.0)
        check = reader.check(a[place].T @ response + NOISE * rng.standard_normal(FEATURES))
        assert check is not None
        assert check.change is not None
        true = numbers @ change / numbers.sum()
        held.append(abs(true - check.change.level) <= 1.645 * check.change.level_sd)
    assert 0.86 < np.mean(held) < 0.97


def test_values_are_found_from_the_means_of_what_is_cut() -> None:
    value, scatter = np.array([-1.2, -0.3, 0.0, 0.6, 1.1]), np.array([0.2, 0.3, 0.1, 0.5, 0.4])
    mean, _ = clipped_moments(value, scatter)
    found, steep = before_cut(mean, scatter)
    assert found == pytest.approx(value, abs=1e-6)
    more, _ = before_cut(mean + 1e-5, scatter)
    assert steep == pytest.approx((more - found) / 1e-5, rel=1e-3)
    assert np.all(np.isfinite(before_cut(np.array([-3.0, 1.0, 7.0]), scatter[:3])))


def test_the_share_of_yes_moves_with_its_probit() -> None:
    share, steep = share_of_yes(np.array([-1.0, 0.0, 0.5]), np.array([0.0, 1.0, 0.75]))
    assert share == pytest.approx([0.1586552539, 0.5, 0.6554217416])
    more, _ = share_of_yes(np.array([-1.0, 0.0, 0.5]) + 1e-6, np.array([0.0, 1.0, 0.75]))
    assert steep == pytest.approx((more - share) / 1e-6, rel=1e-4)
