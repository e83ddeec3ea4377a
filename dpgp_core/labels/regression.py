"""The posterior mean as a linear map of the values."""

from __future__ import annotations

import numpy as np

from dpgp_core._checks import positive_array
from dpgp_core.linalg.numerics import Floats, cholesky, solve_lower


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


def _factor(covariance: Floats, noise_variance: Floats | float) -> Floats:
    noise = np.broadcast_to(positive_array("the noise variance", noise_variance), covariance.shape[:1])
    matrix = covariance + np.diag(noise)
    return cholesky(matrix, "the covariance of the records", "use a larger ridge")
