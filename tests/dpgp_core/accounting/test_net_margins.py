"""Margins for rounding are as large as they are said to be, added to every bound, and not twice as large."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core import RdpCurve, epsilon_from_rdp, gaussian_delta
from dpgp_core.accounting.composition import Cost, delta
from dpgp_core.accounting.guarantee import group_cost, group_curve
from dpgp_core.accounting.pld import PrivacyLoss


def test_the_delta_of_gaussian_releases_is_rounded_upwards() -> None:
    exact = gaussian_delta(1.0, 0.5)
    assert exact < delta(Cost.gaussian(0.5), 1.0) <= exact * (1.0 + 2.0**-47)


def test_a_divergence_of_zero_is_a_divergence() -> None:
    assert 0.0 <= epsilon_from_rdp([2.0, 1e6], [0.0, 0.0], 1e-5).epsilon < 1e-4


def test_a_group_of_gaussian_releases_carries_a_margin_of_one_in_a_million_millions() -> None:
    mu = group_cost(Cost.gaussian(1.0), 3).gaussian_mu
    assert mu is not None
    assert mu / 3.0 - 1.0 == pytest.approx(1e-12, abs=1e-15)


def test_a_chain_of_two_is_split_at_the_published_places() -> None:
    """At order 1.0215: 9.5e-5 above alpha/2, the exact value; other places would prove another number."""
    twice = group_curve(RdpCurve.gaussian(0.5), 2).values
    assert float(twice[100]) == pytest.approx(0.51082066, rel=1e-7)


def test_losses_are_discretised_up_to_300() -> None:
    PrivacyLoss.from_profile(1.0, np.zeros(301))
    with pytest.raises(ValueError, match="up to losses of 300: use"):
        PrivacyLoss.from_profile(1.0, np.zeros(302))
    PrivacyLoss(1.0, np.zeros(1200), 0.0)
    with pytest.raises(ValueError, match="below 1200"):
        PrivacyLoss(1.0, np.zeros(1201), 0.0)


def test_an_epsilon_off_the_grid_of_losses_carries_a_millionth_of_a_millionth() -> None:
    loss = PrivacyLoss(0.5, np.array([0.5, 0.2, 0.3]), 0.0)
    assert loss.masses.dtype == PrivacyLoss(0.5, np.array([0, 1]), 0.0).masses.dtype == np.float64
    assert loss.epsilon(float(loss.profile()[1])) - 0.5 == pytest.approx(1e-12, abs=1e-15)
