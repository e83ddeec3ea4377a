"""Numerical failure, said in one sentence: a factorisation either works exactly as asked or raises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from dpgp_core.errors import NumericalFailure

Floats = NDArray[np.float64]


def cholesky(matrix: Floats, what: str, remedy: str) -> Floats:
    """Lower Cholesky factor of a symmetric positive definite matrix (m, m), strict upper part zero.

    Otherwise raises NumericalFailure, which says `what` failed and the `remedy`.
    """
    factor, info = lapack.dpotrf(matrix, lower=1, clean=1)
    if info != 0 or not np.all(np.isfinite(factor.diagonal())):
        raise NumericalFailure(f"{what} is not positive definite to working precision; {remedy}.")
    return np.asarray(factor, dtype=np.float64)


def solve_lower(factor: Floats, right: Floats, transposed: bool = False) -> Floats:
    """Solution of `L x = right`, or of `L^T x = right` (`transposed`), for a lower factor (m, m) of
    `cholesky`.

    Raises NumericalFailure if the factor is singular.
    """
    if factor.size == 0:
        return right.copy()
    solution, info = lapack.dtrtrs(factor, right, lower=1, trans=1 if transposed else 0)
    if info != 0:
        raise NumericalFailure("a triangular factor is singular; use a larger ridge.")
    return np.asarray(solution, dtype=np.float64)
