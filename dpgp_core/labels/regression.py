"""The posterior mean as a linear map of the values, and how far one value can move the whole function."""

from __future__ import annotations

import numpy as np

from dpgp_core._checks import positive_array
from dpgp_core.linalg.numerics import Floats, cholesky, solve_lower

_UP = 1.0 + 2.0**-40  # beyond the rounding of the factorisations used here


def posterior_weights(covariance: Floats, cross: Floats, noise_variance: Floats | float) -> Floats:
    """`C = Ks (K + R)^-1`: the posterior means at the test places are `C y`.

    Parameters
    ----------
    covariance : ndarray, shape (N, N)
        Prior covariance K of the places that were observed.
    cross : ndarray, shape (P, N)
        Prior covariance Ks between test places and observed ones.
    noise_variance : float or ndarray, shape (N,)
        Variance of the observations around the field, > 0, in the unit of K.

    Returns
    -------
    ndarray, shape (P, N)
        Column j is what a unit change of value j does to the released means; public, as places are.

    Notes
    -----
    Smith, Alvarez, Zwiessele and Lawrence 2018, section 2: the cloaking matrix.
    """
    factor = _factor(covariance, noise_variance)
    return np.ascontiguousarray(solve_lower(factor, solve_lower(factor, cross.T), transposed=True).T)


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
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", *_sections(covariance, noise_variance))))


def function_sensitivity(covariance: Floats, noise_variance: Floats | float) -> float:
    """Largest of `function_shifts`, rounded upwards: the exact sensitivity of the functional mechanism."""
    return float(function_shifts(covariance, noise_variance).max()) * _UP


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
    inverse, _ = _sections(covariance, noise_variance)
    up, down = np.maximum(inverse, 0.0).sum(axis=1), np.maximum(-inverse, 0.0).sum(axis=1)
    return float(np.maximum(up, down).max())


def _factor(covariance: Floats, noise_variance: Floats | float) -> Floats:
    noise = np.broadcast_to(positive_array("the noise variance", noise_variance), covariance.shape[:1])
    matrix = covariance + np.diag(noise)
    return cholesky(matrix, "the covariance of the records", "use a larger ridge")


def _sections(covariance: Floats, noise_variance: Floats | float) -> tuple[Floats, Floats]:
    """`A` and `K A`."""
    factor = _factor(covariance, noise_variance)
    half = solve_lower(factor, np.eye(covariance.shape[0]))
    inverse = half.T @ half
    return inverse, covariance @ inverse
