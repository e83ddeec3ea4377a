"""Harmonics: smooth patterns of a domain's neighbour graph, one eigendecomposition for every prior on it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, sparse

from dpgp_core._checks import whole
from dpgp_core.errors import InvalidValue
from dpgp_core.excursion.smoothing import domain_adjacency
from dpgp_core.features.eigen import Eigenpairs, signed
from dpgp_core.features.store import EigenStore
from dpgp_core.linalg.numerics import Floats
from dpgp_core.priors.car import HEXAGON_FACTOR
from dpgp_core.priors.lattice import Lattice
from dpgp_core.priors.registry import Prior

VERSION = 1
"""Part of every key: raise it when the numbers a key stands for change."""


@dataclass(frozen=True, eq=False)
class Harmonics:
    """Eigenpairs of `-Laplace` on the M nodes of a domain, with reflecting edges.

    Parameters
    ----------
    values : ndarray, shape (M,)
        All eigenvalues, squared wave numbers in 1/m^2, >= 0, not decreasing.
    vectors : ndarray, shape (M, Q)
        Orthonormal columns of the Q smallest.
    """

    values: Floats
    vectors: Floats

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.vectors.ndim != 2 or self.vectors.shape[0] != self.values.size:
            raise InvalidValue("eigenvalues and eigenvectors do not fit together.")
        if not 1 <= self.vectors.shape[1] <= self.values.size:
            raise InvalidValue("between one and all eigenvectors are kept.")
        if not (np.all(np.isfinite(self.values)) and np.all(np.isfinite(self.vectors))):
            raise InvalidValue("eigenvalues and eigenvectors must be finite.")
        if np.any(self.values < 0) or np.any(np.diff(self.values) < 0):
            raise InvalidValue("squared wave numbers must not be negative or decrease.")

    @cached_property
    def left_out(self) -> Floats:
        """(M,) share of each node's variance, for white noise, that the kept vectors leave out."""
        return np.asarray(np.maximum(1.0 - np.einsum("ij,ij->i", self.vectors, self.vectors), 0.0))

    def pairs(self, spectrum: Floats) -> Eigenpairs:
        """These patterns as eigenpairs of a prior with given variances along them.

        Parameters
        ----------
        spectrum : ndarray, shape (Q,)
            Variance of the prior field along each pattern (`prior_spectrum`), > 0, of a correlation matrix.

        Notes
        -----
        What the kept patterns leave out of a node's variance is divided among nodes by their share of the
        left-out white noise. Patterns of larger variance come first.
        """
        order = np.argsort(-spectrum, kind="stable")
        variance = np.square(self.vectors) @ spectrum
        rest = max(self.values.size - float(spectrum.sum()), 0.0)
        if self.left_out.sum() > 0:
            variance = variance + rest * self.left_out / self.left_out.sum()
        return Eigenpairs(spectrum[order], self.vectors[:, order], np.asarray(variance))


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


def domain_harmonics(lattice: Lattice, count: int, store: EigenStore | None = None) -> Harmonics:
    """The `count` smoothest harmonics of a domain, from the store where they are kept.

    Public geography alone decides them; one decomposition serves every prior and lengthscale. Dense, so meant
    for the few thousand nodes of `Nodes`.
    """
    count = min(whole("count", count), lattice.size)
    graph = sparse.csr_matrix(domain_adjacency(lattice))
    key = _key(lattice, graph, count)
    if store is not None and (found := _kept(store, key)) is not None and found.values.size == lattice.size:
        return found
    laplacian = -graph.toarray()
    laplacian[np.diag_indices_from(laplacian)] += np.asarray(graph.sum(axis=1)).ravel()
    values, vectors = linalg.eigh(laplacian, driver="evd", check_finite=False, overwrite_a=True)
    values = np.maximum.accumulate(np.maximum(values, 0.0)) / (HEXAGON_FACTOR * lattice.spacing**2)
    made = Harmonics(values, signed(vectors[:, :count]))
    if store is not None:
        store.put_arrays(key, {"values": made.values, "vectors": made.vectors})
    return made


def _kept(store: EigenStore, key: str) -> Harmonics | None:
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
