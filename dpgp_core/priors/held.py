"""Priors as a computer holds them: whole numbers that define the public prior.

The law of a released path is proved for the matrix of these whole numbers, not for the real numbers
of the kernel's formula (docs/exact-paths.md, section 1).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpgp_core.errors import DesignError, PriorError
from dpgp_core.linalg import Floats, Ints, Ordering, Slack, cholesky
from dpgp_core.priors.dense import ENTRY_BITS, DensePrior
from dpgp_core.priors.lattice import GraphPrior, Prior

Whole = NDArray[np.object_]
"""Python's whole numbers, of any size, in an array."""

ROOT_BITS = 32  # rows of B are whole multiples of 2^-32
UNSOLVABLE = 2.0**-10
"""Largest ratio of a solve's error to the least eigenvalue at which a path is drawn."""

REFUSED = (
    "The equations of a path cannot be solved surely enough here: choose a shorter lengthscale, a larger "
    "ridge or fewer cells."
)


@dataclass(frozen=True, eq=False)
class HeldGraph:
    """A precision `A = B^T B` on P cells, in Loewner order at least that of its prior.

    B has a row `t (e_i - e_j)` for every edge and a row `s_i e_i` for every cell, whole multiples
    of 2^-32, rounded up. So `A` is an M-matrix with `A 1 = s^2 > 0`, whatever was rounded, and no
    variance grows.
    """

    ordering: Ordering
    inside: Ints  # (N,) positions of the domain's cells
    loss: Whole  # (P,) s_i
    # (P, d) of each cell's d neighbours at most: the neighbour, the edge's number, t (0 where there
    # is no further neighbour) and the sign with which the edge's row meets this cell
    neighbour: Ints
    edge: Ints
    weight: Whole
    sign: Ints
    edges: int  # number of edges

    @classmethod
    def of(cls, prior: GraphPrior) -> HeldGraph:
        """Hold a sparse prior; PriorError unless it is an M-matrix with losses above 0."""
        matrix = sparse.csr_array(prior.precision)
        matrix.sort_indices()
        size = matrix.shape[0]
        rows = np.split(matrix.data, matrix.indptr[1:-1])
        # fsum rounds the exact sum once, so the next float is an upper bound.
        sums = np.array([math.nextafter(math.fsum(row), math.inf) for row in rows])
        entries = sparse.coo_array(sparse.triu(matrix, 1))
        first, second = entries.coords
        if not (np.all(sums > 0.0) and np.all(entries.data <= 0.0)):
            raise PriorError(
                "the precision is no M-matrix whose rows add up to more than 0: use a shorter lengthscale."
            )
        count = first.size
        cell = np.concatenate([first, second])
        order = np.argsort(cell, kind="stable")
        cell = cell[order]
        start = np.searchsorted(cell, np.arange(size))
        slot = np.arange(2 * count) - start[cell]
        shape = (size, int(slot.max(initial=-1)) + 1)
        neighbour, edge, sign = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        weight = np.zeros(shape, dtype=object)
        neighbour[cell, slot] = np.concatenate([second, first])[order]
        edge[cell, slot] = np.tile(np.arange(count), 2)[order]
        sign[cell, slot] = np.repeat([1, -1], count)[order]
        weight[cell, slot] = np.tile(_roots(-entries.data), 2)[order]
        lattice = prior.lattice
        return cls(lattice.ordering, lattice.inside, _roots(sums), neighbour, edge, weight, sign, count)

    @property
    def white(self) -> int:
        """Number of normal deviates behind one draw of the prior: one for every row of B."""
        return self.edges + self.loss.size

    def transposed(self, white: Whole) -> Whole:
        """(P,) `2^32 B^T white` for whole numbers (edges + P,)."""
        signed = self.sign * self.weight * white[self.edge]
        return np.asarray(self.loss * white[self.edges :] + signed.sum(axis=1))

    def times(self, values: Whole) -> Whole:
        """(P,) `2^64 A values` for whole numbers (P,)."""
        apart = self._squares * (values[:, None] - values[self.neighbour])
        return np.asarray(self._losses * values + apart.sum(axis=1))

    @cached_property
    def spread(self) -> Whole:
        """(P,) column sums of the sizes of `2^32 B`: the effect of one unit of every deviate."""
        return np.asarray(self.loss + self.weight.sum(axis=1))

    @cached_property
    def _squares(self) -> Whole:
        return np.asarray(self.weight * self.weight)

    @cached_property
    def _losses(self) -> Whole:
        return np.asarray(self.loss * self.loss)

    @cached_property
    def diagonal(self) -> Whole:
        """(P,) `2^64 A_ii`."""
        return np.asarray(self._losses + self._squares.sum(axis=1))

    @cached_property
    def floats(self) -> sparse.csr_matrix:
        """(P, P) `A`, every entry rounded once."""
        edges = self.weight > 0
        row = np.broadcast_to(np.arange(self.loss.size)[:, None], edges.shape)
        off_diagonal = sparse.coo_array(
            (-self._squares[edges].astype(np.float64), (row[edges], self.neighbour[edges])),
            shape=2 * self.loss.shape,
        )
        integers = sparse.diags_array(self.diagonal.astype(np.float64)) + off_diagonal
        return sparse.csr_matrix(integers * 2.0 ** (-2 * ROOT_BITS))

    @cached_property
    def slack(self) -> Slack:
        """Bounds on floating-point errors in a solve, for any records."""
        smallest = min(self._losses / self.diagonal)
        return Slack(float(smallest) * (1.0 - 1e-12), self.ordering.bandwidth)


