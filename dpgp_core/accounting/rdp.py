"""The Renyi divergence bound of posterior paths: exact covariance term, mean term, prior noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpgp_core._checks import positive_array, renyi_orders, ridge_array, variance_array, whole
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats

_EPS = float(np.finfo(np.float64).eps)


def leverage(ridge: ArrayLike, variance: ArrayLike, noise_share: ArrayLike = 0.0) -> Floats:
    """p = (1 - share) V_n/(V_n + r^2), in [0, 1), rounded upwards: the most of any direction that one record
    explains.

    Orders are admissible while alpha p < 1, that is alpha < 1 + 1/tau~ (paper, Prop. 2). The share,
    eta^2/(sigma^2 + eta^2) in [0, 1], is that of extra prior noise in the released variance. Scalars or
    arrays that broadcast. Raises InvalidValue for r outside [1e-6, 1e9], V_n outside (0, 1] or a share
    outside [0, 1].
    """
    r2 = ridge_array(ridge) ** 2
    v = variance_array(variance)
    share = np.asarray(noise_share, dtype=np.float64)
    if not np.all((share >= 0.0) & (share <= 1.0)):
        raise InvalidValue("noise_share must lie in [0, 1].")
    return (1.0 - share) * (v / (v + r2)) * (1.0 + 64.0 * _EPS)


def covariance_term(orders: Floats, p: Floats) -> Floats:
    """f1 + f2 at leverage p, shape p.shape + (K,): upper bound, `inf` where alpha p >= 1.

    f1 = -[log(1+(alpha-1)p) + (alpha-1) log(1-p)] / (2(alpha-1))
    f2 = -[log(1-alpha p) - alpha log(1-p)] / (2(alpha-1))
    Together they are one logarithm of 1 - alpha (alpha-1) p^2/(1-p), because
    (1+(alpha-1)p)(1-alpha p) = (1-p) - alpha (alpha-1) p^2; nothing cancels, however small p or alpha - 1.
    Source: docs/mathematics.md, section 7; at most 2 psi_alpha(tau) of the paper's Theorem 3.1.
    """
    p = np.asarray(p, dtype=np.float64)[..., None]
    less_one = orders - 1.0
    part = orders * less_one * (p * p / (1.0 - p))
    inside = (orders * p < 1.0) & (part < 1.0)
    return np.where(inside, -np.log1p(-np.where(inside, part, 0.0)) / (2.0 * less_one), np.inf)


def covariance_rdp(
    orders: ArrayLike, ridge: ArrayLike, variance: ArrayLike, noise_share: ArrayLike = 0.0
) -> Floats:
    """What one path costs even at infinite scale: the covariance term, shape broadcast + (K,).

    Upper bound, `inf` outside the admissible range; 0 only for noise_share = 1.
    """
    return covariance_term(renyi_orders(orders), leverage(ridge, variance, noise_share))


def classical_shift(orders: Floats, sensitivity: Floats, p: Floats) -> Floats:
    """S(alpha) = Delta_n^2/(1 - alpha p), shape p.shape + (K,): mean term (alpha/2) S/(sigma^2 + eta^2).

    1/(1 - alpha p) is the paper's (V_n + r^2)/(r^2 - (alpha-1) V_n), and covers its Prop. 2 too.
    """
    room = 1.0 - orders * np.asarray(p, dtype=np.float64)[..., None]
    square = np.asarray(sensitivity, dtype=np.float64)[..., None] ** 2
    with np.errstate(divide="ignore"):
        return np.where(room > 0.0, square / np.where(room > 0.0, room, 1.0), np.inf)


def rdp_from_shift(orders: Floats, shift: Floats, covariance: Floats, total: Floats, paths: int) -> Floats:
    """paths * (covariance + (alpha/2) shift/total^2), `total` = sqrt(sigma^2 + eta^2); rounded upwards.

    `shift` (..., K) is the mean shift S(alpha), response units squared; `covariance` (..., K) the covariance
    term of one path, nats; `total` (...) is in response units, ... standing for designs.
    """
    size = np.asarray(total, dtype=np.float64)[..., None]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        mean = np.where(np.isinf(shift), np.inf, 0.5 * orders * ((shift / size) / size))
        return paths * (covariance + mean) * (1.0 + 16.0 * _EPS)


def amplitude(scale: float, noise_scale: float) -> tuple[float, float]:
    """(total, noise share) of scale sigma and prior noise eta: sqrt(sigma^2 + eta^2) and eta^2/total^2.

    The share is rounded downwards, which costs more, and is 1 exactly for sigma = 0. An infinite scale is a
    limit worth asking for: it leaves exactly the covariance term.

    Raises InvalidValue if one is negative or no number.
    """
    for name, value in (("scale", scale), ("noise_scale", noise_scale)):
        if not value >= 0.0:
            raise InvalidValue(f"{name} must be >= 0, got {value!r}.")
    total = math.hypot(scale, noise_scale)
    if total == 0.0 or scale == 0.0:
        return total, 1.0
    if math.isinf(total):
        return total, 0.0
    return total, min(1.0, (noise_scale / total) ** 2) * (1.0 - 8.0 * _EPS)


def path_rdp(
    orders: ArrayLike,
    *,
    ridge: float,
    scale: float,
    variance: float,
    sensitivity: float,
    noise_scale: float = 0.0,
    paths: int = 1,
) -> Floats:
    """(K,) RDP upper bounds for releasing `paths` posterior paths, `inf` outside the admissible range.

    scale = 0 with noise_scale > 0 is a plain Gaussian mechanism: alpha (Delta_n/eta)^2/2 at every order.
    scale = noise_scale = 0 releases the mean itself and costs `inf`.
    Source: arXiv:2606.17995 v1, Theorem 3.1 and Prop. 2, with the covariance term of docs/mathematics.md,
    section 7. L paths cost L times one (Mironov 2017, Prop. 1).

    Parameters
    ----------
    orders
        (K,) Renyi orders > 1
    ridge
        r > 0
    variance
        V_n in (0, 1]
    scale
        posterior scale sigma >= 0
    noise_scale
        extra prior noise eta >= 0; response units
    sensitivity
        bound on Delta_n > 0, response units

    Examples
    --------
    >>> from dpgp_core import ORDERS, epsilon_from_rdp
    >>> rdp = path_rdp(ORDERS, ridge=5.0, scale=0.27, variance=1.0, sensitivity=0.15447)
    >>> round(epsilon_from_rdp(ORDERS, rdp, 1e-5).epsilon, 3)
    3.007
    """
    grid, paths = renyi_orders(orders), whole("paths", paths)
    delta = positive_array("sensitivity", sensitivity)
    total, share = amplitude(scale, noise_scale)
    p = leverage(ridge, variance, share)
    if total == 0.0:
        return np.full(grid.shape, np.inf)
    shift = classical_shift(grid, delta, p)
    return rdp_from_shift(grid, shift, covariance_term(grid, p), np.asarray(total), paths)
