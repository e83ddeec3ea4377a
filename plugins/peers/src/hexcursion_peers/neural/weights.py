"""The stored weights: read once, from the file that the program brings along."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from dpgp_core.errors import InvalidValue
from hexcursion_peers.neural.line import LINE
from hexcursion_peers.neural.network import MAP, Layout, Network

STORED = Path(__file__).with_name("weights.safetensors")
"""Weights of the mechanism's network; the log of their training is weights.json."""

STORED_LINE = Path(__file__).with_name("line.safetensors")
"""Weights of the network of the studies on a line, likewise."""

STORED_CORRECTION = Path(__file__).with_name("correction.safetensors")
"""Weights of the network that corrects readings of spectral statistics, likewise."""


@lru_cache(maxsize=4)
def network(path: Path = STORED, layout: Layout = MAP) -> Network:
    """The network of a file of weights; nothing is ever downloaded. Raises InvalidValue if it cannot be
    read."""
    from safetensors import SafetensorError  # the mathematics alone needs numpy and scipy only
    from safetensors.numpy import load_file

    try:
        weights = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InvalidValue(
            f"the weights of the neural process cannot be read from {path.name}: install the program again."
        ) from error
    return Network(weights, layout)


def line_network() -> Network:
    """The network of the studies on a line."""
    return network(STORED_LINE, LINE)
