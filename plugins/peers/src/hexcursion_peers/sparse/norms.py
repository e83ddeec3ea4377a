"""How long the vector of kernels between one place and all inducing points can be: proved upper bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core._checks import positive
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

_POINTS = 8_001  # per axis
_UP = 1.0 + 2.0**-40


def grid_norm(axes: Sequence[ArrayLike], lengthscales: Sequence[float]) -> float:
    """The squared exponential kernel on a product grid: exact up to a proved margin of about 1e-6.

    `axes` (k,) are the grid's coordinates along each axis, whose numbers k may differ; `lengthscales`
    are l of `exp(-(x - z)^2/(2 l^2))` along each, same unit. The result is `max_x sum_z k(x, z)^2`,
    rounded upwards. The squared kernel factorises, so the maximum is a product of maxima along the axes.
    On each axis it lies between the outermost points; a fine search may miss it by at most `h^2/8 max
    |f''|`, with `|f''| <= 2 m/l^2`, which is added. Raises InvalidValue if there is not one positive
    lengthscale for each axis."""
    if len(axes) != len(lengthscales) or not axes:
        raise InvalidValue("a grid needs one lengthscale for each axis.")
    product = 1.0
    for axis, lengthscale in zip(axes, lengthscales, strict=True):
        points = np.asarray(axis, dtype=np.float64)
        scale = positive("lengthscale", lengthscale)
        fine = np.linspace(points.min(), points.max(), _POINTS)
        step = float(fine[1] - fine[0])
        values = np.exp(-np.square((fine[:, None] - points) / scale)).sum(axis=1)
        product *= float(values.max()) + step**2 / 8.0 * 2.0 * points.size / scale**2
    return product * _UP


def largest_norm(features: Floats) -> float:
    """Largest squared length of the features (N, m) of one public place, rounded upwards: exact."""
    return float(np.einsum("ij,ij->i", features, features).max()) * _UP
