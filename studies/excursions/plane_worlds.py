"""Simulated plumes on the unit square: two anisotropic bumps through a sigmoid, observed with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import expit

from dpgp_core.noise import Entropy
from studies.excursions.fields import Bools, Floats, Spectrum

PLUMES = 2
WIDTHS = (0.20, 0.35)
ANISOTROPY = 1.4
GAMMA = 5.0
QUANTILE = 0.65
REFERENCE = 80  # points per side on which the sigmoid's centre and the range are taken


def square_grid(side: int) -> Floats:
    """(side^2, 2) grid of [0, 1]^2, row by row."""
    axis = np.linspace(0.0, 1.0, side)
    return np.stack([values.ravel() for values in np.meshgrid(axis, axis)], axis=1)


@dataclass(frozen=True, eq=False)
class Plumes:
    """W fields f = 2 g - 1 in [-1, 1]: g the normalised sigmoid of a sum of plumes (paper, appendix D.1).

    Parameters
    ----------
    centres, shapes, heights
        (W, 2, 2), (W, 2, 2, 2) precision matrices, and (W, 2), of the plumes
    middle
        (W,) centre of the sigmoid
    low, high
        (W,) range of g over the reference grid
    """

    centres: Floats
    shapes: Floats
    heights: Floats
    middle: Floats
    low: Floats
    high: Floats

    @staticmethod
    def draw(count: int, entropy: Entropy) -> Plumes:
        """Uniform centres in [0.15, 0.85]^2, widths, angles, anisotropies and heights in [0.7, 1]."""
        size = (count, PLUMES)
        centres = 0.15 + 0.7 * entropy.uniform((*size, 2))
        width = WIDTHS[0] + (WIDTHS[1] - WIDTHS[0]) * entropy.uniform(size)
        stretch = np.sqrt(1.0 + (ANISOTROPY - 1.0) * entropy.uniform(size))
        angle = np.pi * entropy.uniform(size)
        turn = np.stack(
            [np.stack([np.cos(angle), -np.sin(angle)], -1), np.stack([np.sin(angle), np.cos(angle)], -1)], -2
        )
        scale = np.stack([(width * stretch) ** -2, (width / stretch) ** -2], -1)
        shapes = np.einsum("wkij,wkj,wklj->wkil", turn, scale, turn)
        heights = 0.7 + 0.3 * entropy.uniform(size)
        ones = np.ones(count)
        raw = Plumes(centres, shapes, heights, ones, ones, ones)
        score = raw._scores(np.broadcast_to(square_grid(REFERENCE), (count, REFERENCE**2, 2)))
        middle = np.quantile(score, QUANTILE, axis=1)
        value = expit(GAMMA * (score - middle[:, None]))
        return Plumes(centres, shapes, heights, middle, value.min(axis=1), value.max(axis=1))

    @property
    def size(self) -> int:
        """Number W of fields."""
        return int(self.middle.size)

    def at(self, points: Floats) -> Floats:
        """(W, m) values at points (m, 2) shared by all worlds, or (W, m, 2) of each."""
        places = np.broadcast_to(points, (self.size, *points.shape[-2:]))
        value = expit(GAMMA * (self._scores(places) - self.middle[:, None]))
        unit = (value - self.low[:, None]) / (self.high - self.low)[:, None]
        return np.asarray(np.clip(2.0 * unit - 1.0, -1.0, 1.0))

    def _scores(self, places: Floats) -> Floats:
        total = np.zeros(places.shape[:2])
        for k in range(PLUMES):
            shift = places - self.centres[:, None, k]
            square = np.einsum("wmi,wij,wmj->wm", shift, self.shapes[:, k], shift)
            total += self.heights[:, k, None] * np.exp(-0.5 * square)
        return total


@dataclass(frozen=True, eq=False)
class PlaneWorlds:
    """W worlds on the unit square.

    Parameters
    ----------
    plumes
        the fields
    x
        (W, n, 2) sensors
    f_x
        (W, n) the field there, without noise
    u
        (W, n) noise, uniform on (-1, 1)
    """

    plumes: Plumes
    x: Floats
    f_x: Floats
    u: Floats

    @staticmethod
    def draw(count: int, n: int, entropy: Entropy) -> PlaneWorlds:
        """Draw `count` fields with n sensors each, uniform on the square."""
        plumes = Plumes.draw(count, entropy)
        x = entropy.uniform((count, n, 2))
        return PlaneWorlds(plumes, x, plumes.at(x), 2.0 * entropy.uniform((count, n)) - 1.0)

    @property
    def size(self) -> int:
        """Number W of worlds."""
        return self.plumes.size

    def truth(self, side: int) -> Bools:
        """(W, side^2) where the field exceeds 0."""
        return np.asarray(self.plumes.at(square_grid(side)) > 0.0)

    def responses(self, noise: float) -> Floats:
        """(W, n) observations (1 - M_xi) f + M_xi u."""
        return np.asarray((1.0 - noise) * self.f_x + noise * self.u)

    def spectrum(self, world: int, lengthscale: float, points: Floats) -> Spectrum:
        """The eigendecomposition of one world's correlation matrix, with features at points (G, 2)."""
        x = self.x[world]
        return Spectrum.of(np.exp(-cdist(x, x) / lengthscale), np.exp(-cdist(points, x) / lengthscale))
