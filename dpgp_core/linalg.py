"""Factors and solves: dense matrices, and precision matrices of graphs in band form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import blas, lapack
from scipy.sparse.csgraph import reverse_cuthill_mckee

from dpgp_core.errors import NumericalFailure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def cholesky(matrix: Floats, what: str, remedy: str, *, overwrite: bool = False) -> Floats:
    """Lower Cholesky factor of a symmetric positive definite matrix (m, m), strict upper part zero.

    To `overwrite` a column-major matrix saves a copy. Raises NumericalFailure, which says `what`
    failed and the `remedy`.
    """
    factor, info = lapack.dpotrf(matrix, lower=1, clean=1, overwrite_a=overwrite)
    if info != 0 or not np.all(np.isfinite(factor.diagonal())):
        raise NumericalFailure(f"{what} is not positive definite to working precision; {remedy}.")
    return np.asarray(factor, dtype=np.float64)


def solve_lower(factor: Floats, right: Floats, transposed: bool = False) -> Floats:
    """Solve `L x = right`, or `L^T x = right`, for a lower factor (m, m); else NumericalFailure."""
    if factor.size == 0:
        return right.copy()
    solution, info = lapack.dtrtrs(factor, right, lower=1, trans=1 if transposed else 0)
    if info != 0:
        raise NumericalFailure("a triangular factor is singular; use a larger ridge.")
    return np.asarray(solution, dtype=np.float64)


def coloured(root: Floats, white: Floats) -> Floats:
    """(m, n) `L white` for a lower factor (m, m) and white noise (m, n): half the work of a full
    product."""
    return np.asarray(blas.dtrmm(1.0, root, white, lower=1))


ROUNDING = 2.0**-53  # largest relative error of one operation


@dataclass(frozen=True)
class Slack:
    """Upper bounds on the errors of a Cholesky factor and its solves, for matrices H of one kind.

    Scaled to a unit diagonal, no eigenvalue of H is below `least` and no row has an entry farther
    than `band` from its diagonal. Source: Higham, Accuracy and Stability of Numerical Algorithms,
    chapter 10; docs/exact-paths.md, section 3.
    """

    least: float  # in (0, 1]
    band: int

    @property
    def factoring(self) -> float:
        """Largest eigenvalue of `F F^T - H`, scaled; with three roundings of the entries of H."""
        return 1.01 * (2 * self.band + 1) * (self.band + 3) * ROUNDING

    @property
    def solving(self) -> float:
        """Largest share of an error that a step of iterative refinement leaves, halved; below 1/2
        or `inf`.

        Below 1 no factorisation fails.
        """
        solved = 1.01 * (2 * self.band + 1) * (3 * self.band + 4) * ROUNDING
        return solved / self.least if self.factoring < self.least else np.inf

    @property
    def shrinking(self) -> float:
        """psi with `H >= (1 - psi) F F^T`; `inf` without a proof."""
        left = self.least - self.factoring
        return self.factoring / left if left > 0.0 else np.inf


SMALLEST_BLOCK = 48  # smaller blocks spend more time in calls than in arithmetic


@dataclass(frozen=True, eq=False)
class Ordering:
    """A reverse Cuthill-McKee order of a graph's nodes, which keeps neighbours close."""

    order: Ints  # (P,) node at each position
    position: Ints  # (P,) position of each node
    bandwidth: int  # largest distance between the positions of two neighbours

    @classmethod
    def of(cls, adjacency: sparse.csr_matrix) -> Ordering:
        order = reverse_cuthill_mckee(sparse.csr_matrix(adjacency), symmetric_mode=True).astype(np.int64)
        position = np.empty_like(order)
        position[order] = np.arange(order.size)
        edges = sparse.coo_array(adjacency)
        reach = np.abs(position[edges.coords[0]] - position[edges.coords[1]])
        return cls(order, position, int(reach.max(initial=0)))


