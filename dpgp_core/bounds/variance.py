"""The largest posterior variance V_n that any core of n - 1 records can leave at a point."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core._checks import ridge_array, whole
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

_UP = 1.0 + 4.0 * np.finfo(np.float64).eps  # outward rounding of a handful of operations


def variance_bounds(n: int, ridge: ArrayLike, kappa: ArrayLike = 0.0) -> Floats:
    """Vectorised `variance_bound`: `ridge` and `kappa` broadcast; raises InvalidValue for numbers out of
    range.
    """
    others = whole("n", n) - 1
    r2 = ridge_array(ridge) ** 2
    k = np.asarray(kappa, dtype=np.float64)
    if not np.all((k >= 0.0) & (k <= 1.0)):
        raise InvalidValue("kappa must lie in [0, 1]: it is a lower bound on the prior correlation.")
    # 1 - kappa^2 (n-1)/(n-1+r^2), written without cancellation for kappa near 1.
    value = (1.0 - k) * (1.0 + k) + k * k * (r2 / (others + r2))
    return np.minimum(1.0, value * _UP)


def variance_bound(n: int, ridge: float, kappa: float = 0.0) -> float:
    """Upper bound V_n <= 1 - kappa^2 (n-1)/(n-1+r^2) on the core posterior variance, in (0, 1].

    Exact when the prior has unit variance everywhere and attains kappa. Rounded upwards.
    Source: arXiv:2606.17995 v1, Prop. 3; docs/mathematics.md, section 1.

    Parameters
    ----------
    n
        number of records, whole and >= 1 (V_1 = 1: the core is empty)
    ridge
        effective ridge r > 0
    kappa
        lower bound on the prior correlation over the public domain, in [0, 1]

    Examples
    --------
    >>> variance_bound(600, 5.0)
    1.0
    >>> round(variance_bound(600, 5.0, kappa=0.6), 4)
    0.6544
    """
    return float(variance_bounds(n, ridge, kappa))
