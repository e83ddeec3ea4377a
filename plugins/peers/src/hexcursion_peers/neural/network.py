"""The networks: small U-Nets on a lattice or on a line, run forward in NumPy from stored weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpgp_core.errors import InvalidValue
from hexcursion_peers.neural.inputs import CHANNELS, CONTEXT, Single

HIDDEN = 32
"""Units of the layer that reads the context."""

LEAST_SD = 0.02
"""Least deviation that a network can state, in units of the public spread."""


@dataclass(frozen=True)
class Layout:
    """The sizes of a network.

    `channels`, `context`: channels that it sees at every pixel, and numbers that are the same
    everywhere. `widths`: channels of the levels; each level has half the pixels of the one before along
    each axis. `taps`: pixels that a convolution sees along each axis: two odd numbers for a map, one for
    a line."""

    channels: int
    context: int
    widths: tuple[int, ...]
    taps: tuple[int, ...]

    @property
    def blocks(self) -> tuple[tuple[str, int, int], ...]:
        """The convolutions in the order in which they are taken: name, channels in, channels out."""
        down, up, into = [], [], self.channels
        for level, width in enumerate(self.widths):
            down += [(f"down{level}a", into, width), (f"down{level}b", width, width)]
            if level:
                up.append((f"up{level - 1}", width + into, into))
            into = width
        return (*down, *reversed(up))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every array of weights."""
        shapes: dict[str, tuple[int, ...]] = {
            "context.weight": (HIDDEN, self.context),
            "context.bias": (HIDDEN,),
        }
        for name, into, out in self.blocks:
            shapes[f"{name}.weight"] = (out, into, *self.taps)
            shapes[f"{name}.bias"] = (out,)
            shapes[f"{name}.context"] = (out, HIDDEN)
        shapes["head.weight"] = (2, self.widths[0] + self.channels)
        shapes["head.context"] = (2, HIDDEN)
        shapes["head.bias"] = (2,)
        return shapes


MAP = Layout(CHANNELS, CONTEXT, (24, 48, 64, 64), (3, 3))
"""The network of the mechanism."""


def convolved(x: Single, weight: Single) -> Single:
    """(B, out, ...) convolution with zeros beyond the border, as one matrix product per image."""
    taps = weight.shape[2:]
    axes = tuple(range(2, 2 + len(taps)))
    padded = np.pad(x, [(0, 0), (0, 0), *((tap // 2, tap // 2) for tap in taps)])
    windows = np.moveaxis(
        np.lib.stride_tricks.sliding_window_view(padded, taps, axis=axes),
        axes,
        [-n for n in range(len(taps), 0, -1)],
    )
    columns = np.ascontiguousarray(windows).reshape(x.shape[0], x.shape[1] * math.prod(taps), -1)
    return np.asarray(weight.reshape(weight.shape[0], -1) @ columns).reshape(x.shape[0], -1, *x.shape[2:])


def halved(x: Single) -> Single:
    """Means of neighbouring pixels, two along each axis after the second."""
    for axis in range(2, x.ndim):
        even, odd = (x.take(range(first, x.shape[axis], 2), axis) for first in (0, 1))
        x = np.asarray((even + odd) / np.float32(2.0))
    return x


def doubled(x: Single) -> Single:
    """Every pixel twice along each axis after the second."""
    for axis in range(2, x.ndim):
        x = np.repeat(x, 2, axis=axis)
    return x


def everywhere(x: Single, axes: int) -> Single:
    """(B, C) as (B, C, 1, ...), to be added at every pixel."""
    return x.reshape(*x.shape, *[1] * axes)


@dataclass(frozen=True, eq=False)
class Network:
    """The trained network; its weights are public, made from simulated data alone, and named by the
    layout's `shapes`."""

    weights: Mapping[str, Single]
    layout: Layout = MAP

    def __post_init__(self) -> None:
        shapes = self.layout.shapes()
        if set(self.weights) != set(shapes):
            raise InvalidValue("these weights are of another network: install the program again.")
        for name, shape in shapes.items():
            weight = self.weights[name]
            if weight.shape != shape or weight.dtype != np.float32 or not np.all(np.isfinite(weight)):
                raise InvalidValue(f"the weights {name!r} are damaged: install the program again.")

    def __call__(self, channels: Single, context: Single) -> tuple[Single, Single]:
        """Mean and deviation (B, ...) of the field, in units of the public spread around the middle."""
        w, axes = self.weights, len(self.layout.taps)
        hidden = np.maximum(context @ w["context.weight"].T + w["context.bias"], 0.0)

        def block(name: str, x: Single) -> Single:
            shift = w[f"{name}.bias"] + hidden @ w[f"{name}.context"].T
            return np.asarray(np.maximum(convolved(x, w[f"{name}.weight"]) + everywhere(shift, axes), 0.0))

        levels, x = [], channels
        for level in range(len(self.layout.widths)):
            x = block(f"down{level}b", block(f"down{level}a", x if level == 0 else halved(x)))
            levels.append(x)
        for level in reversed(range(len(levels) - 1)):
            x = block(f"up{level}", np.concatenate([doubled(x), levels[level]], axis=1))
        x = np.concatenate([x, channels], axis=1)
        shift = w["head.bias"] + hidden @ w["head.context"].T
        out = np.einsum("oc,bc...->bo...", w["head.weight"], x) + everywhere(shift, axes)
        return out[:, 0], np.logaddexp(out[:, 1], np.float32(0.0)) + np.float32(LEAST_SD)
