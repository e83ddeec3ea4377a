"""Water-filling: the stated optimum, against nearby and random allocations."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.features.strategies import water_filling


def summed_variance(powers: np.ndarray, signal: np.ndarray, d: float, s: float) -> float:
    kept = powers > 1e-12
    noise = d + s**2 / powers[kept]
    return float(np.sum(signal[kept] * noise / (signal[kept] + noise)) + np.sum(signal[~kept]))


SIGNAL = np.array([40.0, 12.0, 5.0, 1.0, 0.2, 0.01])


def test_powers_are_spent_and_decrease() -> None:
    powers = water_filling(SIGNAL, 0.7, 3.0, 20.0)
    assert float(powers.sum()) == pytest.approx(20.0)
    assert np.all(np.diff(powers) <= 1e-12)
    assert powers[-1] == 0.0


def test_a_case_by_hand() -> None:
    """Without scatter l = t s - s^2/S: signals 4 and 1, s = 1, total 3 give t = 17/8, l = 15/8 and 9/8."""
    assert water_filling(np.array([4.0, 1.0]), 0.0, 1.0, 3.0) == pytest.approx([1.875, 1.125])


@pytest.mark.parametrize("d", [0.0, 0.7, 10.0])
@pytest.mark.parametrize("s", [0.5, 3.0, 20.0])
def test_no_other_allocation_is_better(d: float, s: float) -> None:
    """Theorem (water-filling) of docs/report."""
    powers = water_filling(SIGNAL, d, s, 20.0)
    best = summed_variance(powers, SIGNAL, d, s)
    generator = np.random.default_rng(1)
    for _ in range(300):
        other = generator.dirichlet(np.ones(6) * generator.choice([0.3, 1.0, 5.0])) * 20.0
        mixed = 0.98 * powers + 0.02 * other
        assert summed_variance(other, SIGNAL, d, s) >= best * (1 - 1e-9)
        assert summed_variance(mixed, SIGNAL, d, s) >= best * (1 - 1e-9)


def test_more_noise_releases_fewer_directions() -> None:
    kept = [int(np.count_nonzero(water_filling(SIGNAL, 0.7, s, 20.0))) for s in (0.1, 3.0, 12.0, 80.0)]
    assert kept == sorted(kept, reverse=True)
    assert kept[0] == 6
    assert kept[-1] == 1


def test_directions_without_signal_get_nothing() -> None:
    assert water_filling(np.array([1.0, 0.0]), 0.0, 1.0, 5.0).tolist() == pytest.approx([5.0, 0.0])


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="not all zero"):
        water_filling(np.zeros(3), 0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="not negative"):
        water_filling(np.array([1.0, -1.0]), 0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="noise"):
        water_filling(np.ones(2), 0.0, 0.0, 1.0)
