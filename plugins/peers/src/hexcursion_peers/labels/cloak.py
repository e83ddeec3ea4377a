"""The noise covariance that hides one value in the posterior means at the least cost: cloaking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpgp_core._checks import positive, whole
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, cholesky, solve_lower

Criterion = Literal["mean-square", "volume"]
"""The objective to minimise: the noise's mean square over the map (A-optimal), or its volume (D-optimal)."""

RANK_TOLERANCE = 1e-4
TOLERANCE = 1e-3
SWEEPS = 2_000
_FLOOR = 1e-300


@dataclass(frozen=True, eq=False)
class Cloak:
    """A noise covariance, up to its public scale, for released means `C y`; nothing in it depends on
    values.

    `basis` (P, r): orthonormal directions that are released; the means are projected on them, all others
    are never seen. `shape` (r, r): covariance M of the noise in these directions, up to scale.
    `largest`: `max_j c_j^T M^-1 c_j` over the projected columns, rounded upwards by more than the
    rounding errors of a matrix of M's condition, from the final M itself: so the guarantee holds however
    early the search for M stopped. `weights` (N,): multipliers lambda_j >= 0 of the values' constraints.
    `gap`: proved upper bound on the loss against the best M: of `ln det M` ("volume"), or of the
    relative mean square ("mean-square"). `criterion`: the minimised objective."""

    basis: Floats
    shape: Floats
    largest: float
    weights: Floats
    gap: float
    criterion: Criterion

    @property
    def rank(self) -> int:
        """Number r of released directions."""
        return int(self.basis.shape[1])

    def covariance(self, change: float, mu: float) -> Floats:
        """(P, P) covariance of the noise for values that change by at most `change`, at Gaussian-DP mu."""
        scale = positive("change", change) / positive("mu", mu)
        return scale**2 * self.largest * (self.basis @ self.shape @ self.basis.T)

    def whitened(self, matrix: Floats) -> Floats:
        """(N, r) what each value contributes to the released numbers in units of their noise; length <= 1.

        For the cloaked `matrix` C (P, N) the rows are phi_j: releasing `sum y_j phi_j` with noise of
        deviation `change/mu` in every direction is the same mechanism as releasing the projected means
        with `covariance(change, mu)`."""
        factor = _root(self.shape)
        return np.asarray(solve_lower(factor, self.basis.T @ matrix).T / np.sqrt(self.largest))


def make_cloak(
    matrix: Floats,
    criterion: Criterion = "mean-square",
    *,
    tolerance: float = TOLERANCE,
    rank_tolerance: float = RANK_TOLERANCE,
    sweeps: int = SWEEPS,
) -> Cloak:
    """The best noise covariance for the columns of C (P, N), by multiplicative updates, with a proved gap.

    Column c_j is what a unit change of value j does to the means at the P test places. "mean-square"
    minimises `tr M`, "volume" `ln det M`, both under `c_j^T M^-1 c_j <= 1`. The search stops at a proved
    gap below `tolerance`, or after `sweeps` updates; privacy does not depend on it. Directions whose
    singular value is below `rank_tolerance` of the largest are not released at all: dropping them from M
    without projecting the means would release them without noise. Raises `InvalidValue` if the matrix is
    empty, not finite, or zero.

    "volume" is the D-optimal design on the columns, `M = sum lambda_j c_j c_j^T` with `sum lambda = r`;
    the update `lambda_j <- lambda_j c_j^T M^-1 c_j` never lowers `ln det M` (Titterington 1976; Kiefer
    and Wolfowitz 1960). Rescaled to be feasible it is within `r ln(max_j c_j^T M^-1 c_j)` of the
    optimum. "mean-square" has `M = Q^(1/2)`, `Q = sum lambda_j c_j c_j^T`; for every lambda >= 0, `(tr
    M)^2 / sum lambda <= optimum <= (max_j c_j^T M^-1 c_j) tr M`, by the Lagrangian dual. Smith et al.
    2018, section 3.2, descend on the same convex problem with random starts."""
    matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or not np.all(np.isfinite(matrix)):
        raise InvalidValue("the matrix to cloak must be finite, one row per place and one column per value.")
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    if not values[0] > 0.0:
        raise InvalidValue("no value moves any of the means: there is nothing to release.")
    rank = int(np.count_nonzero(values > positive("rank_tolerance", rank_tolerance) * values[0]))
    basis = np.ascontiguousarray(left[:, :rank])
    columns = basis.T @ matrix
    weights = np.full(matrix.shape[1], rank / matrix.shape[1])
    shape, lengths, gap = _step(columns, weights, criterion)
    for _ in range(whole("sweeps", sweeps)):
        if gap <= tolerance:
            break
        weights = np.maximum(weights * lengths, _FLOOR)
        shape, lengths, gap = _step(columns, weights, criterion)
    value = np.linalg.eigvalsh(shape)
    rounding = 8.0 * rank * 2.0**-52 * value[-1] / max(value[0], value[-1] * 2.0**-52)
    largest = float(_lengths(columns, _root(shape)).max()) * (1.0 + rounding)
    return Cloak(basis, shape, largest, weights, gap, criterion)


def _step(columns: Floats, weights: Floats, criterion: Criterion) -> tuple[Floats, Floats, float]:
    """M of the weights, `c_j^T M^-1 c_j` of every column, and the proved gap."""
    gram = (columns * weights) @ columns.T
    gram = 0.5 * (gram + gram.T)
    if criterion == "volume":
        lengths = _lengths(columns, _root(gram))
        return gram, lengths, columns.shape[0] * float(np.log(max(1.0, lengths.max())))
    value, vector = np.linalg.eigh(gram)
    root = np.sqrt(np.maximum(value, value[-1] * 2.0**-50))
    shape = (vector * root) @ vector.T
    half = (vector.T @ columns) / np.sqrt(root)[:, None]
    lengths = np.einsum("ij,ij->j", half, half)
    # optimum >= (tr M)^2 / sum lambda, reached <= max length * tr M
    return shape, lengths, float(lengths.max() * weights.sum() / root.sum()) - 1.0


def _root(shape: Floats) -> Floats:
    return cholesky(shape, "the shape of the cloak", "raise rank_tolerance")


def _lengths(columns: Floats, factor: Floats) -> Floats:
    half = solve_lower(factor, columns)
    return np.asarray(np.einsum("ij,ij->j", half, half))
