"""Simulated tasks for training and for calibration: a field, records of it, and one noisy release of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.linalg import Floats
from hexcursion_peers.neural.encoder import Encoder
from hexcursion_peers.neural.inputs import Sighting
from hexcursion_peers.neural.lattice import AXIS, REACH, SIDE
from hexcursion_peers.neural.simulated.fields import (
    FINE,
    KINDS,
    POINTS,
    SHARES,
    Kind,
    gaussian_field,
    make_field,
)

WIDTHS = (0.1, 0.15, 0.22, 0.33, 0.5)
"""Widths of the encoder that the network is trained for, window units."""

NUMBERS = (100.0, 30_000.0)
MUS = (0.06, 3.0)
RIDGES = (0.15, 4.0)
SPREADS = (0.1, 0.8)
"""Ranges of the training, each drawn evenly on a logarithmic scale."""


LARGEST = 4.0
"""Fields beyond so many public spreads count as that in the training."""


def _finer() -> Floats:
    """(FINE, SIDE) linear interpolation from the pixels to the simulated cells along one axis."""
    at = np.clip((np.arange(FINE) + 0.5) * SIDE / FINE - 0.5, 0.0, SIDE - 1.0)
    return np.asarray(np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(SIDE)[None, :])))


_FINER = _finer()


def finer(pixels: NDArray[np.floating]) -> Floats:
    """(..., FINE, FINE) values at the simulated cells from values (..., SIDE, SIDE) at the pixels."""
    return np.asarray(_FINER @ pixels @ _FINER.T, dtype=float)


@dataclass(frozen=True, eq=False)
class Tasks:
    """B simulated tasks: what the network may see of each, with its encoders; the fields without noise
    `truth` (B, FINE, FINE) in units of the public belief, (field - middle)/spread; and `inside` (B,
    FINE, FINE), the simulated cells of the domain."""

    seen: Sighting
    encoders: tuple[Encoder, ...]
    truth: Floats
    inside: NDArray[np.bool_]


def log_uniform(rng: np.random.Generator, ends: tuple[float, float]) -> float:
    return float(np.exp(rng.uniform(np.log(ends[0]), np.log(ends[1]))))


def random_domain(rng: np.random.Generator) -> NDArray[np.bool_]:
    """(SIDE, SIDE) pixels of a simulated domain: a rectangle, an ellipse or a blob that fills the window."""
    first, second = np.meshgrid(AXIS, AXIS, indexing="ij")
    a, b = REACH, REACH * rng.uniform(0.5, 1.0)
    if rng.uniform() < 0.5:
        a, b = b, a
    shape = rng.integers(3)
    if shape == 0:
        return np.asarray((np.abs(first) <= a) & (np.abs(second) <= b))
    level = np.square(first / a) + np.square(second / b)
    if shape == 1:
        return np.asarray(level <= 1.0)
    rough = gaussian_field(rng, 0.4, 1.5)[::2, ::2]
    blob = (level + 0.3 * rough <= 1.0) & (np.abs(first) <= REACH) & (np.abs(second) <= REACH)
    return np.asarray(blob if blob.sum() > 100 else level <= 1.0)


def _density(rng: np.random.Generator, inside: NDArray[np.bool_], field: Floats) -> Floats:
    """(FINE, FINE) chances of a record's cell: even, or crowded, sometimes where the field is high or low."""
    chance = np.ones((FINE, FINE))
    if rng.uniform() < 0.7:
        rough = gaussian_field(rng, log_uniform(rng, (0.15, 0.8)), 1.5)
        chance = np.exp(rng.uniform(0.3, 1.8) * rough)
    if rng.uniform() < 0.3:
        chance = chance * np.exp(rng.uniform(-0.7, 0.7) * field)
    chance = np.where(inside, chance, 0.0)
    return np.asarray(chance / chance.sum())


def _records(
    rng: np.random.Generator, chance: Floats, field: Floats, scatter: float, number: int, single: bool
) -> tuple[Floats, Floats]:
    """(FINE, FINE) numbers of records, and sums of their responses clipped to [-1, 1]."""
    if single:
        count = (rng.random(chance.shape) < np.minimum(1.0, number * chance)).astype(np.int64)
        if not count.any():
            count.flat[int(np.argmax(chance))] = 1
    else:
        count = rng.multinomial(number, chance.ravel()).reshape(chance.shape)
    of = np.repeat(np.arange(chance.size), count.ravel())
    responses = np.clip(field.ravel()[of] + scatter * rng.standard_normal(of.size), -1.0, 1.0)
    total = np.asarray(np.bincount(of, responses, minlength=chance.size), dtype=float)
    return count.astype(float), total.reshape(chance.shape)


