"""Smoothing of released paths over the neighbour graph: post-processing, so it costs no privacy."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats
from dpgp_core.priors.lattice import Lattice, averaging


def smooth(on: Lattice | sparse.csr_matrix, paths: Floats, rounds: int) -> Floats:
    """Replace `rounds` times each cell's value by the mean over itself and its neighbours in the domain.

    It uses public geography and paths (..., N) only: `on` is the lattice, or the (N, N) adjacency of its
    cells. Raises InvalidValue for a negative number, or paths of another size.
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
