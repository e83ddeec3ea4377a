"""The M-matrix property, checked on the very matrix that defines a prior: the premise of Theorem B."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg.numerics import Floats


class NotAnMMatrix(InvalidValue):
    """The matrix does not obey the premise of Theorem B, so the maximum principle may not be used for it."""


def check_m_matrix(precision: sparse.csr_matrix, variance: Floats) -> None:
    """Check that `precision` is a symmetric M-matrix with row sums >= 0 and prior variances <= 1.

    Parameters
    ----------
    precision
        (P, P) the matrix A of the prior K = A^-1
    variance
        (N,) exact diagonal of K at the cells where records may lie; cells of padding need not be listed: the
        Schur complement of A on the listed cells is again such an M-matrix

    Raises
    ------
    NotAnMMatrix
        Otherwise: docs/mathematics.md, section 8.
    """
    matrix = sparse.csr_array(precision)
    if matrix.shape[0] != matrix.shape[1] or abs(matrix - matrix.T).max() != 0:
        raise NotAnMMatrix("the precision matrix is not symmetric, so Theorem B does not apply.")
    entries = sparse.coo_array(matrix)
    beside = entries.data[entries.coords[0] != entries.coords[1]]
    off_diagonal = float(beside.max(initial=-np.inf)) if beside.size else 0.0
    if off_diagonal > 0:
        raise NotAnMMatrix(
            f"the precision matrix has a positive off-diagonal entry ({off_diagonal:.3g}), "
            "so Theorem B does not apply to this prior; use a generic bound such as 'sharp'."
        )
    terms = np.diff(matrix.indptr)
    rounding = terms * np.finfo(np.float64).eps * np.asarray(abs(matrix).sum(axis=1)).ravel()
    row_sum = float((np.asarray(matrix.sum(axis=1)).ravel() - rounding).min())
    if not row_sum >= 0:
        raise NotAnMMatrix(
            f"the precision matrix has a negative row sum ({row_sum:.3g}), "
            "so Theorem B does not apply to this prior; use a shorter lengthscale or a generic bound."
        )
    largest = float(np.max(variance))
    if not (np.all(np.isfinite(variance)) and largest <= 1.0):
        raise NotAnMMatrix(
            f"the prior variance reaches {largest:.6g}, above 1, so Theorem B does not apply; rescale it."
        )
