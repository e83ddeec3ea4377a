"""The encoder: the spec's unit test, noise of the kernel's own law, features that no record can exceed."""

from __future__ import annotations

import numpy as np
import pytest

from dpgp_core.errors import HexcursionError
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats
from dpgp_core.spectral.cost import SpectralNoise
from dpgp_core.spectral.sums import SpectralSums
from hexcursion_peers.neural.encoder import Encoder
from hexcursion_peers.neural.lattice import AXIS, Window
from hexcursion_peers.neural.plan import NARROWEST, EncoderPlan, PublicInputs
from tests.dpgp_core.hexmap import disk, drawn_law


def set_convolution(places: Floats, values: Floats, points: Floats, width: float) -> Floats:
    """(G,) sums over records of value times `exp(-|x - point|^2/(2 width^2))`: the encoder without noise."""
    square = np.square(points[:, None, :] - places[None, :, :]).sum(axis=2)
    return np.asarray(np.exp(-square / (2.0 * width**2)) @ values)


def test_the_set_convolution_of_two_records() -> None:
    """Spec, section 8, item 5: width .2, the second response clipped from -3 to -2."""
    grid, places = np.array([[-1.0], [-0.5], [0.0], [0.5], [1.0]]), np.array([[-0.5], [0.3]])
    density = set_convolution(places, np.ones(2), grid, 0.2)
    signal = set_convolution(places, np.clip([1.0, -3.0], -2.0, 2.0), grid, 0.2)
    np.testing.assert_allclose(density, [0.0439369, 1.0003355, 0.3685894, 0.6065344, 0.0021875], atol=5e-8)
    np.testing.assert_allclose(signal, [0.0439369, 0.9993291, -0.6053680, -1.2130576, -0.0043750], atol=5e-8)


@pytest.mark.parametrize(
    ("width", "numbers", "error"), [(0.1, 473, 0.0016), (0.22, 110, 0.0071), (0.5, 28, 0.0120)]
)
def test_the_noise_at_the_pixels_has_the_kernels_covariance(width: float, numbers: int, error: float) -> None:
    """Theorem 1 asks for noise of covariance K; what is left out is below .02 (spec, section 8, item 7).

    Lemma 2 of plugins/peers/docs/convcnp.md.
    """
    encoder = Encoder.of(width)
    assert encoder.size == numbers
    colour = np.kron(encoder.colour, encoder.colour)[:, encoder.kept.ravel()]
    apart = np.abs(colour @ colour.T - np.kron(encoder.gram, encoder.gram)).max()
    assert error - 0.0002 < apart < error
    assert encoder.gram[0, 1] == pytest.approx(np.exp(-(0.0625**2) / (2.0 * width**2)))


def test_samples_of_the_noise_have_that_covariance_too() -> None:
    """16,384 draws at 10 by 10 pixels, width .5: the mean error of 10,000 covariances is below .02."""
    encoder, at = Encoder.of(0.5), np.arange(1, 31, 3)
    white = np.random.default_rng(0).standard_normal((16_384, encoder.size))
    drawn = white @ np.kron(encoder.colour[at], encoder.colour[at])[:, encoder.kept.ravel()].T
    np.testing.assert_allclose(drawn[:3].reshape(3, 10, 10), encoder.pixels(white[:3])[:, at][:, :, at])
    axis = encoder.gram[np.ix_(at, at)]
    assert np.abs(drawn.T @ drawn / 16_384 - np.kron(axis, axis)).mean() < 0.01


def test_features_of_a_record_are_its_kernel_and_never_longer_than_one() -> None:
    """Lemma 1: inner products are the kernel of two places, up to what the lattice cannot hold.

    Lemma 1 of plugins/peers/docs/convcnp.md.
    """
    encoder, places = Encoder.of(0.2), np.random.default_rng(1).uniform(-0.9, 0.9, (400, 2))
    rows = encoder.rows(places)
    kernel = encoder.kernel(places[:, 0], places[:, 0]) * encoder.kernel(places[:, 1], places[:, 1])
    assert rows.shape == (400, 133)
    assert np.abs(rows @ rows.T - kernel).max() < 0.0021
    assert 0.999 < np.linalg.norm(rows, axis=1).max() <= 1.0


def test_summed_features_give_the_set_convolution_back() -> None:
    """Lemma 2 of plugins/peers/docs/convcnp.md."""
    encoder, generator = Encoder.of(0.3), np.random.default_rng(2)
    places, values = generator.uniform(-0.9, 0.9, (50, 2)), generator.uniform(-1.0, 1.0, 50)
    pixels = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), axis=2).reshape(-1, 2)
    direct = set_convolution(places, values, pixels, 0.3).reshape(32, 32)
    released = encoder.pixels(values @ encoder.rows(places))
    assert np.abs(released - direct).max() < 0.03 * np.abs(direct).max()


def test_a_width_of_nothing_is_refused() -> None:
    with pytest.raises(HexcursionError, match="width"):
        Encoder(0.0)


@pytest.mark.parametrize("most", [60, 400], ids=["60 nodes", "every cell a node"])
def test_paths_scatter_by_one_between_nodes_too(most: int) -> None:
    """331 hexagons: a mean of nodes scatters less than each of them, down to .34 of the variance."""
    lattice = disk(10)
    window = Window.of(lattice.domain_centres, lattice.spacing)
    plan = EncoderPlan.of(lattice, window, Nodes.of(lattice, most), NARROWEST * window.half)
    size, told = plan.features.size, PublicInputs(100, 0.0, 1.0, 0.5)
    released = SpectralSums(np.zeros(size), np.zeros(size), SpectralNoise(1.0, 1.0))
    mean, law = drawn_law(lambda paths, entropy: plan.deviates(released, told, paths, entropy), size)
    assert mean.tolist() == [0.0] * 331
    np.testing.assert_allclose(law.diagonal(), 1.0, atol=0.002)
    assert np.sort(law[165])[-7] > 0.5  # six neighbours move with a hexagon
