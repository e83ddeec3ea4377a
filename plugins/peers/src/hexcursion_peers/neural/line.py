"""The encoder on a line: kernel sums at public places, their price and noise, and what the network sees."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpgp_core.features.gridded import Features, InnerProducts, inner_products
from dpgp_core.linalg import Floats
from dpgp_core.spectral.cost import SpectralNoise, noise_for
from hexcursion_peers.neural.inputs import Single
from hexcursion_peers.neural.network import Layout

SIDE, REACH = 128, 2.5
"""Pixels, on the interval from -REACH to REACH."""

DOMAIN, CELLS = 2.0, 1_024
"""Records lie between -DOMAIN and DOMAIN, each at the middle of one of so many equal cells."""

WIDTH = 0.2
"""Length scale of the encoder's kernel: where the paper's training begins."""

CLIP = 2.0
"""Responses are clipped to [-CLIP, CLIP] and divided by it."""

NEGLIGIBLE = 1e-3
"""Eigenvalues of the kernel's Gram matrix below this share of the largest are not released."""

BLURS = (0.0, 1.5, 4.0, 10.0)
"""Standard deviations of the smoothing, pixels."""

PIXELS: Floats = np.asarray(2.0 * REACH * ((np.arange(SIDE) + 0.5) / SIDE - 0.5), dtype=np.float64)
PLACES: Floats = np.asarray(2.0 * DOMAIN * ((np.arange(CELLS) + 0.5) / CELLS - 0.5), dtype=np.float64)
INSIDE = np.abs(PIXELS) <= DOMAIN

Normal = Callable[[int], Floats]

LineFamily = Literal["eq", "matern", "periodic", "sawtooth", "people"]
FAMILIES: tuple[LineFamily, ...] = ("eq", "matern", "periodic", "sawtooth", "people")
"""Laws of the field that are inputs of the network; `line_tasks` has what each means."""

LINE = Layout(2 * len(BLURS) + 3, 3 + len(FAMILIES), (32, 48, 64, 64), (5,))


def _kernel(first: Floats, second: Floats) -> Floats:
    return np.asarray(np.exp(-np.square((first[:, None] - second) / WIDTH) / 2.0))


class LineEncoder:
    """Features of the public places, their inner products, and the way from released numbers to pixels."""

    @classmethod
    @lru_cache(maxsize=1)
    def shared(cls) -> LineEncoder:
        """The one there is."""
        return cls()

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats]:
        value, vector = np.linalg.eigh(_kernel(PIXELS, PIXELS))
        above_zero = value >= NEGLIGIBLE * value[-1]
        return value[above_zero], vector[:, above_zero]

    @cached_property
    def features(self) -> Features:
        """Of the places, on the grid of exact numbers, of length at most 1 (docs/convcnp.md, Lemma 1)."""
        value, vector = self._pairs
        return Features.of("set-convolution", _kernel(PLACES, PIXELS) @ vector / np.sqrt(value))

    @cached_property
    def products(self) -> InnerProducts:
        """Extremes of the features' inner products, by which a release is priced."""
        return inner_products(self.features)

    @cached_property
    def colour(self) -> Floats:
        """(p, SIDE) turns the p released numbers into values at the pixels."""
        value, vector = self._pairs
        return np.asarray((vector * np.sqrt(value)).T)

    @cached_property
    def blurs(self) -> tuple[tuple[Floats, Floats], ...]:
        """Smoothing matrices (SIDE, SIDE), and the deviation (SIDE,) of smoothed noise of deviation 1."""
        pairs = []
        for width in BLURS:
            step = np.square((np.arange(SIDE)[:, None] - np.arange(SIDE)) / max(width, 1e-3))
            matrix = np.exp(-step / 2.0)
            matrix /= matrix.sum(axis=1, keepdims=True)
            pairs.append((matrix, np.linalg.norm(matrix @ self.colour.T, axis=1)))
        return tuple(pairs)

    @cached_property
    def usual(self) -> float:
        """Mean over the domain of the density channel of one record that lies anywhere in it."""
        return float((self.features.values @ self.colour)[:, INSIDE].mean())

    def noise(self, mu: float) -> SpectralNoise:
        """Noise that costs at most mu at the joint price, for responses in units of CLIP."""
        return noise_for(mu, self.products)

    def released(
        self, at: NDArray[np.int64], responses: Floats, noise: SpectralNoise, normal: Normal
    ) -> tuple[Floats, Floats]:
        """(p,) numbers of both channels, SIMULATED: noise in floating point, on public tasks only.

        `at` (n,) are the places of the records, `responses` (n,) their responses, clipped here; `normal`
        draws standard normal deviates."""
        phi = self.features.values
        total = np.bincount(at, np.clip(responses / CLIP, -1.0, 1.0), minlength=CELLS)
        count = np.bincount(at, minlength=CELLS).astype(float)
        assert noise.counts is not None
        return (
            total @ phi + noise.sums * normal(phi.shape[1]),
            count @ phi + noise.counts * normal(phi.shape[1]),
        )

    def inputs(
        self, sums: Floats, counts: Floats, noises: Floats, number: Floats, family: Floats
    ) -> tuple[Single, Single]:
        """Channels and context of B releases, as `inputs.network_inputs` makes them for maps.

        `sums` and `counts` (B, p) are released, `noises` (B, 2) the deviations of the noise on either;
        `number` (B,) are public numbers of records, `family` (B,) says which of `FAMILIES`."""
        unit = (self.usual * number)[:, None]
        signal, density = CLIP * sums @ self.colour / unit, counts @ self.colour / unit
        signal_noise, density_noise = CLIP * noises[:, :1] / unit, noises[:, 1:] / unit
        channels = np.empty((number.size, LINE.channels, SIDE), dtype=np.float32)
        for place, (matrix, axis) in enumerate(self.blurs):
            d, s = np.maximum(density @ matrix.T, 0.0), signal @ matrix.T
            total = np.square(d) + np.square(signal_noise * axis) + 1e-6
            channels[:, 2 * place] = d * s / total
            channels[:, 2 * place + 1] = np.square(d) / total
        channels[:, -3] = signal / np.sqrt(1.0 + np.square(signal_noise))
        channels[:, -2] = density / np.sqrt(1.0 + np.square(density_noise))
        channels[:, -1] = INSIDE
        numbers = (
            np.log(signal_noise[:, 0]) / 3.0,
            np.log(density_noise[:, 0]) / 3.0,
            np.log(number / 128.0) / 3.0,
        )
        context = np.column_stack([*numbers, np.eye(len(FAMILIES))[family]])
        return np.clip(channels, -8.0, 8.0), np.clip(context, -6.0, 6.0).astype(np.float32)


def _between(from_: Floats, to: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Index of the neighbour below each of `to` among the even `from_`, and the share of the one above."""
    at = np.clip((to - from_[0]) / (from_[1] - from_[0]), 0.0, from_.size - 1.0)
    low = np.minimum(np.floor(at).astype(np.int64), from_.size - 2)
    return low, at - low


def at_places(pixels: Floats) -> Floats:
    """(..., CELLS) values at the places from values (..., SIDE) at the pixels: linear between them."""
    low, share = _between(PIXELS, PLACES)
    return np.asarray((1.0 - share) * pixels[..., low] + share * pixels[..., low + 1])


def at_pixels(places: Floats) -> Floats:
    """(..., SIDE) values at the pixels from values (..., CELLS) at the places; level beyond the domain."""
    low, share = _between(PLACES, PIXELS)
    return np.asarray((1.0 - share) * places[..., low] + share * places[..., low + 1])
