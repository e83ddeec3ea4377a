"""What the network sees: the noisy channels, brought to a common scale and smoothed at four public widths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.linalg import Floats
from hexcursion_peers.neural.encoder import Encoder
from hexcursion_peers.neural.lattice import AXIS, PIXEL, SIDE

BLURS = (0.0, 1.5, 3.0, 6.0)
"""Standard deviations of the smoothing, pixels."""

CHANNELS = 2 * len(BLURS) + 3
"""Per blur an estimate of the field and its reliability; the raw channels; the domain."""

CONTEXT = 7
"""Numbers that are the same everywhere: noises, width, number of records, and the belief about the field."""

Single = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Sighting:
    """The outputs of the encoder for B tasks, and the public inputs.

    `signal` and `density` (B, SIDE, SIDE): released functions at the pixels, sums of clipped responses,
    and of ones, times the kernel, plus noise; `signal_noise` and `density_noise` (B,) are the noise's
    deviations at a pixel. `number` (B,): public numbers of records. `middle`, `spread` and `ridge` (B,):
    public beliefs: mean and deviation of the field, response units, and scatter of a record in units of
    that deviation. `mask` (B, SIDE, SIDE): pixels of the domain."""

    signal: Floats
    density: Floats
    signal_noise: Floats
    density_noise: Floats
    number: Floats
    middle: Floats
    spread: Floats
    ridge: Floats
    mask: NDArray[np.bool_]


def blur_matrix(width: float) -> Floats:
    """(SIDE, SIDE) Gaussian smoothing along one axis, rows summing to 1; `width` in pixels, 0 for none."""
    if width == 0.0:
        return np.eye(SIDE)
    weight = np.exp(-np.square((AXIS[:, None] - AXIS[None, :]) / (PIXEL * width)) / 2.0)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


_MATRICES = tuple(blur_matrix(width) for width in BLURS)


def usual_density(encoder: Encoder, mask: NDArray[np.bool_]) -> float:
    """Mean over the domain, of pixels `mask` (SIDE, SIDE), of the density channel of one record that
    lies anywhere in it."""
    inside = mask.astype(float)
    return float((encoder.gram @ inside @ encoder.gram * inside).sum() / inside.sum() ** 2)


def network_inputs(sighting: Sighting, encoders: Sequence[Encoder]) -> tuple[Single, Single]:
    """Channels (B, CHANNELS, SIDE, SIDE) and context (B, CONTEXT) of B tasks with their encoders.

    In units where evenly spread records have density 1 and the field deviation 1, let D and S be a smoothed
    density and the smoothed signal less `middle` times D, and s the deviation of the noise in S. Were the
    field constant, unit normal a priori and records without scatter, it would have posterior mean
    `D S/(D^2 + s^2)`: that, and `D^2/(D^2 + s^2)`, are the two channels of each blur.
    """
    share = np.array(
        [usual_density(encoder, mask) for encoder, mask in zip(encoders, sighting.mask, strict=True)]
    )
    unit = (share * sighting.number)[:, None, None]
    density = sighting.density / unit
    signal = (sighting.signal - sighting.middle[:, None, None] * sighting.density) / (
        unit * sighting.spread[:, None, None]
    )
    density_noise = sighting.density_noise / unit[:, 0, 0]
    signal_noise = np.hypot(sighting.signal_noise, sighting.middle * sighting.density_noise) / (
        unit[:, 0, 0] * sighting.spread
    )
    channels = np.empty((sighting.number.size, CHANNELS, SIDE, SIDE), dtype=np.float32)
    grams = np.array([encoder.gram for encoder in encoders])
    for number, matrix in enumerate(_MATRICES):
        axis = np.sqrt(np.einsum("ij,bjk,ik->bi", matrix, grams, matrix))
        noise = signal_noise[:, None, None] * axis[:, :, None] * axis[:, None, :]
        d, s = np.maximum(matrix @ density @ matrix.T, 0.0), matrix @ signal @ matrix.T
        total = np.square(d) + np.square(noise) + 1e-6
        channels[:, 2 * number] = np.clip(d * s / total, -6.0, 6.0)
        channels[:, 2 * number + 1] = np.square(d) / total
    channels[:, -3] = signal / np.sqrt(1.0 + np.square(signal_noise))[:, None, None]
    channels[:, -2] = density / np.sqrt(1.0 + np.square(density_noise))[:, None, None]
    channels[:, -1] = sighting.mask
    np.clip(channels, -8.0, 8.0, out=channels)
    width = np.array([encoder.width for encoder in encoders])
    context = np.column_stack(
        [
            np.log(signal_noise) / 3.0,
            np.log(density_noise) / 3.0,
            np.log(width / 0.2),
            np.log(sighting.number / 2e3) / 3.0,
            np.log(sighting.ridge),
            np.log(sighting.spread / 0.4),
            2.0 * sighting.middle,
        ]
    )
    return channels, np.clip(context, -6.0, 6.0).astype(np.float32)