@dataclass(frozen=True, eq=False)
class SimulatedWorld:
    """A field on the simulated cells, records of it, and the belief about it.

    `inside` (FINE, FINE): cells of the domain. `truth` (FINE, FINE): the field without noise, in units
    of the public belief, (field - middle)/spread. `middle`, `spread`, `ridge`: the public belief: mean
    and deviation of the field, response units, and scatter of a record in units of that deviation.
    `count`, `total` (FINE, FINE): records of each cell, and the sum of their clipped responses. `chance`
    (FINE, FINE): chances of a record's cell. `single`: whether a cell holds at most one record."""

    inside: NDArray[np.bool_]
    truth: Floats
    middle: float
    spread: float
    ridge: float
    count: Floats
    total: Floats
    chance: Floats
    single: bool


def simulated_world(
    rng: np.random.Generator,
    domain: NDArray[np.bool_],
    kinds: Sequence[Kind] | None = None,
    number: int | None = None,
) -> SimulatedWorld:
    """A world on a domain (SIDE, SIDE) of pixels; missing parameters are drawn from the training's ranges."""
    inside = np.repeat(np.repeat(domain, FINE // SIDE, axis=0), FINE // SIDE, axis=1)
    kind = rng.choice(KINDS, p=SHARES) if kinds is None else rng.choice(list(kinds))
    raw = make_field(kind, rng)
    raw = (raw - raw[inside].mean()) / max(float(raw[inside].std()), 1e-3)
    if rng.uniform() < 0.5:
        raw = -raw
    # The public belief is a little wrong, in its place and in its size.
    true = raw * float(np.exp(0.25 * rng.standard_normal())) + 0.25 * rng.standard_normal()
    middle, spread = float(rng.uniform(-0.5, 0.5)), log_uniform(rng, SPREADS)
    ridge = log_uniform(rng, RIDGES)
    field = middle + spread * true
    scatter = spread * ridge * float(np.exp(0.25 * rng.standard_normal()))
    records = int(log_uniform(rng, NUMBERS)) if number is None else number
    single = number is None and rng.uniform() < 0.2
    chance = _density(rng, inside, raw)
    count, total = _records(rng, chance, field, scatter, records, single)
    return SimulatedWorld(inside, true, middle, spread, ridge, count, total, chance, single)


@dataclass(frozen=True, eq=False)
class _Fine:
    """An encoder's features of the simulated cells: products over both axes, divided by their length."""

    along: Floats
    length: Floats

    @classmethod
    def of(cls, encoder: Encoder) -> _Fine:
        along = encoder.along(POINTS)
        square = np.square(along)
        return cls(along, np.sqrt(square @ encoder.kept @ square.T))

    def white(self, sums: Floats, encoder: Encoder) -> Floats:
        """(p,) features summed with the weights (FINE, FINE)."""
        return np.asarray((self.along.T @ (sums / self.length) @ self.along)[encoder.kept])


class Simulator:
    """Draws tasks of any kind from a seed; the same seed gives the same tasks."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._fine = {width: _Fine.of(Encoder.of(width)) for width in WIDTHS}

    def tasks(
        self,
        count: int,
        kinds: Sequence[Kind] | None = None,
        *,
        number: int | None = None,
        mu: float | None = None,
        width: float | None = None,
    ) -> Tasks:
        """`count` tasks; missing parameters are drawn from the training's ranges."""
        rows = [self._one(kinds, number, mu, width) for _ in range(count)]
        columns = list(zip(*rows, strict=True))
        sighting = Sighting(*(np.array(column) for column in columns[:9]))
        return Tasks(sighting, tuple(columns[9]), np.array(columns[10]), np.array(columns[11]))

    def _one(
        self, kinds: Sequence[Kind] | None, number: int | None, mu: float | None, width: float | None
    ) -> tuple[object, ...]:
        rng = self._rng
        domain = random_domain(rng)
        world = simulated_world(rng, domain, kinds, number)
        encoder_width = float(rng.choice(WIDTHS)) if width is None else width
        encoder, fine = Encoder.of(encoder_width), self._fine[encoder_width]
        parameter = log_uniform(rng, MUS) if mu is None else mu
        signal_noise = 2.0 / parameter * (rng.uniform(1.0, 1.45) if mu is None else 1.0)
        density_noise = signal_noise * (rng.uniform(0.65, 1.1) if mu is None else 1.0)
        signal = fine.white(world.total, encoder) + signal_noise * rng.standard_normal(encoder.size)
        density = fine.white(world.count, encoder) + density_noise * rng.standard_normal(encoder.size)
        return (
            encoder.pixels(signal), encoder.pixels(density), signal_noise, density_noise,
            float(world.count.sum()), world.middle, world.spread, world.ridge, domain, encoder, world.truth,
            world.inside,
        )  # fmt: skip
