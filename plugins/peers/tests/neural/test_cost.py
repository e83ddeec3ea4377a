"""What a release costs: the paper's figures, the joint price beside it, and attacks on both."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from dpgp_core import gaussian_mu
from dpgp_core.errors import InvalidValue
from dpgp_core.features.gridded import InnerProducts
from dpgp_core.features.nodes import Nodes
from dpgp_core.spectral.cost import SpectralNoise
from hexcursion_peers.neural.lattice import Window
from hexcursion_peers.neural.plan import Accounting, EncoderPlan, channel_noise, composed_mu, priced
from tests.dpgp_core.hexmap import disk

CLEAN = InnerProducts(1.0, 0.0, 2.0)
"""Features of length 1 that are never opposite: the paper's case."""

both = pytest.mark.parametrize("accounting", ["joint", "paper"])


@cache
def plan() -> EncoderPlan:
    lattice = disk(9)
    window = Window.of(lattice.domain_centres, lattice.spacing)
    return EncoderPlan.of(lattice, window, Nodes.of(lattice), 0.15 * window.half)


def test_mu_of_epsilon_and_delta() -> None:
    """Spec, 3.1."""
    found = [float(gaussian_mu(e, d)) for e, d in ((1.0, 1e-3), (3.0, 1e-3), (1.0, 1e-5), (4.0, 1e-3))]
    np.testing.assert_allclose(found, [0.3884012, 0.9640861, 0.2680511, 1.2149521], atol=1e-6)


def test_gaussian_accounting_against_the_earlier_functional_mechanism() -> None:
    """Spec, 7.2 (the paper's figure 4): squared sensitivity 10, delta .001; deviations of the noise."""
    square, delta = 10.0, 1e-3
    ratio_rdp, ratio_hall, shown = [], [], []
    for epsilon in (0.2, 0.5, 1.0, 2.0, 3.0, 4.0):
        exact = math.sqrt(square) / float(gaussian_mu(epsilon, delta))
        tail = -math.log(delta)
        rdp = math.sqrt(square) * (math.sqrt(tail / 2.0) + math.sqrt(tail / 2.0 + epsilon / 2.0)) / epsilon
        hall = math.sqrt(square) / epsilon * math.sqrt(2.0 * math.log(2.0 / delta))
        ratio_rdp.append(exact / rdp)
        ratio_hall.append(exact / hall)
        if epsilon == 1.0:
            shown = [hall, rdp, exact]
    np.testing.assert_allclose(shown, [12.3296, 12.1650, 8.1418], atol=1e-4)
    np.testing.assert_allclose(ratio_rdp, [0.529, 0.609, 0.669, 0.728, 0.762, 0.785], atol=6e-4)
    np.testing.assert_allclose(ratio_hall[:3], [0.508, 0.591, 0.660], atol=6e-4)
    assert [ratio < 0.75 for ratio in ratio_rdp] == [True] * 4 + [False] * 2


def test_noise_of_both_accountings() -> None:
    """Clip bound 1: the paper's composition at its best split needs sqrt(6)/mu, the joint price 2/mu."""
    joint, paper = channel_noise(0.5, CLEAN, "joint"), channel_noise(0.5, CLEAN, "paper")
    assert (joint.sums, joint.counts) == pytest.approx((4.0, 4.0), rel=1e-9)
    assert (paper.sums, paper.counts) == pytest.approx((4.8989795, 4.8989795), rel=1e-7)
    assert joint.sums / paper.sums == pytest.approx(0.8164966, rel=1e-6)  # spec, 3.5


def test_the_papers_own_composition() -> None:
    """Spec, 3.4: C = 2 and t = 1/2 at (1, .001); here C = 1, so the signal's noise is half of theirs."""
    noise = SpectralNoise(14.56446 / 2.0, 14.56446 / 2.0)
    counts = SpectralNoise(5.149314, 5.149314)
    signal = 4.0 / noise.sums**2
    density = 2.0 / counts.sums**2
    assert math.sqrt(signal + density) == pytest.approx(0.3884012, rel=1e-5)
    assert composed_mu(CLEAN, SpectralNoise(2.0, 4.0)) == pytest.approx(math.sqrt(1.0 + 0.125), rel=1e-9)
    with pytest.raises(InvalidValue, match="noise of both"):
        composed_mu(CLEAN, SpectralNoise(2.0, None))


@both
def test_no_pair_of_records_is_further_apart_than_the_price(accounting: Accounting) -> None:
    """All pairs of 271 places with both ends of the responses, and 20,000 random pairs: exact lengths.

    Theorem 1 of plugins/peers/docs/convcnp.md; Theorem 2 of plugins/peers/docs/convcnp.md.
    """
    made = plan()
    noise = channel_noise(0.7, made.products, accounting)
    assert noise.counts is not None
    declared = priced(made.products, noise, accounting)
    assert 0.7 * (1.0 - 1e-6) < declared <= 0.7
    rows = made.features.values
    inner = rows @ rows.T
    length = inner.diagonal()
    a, b = 1.0 / noise.sums**2, 1.0 / noise.counts**2
    worst = 0.0
    for sign in (1.0, -1.0):
        signal = length[:, None] + length[None, :] - 2.0 * sign * inner
        density = length[:, None] + length[None, :] - 2.0 * inner
        worst = max(worst, float((a * signal + b * density).max()))
    generator = np.random.default_rng(3)
    i, j = generator.integers(0, len(rows), (2, 20_000))
    y, z = generator.uniform(-1.0, 1.0, (2, 20_000))
    signal = y**2 * length[i] + z**2 * length[j] - 2.0 * y * z * inner[i, j]
    random = a * signal + b * (length[i] + length[j] - 2.0 * inner[i, j])
    assert float(random.max()) <= worst <= declared**2 * (1.0 + 1e-12)
    # Equality: a flipped response, or two far places, cost all of the joint price, two thirds of the paper's.
    assert math.sqrt(worst) / declared == pytest.approx(1.0 if accounting == "joint" else 0.8165, abs=2e-4)


@both
def test_the_price_follows_the_noise(accounting: Accounting) -> None:
    made = plan()
    noise = channel_noise(0.7, made.products, accounting)
    assert noise.counts is not None
    less = SpectralNoise(0.99 * noise.sums, 0.99 * noise.counts)
    assert priced(made.products, less, accounting) == pytest.approx(0.7 / 0.99, rel=1e-6)


def test_a_width_that_the_network_does_not_know_is_refused() -> None:
    lattice = disk(9)
    window = Window.of(lattice.domain_centres, lattice.spacing)
    for share in (0.05, 0.7):
        with pytest.raises(InvalidValue, match=r"between 320 and 2,400 m on this domain"):
            EncoderPlan.of(lattice, window, Nodes.of(lattice), share * window.half)
