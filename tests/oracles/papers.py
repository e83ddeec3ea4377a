"""Formulas of other people's papers, and exact ones, that the library's own bounds are held against."""

from __future__ import annotations

import math

import numpy as np

from dpgp_core.linalg import Floats
from dpgp_core.priors.dense import Kernel


def line_norm_of_the_paper(kernel: Kernel, points: int, spacing: float) -> float:
    """Honkela and Melkas 2021, equation 7, for inducing points on a line at least `spacing` apart.

    The sum as printed has one pair of points too many, which makes it valid and looser; it can exceed the
    trivial bound, so the smaller of the two is returned. `kernel` takes distances here.
    """
    half = points / 2.0
    whole = math.floor(half)
    total = sum(2.0 * float(kernel(np.array(j * spacing))) ** 2 for j in range(whole + 1))
    odd = math.ceil(half) - whole
    total += odd * float(kernel(np.array(math.ceil(half) * spacing))) ** 2
    return min(total, float(points))


def any_norm_of_the_paper(kernel: Kernel, points: int, spacing: float) -> float:
    """Equation 8, for any dimension: one point may be near, all others are half a spacing away or more."""
    return 1.0 + (points - 1) * float(kernel(np.array(spacing / 2.0))) ** 2


def one_sided_bound(second_noise: float, variance: float, size: int, failure: float = 0.01) -> float:
    """A lambda that is proved to exceed minus the least eigenvalue of the noise with probability 1 - rho.

    `s sqrt((m + 1) ln(m/rho))/variance`, by the matrix Gaussian series bound (Tropp 2012, Theorem 1.2): the
    matrix variance of the noise is `s^2 (m + 1)/2`.
    """
    return second_noise / variance * math.sqrt((size + 1) * math.log(size / failure))


def function_shifts(covariance: Floats, noise_variance: Floats | float) -> Floats:
    """Length of the change of the posterior mean function, in the kernel's own space, per unit of each value.

    Parameters
    ----------
    covariance : ndarray, shape (N, N)
        Prior covariance K of the observed places.
    noise_variance : float or ndarray, shape (N,)
        Variance of the observations.

    Returns
    -------
    ndarray, shape (N,)
        `sqrt([A K A]_jj)` with `A = (K + R)^-1`: exact. Adding a draw of the prior times
        `d max_j / mu` to the posterior mean function is then a Gaussian mechanism of parameter mu for values
        that change by at most d (Hall, Rinaldo and Wasserman 2013, Proposition 7).
    """
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", *sections(covariance, noise_variance))))


def function_sensitivity(covariance: Floats, noise_variance: Floats | float) -> float:
    """Largest of `function_shifts`: the exact sensitivity of the functional mechanism."""
    return float(function_shifts(covariance, noise_variance).max())


def function_sensitivity_of_the_paper(covariance: Floats, noise_variance: Floats | float) -> float:
    """The looser bound of Smith et al. 2018, section 3.1, for kernels with values in [0, 1]; for comparison.

    Returns
    -------
    float
        Over the rows of `A = (K + R)^-1`, the larger of the sum of the positive entries and the sum of the
        negative ones without their sign. Never smaller than `function_sensitivity`: with `g = A e_j` and
        `K g = e_j - r_j g`, the squared shift is `g_j (K g)_j - sum over i != j of r_i g_i^2`, at most
        `g_j (K g)_j`, and both factors are at most the bound.
    """
    inverse, _ = sections(covariance, noise_variance)
    up, down = np.maximum(inverse, 0.0).sum(axis=1), np.maximum(-inverse, 0.0).sum(axis=1)
    return float(np.maximum(up, down).max())


def sections(covariance: Floats, noise_variance: Floats | float) -> tuple[Floats, Floats]:
    """`A` and `K A`."""
    size = covariance.shape[0]
    inverse = np.linalg.inv(covariance + np.diag(np.broadcast_to(noise_variance, size)))
    return inverse, covariance @ inverse


def posterior_weights(covariance: Floats, cross: Floats, noise: Floats | float) -> Floats:
    """(P, N) weights by which values at N places give the posterior means at P: `Ks (K + R)^-1`."""
    matrix = covariance + np.diag(np.broadcast_to(noise, covariance.shape[:1]))
    return np.asarray(np.linalg.solve(matrix, cross.T).T)
