"""Leading eigenpairs of a correlation matrix: their canonical form, their cache key, and a folder
that stores them and other public arrays between runs."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import linalg, sparse

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.priors.lattice import Lattice

TIED = 1e-6  # entries, and lengths of rows, within this share of the largest count as equal

SAME, FURTHER = 1e-9, 8
"""Eigenvalues within SAME of each other, as a share of the largest, count as equal. FURTHER
eigenpairs beyond the requested number are computed, so that a group of equal eigenvalues is not cut
in two."""

_KEY = re.compile(r"[0-9a-f]{64}")
VERSION = 2  # part of every key: raise it when the stored numbers change


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """The Q leading eigenpairs of a correlation matrix of M nodes, and that matrix's diagonal."""

    values: Floats  # (Q,) eigenvalues, not increasing, > 0
    vectors: Floats  # (M, Q) orthonormal columns, as `canonical` chooses them
    variance: Floats  # (M,) prior variance of each node, > 0

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.vectors.shape != (self.variance.size, self.values.size):
            raise InvalidValue("eigenvalues, eigenvectors and variances do not fit together.")
        if self.values.size == 0 or not all(
            np.all(np.isfinite(part)) for part in (self.values, self.vectors, self.variance)
        ):
            raise InvalidValue("eigenpairs must be finite, and at least one is needed.")
        if np.any(self.values <= 0) or np.any(np.diff(self.values) > 0) or np.any(self.variance <= 0):
            raise InvalidValue("eigenvalues must be positive and not increasing, variances positive.")

    @property
    def size(self) -> int:
        """Number M of nodes."""
        return int(self.variance.size)

    def with_columns(self, columns: Floats, share: float) -> Eigenpairs:
        """Eigenpairs of the prior if public columns (M, k) of mean square 1 explain a share of it.

        The share is in (0, 1). With W = (sqrt(1 - share) U sqrt(values), sqrt(share/k) columns) the
        covariance is `W W^T`, whose eigenvectors are W times those of the small matrix `W^T W`. It
        is scaled to the old mean variance.
        """
        # The covariance of the whole field W W^T is M x M, but its rank is at most Q + k: the small
        # matrix W^T W has the same nonzero eigenvalues (docs/spectral-statistics.md, section 4,
        # "Public columns").
        scale = np.sqrt(share / columns.shape[1] * float(self.variance.mean()))
        factor = np.hstack([np.sqrt((1.0 - share) * self.values) * self.vectors, scale * columns])
        values, turned = linalg.eigh(factor.T @ factor, check_finite=False)
        order = np.argsort(-values, kind="stable")
        # A column within the span of the eigenvectors gives an eigenvalue of 0: dividing by its
        # root fails.
        order = order[values[order] > 1e-10 * values.max()]
        vectors = factor @ turned[:, order] / np.sqrt(values[order])
        explained = np.square(scale * columns).sum(axis=1)
        variance = (1.0 - share) * self.variance + explained
        return Eigenpairs(values[order], canonical(values[order], vectors), variance)


def canonical(values: Floats, vectors: Floats) -> Floats:
    """(M, Q) eigenvectors that depend on the matrix alone, not on rounding; values (Q,) in order.

    The largest entry of each eigenvector is positive; among entries of equal size the first
    decides. Symmetric areas have equal eigenvalues, whose eigenvectors may be rotated freely: the
    first vector is then the projection of the node with the largest share in their space, the next
    one that of the node with the largest share in the remaining space, and so on.
    """
    # Two machines must agree on the features: a curator prices the release by them and a reader
    # rebuilds them from public geography. LAPACK fixes neither the sign of a vector nor the basis
    # of a tied space.
    vectors = np.array(vectors)
    starts = np.flatnonzero(np.abs(np.diff(values, prepend=np.inf)) > SAME * np.abs(values).max())
    for first, end in zip(starts, [*starts[1:], values.size], strict=True):
        if end - first > 1:
            vectors[:, first:end] = _turned(vectors[:, first:end])
    size = np.abs(vectors)
    leading = (size >= (1.0 - TIED) * size.max(axis=0)).argmax(axis=0)
    return np.ascontiguousarray(vectors * np.sign(vectors[leading, np.arange(values.size)]))


def _turned(space: Floats) -> Floats:
    """(M, k) the canonical basis of the space of k orthonormal columns."""
    # Pivoted Gram-Schmidt on the nodes: the squared length of a row of `space @ left` is the node's
    # share in the space that the earlier directions leave, and does not depend on the basis passed
    # in.
    basis, left = np.empty_like(space), np.eye(space.shape[1])
    for column in range(space.shape[1]):
        rows = space @ left
        length = np.square(rows).sum(axis=1)
        node = int((length >= (1.0 - TIED) * length.max()).argmax())
        direction = rows[node] / np.sqrt(length[node])
        basis[:, column] = space @ direction
        left -= np.outer(direction, direction)
    return basis


def eigen_key(lattice: Lattice, prior: str, lengthscale: float, count: int) -> str:
    """64 hex digits that name the eigenpairs of one prior on one lattice: a hash of public
    geography."""
    graph = sparse.csr_matrix(lattice.adjacency)
    graph.sort_indices()
    text = f"eigenpairs {VERSION} {prior} {float(lengthscale).hex()} {count} {lattice.spacing.hex()}"
    digest = hashlib.sha256(text.encode())
    for part in (
        lattice.centres.astype("<f8"),
        lattice.inside.astype("<i8"),
        graph.indptr.astype("<i8"),
        graph.indices.astype("<i8"),
    ):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


class FolderStore:
    """Public arrays as files `KEY.npz` in a folder; a missing, damaged or misshapen file counts as
    absent.

    A wrong file degrades the map but no guarantee: the price is computed from the features
    themselves.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise InvalidValue("a key must be 64 hex digits.")
        return self._folder / f"{key}.npz"

    def arrays(self, key: str, names: tuple[str, ...]) -> tuple[Floats, ...] | None:
        path = self._path(key)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                parts = tuple(np.asarray(archive[name]) for name in names)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return None if any(part.dtype != np.float64 for part in parts) else parts

    def put_arrays(self, key: str, arrays: Mapping[str, Floats]) -> None:
        path = self._path(key)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
        except OSError:
            return  # without the cache the next run only takes longer
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, allow_pickle=False, **arrays)
            os.replace(name, path)
        except OSError:
            Path(name).unlink(missing_ok=True)
