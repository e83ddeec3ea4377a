"""Parts of the measurement of series: the exact cost of a release, calibration error, generated disks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.spectral.cost import SpectralNoise, release_mu
from studies.agreement.series import Plan, _disk, _ece, worst_mu


@pytest.mark.parametrize("epsilon", [0.25, 1.0])
def test_the_worst_pair_of_records_costs_what_is_declared(epsilon: float) -> None:
    """Epsilon .25 and 1 at delta 1e-5 are mu .07527 and .26805; a station in four periods costs twice."""
    made = Plan.of(_disk(4), epsilon, 500, 1.0).made
    mu = {0.25: 0.0752702, 1.0: 0.2680511}[epsilon]
    exact = worst_mu([made])
    assert exact == pytest.approx(mu, rel=1e-5)
    assert 0.999999 < exact / release_mu(made.products, made.noise) <= 1.0
    assert worst_mu([made] * 4, [1] * 4) == pytest.approx(2.0 * mu, rel=1e-5)
    assert worst_mu([made] * 4, [2, 1, 1, 1]) == pytest.approx(7.0**0.5 * mu, rel=1e-5)


def test_a_period_with_too_little_noise_is_found_out() -> None:
    """One of four periods with half of its noise shows a station sqrt(7) mu, where 2 mu is declared."""
    made = Plan.of(_disk(4), 1.0, 500, 1.0).made
    counts = made.noise.counts
    half = SpectralNoise(0.5 * made.noise.sums, None if counts is None else 0.5 * counts)
    broken = replace(made, noise=half)
    exact = worst_mu([made, made, made, broken], [1] * 4)
    assert exact == pytest.approx(7.0**0.5 * 0.2680511, rel=1e-5)
    assert exact > 1.3 * 2.0 * release_mu(made.products, made.noise)


def test_calibration_error_of_chances_that_come_true_too_seldom() -> None:
    """Stated .75 and .25, true half of the time and never: each off by a quarter."""
    stated, true = np.repeat([0.75, 0.25], 4), np.array([1, 1, 0, 0, 0, 0, 0, 0], dtype=bool)
    assert _ece([(stated, true)]) == pytest.approx(0.25)


def test_a_disk_of_two_rings_has_nineteen_hexagons() -> None:
    lattice = _disk(2)
    assert lattice.size == 19
    assert lattice.adjacency.sum() == 2 * 42
