"""The public part of a release: the window, the features and what they cost, the noise, the reading."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.features.gridded import Features, InnerProducts, inner_products
from dpgp_core.features.nodes import Nodes
from dpgp_core.linalg import Floats
from dpgp_core.noise import Entropy
from dpgp_core.priors.lattice import Lattice
from dpgp_core.spectral.cost import SpectralNoise, noise_for, release_mu
from dpgp_core.spectral.sums import SpectralSums
from hexcursion_peers.neural.encoder import Encoder
from hexcursion_peers.neural.inputs import Sighting, network_inputs
from hexcursion_peers.neural.lattice import Window
from hexcursion_peers.neural.weights import network

Accounting = Literal["joint", "paper"]
"""How both channels are priced: together, as they change together, or one by one and composed."""

NARROWEST, WIDEST = 0.08, 0.6
"""Widths of the encoder that the network can read, window units."""

_UP = 1.0 + 2.0**-48


def composed_mu(products: InnerProducts, noise: SpectralNoise) -> float:
    """The paper's price, each channel by itself: `mu^2 = 4 k/sums^2 + D/counts^2`, rounded upwards.
    Raises InvalidValue if the noise is that of one channel."""
    if noise.counts is None:
        raise InvalidValue("the paper prices two channels: give the noise of both.")
    square = 4.0 * products.largest_square / noise.sums**2 + products.widest_square / noise.counts**2
    return math.sqrt(square * _UP) * _UP


def priced(products: InnerProducts, noise: SpectralNoise, accounting: Accounting) -> float:
    """Proved Gaussian-DP parameter of one release, an upper bound (docs/convcnp.md, Theorems 1 and 2)."""
    return release_mu(products, noise) if accounting == "joint" else composed_mu(products, noise)


def channel_noise(mu: float, products: InnerProducts, accounting: Accounting) -> SpectralNoise:
    """Noise of both channels that costs at most mu, in the proportion that serves both accountings best."""
    noise = noise_for(mu, products)
    if accounting == "joint":
        return noise
    assert noise.counts is not None
    factor = composed_mu(products, noise) / mu * _UP**16
    return SpectralNoise(noise.sums * factor, noise.counts * factor)


@dataclass(frozen=True)
class PublicInputs:
    """The further inputs of a network, all of them public: the number of records, mean and deviation of
    the field in response units, and the scatter of a record in units of that deviation."""

    number: int
    middle: float
    spread: float
    ridge: float


@dataclass(frozen=True, eq=False)
class EncoderPlan:
    """Everything public that depends on the domain and on the encoder's width."""

    window: Window
    nodes: Nodes
    encoder: Encoder
    features: Features
    products: InnerProducts

    @classmethod
    def of(cls, lattice: Lattice, window: Window, nodes: Nodes, width: float) -> EncoderPlan:
        """For a width of the encoder in metres, and the window and nodes of a public domain. Raises
        InvalidValue for a width that the network was not trained for."""
        share = width / window.half
        if not NARROWEST <= share <= WIDEST:
            raise InvalidValue(
                f"the encoder's width must lie between {NARROWEST * window.half:,.0f} and "
                f"{WIDEST * window.half:,.0f} m on this domain, got {width:,.0f} m."
            )
        encoder = Encoder.of(share)
        places = (nodes.lattice.domain_centres - window.centre) / window.half
        features = Features.of("set-convolution", encoder.rows(places))
        return cls(window, nodes, encoder, features, inner_products(features))

    def field(
        self,
        sums: Floats,
        counts: Floats,
        noise: SpectralNoise,
        read: PublicInputs,
    ) -> tuple[Floats, Floats]:
        """(R, N) mean and deviation of the field at the cells, response units, from `sums` and `counts`
        (R, p) of R releases, the deviations of their noise, and the public inputs."""
        releases = sums.shape[0]
        middle, spread, ridge = read.middle, read.spread, read.ridge
        same = np.ones(releases)
        assert noise.counts is not None
        sighting = Sighting(
            self.encoder.pixels(sums),
            self.encoder.pixels(counts),
            noise.sums * same,
            noise.counts * same,
            float(read.number) * same,
            middle * same,
            spread * same,
            ridge * same,
            np.broadcast_to(self.window.mask, (releases, *self.window.mask.shape)),
        )
        mean, sd = network()(*network_inputs(sighting, [self.encoder] * releases))
        flat = (releases, -1)
        return (
            middle + spread * (self.window.reading @ mean.reshape(flat).T.astype(float)).T,
            spread * (self.window.reading @ sd.reshape(flat).T.astype(float)).T,
        )

    def deviates(self, released: SpectralSums, read: PublicInputs, paths: int, entropy: Entropy) -> Floats:
        """(paths, N) deviates of variance 1 that vary together over the encoder's width: multiples of
        the field's deviation at the cells."""
        white = entropy.normal((self.features.size, paths))
        between = self.nodes.spread(np.ascontiguousarray((self.features.values @ white).T))
        return between if self.nodes.one_to_one else between / self._narrowing

    @cached_property
    def _narrowing(self) -> Floats:
        """(N,) deviation at each cell of an interpolation between nodes of variance 1."""
        values = self.features.values
        return np.asarray(np.sqrt(self.nodes.spread_variance(values @ values.T)))
