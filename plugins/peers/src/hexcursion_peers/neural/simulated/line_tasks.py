"""Simulated tasks on a line: the paper's laws of the field, records of it, and one noisy release of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from dpgp_core.linalg import Floats
from hexcursion_peers.neural.inputs import Single
from hexcursion_peers.neural.line import CELLS, DOMAIN, FAMILIES, LineEncoder, LineFamily

SCATTER = 0.2
"""Deviation of a record around the field in the synthetic studies."""

LENGTHS: dict[LineFamily, tuple[float, float]] = {
    "eq": (0.25, 2.0),
    "matern": (0.25, 2.0),
    "periodic": (0.4, 1.6),
    "sawtooth": (0.2, 1.25),
    "people": (1.0, 4.0),
}
"""What varies from task to task: a lengthscale, a period for "periodic", waves per unit for "sawtooth"."""

PEOPLE = (0.2, 0.6)  # deviation of a record there
NUMBERS = (1, 512)
MUS = (0.13, 1.3)  # epsilon 1/4 to 4 at delta 1e-3
FADES = 1.5  # lengthscale over which a periodic field changes its shape

_TORUS = 4  # the domain's width is so small a part of the circle on which fields are drawn


@dataclass(frozen=True)
class Law:
    """One law of the field: one of `FAMILIES`, its length as `LENGTHS` says, and the deviation of a
    record around the field."""

    family: LineFamily
    length: float
    scatter: float = SCATTER

    def covariance(self, apart: Floats) -> Floats:
        """Prior covariance at distances of any shape; second moment of the sawtooth, no Gaussian process."""
        d, length = np.abs(apart), self.length
        if self.family == "eq":
            return np.asarray(np.exp(-np.square(d / length) / 2.0))
        if self.family == "periodic":
            turn = np.sin(np.pi * d / length)
            return np.asarray(np.exp(-np.square(d / FADES) / 2.0 - 2.0 * np.square(turn)))
        if self.family == "sawtooth":
            wave = 2.0 * np.pi * length * d
            return np.asarray((np.cos(wave) + np.cos(2.0 * wave) / 4.0) * 2.0 / np.pi**2)
        scaled = math.sqrt(3.0) * d / length
        return np.asarray((1.0 + scaled) * np.exp(-scaled))

    def sawtooth(self, phase: Floats, direction: Floats, places: Floats) -> Floats:
        """(..., M) two terms of the sawtooth's Fourier series."""
        turn = self.length * direction[..., None] * places + phase[..., None]
        return np.asarray(2.0 / np.pi * sum(np.sin(2.0 * np.pi * m * turn) / m for m in (1, 2)))

    def field(self, rng: np.random.Generator) -> Floats:
        """(CELLS,) a field at the public places."""
        if self.family == "sawtooth":
            phase, direction = rng.uniform(), float(rng.choice([-1.0, 1.0]))
            places = 2.0 * DOMAIN * (np.arange(CELLS) + 0.5) / CELLS
            return self.sawtooth(np.array(phase), np.array(direction), places - DOMAIN)
        size = _TORUS * CELLS
        index = np.arange(size)
        apart = np.minimum(index, size - index) * (2.0 * DOMAIN / CELLS)
        spectrum = np.maximum(np.fft.rfft(self.covariance(apart)).real, 0.0)
        white = np.fft.rfft(rng.standard_normal(size))
        return np.asarray(np.fft.irfft(white * np.sqrt(spectrum), size)[:CELLS])


@dataclass(frozen=True, eq=False)
class LineTasks:
    """B tasks: channels and context that the network may see of each, fields (B, CELLS), and scatter
    (B,)."""

    channels: Single
    context: Single
    field: Floats
    scatter: Floats


class LineSimulator:
    """Draws tasks of the training's ranges from a seed; the same seed gives the same tasks."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._encoder = LineEncoder.shared()

    def law(self) -> Law:
        """Any family is as likely as any other."""
        family = cast(LineFamily, str(self._rng.choice(FAMILIES)))
        low, high = LENGTHS[family]
        length = float(np.exp(self._rng.uniform(np.log(low), np.log(high))))
        return Law(family, length, float(self._rng.uniform(*PEOPLE)) if family == "people" else SCATTER)

    def tasks(self, count: int) -> LineTasks:
        """`count` of them, with fresh noise."""
        rng, encoder, rows = self._rng, self._encoder, []
        for _ in range(count):
            law, number = self.law(), int(rng.integers(NUMBERS[0], NUMBERS[1] + 1))
            noise = encoder.noise(float(np.exp(rng.uniform(*np.log(MUS)))))
            field = law.field(rng)
            at = rng.integers(0, CELLS, number)
            responses = field[at] + law.scatter * rng.standard_normal(number)
            sums, counts = encoder.released(at, responses, noise, rng.standard_normal)
            rows.append(
                (
                    sums,
                    counts,
                    (noise.sums, noise.counts),
                    float(number),
                    FAMILIES.index(law.family),
                    field,
                    law.scatter,
                )
            )
        columns: list[NDArray[np.float64]] = [np.array(column) for column in zip(*rows, strict=True)]
        channels, context = encoder.inputs(*columns[:5])
        return LineTasks(channels, context, columns[5], columns[6])
