"""Simulated fields for training, none of them real: Gaussian processes, plumes, steps and sawteeth."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dpgp_core.linalg import Floats

FINE = 64
"""Cells along each axis of the simulated domains: two by two to a pixel."""

STEP = 2.0 / FINE
POINTS: Floats = np.asarray(-1.0 + STEP * (np.arange(FINE) + 0.5), dtype=np.float64)
"""(FINE,) middles of the simulated cells along either axis, window units."""

_TORUS = 128  # cells of the torus on which Gaussian fields are drawn: twice as wide as the window

Kind = Literal["smooth", "rough", "plumes", "steps", "sawtooth", "mixed"]
KINDS: tuple[Kind, ...] = ("smooth", "rough", "plumes", "steps", "sawtooth", "mixed")
SHARES = (0.22, 0.25, 0.2, 0.15, 0.08, 0.1)


def _turned(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(FINE, FINE) coordinates along and across a random direction."""
    angle = rng.uniform(0.0, 2.0 * np.pi)
    first, second = np.meshgrid(POINTS, POINTS, indexing="ij")
    cos, sin = np.cos(angle), np.sin(angle)
    return cos * first + sin * second, cos * second - sin * first


def gaussian_field(
    rng: np.random.Generator, lengthscale: float, smoothness: float, stretch: float = 1.0
) -> Floats:
    """(FINE, FINE) a stationary Gaussian field of variance about 1 on a torus twice as wide as the window.

    `lengthscale` is in window units; `smoothness` is nu of the Matern family, inf for the Gaussian
    kernel; `stretch` is the ratio of the ranges along and across a random direction."""
    wave = 2.0 * np.pi * np.fft.fftfreq(_TORUS, STEP)
    angle = rng.uniform(0.0, np.pi)
    first, second = np.meshgrid(wave, wave, indexing="ij")
    along, across = (
        np.cos(angle) * first + np.sin(angle) * second,
        np.cos(angle) * second - np.sin(angle) * first,
    )
    square = lengthscale**2 * (np.square(along) * stretch + np.square(across) / stretch)
    if np.isinf(smoothness):
        spectrum = np.exp(-square / 2.0)
    else:
        spectrum = (1.0 + square / (2.0 * smoothness)) ** (-smoothness - 1.0)
    white = rng.standard_normal((_TORUS, _TORUS)) + 1j * rng.standard_normal((_TORUS, _TORUS))
    values = np.fft.fft2(white * np.sqrt(spectrum / spectrum.sum())).real
    return np.asarray(values[:FINE, :FINE])


def plumes(rng: np.random.Generator, most_sources: int = 5) -> Floats:
    """(FINE, FINE) sources whose traces widen and thin out down a common wind."""
    along, across = _turned(rng)
    field = np.zeros((FINE, FINE))
    for _ in range(int(rng.integers(1, most_sources + 1))):
        source, side = rng.uniform(-1.0, 0.6), rng.uniform(-0.9, 0.9)
        distance = along - source
        width = np.exp(rng.uniform(np.log(0.05), np.log(0.2))) + rng.uniform(0.05, 0.35) * np.maximum(
            distance, 0.0
        )
        reach = np.exp(rng.uniform(np.log(0.2), np.log(1.5)))
        front = 1.0 / (1.0 + np.exp(-np.clip(distance / 0.04, -40.0, 40.0)))
        trace = front * np.exp(-np.maximum(distance, 0.0) / reach)
        field += np.exp(rng.uniform(-0.7, 0.7)) * trace * np.exp(-np.square((across - side) / width) / 2.0)
    return field


def steps(rng: np.random.Generator, most_regions: int = 10) -> Floats:
    """(FINE, FINE) regions of constant level around random points."""
    count = int(rng.integers(2, most_regions + 1))
    seeds, level = rng.uniform(-1.0, 1.0, (count, 2)), rng.standard_normal(count)
    first, second = np.meshgrid(POINTS, POINTS, indexing="ij")
    apart = np.square(first[..., None] - seeds[:, 0]) + np.square(second[..., None] - seeds[:, 1])
    return np.asarray(level[np.argmin(apart, axis=2)])


def sawtooth(rng: np.random.Generator) -> Floats:
    """(FINE, FINE) two terms of a sawtooth's Fourier series along a random direction."""
    along, _ = _turned(rng)
    turn = np.exp(rng.uniform(np.log(0.4), np.log(2.0))) * along + rng.uniform()
    return np.asarray(sum(np.sin(2.0 * np.pi * m * turn) / m for m in (1, 2)))


def make_field(kind: Kind, rng: np.random.Generator) -> Floats:
    """(FINE, FINE) a field of a kind, on its own scale."""
    lengthscale = float(np.exp(rng.uniform(np.log(0.1), np.log(0.8))))
    stretch = float(np.exp(rng.uniform(0.0, np.log(3.0)))) if rng.uniform() < 0.5 else 1.0
    if kind == "smooth":
        return gaussian_field(rng, lengthscale, np.inf, stretch)
    if kind == "rough":
        return gaussian_field(rng, lengthscale, float(rng.choice([0.5, 1.5])), stretch)
    if kind == "plumes":
        return plumes(rng)
    if kind == "steps":
        return steps(rng)
    if kind == "sawtooth":
        return sawtooth(rng)
    other = plumes(rng) if rng.uniform() < 0.5 else steps(rng)
    share = rng.uniform(0.3, 0.8)
    smooth = gaussian_field(rng, lengthscale, 1.5, stretch)
    return np.asarray(share * other / max(float(other.std()), 1e-3) + (1.0 - share) * smooth)