@dataclass(frozen=True, eq=False)
class BandedCholesky:
    """`Q = L L^T` of a symmetric positive definite precision matrix whose graph has the given
    ordering.

    Nodes are in the caller's order in every method; the permutation stays inside. Cost O(P b^2) for
    the factor, O(P b) for a solve or a draw, with bandwidth b (about sqrt(P) on a map).
    """

    ordering: Ordering
    band: Floats  # (b + 1, P), column-major: band[d, j] = L[j + d, j] in the ordering's positions

    @classmethod
    def factor(
        cls, precision: sparse.csr_matrix, ordering: Ordering, extra: Floats | None = None
    ) -> BandedCholesky:
        """Factor `precision + diag(extra)`; `extra` (P,) is added in the caller's order.

        Raises NumericalFailure if the sum is not positive definite to working precision.
        """
        size = ordering.order.size
        entries = sparse.coo_array(precision)
        row, column = ordering.position[entries.coords[0]], ordering.position[entries.coords[1]]
        lower = row >= column
        band = np.zeros((ordering.bandwidth + 1, size), order="F")
        band[(row - column)[lower], column[lower]] = entries.data[lower]
        if extra is not None:
            band[0] += extra[ordering.order]
        band, info = lapack.dpbtrf(band, lower=1, overwrite_ab=1)
        if info != 0 or not np.all(np.isfinite(band[0])):
            raise NumericalFailure(
                "the precision matrix is not positive definite to working precision; "
                "use a shorter lengthscale."
            )
        return cls(ordering, band)

    def scaled(self, factor: float) -> BandedCholesky:
        """The factor of `factor * Q`, without factoring again."""
        return BandedCholesky(self.ordering, self.band * np.sqrt(factor))

    def solve(self, right: Floats) -> Floats:
        """`Q^-1 right` for right-hand sides (P,) or (P, m)."""
        solution, info = lapack.dpbtrs(self.band, right[self.ordering.order], lower=1)
        return self._finish(solution, info)

    def colour(self, white: Floats) -> Floats:
        """`L^-T white`: turns standard normal (P,) or (P, m) into exact draws of N(0, Q^-1)."""
        solution, info = lapack.dtbtrs(self.band, white, uplo="L", trans="T")
        return self._finish(solution, info)

    def _finish(self, solution: Floats, info: int) -> Floats:
        if info != 0:
            raise NumericalFailure("a banded triangular solve failed; use a shorter lengthscale.")
        return np.asarray(solution[self.ordering.position], dtype=np.float64)

    def log_determinant(self) -> float:
        """`log det Q`."""
        return float(2.0 * np.sum(np.log(self.band[0])))

    def variance(self) -> Floats:
        """Exact diagonal of `Q^-1`, (P,): the selected inverse of Takahashi et al. (1973), in
        blocks.

        With U = L21 L11^-1 the backward recursion is S11 = L11^-T L11^-1 + U^T S22 U.

        Raises NumericalFailure if the factor is singular.
        """
        size = self.ordering.order.size
        width = min(size, max(self.ordering.bandwidth, SMALLEST_BLOCK))
        starts = list(range(0, size, width))
        result = np.empty(size)
        following = np.zeros((0, 0))
        for start in reversed(starts):
            stop = min(start + width, size)
            inverse, info = lapack.dtrtri(self._block(start, stop, start, stop), lower=1)
            if info != 0:
                raise NumericalFailure("a triangular factor is singular; use a shorter lengthscale.")
            block = inverse.T @ inverse
            if following.size:
                link = self._block(stop, stop + following.shape[0], start, stop) @ inverse
                block += link.T @ following @ link
            result[start:stop] = block.diagonal()
            following = block
        return result[self.ordering.position]

    def _block(self, top: int, bottom: int, left: int, right: int) -> Floats:
        """Dense copy of L[top:bottom, left:right].

        Column-major band storage holds L[i, j] at i + j b: a dense matrix of leading dimension b,
        in which everything outside the band is another entry's value and must be masked.
        """
        rows = self.band.shape[0]
        step = self.band.itemsize
        start = top + left * (rows - 1)
        flat = self.band.T.reshape(-1)[start:]  # a view: the band is column-major
        dense = as_strided(flat, (bottom - top, right - left), (step, (rows - 1) * step), writeable=False)
        return np.where(_in_band(top - left, bottom - top, right - left, rows), dense, 0.0)


@lru_cache(maxsize=8)
def _in_band(below: int, height: int, width: int, rows: int) -> Bools:
    """Entries within a band of `rows` rows, for a block that begins `below` rows below the
    diagonal.

    All blocks of a factor but the last two have one of two shapes.
    """
    depth = below + np.arange(height)[:, None] - np.arange(width)[None, :]
    inside: Bools = (depth >= 0) & (depth < rows)
    return inside