@dataclass(frozen=True, eq=False)
class HeldDense:
    """A correlation `K = Lambda Lambda^T` with a root in whole multiples of 2^-26."""

    root: Floats  # (N, N) `2^26 Lambda`: whole numbers, every row at most 2^26 long

    @classmethod
    def of(cls, prior: Prior) -> HeldDense:
        """Hold any prior by its correlation. Raises PriorError for a variance above 1."""
        if isinstance(prior, DensePrior):
            factor = prior.root
        else:
            what = f"the correlation matrix of the prior '{prior.name}'"
            factor = cholesky(prior.correlation(), what, "use a shorter lengthscale")
        # Rounding towards 0 shortens the rows, so no variance grows.
        root = np.trunc(factor * 2.0**ENTRY_BITS)
        # whole numbers below 2^53, so these sums are exact; only a row of very few entries can be
        # too long
        over = np.einsum("ij,ij->i", root, root) > 4.0**ENTRY_BITS
        places = np.flatnonzero(over)
        root[places, places] -= 1.0
        if np.any(np.einsum("ij,ij->i", root, root) > 4.0**ENTRY_BITS):
            raise PriorError(f"the prior {prior.name!r} has a variance above 1: rescale it.")
        return cls(root)

    @property
    def white(self) -> int:
        """Number of normal deviates behind one draw of the prior."""
        return int(self.root.shape[0])

    @cached_property
    def spread(self) -> Whole:
        """(N,) sum of the sizes of a row of `2^26 Lambda`: exact, as it is below 2^53."""
        return _whole(np.abs(self.root).sum(axis=1))


Held = HeldGraph | HeldDense


def held(prior: Prior) -> Held:
    """A prior in whole numbers, cached for the latest priors."""
    return _held(cast(Hashable, prior))


@lru_cache(maxsize=2)
def _held(key: Hashable) -> Held:
    prior = cast(Prior, key)
    return HeldDense.of(prior) if prior.graph is None else HeldGraph.of(prior.graph)


def deviates_at_most(prior: Prior) -> int:
    """Largest number of normal deviates of one path, prior noise included; public."""
    if prior.graph is None:
        return 3 * prior.size
    return int(prior.lattice.adjacency.nnz) + 3 * int(prior.lattice.centres.shape[0])


def solve_slack(prior: Prior, n: int, ridge: float) -> Slack:
    """Bounds on floating-point errors in the equations of a path, for any n records."""
    if prior.graph is not None:
        holding = held(prior)
        assert isinstance(holding, HeldGraph)
        return holding.slack
    return Slack(ridge**2 / (ridge**2 + n), min(prior.size, n))


def refuse_unsolvable(prior: Prior, n: int, ridge: float) -> None:
    """Raise DesignError if no proof covers the solution of a path's equations.

    The check reads public facts only, so no failure depends on records (docs/exact-paths.md,
    section 3).
    """
    if solve_slack(prior, n, ridge).solving > UNSOLVABLE:
        raise DesignError(REFUSED)


def _roots(values: Floats) -> Whole:
    """The least whole numbers t with `t 2^-32 >= sqrt(value)`, for values >= 0 taken as exact."""
    distinct, place = np.unique(values, return_inverse=True)
    roots = np.empty(distinct.size, dtype=object)
    for i, value in enumerate(distinct.tolist()):
        top, bottom = value.as_integer_ratio()
        square = -((-top << 2 * ROOT_BITS) // bottom)  # rounded up
        root = math.isqrt(square)
        roots[i] = root + (root * root < square)
    return np.asarray(roots[place.ravel()])


def _whole(values: Any) -> Whole:
    """Floats that are whole numbers below 2^53 as Python's."""
    return np.asarray(np.asarray(values).astype(np.int64).astype(object))
