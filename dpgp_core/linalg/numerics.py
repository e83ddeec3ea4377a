"""Numerical failure, said in one sentence: a factorisation either works exactly as asked or raises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dpgp_core.errors import NumericalFailure

Floats = NDArray[np.float64]


def cholesky(matrix: Floats, what: str, remedy: str) -> Floats:
    """Lower Cholesky factor of a symmetric positive definite matrix, strict upper part zero.

    Parameters
    ----------
    matrix : ndarray, shape (m, m)
    what, remedy : str
        Words of the error: what failed, and what to do about it.

    Returns
    -------
    ndarray, shape (m, m)

    Raises
    ------
    NumericalFailure
        If the matrix is not positive definite to working precision: says `what` failed and the `remedy`.
    """
    factor, info = lapack.dpotrf(matrix, lower=1, clean=1)
    if info != 0 or not np.all(np.isfinite(factor.diagonal())):
        raise NumericalFailure(f"{what} is not positive definite to working precision; {remedy}.")
    return np.asarray(factor, dtype=np.float64)


def solve_lower(factor: Floats, right: Floats, transposed: bool = False) -> Floats:
    """Solution of `L x = right`, or of `L^T x = right`, for a lower factor of `cholesky`.

    Parameters
    ----------
    factor : ndarray, shape (m, m)
    right : ndarray, shape (m,) or (m, k)
    transposed : bool
        Whether to solve with `L^T`.

    Returns
    -------
    ndarray
        Of the shape of `right`.

    Raises
    ------
    NumericalFailure
        If the factor is singular.
    """
    if factor.size == 0:
        return right.copy()
    solution, info = lapack.dtrtrs(factor, right, lower=1, trans=1 if transposed else 0)
    if info != 0:
        raise NumericalFailure("a triangular factor is singular; use a larger ridge.")
    return np.asarray(solution, dtype=np.float64)
