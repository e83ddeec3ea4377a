"""The lattice: all that a prior may know of the domain, smoothing, and the protocol of priors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy import sparse

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import BandedCholesky, Floats, Ints, Ordering


@dataclass(frozen=True, eq=False)
class Lattice:
    """Cells as a prior sees them.

    Raises `InvalidValue` if the shapes do not fit, a centre is not finite, or the spacing is not
    positive.
    """

    centres: Floats  # (P, 2) projected cell centres, metres
    adjacency: sparse.csr_matrix  # (P, P) symmetric 0/1 CSR matrix of touching cells
    # (N,) positions of the domain's cells, in the domain's order, among the P padded cells; the
    # others are padding rings that keep a graph prior's variances even
    inside: Ints
    spacing: float  # typical distance between neighbouring centres, metres

    def __post_init__(self) -> None:
        padded = self.centres.shape[0]
        if self.centres.ndim != 2 or self.centres.shape[1] != 2 or not np.all(np.isfinite(self.centres)):
            raise InvalidValue("centres must be a finite (P, 2) array in metres.")
        if self.adjacency.shape != (padded, padded):
            raise InvalidValue("adjacency must be square and match the centres.")
        if self.inside.size == 0 or self.inside.min() < 0 or self.inside.max() >= padded:
            raise InvalidValue("inside must name at least one existing cell.")
        if not (np.isfinite(self.spacing) and self.spacing > 0):
            raise InvalidValue("spacing must be a positive length in metres.")

    @classmethod
    def grid(cls, rows: int, columns: int, spacing: float) -> Lattice:
        """A rectangle of square cells of side `spacing`, metres; neighbours share a side.

        Raises InvalidValue for a side without a cell, or a spacing that is not positive.
        """
        if min(rows, columns) < 1:
            raise InvalidValue("rows and columns must be at least 1.")
        place = np.arange(rows * columns).reshape(rows, columns)
        start = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])
        end = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()])
        half = sparse.coo_array((np.ones(start.size), (start, end)), shape=2 * (place.size,))
        row, column = np.divmod(place.ravel(), columns)
        centres = np.stack([spacing * column, spacing * row], axis=1).astype(np.float64)
        return cls(centres, sparse.csr_matrix(half + half.T), place.ravel(), spacing)

    @property
    def size(self) -> int:
        """Number N of cells of the domain (padding not counted)."""
        return int(self.inside.size)

    @property
    def domain_centres(self) -> Floats:
        """(N, 2) centres of the domain's cells, metres."""
        return self.centres[self.inside]

    @cached_property
    def ordering(self) -> Ordering:
        """Band-narrowing order of the padded cells, shared by all priors on this lattice."""
        return Ordering.of(self.adjacency)

    @cached_property
    def averaging(self) -> sparse.csr_matrix:
        """(N, N) mean over each cell of the domain and its neighbours, without the padding."""
        return averaging(domain_adjacency(self))


def averaging(adjacency: sparse.csr_matrix) -> sparse.csr_matrix:
    """The matrix that takes the mean over each cell and its neighbours in a graph."""
    around = sparse.csr_matrix(adjacency + sparse.eye_array(adjacency.shape[0]))
    return sparse.csr_matrix(sparse.diags_array(1.0 / np.asarray(around.sum(axis=1)).ravel()) @ around)


GENERIC_BOUNDS = ("triangle", "separate", "sharp", "joint-sharp")
"""Bounds for every prior with correlation at most 1 (docs/mathematics.md, sections 3 and 6)."""


def smooth(on: Lattice | sparse.csr_matrix, paths: Floats, rounds: int) -> Floats:
    """Replace `rounds` times each value by the mean over its cell and neighbours in the domain.

    It uses public geography and paths (..., N) only: `on` is the lattice, or the (N, N) adjacency
    of its cells. Raises InvalidValue for a negative number, or paths of another size.
    """
    if rounds < 0:
        raise InvalidValue(f"the number of smoothing rounds must be 0 or more, got {rounds}.")
    values = np.asarray(paths, dtype=np.float64)
    if rounds == 0:
        return values
    if (on.size if isinstance(on, Lattice) else on.shape[0]) != values.shape[-1]:
        raise InvalidValue("the paths and the neighbour graph must have the same number of cells.")
    mean = on.averaging if isinstance(on, Lattice) else averaging(on)
    flat = values.reshape(-1, values.shape[-1]).T
    for _ in range(rounds):
        flat = mean @ flat
    return np.ascontiguousarray(flat.T).reshape(values.shape)


def domain_adjacency(lattice: Lattice) -> sparse.csr_matrix:
    """(N, N) adjacency of the domain's cells, in the domain's order, without the padding rings."""
    return sparse.csr_matrix(lattice.adjacency[lattice.inside][:, lattice.inside])


class Prior(Protocol):
    """A prior on the N cells of one lattice, with the public facts that price a design.

    `name` is that of its family in `PRIORS`; `kappa` a proved lower bound of the covariance between
    any two cells, in [0, 1]; `bounds` names in `BOUNDS` the sensitivity bounds proved for it; one
    draw takes `white_size` normal numbers; `graph` is the prior itself if it has a sparse precision
    on the padded lattice, else None.
    """

    @property
    def name(self) -> str: ...
    @property
    def lengthscale(self) -> float: ...
    @property
    def lattice(self) -> Lattice: ...
    @property
    def kappa(self) -> float: ...
    @property
    def bounds(self) -> tuple[str, ...]: ...
    @property
    def graph(self) -> GraphPrior | None: ...

    @property
    def size(self) -> int:
        """Number N of cells of the domain (padding not counted)."""
        return self.lattice.size

    @property
    def white_size(self) -> int: ...

    def correlation(self) -> Floats:
        """(N, N) covariance of the domain's cells, positive definite, diagonal at most 1."""
        ...

    def colour(self, white: Floats) -> Floats:
        """Prior draws (N, m), variance at most 1, from standard normals (white_size, m)."""
        ...


class GraphPrior(Prior, Protocol):
    """A prior with a sparse precision on the P padded cells.

    `precision` (P, P) is symmetric positive definite, `factor` its banded Cholesky factor in the
    lattice's ordering; a draw takes P normal numbers; `prior_variance` (N,) of the domain's cells
    is at most 1.
    """

    @property
    def precision(self) -> sparse.csr_matrix: ...
    @property
    def factor(self) -> BandedCholesky: ...
    @property
    def prior_variance(self) -> Floats:
        """(N,) variances of the domain's cells, at most 1."""
        ...
