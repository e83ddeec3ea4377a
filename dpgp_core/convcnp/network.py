"""The network: a small U-Net on the lattice, run forward in NumPy from stored weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dpgp_core.convcnp.inputs import CHANNELS, CONTEXT, Single
from dpgp_core.errors import InvalidValue

WIDTHS = (24, 48, 64, 64)
"""Channels of the four levels; each level has half the pixels of the one before along each axis."""

HIDDEN = 32
"""Units of the layer that reads the context."""

LEAST_SD = 0.02
"""Least deviation that the network can state, in units of the public spread."""

BLOCKS: tuple[tuple[str, int, int], ...] = (
    ("down0a", CHANNELS, WIDTHS[0]), ("down0b", WIDTHS[0], WIDTHS[0]),
    ("down1a", WIDTHS[0], WIDTHS[1]), ("down1b", WIDTHS[1], WIDTHS[1]),
    ("down2a", WIDTHS[1], WIDTHS[2]), ("down2b", WIDTHS[2], WIDTHS[2]),
    ("down3a", WIDTHS[2], WIDTHS[3]), ("down3b", WIDTHS[3], WIDTHS[3]),
    ("up2", WIDTHS[3] + WIDTHS[2], WIDTHS[2]),
    ("up1", WIDTHS[2] + WIDTHS[1], WIDTHS[1]),
    ("up0", WIDTHS[1] + WIDTHS[0], WIDTHS[0]),
)  # fmt: skip
"""Convolutions of 3 by 3 pixels: name, channels in, channels out."""


def shapes() -> dict[str, tuple[int, ...]]:
    """Name and shape of every array of weights."""
    found: dict[str, tuple[int, ...]] = {"context.weight": (HIDDEN, CONTEXT), "context.bias": (HIDDEN,)}
    for name, into, out in BLOCKS:
        found[f"{name}.weight"] = (out, into, 3, 3)
        found[f"{name}.bias"] = (out,)
        found[f"{name}.context"] = (out, HIDDEN)
    found["head.weight"] = (2, WIDTHS[0] + CHANNELS)
    found["head.context"] = (2, HIDDEN)
    found["head.bias"] = (2,)
    return found


def convolved(x: Single, weight: Single) -> Single:
    """(B, out, H, W) 3 by 3 convolution with zeros beyond the border, as one matrix product per image."""
    batch, channels, high, wide = x.shape
    padded = np.zeros((batch, channels, high + 2, wide + 2), dtype=x.dtype)
    padded[:, :, 1:-1, 1:-1] = x
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    columns = np.ascontiguousarray(windows.transpose(0, 1, 4, 5, 2, 3)).reshape(
        batch, channels * 9, high * wide
    )
    return np.asarray(weight.reshape(weight.shape[0], -1) @ columns).reshape(batch, -1, high, wide)


def halved(x: Single) -> Single:
    """(B, C, H/2, W/2) means of two by two pixels."""
    return np.asarray((x[:, :, ::2, ::2] + x[:, :, 1::2, ::2] + x[:, :, ::2, 1::2] + x[:, :, 1::2, 1::2]) / 4)


def doubled(x: Single) -> Single:
    """(B, C, 2 H, 2 W) every pixel four times."""
    return np.repeat(np.repeat(x, 2, axis=2), 2, axis=3)


@dataclass(frozen=True, eq=False)
class Network:
    """The trained network; its weights are public, made from simulated data alone.

    Parameters
    ----------
    weights : mapping of str to ndarray of float32
        As `shapes` names them.
    """

    weights: Mapping[str, Single]

    def __post_init__(self) -> None:
        wanted = shapes()
        if set(self.weights) != set(wanted):
            raise InvalidValue("these weights are of another network: install the program again.")
        for name, shape in wanted.items():
            found = self.weights[name]
            if found.shape != shape or found.dtype != np.float32 or not np.all(np.isfinite(found)):
                raise InvalidValue(f"the weights {name!r} are damaged: install the program again.")

    def __call__(self, channels: Single, context: Single) -> tuple[Single, Single]:
        """Mean and deviation (B, H, W) of the field, in units of the public spread around the middle."""
        w = self.weights
        told = np.maximum(context @ w["context.weight"].T + w["context.bias"], 0.0)

        def block(name: str, x: Single) -> Single:
            shift = w[f"{name}.bias"] + told @ w[f"{name}.context"].T
            return np.asarray(np.maximum(convolved(x, w[f"{name}.weight"]) + shift[:, :, None, None], 0.0))

        levels, x = [], channels
        for level in range(4):
            x = block(f"down{level}b", block(f"down{level}a", x if level == 0 else halved(x)))
            levels.append(x)
        for level in (2, 1, 0):
            x = block(f"up{level}", np.concatenate([doubled(x), levels[level]], axis=1))
        x = np.concatenate([x, channels], axis=1)
        shift = w["head.bias"] + told @ w["head.context"].T
        out = np.einsum("oc,bchw->bohw", w["head.weight"], x) + shift[:, :, None, None]
        return out[:, 0], np.logaddexp(out[:, 1], np.float32(0.0)) + np.float32(LEAST_SD)
