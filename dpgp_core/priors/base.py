"""What a prior is: the questions that every one of them answers, and nobody else asks by name."""

from __future__ import annotations

from typing import Protocol

from scipy import sparse

from dpgp_core.linalg import BandedCholesky, Floats
from dpgp_core.priors.lattice import Lattice

GENERIC_BOUNDS = ("triangle", "separate", "sharp", "joint-sharp")
"""Bounds that hold for every prior with correlation at most 1 (docs/mathematics.md, sections 3 and 6)."""


class Prior(Protocol):
    """A prior on the N cells of one lattice, with the public facts that price a design.

    Attributes
    ----------
    name
        Of its family in `PRIORS`.
    lengthscale
        Metres.
    lattice
        The public cells.
    kappa
        Proved lower bound of the covariance between any two cells of the domain, in [0, 1].
    bounds
        Names in `BOUNDS` of the sensitivity bounds proved for this prior; `GENERIC_BOUNDS` hold for each.
    white_size
        Number of standard normal numbers behind one prior draw.
    graph
        The prior itself where it has a sparse precision on the padded lattice; None where its correlation
        is all there is. Posteriors, searches and audits take the way that this opens.
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
        """Prior draws (N, m) on the domain, of variance at most 1, from standard normal numbers (white_size,
        m).
        """
        ...


class GraphPrior(Prior, Protocol):
    """A prior with a sparse precision on the P padded cells.

    `precision` (P, P) is symmetric positive definite, `factor` its banded Cholesky factor in the lattice's
    ordering; a draw takes P normal numbers; `prior_variance` (N,) of the domain's cells is at most 1.
    """

    @property
    def precision(self) -> sparse.csr_matrix: ...
    @property
    def factor(self) -> BandedCholesky: ...
    @property
    def prior_variance(self) -> Floats:
        """(N,) variances of the domain's cells, at most 1."""
        ...
