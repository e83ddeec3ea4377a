"""Simulated worlds on a line: paths of the exponential prior, observed with bounded noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpgp_core.noise import Entropy
from studies.excursions.fields import Bools, Floats, Spectrum, losses

BATCH = 400  # fields drawn at a time until enough are accepted


@dataclass(frozen=True)
class Acceptance:
    """Which true sets a study takes; the limits of the published code's README.

    Parameters
    ----------
    low, high
        least and most volume
    components
        most intervals
    width
        least mean width of an interval
    """

    low: float = 0.1
    high: float = 0.9
    components: int = 13
    width: float = 0.05

    def accepts(self, truth: Bools) -> Bools:
        """(B,) which sets (B, G) on a uniform grid of [0, 1] are taken."""
        volume = truth.mean(axis=1)
        starts = truth[:, 0] + np.sum(truth[:, 1:] & ~truth[:, :-1], axis=1)
        wide = volume >= self.width * np.maximum(starts, 1)
        good = (volume >= self.low) & (volume <= self.high) & (starts <= self.components) & wide
        return np.asarray(good)


def ornstein_uhlenbeck(places: Floats, lengthscale: float, draws: int, entropy: Entropy) -> Floats:
    """(W, draws, m) exact draws of the exponential prior at sorted places (W, m), by its Markov property."""
    worlds, m = places.shape
    decay = np.exp(-np.diff(places, axis=1) / lengthscale)
    kick = np.sqrt(np.maximum(1.0 - decay**2, 0.0))
    field = entropy.normal((worlds, draws, m))
    for k in range(1, m):
        field[:, :, k] = decay[:, k - 1, None] * field[:, :, k - 1] + kick[:, k - 1, None] * field[:, :, k]
    return field


@dataclass(frozen=True, eq=False)
class LineWorlds:
    """W worlds on [0, 1]: noisy records of paths of the exponential prior with lengthscale 1.

    Each path is divided by its largest absolute value over grid and covariates, so that it lies in [-1, 1].

    Parameters
    ----------
    grid
        (G,) points
    x
        (W, n) covariates
    f_x, f_grid
        (W, n) and (W, G) the path there
    u
        (W, n) noise, uniform on (-1, 1)
    """

    grid: Floats
    x: Floats
    f_x: Floats
    f_grid: Floats
    u: Floats

    @staticmethod
    def draw(count: int, n: int, cells: int, entropy: Entropy, accept: Acceptance) -> LineWorlds:
        """Draw worlds until `count` true sets are accepted."""
        grid = np.linspace(0.0, 1.0, cells)
        kept: list[tuple[Floats, Floats, Floats]] = []
        while sum(part[0].shape[0] for part in kept) < count:
            x = entropy.uniform((BATCH, n))
            at_grid, at_x = joint_draws(grid, x, 1.0, 1, entropy)
            field_grid, field_x = at_grid[:, 0], at_x[:, 0]
            size = np.maximum(np.abs(field_grid).max(axis=1), np.abs(field_x).max(axis=1))[:, None]
            good = accept.accepts(field_grid > 0.0)
            kept.append((x[good], (field_x / size)[good], (field_grid / size)[good]))
        x, f_x, f_grid = (np.concatenate([part[k] for part in kept])[:count] for k in range(3))
        return LineWorlds(grid, x, f_x, f_grid, 2.0 * entropy.uniform((count, n)) - 1.0)

    @property
    def size(self) -> int:
        """Number W of worlds."""
        return int(self.x.shape[0])

    @property
    def truth(self) -> Bools:
        """(W, G) where the field exceeds 0."""
        return np.asarray(self.f_grid > 0.0)

    @property
    def weight(self) -> Floats:
        """(G,) trapezoidal weights that sum to 1."""
        weight = np.ones(self.grid.size)
        weight[[0, -1]] = 0.5
        return np.asarray(weight / weight.sum())

    def responses(self, noise: float) -> Floats:
        """(W, n) observations (1 - M_xi) f + M_xi u, in [-1, 1] (paper, equation 8)."""
        return np.asarray((1.0 - noise) * self.f_x + noise * self.u)

    def spectrum(self, world: int, lengthscale: float) -> Spectrum:
        """The eigendecomposition of one world's correlation matrix."""
        x = self.x[world]
        return Spectrum.of(
            np.exp(-np.abs(x[:, None] - x) / lengthscale),
            np.exp(-np.abs(self.grid[:, None] - x) / lengthscale),
        )


class MeanLosses:
    """Mean BCE over worlds for each noise level; spectra of the last few lengthscales are shared by all."""

    def __init__(self, worlds: LineWorlds, noises: tuple[float, ...]) -> None:
        self._worlds = worlds
        self._responses = {noise: worlds.responses(noise) for noise in noises}
        self._kept: dict[float, list[Spectrum]] = {}

    def at(self, noise: float, lengthscale: float, ridges: Floats, scales: Floats) -> Floats:
        """(R, S) mean losses."""
        worlds, total = self._worlds, np.zeros(scales.shape)
        for world, spectrum in enumerate(self._spectra(lengthscale)):
            mean = spectrum.mean(self._responses[noise][world], ridges)
            variance = spectrum.variance(ridges)
            total += losses(mean, variance, scales, worlds.truth[world], worlds.weight)
        return np.asarray(total / worlds.size)

    def _spectra(self, lengthscale: float) -> list[Spectrum]:
        if lengthscale not in self._kept:
            bytes_each = 8 * self._worlds.x.shape[1] * self._worlds.grid.size * self._worlds.size
            while self._kept and (len(self._kept) + 1) * bytes_each > 1_500_000_000:
                self._kept.pop(next(iter(self._kept)))
            self._kept[lengthscale] = [
                self._worlds.spectrum(world, lengthscale) for world in range(self._worlds.size)
            ]
        return self._kept[lengthscale]


def joint_draws(
    grid: Floats, x: Floats, lengthscale: float, draws: int, entropy: Entropy
) -> tuple[Floats, Floats]:
    """Joint prior draws on the grid (W, draws, G) and at the covariates (W, draws, n)."""
    places = np.concatenate([np.broadcast_to(grid, (x.shape[0], grid.size)), x], axis=1)
    order = np.argsort(places, axis=1, kind="stable")
    sorted_field = ornstein_uhlenbeck(np.take_along_axis(places, order, axis=1), lengthscale, draws, entropy)
    field = np.empty_like(sorted_field)
    np.put_along_axis(field, np.broadcast_to(order[:, None, :], field.shape), sorted_field, axis=2)
    return field[:, :, : grid.size], field[:, :, grid.size :]
