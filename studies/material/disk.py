"""A disk of hexagons, without a map: the domain of studies that need no geography."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dpgp_core.priors.lattice import Lattice

SPACING = 400.0  # metres between the centres of neighbours


def disk(cells: int) -> Lattice:
    """A disk of about `cells` hexagons with three rings of padding."""
    return rings(round(np.sqrt(cells / 3.0)), 3)


def rings(radius: int, padding: int = 0) -> Lattice:
    """The hexagons within `radius` rings around one, and further rings of padding."""
    total = radius + padding
    q, r = (axis.ravel() for axis in np.meshgrid(*2 * [np.arange(-total, total + 1)], indexing="ij"))
    ring = np.max(np.abs([q, r, q + r]), axis=0)
    q, r, ring = q[ring <= total], r[ring <= total], ring[ring <= total]
    place = np.full((2 * total + 3, 2 * total + 3), -1)
    place[q + total + 1, r + total + 1] = np.arange(q.size)
    edges = []
    for dq, dr in ((1, 0), (0, 1), (1, -1)):
        other = place[q + dq + total + 1, r + dr + total + 1]
        edges.append(np.stack([np.flatnonzero(other >= 0), other[other >= 0]]))
    rows, columns = np.concatenate(edges, axis=1)
    half = sparse.coo_matrix((np.ones(rows.size), (rows, columns)), shape=(q.size, q.size)).tocsr()
    centres = SPACING * np.stack([q + r / 2.0, r * np.sqrt(3.0) / 2.0], axis=1)
    return Lattice(centres, sparse.csr_matrix(half + half.T), np.flatnonzero(ring <= radius), SPACING)
