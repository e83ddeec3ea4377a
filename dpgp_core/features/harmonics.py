"""Harmonics: smooth patterns of a domain's neighbour graph, one eigendecomposition for every prior
on it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, eigsh

from dpgp_core._checks import whole
from dpgp_core.errors import InvalidValue, NumericalFailure
from dpgp_core.features.eigen import FURTHER, Eigenpairs, FolderStore, canonical
from dpgp_core.linalg import Floats
from dpgp_core.priors.car import HEXAGON_FACTOR
from dpgp_core.priors.lattice import Lattice, Prior, domain_adjacency

PLACES = 9  # decimals, relative to the largest variance, to which equal variances agree
VERSION = 3  # part of every key: raise it when the stored numbers change
DENSE_NODES = 1_200
"""Above this number of nodes Lanczos iteration computes the smoothest patterns: a few of many."""

SHIFT = -0.01
"""Just below the smallest eigenvalue of the graph Laplacian, which is 0; the largest is about
12."""


@dataclass(frozen=True, eq=False)
class Harmonics:
    """The Q smoothest eigenpairs of `-Laplace` on the M nodes of a domain, with reflecting
    edges."""

    values: Floats  # (Q,) smallest eigenvalues, squared wave numbers in 1/m^2, >= 0, not decreasing
    vectors: Floats  # (M, Q) orthonormal columns, one for each

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.vectors.ndim != 2 or self.vectors.shape[1] != self.values.size:
            raise InvalidValue("eigenvalues and eigenvectors do not fit together.")
        if not 1 <= self.values.size <= self.size:
            raise InvalidValue("between one and all eigenvectors are kept.")
        if not (np.all(np.isfinite(self.values)) and np.all(np.isfinite(self.vectors))):
            raise InvalidValue("eigenvalues and eigenvectors must be finite.")
        if np.any(self.values < 0) or np.any(np.diff(self.values) < 0):
            raise InvalidValue("squared wave numbers must not be negative or decrease.")

    @property
    def size(self) -> int:
        """Number M of nodes."""
        return int(self.vectors.shape[0])

    @cached_property
    def left_out(self) -> Floats:
        """(M,) share of each node's variance, for white noise, outside the span of the Q
        vectors."""
        return np.asarray(np.maximum(1.0 - np.einsum("ij,ij->i", self.vectors, self.vectors), 0.0))

    def pairs(self, spectrum: Floats) -> Eigenpairs:
        """These patterns as eigenpairs of a prior with variances (Q,) > 0 along them
        (`prior_spectrum`).

        The patterns explain less than the whole variance; the remainder is divided among the nodes
        in proportion to `left_out`. Patterns of larger variance come first.
        """
        # Rounding makes equal variances equal, and a stable sort then leaves them in order of wave
        # number: the order of the features must not depend on the last digits of a machine.
        order = np.argsort(-np.round(spectrum / spectrum.max(), PLACES), kind="stable")
        variance = np.square(self.vectors) @ spectrum
        remainder = max(self.size - float(spectrum.sum()), 0.0)
        # A unit variance at each of M nodes sums to M, of which the patterns explain the sum of the
        # spectrum.
        if self.left_out.sum() > 0:
            variance = variance + remainder * self.left_out / self.left_out.sum()
        # Within a group that rounding made equal the spectrum may still rise by its last digits.
        values = np.minimum.accumulate(spectrum[order])
        return Eigenpairs(values, self.vectors[:, order], np.asarray(variance))


def prior_spectrum(harmonics: Harmonics, prior: Prior) -> Floats:
    """(Q,) variance of a prior field along each pattern: `diag(U^T C U)`, with unit variance at
    every node.

    Covariances between two patterns are ignored, although they are slightly correlated on a domain
    with an edge. The price of a release depends on its features alone, so this affects only the
    map's quality.
    """
    # Harmonics diagonalise the covariance of a stationary prior on a domain without edge. With an
    # edge they do so nearly, and one decomposition serves every prior (docs/spectral-statistics.md,
    # section 3).
    correlation = prior.correlation()
    scale = 1.0 / np.sqrt(correlation.diagonal())
    scaled = scale[:, None] * harmonics.vectors
    spectrum = np.einsum("ij,ij->j", scaled, correlation @ scaled)
    return np.asarray(np.maximum(spectrum, 1e-12 * spectrum.max()))


def domain_harmonics(lattice: Lattice, count: int, store: FolderStore | None = None) -> Harmonics:
    """The `count` smoothest harmonics of a domain, read from the store if it has them.

    They depend on public geography alone; one decomposition serves every prior and lengthscale.
    Designed for the few thousand nodes of `Nodes`: dense up to DENSE_NODES, by shift-and-invert
    Lanczos iteration above.
    """
    count = min(whole("count", count), lattice.size)
    graph = sparse.csr_matrix(domain_adjacency(lattice))
    key = _key(lattice, graph, count)
    cached = None if store is None else _kept(store, key)
    if cached is not None and cached.vectors.shape == (lattice.size, count):
        return cached
    laplacian = sparse.csc_matrix(sparse.diags(np.asarray(graph.sum(axis=1)).ravel()) - graph)
    values, vectors = _smoothest(laplacian, count)
    # With six neighbours at distance h the graph Laplacian is HEXAGON_FACTOR h^2 times `-Laplace`,
    # to leading order, so the quotient is a squared wave number in 1/m^2. The smallest eigenvalue
    # is 0 up to rounding.
    values = np.maximum.accumulate(np.maximum(values, 0.0)) / (HEXAGON_FACTOR * lattice.spacing**2)
    harmonics = Harmonics(values[:count], np.ascontiguousarray(canonical(values, vectors)[:, :count]))
    if store is not None:
        store.put_arrays(key, {"values": harmonics.values, "vectors": harmonics.vectors})
    return harmonics


def _smoothest(laplacian: sparse.csc_matrix, count: int) -> tuple[Floats, Floats]:
    """The `count` smallest eigenvalues of a graph Laplacian and up to FURTHER more, increasing,
    with eigenvectors."""
    size = laplacian.shape[0]
    if size <= DENSE_NODES or 2 * count > size:
        number = min(count + FURTHER, size)
        values, vectors = linalg.eigh(
            laplacian.toarray(), subset_by_index=(0, number - 1), check_finite=False
        )
        return np.asarray(values), np.asarray(vectors)
    # On a symmetric domain a symmetric start would miss half of the vectors; a fixed start makes
    # the result reproducible. The shift below the spectrum makes `Laplacian - SHIFT` positive
    # definite, so it can be factored, and its inverse has the smoothest patterns as its leading
    # ones.
    start = np.sin(np.square(np.arange(1.0, size + 1.0)))
    try:
        values, vectors = eigsh(
            laplacian, k=min(count + FURTHER, size - 1), sigma=SHIFT, v0=start, ncv=min(size, count + 128)
        )
    except ArpackError as error:
        raise NumericalFailure(
            f"the smooth patterns of the domain were not found ({error}); use a coarser resolution."
        ) from error
    order = np.argsort(values, kind="stable")
    return np.asarray(values[order]), np.asarray(vectors[:, order])


def _kept(store: FolderStore, key: str) -> Harmonics | None:
    parts = store.arrays(key, ("values", "vectors"))
    try:
        return None if parts is None else Harmonics(*parts)
    except ValueError:
        return None


def _key(lattice: Lattice, graph: sparse.csr_matrix, count: int) -> str:
    """64 hex digits that name the harmonics of a domain: a hash of its neighbour graph and
    spacing."""
    graph.sort_indices()
    digest = hashlib.sha256(f"harmonics {VERSION} {count} {lattice.size} {lattice.spacing.hex()}".encode())
    for part in (graph.indptr, graph.indices):
        digest.update(np.ascontiguousarray(part.astype("<i8")).tobytes())
    return digest.hexdigest()
