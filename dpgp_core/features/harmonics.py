"""Harmonics: smooth patterns of a domain's neighbour graph, one eigendecomposition for every prior on it."""

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

PLACES = 9  # decimals, of the largest variance, to which variances along patterns that are equal agree
VERSION = 3  # part of every key: raise it when the numbers a key stands for change
DENSE_NODES = 1_200
"""Above this many nodes the smoothest patterns are found by Lanczos iteration: a few of many."""

SHIFT = -0.01
"""Just below the smallest eigenvalue of the graph Laplacian, which is 0; the largest is about 12."""


@dataclass(frozen=True, eq=False)
class Harmonics:
    """The Q smoothest eigenpairs of `-Laplace` on the M nodes of a domain, with reflecting edges."""

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
        """(M,) share of each node's variance, for white noise, that the kept vectors leave out."""
        return np.asarray(np.maximum(1.0 - np.einsum("ij,ij->i", self.vectors, self.vectors), 0.0))

    def pairs(self, spectrum: Floats) -> Eigenpairs:
        """These patterns as eigenpairs of a prior with variances (Q,) > 0 along them (`prior_spectrum`).

        What the kept patterns leave out of a node's variance is divided among nodes by their share of the
        left-out white noise. Patterns of larger variance come first.
        """
        order = np.argsort(-np.round(spectrum / spectrum.max(), PLACES), kind="stable")  # equal ones stay
        variance = np.square(self.vectors) @ spectrum
        rest = max(self.size - float(spectrum.sum()), 0.0)
        if self.left_out.sum() > 0:
            variance = variance + rest * self.left_out / self.left_out.sum()
        values = np.minimum.accumulate(spectrum[order])
        return Eigenpairs(values, self.vectors[:, order], np.asarray(variance))


def prior_spectrum(harmonics: Harmonics, prior: Prior) -> Floats:
    """(Q,) variance of a prior field along each pattern: `diag(U^T C U)`, with unit variance at every node.

    What the prior knows about two patterns together is left out: on a domain with an edge they are a little
    correlated. A release is priced by its features, so only the map's quality depends on this.
    """
    correlation = prior.correlation()
    scale = 1.0 / np.sqrt(correlation.diagonal())
    scaled = scale[:, None] * harmonics.vectors
    spectrum = np.einsum("ij,ij->j", scaled, correlation @ scaled)
    return np.asarray(np.maximum(spectrum, 1e-12 * spectrum.max()))


def domain_harmonics(lattice: Lattice, count: int, store: FolderStore | None = None) -> Harmonics:
    """The `count` smoothest harmonics of a domain, from the store where they are kept.

    Public geography alone decides them; one decomposition serves every prior and lengthscale. Meant for the
    few thousand nodes of `Nodes`: dense up to DENSE_NODES, by shift-and-invert Lanczos iteration above.
    """
    count = min(whole("count", count), lattice.size)
    graph = sparse.csr_matrix(domain_adjacency(lattice))
    key = _key(lattice, graph, count)
    found = None if store is None else _kept(store, key)
    if found is not None and found.vectors.shape == (lattice.size, count):
        return found
    laplacian = sparse.csc_matrix(sparse.diags(np.asarray(graph.sum(axis=1)).ravel()) - graph)
    values, vectors = _smoothest(laplacian, count)
    values = np.maximum.accumulate(np.maximum(values, 0.0)) / (HEXAGON_FACTOR * lattice.spacing**2)
    made = Harmonics(values[:count], np.ascontiguousarray(canonical(values, vectors)[:, :count]))
    if store is not None:
        store.put_arrays(key, {"values": made.values, "vectors": made.vectors})
    return made


def _smoothest(laplacian: sparse.csc_matrix, count: int) -> tuple[Floats, Floats]:
    """The `count` smallest eigenvalues of a graph Laplacian, and a few, increasing, with eigenvectors."""
    size = laplacian.shape[0]
    if size <= DENSE_NODES or 2 * count > size:
        most = min(count + FURTHER, size)
        values, vectors = linalg.eigh(laplacian.toarray(), subset_by_index=(0, most - 1), check_finite=False)
        return np.asarray(values), np.asarray(vectors)
    # Any start that is not symmetric: on a symmetric domain a symmetric one would miss half of the vectors.
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
    """64 hex digits that name the harmonics of a domain: a hash of its neighbour graph and spacing."""
    graph.sort_indices()
    digest = hashlib.sha256(f"harmonics {VERSION} {count} {lattice.size} {lattice.spacing.hex()}".encode())
    for part in (graph.indptr, graph.indices):
        digest.update(np.ascontiguousarray(part.astype("<i8")).tobytes())
    return digest.hexdigest()
