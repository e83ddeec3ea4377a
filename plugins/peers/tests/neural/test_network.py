"""The network in NumPy computes what PyTorch computed once, and refuses weights that are not its own."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from dpgp_core.errors import InvalidValue
from hexcursion_peers.neural.inputs import CHANNELS, CONTEXT
from hexcursion_peers.neural.line import LINE
from hexcursion_peers.neural.network import MAP, Layout, Network, convolved, doubled, halved
from hexcursion_peers.neural.simulated.tasks import finer
from hexcursion_peers.neural.weights import STORED, network


def made_weights(layout: Layout = MAP) -> dict[str, np.ndarray]:
    """Weights by formula."""
    found = {}
    for number, (name, shape) in enumerate(layout.shapes().items()):
        size = math.prod(shape)
        fan = math.prod(shape[1:]) if len(shape) > 1 else 25
        value = np.cos(1.7 * np.arange(size) + number) * math.sqrt(2 / fan)
        found[name] = value.reshape(shape).astype(np.float32)
    return found


def test_the_forward_pass_is_that_of_pytorch() -> None:
    """Literals from `train.forward` with PyTorch 2.13 on these weights and inputs."""
    channels = np.sin(0.37 * np.arange(11 * 32 * 32)).reshape(1, 11, 32, 32).astype(np.float32)
    mean, sd = Network(made_weights())(channels, np.cos(np.arange(7.0))[None].astype(np.float32))
    at = ([0, 0, 7, 16, 31], [0, 31, 20, 16, 3])
    np.testing.assert_allclose(
        mean[0][at], [0.0093033, -1.2265112, -0.1409526, 0.4969883, -1.5014549], atol=2e-6
    )
    np.testing.assert_allclose(sd[0][at], [0.5737262, 1.2605764, 0.8166794, 0.4326078, 1.6573119], atol=2e-6)
    assert mean.mean() == pytest.approx(-0.5212911, abs=2e-6)


def test_so_is_that_on_a_line() -> None:
    """Likewise, five pixels to a convolution."""
    channels = np.sin(0.37 * np.arange(11 * 128)).reshape(1, 11, 128).astype(np.float32)
    mean, sd = Network(made_weights(LINE), LINE)(channels, np.cos(np.arange(8.0))[None].astype(np.float32))
    at = [0, 1, 63, 100, 127]
    np.testing.assert_allclose(
        mean[0][at], [-0.2467662, -0.5435635, -0.8008986, -0.7123017, -0.7279247], atol=2e-6
    )
    np.testing.assert_allclose(sd[0][at], [0.8785515, 1.0917068, 1.0813888, 1.0649712, 1.1663395], atol=2e-6)
    with pytest.raises(InvalidValue, match="install the program again"):
        Network(made_weights(LINE))


def test_one_convolution_by_hand() -> None:
    """A kernel that takes the right neighbour; beyond the border stands zero."""
    x = np.arange(12.0, dtype=np.float32).reshape(1, 1, 3, 4)
    weight = np.zeros((1, 1, 3, 3), dtype=np.float32)
    weight[0, 0, 1, 2] = 1.0
    expected = np.array([[1, 2, 3, 0], [5, 6, 7, 0], [9, 10, 11, 0]], dtype=np.float32)
    np.testing.assert_array_equal(convolved(x, weight)[0, 0], expected)
    np.testing.assert_array_equal(halved(x[:, :, :2])[0, 0], [[2.5, 4.5]])
    np.testing.assert_array_equal(doubled(x[:, :, :1, :2])[0, 0], [[0, 0, 1, 1], [0, 0, 1, 1]])


def test_values_between_pixels() -> None:
    up = finer(np.arange(32.0)[:, None] * np.ones((1, 32)))
    np.testing.assert_allclose(up[:4, 0], [0.0, 0.25, 0.75, 1.25])
    np.testing.assert_allclose(up[-2:, 5], [30.75, 31.0])


def test_the_shipped_weights_are_small_complete_and_of_simulated_data() -> None:
    assert STORED.stat().st_size < 20_000_000
    assert sum(value.size for value in network().weights.values()) == 332_648
    assert STORED.with_suffix(".json").is_file()
    assert set(network().weights) == set(MAP.shapes())
    assert (CHANNELS, CONTEXT) == (11, 7)


@pytest.mark.parametrize("damage", ["missing", "shape", "nan"])
def test_damaged_weights_are_refused(damage: str) -> None:
    weights = made_weights()
    if damage == "missing":
        del weights["head.bias"]
    elif damage == "shape":
        weights["head.bias"] = np.zeros(3, dtype=np.float32)
    else:
        weights["head.bias"][0] = np.nan
    with pytest.raises(InvalidValue, match="install the program again"):
        Network(weights)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(STORED.read_bytes()[:1000])
    for path in (cut, tmp_path / "none.safetensors"):
        with pytest.raises(InvalidValue, match=r"cannot be read from .*: install the program again"):
            network(path)


def test_weights_survive_their_file(tmp_path: Path) -> None:
    weights = made_weights()
    save_file(weights, tmp_path / "w.safetensors")
    found = network(tmp_path / "w.safetensors")
    np.testing.assert_array_equal(found.weights["up0.weight"], weights["up0.weight"])
