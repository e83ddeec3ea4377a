"""The encoder: a Gaussian set convolution on the lattice, as finitely many features with white noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dpgp_core._checks import positive
from dpgp_core.linalg import Floats
from hexcursion_peers.neural.lattice import AXIS, SIDE

NEGLIGIBLE = 1e-3
"""Eigenvalues of the kernel's Gram matrix below this share of the largest are not released."""


@dataclass(frozen=True)
class Encoder:
    """The Gaussian kernel psi of one width on the lattice, diagonalised along each axis.

    The lattice's Gram matrix is `K = K1 (x) K1`, `K1 = Q diag(v) Q^T`. The functional mechanism releases
    `h + s g`, g with covariance K, h a sum of kernels. In the basis of K these are the numbers
    `T = diag(v v)^(-1/2) (Q (x) Q)^T h` with white noise of deviation s: the features below summed over the
    records. One record's features have length at most `psi(x, x) = 1` (docs/convcnp.md, Lemma 1).

    Parameters
    ----------
    width : float
        Length scale of the kernel, window units, > 0.
    """

    width: float

    def __post_init__(self) -> None:
        positive("width", self.width)

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, width: float) -> Encoder:
        """The encoder of a width, made once: it depends on nothing else."""
        return cls(width)

    def kernel(self, first: Floats, second: Floats) -> Floats:
        """Values (a, b) of the kernel along one axis, in (0, 1], between coordinates (a,) and (b,),
        window units."""
        return np.asarray(np.exp(-np.square((first[:, None] - second[None, :]) / self.width) / 2.0))

    @cached_property
    def gram(self) -> Floats:
        """(SIDE, SIDE) the kernel among the pixels' middles along one axis."""
        return self.kernel(AXIS, AXIS)

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats]:
        value, vector = np.linalg.eigh(self.gram)
        return np.maximum(value, 1e-14), vector

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """(SIDE, SIDE) which products of two eigenvectors are released."""
        value = self._pairs[0]
        product = np.outer(value, value)
        return np.asarray(product >= NEGLIGIBLE * product.max())

    @property
    def size(self) -> int:
        """Number p of features."""
        return int(self.kept.sum())

    def along(self, places: Floats) -> Floats:
        """(M, SIDE) whitened kernel sections of coordinates (M,) along one axis."""
        value, vector = self._pairs
        return np.asarray(self.kernel(places, AXIS) @ vector / np.sqrt(value))

    @cached_property
    def colour(self) -> Floats:
        """(SIDE, SIDE) turns white coordinates of one axis into values at the pixels."""
        value, vector = self._pairs
        return np.asarray(vector * np.sqrt(value))

    def rows(self, places: Floats) -> Floats:
        """(M, p) features of places (M, 2) in the window, of length at most 1."""
        first, second = self.along(places[:, 0]), self.along(places[:, 1])
        return np.asarray((first[:, :, None] * second[:, None, :])[:, self.kept])

    def pixels(self, numbers: Floats) -> Floats:
        """(..., SIDE, SIDE) the released function at the pixels from its numbers (..., p)."""
        white = np.zeros((*numbers.shape[:-1], SIDE, SIDE))
        white[..., self.kept] = numbers
        return np.asarray(self.colour @ white @ self.colour.T)
