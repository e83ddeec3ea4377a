"""The stored weights: read once, from the file that the program brings along."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from safetensors import SafetensorError
from safetensors.numpy import load_file

from dpgp_core.convcnp.network import Network
from dpgp_core.errors import InvalidValue

STORED = Path(__file__).with_name("weights.safetensors")
"""Weights of the shipped network; the log of their training lies beside them, as weights.json."""


@lru_cache(maxsize=2)
def network(path: Path = STORED) -> Network:
    """The network of a file of weights; nothing is ever downloaded."""
    try:
        found = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InvalidValue(
            f"the weights of the neural process cannot be read from {path.name}: install the program again."
        ) from error
    return Network(found)
