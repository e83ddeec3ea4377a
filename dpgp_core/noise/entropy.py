"""The only place where randomness is made: operating-system entropy for releases, seeds for simulations."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dpgp_core.linalg import Floats

Words = NDArray[np.uint64]
Shape = int | tuple[int, ...]


class Entropy(Protocol):
    """A source of independent random numbers.

    Only `SystemEntropy` may stand behind a release: whoever can repeat the numbers can subtract the noise.
    """

    def normal(self, shape: Shape) -> Floats:
        """Independent standard normal numbers of the given shape."""
        ...

    def uniform(self, shape: Shape) -> Floats:
        """Independent uniform numbers strictly inside (0, 1), of the given shape."""
        ...

    def words(self, shape: Shape) -> Words:
        """Independent 64-bit words of the given shape, each bit a fair coin: for exact samplers."""
        ...


class SystemEntropy:
    """Numbers straight from the operating system's generator; there is no seed and no state to leak.

    One 64-bit word makes one normal number: the top bit is its sign, the other 63 bits give the tail
    probability `u = (word + 1/2) 2^-64`, strictly between 0 and 1/2, and the value is the inverse normal
    CDF of `u`. Small `u` keep their full relative precision in a double, so tails are exact down to
    2^-65 (9.2 standard deviations), within total variation 2^-64 per number of a normal distribution.
    """

    __slots__ = ()

    def normal(self, shape: Shape) -> Floats:
        """Independent standard normal numbers of the given shape."""
        word = _words(shape)
        tail = ((word & np.uint64((1 << 63) - 1)).astype(np.float64) + 0.5) * 2.0**-64
        return np.asarray(np.where(word >> np.uint64(63), -1.0, 1.0) * ndtri(tail))

    def uniform(self, shape: Shape) -> Floats:
        """Independent uniform numbers strictly inside (0, 1), of the given shape."""
        # 52 bits and a half step: the largest value, 1 - 2^-53, is still representable below 1.
        return ((_words(shape) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52

    def words(self, shape: Shape) -> Words:
        return _words(shape)


class SimulationEntropy:
    """Repeatable numbers from a seed: for searches on reference data, simulations, tests. Never a release."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def normal(self, shape: Shape) -> Floats:
        """Independent standard normal numbers of the given shape."""
        return self._generator.standard_normal(shape)

    def uniform(self, shape: Shape) -> Floats:
        """Independent uniform numbers strictly inside (0, 1), of the given shape."""
        return (self._generator.integers(0, 1 << 52, size=shape).astype(np.float64) + 0.5) * 2.0**-52

    def words(self, shape: Shape) -> Words:
        return self._generator.integers(0, 1 << 64, size=shape, dtype=np.uint64)


def _words(shape: Shape) -> Words:
    size = int(np.prod(shape))
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64).reshape(shape)


def random_name() -> str:
    """16 hex digits from the operating system: a release's public name, independent of everything else."""
    return os.urandom(8).hex()
