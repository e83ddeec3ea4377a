"""An independent oracle: exact privacy profiles delta(epsilon) of known pairs of distributions.

It knows none of the theory it is there to judge: Gaussian pairs are inverted numerically from their complex
moment function (and, in the plane, integrated on a dense grid), finite distributions are summed, and the pair
N(0, 1), N(mu, 1) is evaluated in mpmath.
"""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mp_gaussian_profile(mu: float, epsilon: Any) -> Any:
    """delta of N(0, 1) against N(mu, 1) at any real epsilon, in the working precision of mpmath."""
    m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


def mp_gaussian_and_responses(mu: float, epsilons: list[float], epsilon: float) -> Any:
    """delta of a Gaussian mechanism with randomised responses of odds e^epsilons beside it."""
    total = mpmath.mpf(0)
    for signs in np.ndindex(*(2,) * len(epsilons)):
        weight, loss = mpmath.mpf(1), mpmath.mpf(0)
        for sign, value in zip(signs, epsilons, strict=True):
            odds = mpmath.exp(mpmath.mpf(value))
            weight *= (odds if sign else 1) / (1 + odds)
            loss += value if sign else -value
        rest = mpmath.mpf(epsilon) - loss
        if mu > 0:
            total += weight * mp_gaussian_profile(mu, rest)
        elif rest < 0:
            total += weight * (1 - mpmath.exp(rest))
    return total


def finite_profile(p: Floats, q: Floats, epsilon: float) -> float:
    """delta of two distributions on finitely many points."""
    return float(np.maximum(0.0, p - math.exp(epsilon) * q).sum())


def finite_renyi(p: Floats, q: Floats, orders: Floats) -> Floats:
    """Renyi divergences of two distributions on finitely many points, all probabilities positive."""
    logs = orders[:, None] * np.log(p) + (1.0 - orders[:, None]) * np.log(q)
    top = logs.max(axis=1)
    return (top + np.log(np.exp(logs - top[:, None]).sum(axis=1))) / (orders - 1.0)


def planar_profile(
    mean: Floats, cov_a: Floats, cov_b: Floats, epsilons: Floats, points: int = 1201
) -> Floats:
    """delta of N(mean, cov_a) against N(0, cov_b) in the plane, on a dense grid in units of the first."""
    ticks = np.linspace(-9.0, 9.0, points)
    step = ticks[1] - ticks[0]
    z = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.exp(-0.5 * (z**2).sum(axis=1)) / (2.0 * math.pi) * step**2
    x = z @ np.linalg.cholesky(cov_a).T + mean
    loss = -0.5 * (z**2).sum(axis=1) + 0.5 * np.einsum("ij,jk,ik->i", x, np.linalg.inv(cov_b), x)
    loss += 0.5 * (np.linalg.slogdet(cov_b)[1] - np.linalg.slogdet(cov_a)[1])
    out = [(weights * -np.expm1(np.minimum(0.0, epsilon - loss))).sum() for epsilon in epsilons]
    return np.array(out)


def gaussian_profile(
    mean_a: Floats, cov_a: Floats, mean_b: Floats, cov_b: Floats, copies: int, epsilon: float, order: float
) -> float:
    """delta of `copies` independent copies of N(mean_a, cov_a) against N(mean_b, cov_b).

    The trapezoid rule on (1/2 pi) int M(s) e^(-s epsilon)/(s (s+1)) dt along s = order - 1 + i t, with
    M(s) = E_a e^(s L) in closed form; relative error about 1e-9 of the integrand's peak.
    """
    root = np.linalg.cholesky(cov_a)
    ratios, turn = np.linalg.eigh(np.linalg.solve(root, np.linalg.solve(root, cov_b).T))
    shift = turn.T @ np.linalg.solve(root, mean_a - mean_b)
    dets = np.log(ratios).sum()

    def log_moment(s: Any) -> Any:
        """log E_a e^(s L) in coordinates in which both covariances are diagonal, for an array of s."""
        s = np.asarray(s)[..., None]
        precision = (1.0 + s) - s / ratios
        value = (
            0.5 * (1.0 + s) ** 2 * shift**2 / precision - 0.5 * (1.0 + s) * shift**2 - 0.5 * np.log(precision)
        )
        return value.sum(axis=-1) + 0.5 * s[..., 0] * dets

    c = order - 1.0
    peak = log_moment(complex(c)).real
    spread = math.sqrt(max(1e-12, 2.0 * (peak - log_moment(complex(c, 1e-2)).real) / 1e-4 * copies))
    t = np.linspace(0.0, 12.0 / spread, 3001)
    s = c + 1j * t
    values = (np.exp(copies * (log_moment(s) - peak) - 1j * t * epsilon) / (s * (s + 1.0))).real
    total = (values.sum() - 0.5 * values[0] - 0.5 * values[-1]) * (t[1] - t[0]) / math.pi
    return float(total * math.exp(copies * peak - c * epsilon))
