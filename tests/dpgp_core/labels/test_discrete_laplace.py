"""The discrete Laplace law, drawn exactly."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.discrete_laplace import discrete_laplace
from dpgp_core.noise import SimulationEntropy


@pytest.mark.parametrize("scale", [0.4, 3.0, 17.25])
def test_the_noise_has_the_discrete_laplace_law(scale: float) -> None:
    draws = discrete_laplace(scale, 20_000, SimulationEntropy(11))
    ratio = np.exp(-1.0 / scale)
    at = np.arange(-6, 7)
    expected = (1 - ratio) / (1 + ratio) * ratio ** np.abs(at)
    observed = np.array([(draws == value).mean() for value in at])
    np.testing.assert_allclose(observed, expected, atol=5 * np.sqrt(0.25 / draws.size))
    assert np.mean(np.abs(draws)) == pytest.approx(2 * ratio / (1 - ratio**2), rel=0.05)
    assert abs(draws.mean()) < 6 * scale * np.sqrt(2 / draws.size)
