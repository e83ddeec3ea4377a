"""Leading eigenpairs of a prior's correlation, and a folder that keeps public arrays between runs."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from dpgp_core._checks import whole
from dpgp_core.errors import InvalidValue, NumericalFailure
from dpgp_core.linalg import Floats
from dpgp_core.priors.lattice import GraphPrior, Lattice, Prior

DENSE_NODES = 4_000
"""Above this many nodes the dense eigenproblem is left to the sparse precision of a lattice prior."""

TIED = 1e-6  # entries, and lengths of rows, that differ by less of the largest one are taken for equal

SAME, FURTHER = 1e-9, 8
"""Eigenvalues that differ by less of the largest one are taken for equal; so many beyond those that are asked
for are looked at, so that none of a few equal ones is missing."""

VERSION = 2  # part of every key: raise it when the numbers a key stands for change


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
        """Eigenpairs of the same prior where public columns (M, k) of mean square 1 explain a share of it, in
        (0, 1).

        With W = (sqrt(1 - share) U sqrt(values), sqrt(share/k) columns) the covariance is `W W^T`, whose
        eigenvectors are W times those of the small matrix `W^T W`. It is scaled to the old mean variance.
        """
        scale = np.sqrt(share / columns.shape[1] * float(self.variance.mean()))
        joined = np.hstack([np.sqrt((1.0 - share) * self.values) * self.vectors, scale * columns])
        values, turned = linalg.eigh(joined.T @ joined, check_finite=False)
        order = np.argsort(-values, kind="stable")
        order = order[values[order] > 1e-10 * values.max()]
        vectors = joined @ turned[:, order] / np.sqrt(values[order])
        added = np.square(scale * columns).sum(axis=1)
        variance = (1.0 - share) * self.variance + added
        return Eigenpairs(values[order], canonical(values[order], vectors), variance)


def leading_eigenpairs(prior: Prior, count: int) -> Eigenpairs:
    """Up to `count` leading eigenpairs of a prior's correlation on its lattice; fewer where eigenvalues
    vanish.

    Up to DENSE_NODES nodes: dense. Above, for a lattice prior with precision Q: Lanczos iteration with Q^-1
    applied by its banded factor, which is shift-and-invert at 0. What comes out need not be exact for any
    guarantee: features are priced by what they are (see `inner_products`). Raises NumericalFailure if the
    iteration does not converge.
    """
    count = min(whole("count", count), prior.size)
    seen = min(count + FURTHER, prior.size)
    if prior.graph is not None and prior.size > DENSE_NODES:
        values, vectors = _of_precision(prior.graph, min(seen, prior.size - 1))
        variance = prior.graph.prior_variance
    else:
        correlation = prior.correlation()
        variance = correlation.diagonal().copy()
        first = prior.size - seen
        values, vectors = linalg.eigh(
            correlation, subset_by_index=(first, prior.size - 1), check_finite=False
        )
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > 1e-12 * values.max()]
    vectors = canonical(values[order], vectors[:, order])
    return Eigenpairs(values[order][:count], np.ascontiguousarray(vectors[:, :count]), variance)


def canonical(values: Floats, vectors: Floats) -> Floats:
    """(M, Q) eigenvectors that depend on the matrix alone, however a computer rounds; values (Q,) in order.

    The largest entry of each is positive, the first of several that are as large. Of equal eigenvalues, which
    symmetric areas have, any rotation of their vectors would do: the first is the projection of the node that
    lies most in their space, the next one that of what is left, and so on.
    """
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
    made, left = np.empty_like(space), np.eye(space.shape[1])
    for column in range(space.shape[1]):
        rows = space @ left
        length = np.square(rows).sum(axis=1)
        node = int((length >= (1.0 - TIED) * length.max()).argmax())
        direction = rows[node] / np.sqrt(length[node])
        made[:, column] = space @ direction
        left -= np.outer(direction, direction)
    return made


def _of_precision(prior: GraphPrior, count: int) -> tuple[Floats, Floats]:
    padded = prior.lattice.centres.shape[0]
    inside = prior.lattice.inside

    def correlate(vector: Floats) -> Floats:
        right = np.zeros(padded)
        right[inside] = vector.ravel()
        return np.asarray(prior.factor.solve(right)[inside])

    # Any start that is not symmetric: on a symmetric domain a symmetric one would miss half of the vectors.
    start = np.sin(np.square(np.arange(1.0, prior.size + 1.0)))
    operator = LinearOperator((prior.size, prior.size), matvec=correlate, dtype=np.float64)
    try:
        values, vectors = eigsh(operator, k=count, which="LA", v0=start)
    except ArpackError as error:
        raise NumericalFailure(
            f"the eigenvectors of the prior '{prior.name}' were not found ({error}); use a longer "
            "lengthscale or fewer of them."
        ) from error
    return np.asarray(values), np.asarray(vectors)


def eigen_key(lattice: Lattice, prior: str, lengthscale: float, count: int) -> str:
    """64 hex digits that name the eigenpairs of one prior on one lattice: a hash of public geography."""
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


_KEY = re.compile(r"[0-9a-f]{64}")


class EigenStore(Protocol):
    """Where eigenpairs and harmonics are kept, by a key of 64 hex digits."""

    def get(self, key: str) -> Eigenpairs | None:
        """What was kept under the key, None where there is nothing or nothing usable."""
        ...

    def put(self, key: str, pairs: Eigenpairs) -> None:
        """Keep them, of any shape; a store that cannot may forget them."""
        ...

    def arrays(self, key: str, names: tuple[str, ...]) -> tuple[Floats, ...] | None:
        """The arrays of these names, in the shapes they had; None where one is missing or unusable."""
        ...

    def put_arrays(self, key: str, arrays: Mapping[str, Floats]) -> None:
        """Keep them, of any shape; a store that cannot may forget them."""
        ...


class FolderStore:
    """Arrays as files `KEY.npz` in one folder, which the caller names.

    Only public numbers are kept: they depend on geography and on a prior. A file that is missing, damaged or
    of the wrong shape counts as absent; a wrong one cannot harm a guarantee, because features are priced by
    what they are, only the map's quality.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise InvalidValue("a key must be 64 hex digits.")
        return self._folder / f"{key}.npz"

    def get(self, key: str) -> Eigenpairs | None:
        parts = self.arrays(key, ("values", "vectors", "variance"))
        try:
            return None if parts is None else Eigenpairs(*parts)
        except ValueError:
            return None

    def put(self, key: str, pairs: Eigenpairs) -> None:
        self.put_arrays(key, {"values": pairs.values, "vectors": pairs.vectors, "variance": pairs.variance})

    def arrays(self, key: str, names: tuple[str, ...]) -> tuple[Floats, ...] | None:
        path = self._path(key)
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                parts = tuple(np.asarray(kept[name]) for name in names)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return None if any(part.dtype != np.float64 for part in parts) else parts

    def put_arrays(self, key: str, arrays: Mapping[str, Floats]) -> None:
        path = self._path(key)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
        except OSError:
            return  # a cache that cannot be written costs time, nothing else
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, allow_pickle=False, **arrays)
            os.replace(name, path)
        except OSError:
            Path(name).unlink(missing_ok=True)
