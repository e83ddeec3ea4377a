"""Nodes: the cells of a large domain gathered, by public geography, into few groups that share
features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.spatial import Delaunay, QhullError, cKDTree

from dpgp_core._checks import whole
from dpgp_core.errors import InvalidValue
from dpgp_core.linalg import Floats, Ints
from dpgp_core.priors.lattice import Lattice

MOST_NODES = 3_000
"""Default number of nodes: a dense eigenproblem of this size takes a few seconds, once per
domain."""

AT_ONCE = 1024  # cells per block when variances between nodes are computed


@dataclass(frozen=True, eq=False)
class Nodes:
    """Groups of neighbouring cells; a domain of up to MOST_NODES cells has one cell per node.

    Privacy noise hides detail finer than the wavelength of the last released feature, which is
    several nodes wide. So all cells of a node may have the same features, and a release and its
    reading take as long on a large domain as on a small one.
    """

    lattice: Lattice  # the nodes as a lattice of their own, for priors; M = lattice.size
    place: Ints  # (N,) node of each cell
    # (N, M) weights >= 0 with row sums 1 that carry values at nodes to cells
    interpolation: sparse.csr_matrix

    def __post_init__(self) -> None:
        count = self.lattice.size
        if self.place.ndim != 1 or self.interpolation.shape != (self.place.size, count):
            raise InvalidValue("every cell needs one node and one row of interpolation weights.")
        if not np.array_equal(np.unique(self.place), np.arange(count)):
            raise InvalidValue("every node needs at least one cell, and every cell an existing node.")

    @classmethod
    def of(cls, lattice: Lattice, most: int = MOST_NODES) -> Nodes:
        """Gather the cells of a lattice into at most `most` nodes, on a coarser hexagonal lattice.

        Uses cell centres and the neighbour graph only, so the result is public.
        """
        most = whole("most", most, least=4)
        if lattice.size <= most:
            cells = np.arange(lattice.size)
            return cls(lattice, cells, sparse.csr_matrix(sparse.eye_array(lattice.size)))
        # Cells per node grow with the square of the spacing; rims are ragged, so the first try may
        # give a few nodes too many, and the spacing then grows by small steps.
        spacing = lattice.spacing * np.sqrt(lattice.size / most)
        while True:
            label = _hexagon_of(lattice.centres, spacing)
            if np.unique(label[lattice.inside]).size <= most:
                break
            spacing *= 1.02
        coarse, place = _coarser(lattice, label, spacing)
        return cls(coarse, place, _interpolation(lattice.domain_centres, coarse.domain_centres))

    @property
    def cells(self) -> int:
        """Number N of cells of the domain."""
        return int(self.place.size)

    @property
    def size(self) -> int:
        """Number M of nodes."""
        return self.lattice.size

    @property
    def one_to_one(self) -> bool:
        """Whether each node has exactly one cell."""
        return self.size == self.cells

    @cached_property
    def cells_per_node(self) -> Floats:
        """(M,) number of cells of each node."""
        return self.gather(np.ones(self.cells))

    def thinned(self, step: int) -> tuple[Ints, sparse.csr_matrix]:
        """Every `step`-th node (K,), and weights (M, K) that interpolate from them to all nodes;
        cached."""
        if step not in self._thinned:
            sample = np.arange(0, self.size, whole("step", step))
            centres = self.lattice.domain_centres
            self._thinned[step] = (
                (sample, sparse.csr_matrix(sparse.eye_array(self.size)))
                if sample.size == self.size
                else (sample, _interpolation(centres, centres[sample]))
            )
        return self._thinned[step]

    @cached_property
    def _thinned(self) -> dict[int, tuple[Ints, sparse.csr_matrix]]:
        return {}

    def gather(self, values: Floats) -> Floats:
        """(M,) sums over each node's cells of values (N,) per cell."""
        return np.bincount(self.place, weights=values, minlength=self.size).astype(np.float64)

    def spread(self, values: Floats) -> Floats:
        """(..., N) values at cells, interpolated between values (..., M) at nodes."""
        if self.one_to_one:
            return values
        flat = self.interpolation @ values.reshape(-1, self.size).T
        return np.ascontiguousarray(flat.T).reshape(*values.shape[:-1], self.cells)

    def spread_variance(self, covariance: Floats) -> Floats:
        """(N,) variance at cells of a field interpolated between nodes of covariance (M, M).

        It is below the variance at the nodes, as a mean varies less than its parts.
        """
        variance = np.empty(self.cells)
        for start in range(0, self.cells, AT_ONCE):
            weights = self.interpolation[start : start + AT_ONCE]
            products = weights.multiply(weights @ covariance).sum(axis=1)
            variance[start : start + AT_ONCE] = np.asarray(products).ravel()
        return variance


def _hexagon_of(points: Floats, spacing: float) -> Ints:
    """(P,) number of the hexagon, of a plane lattice with this spacing, that contains each
    point."""
    # Axial coordinates (q, r) along two lattice directions at 60 degrees, completed to three that
    # sum to 0.
    r = points[:, 1] / (spacing * np.sqrt(0.75))
    q = points[:, 0] / spacing - 0.5 * r
    cube = np.stack([q, r, -q - r])
    nearest = np.rint(cube)
    error = np.abs(cube - nearest)
    worst = error.argmax(axis=0)
    # Rounding each coordinate by itself breaks the sum: the coordinate with the largest rounding
    # error is recomputed from the other two. The third one is not used below.
    for axis in range(2):
        remainder = nearest.sum(axis=0) - nearest[axis]
        nearest[axis] = np.where(worst == axis, -remainder, nearest[axis])
    _, label = np.unique(nearest[:2].T, axis=0, return_inverse=True)
    return np.asarray(label, dtype=np.int64).ravel()


def _coarser(lattice: Lattice, label: Ints, spacing: float) -> tuple[Lattice, Ints]:
    """The lattice with one cell per label, those of the domain first, and the node of each domain
    cell."""
    # Labels with a domain cell become nodes; labels of padding cells alone become the coarse
    # padding.
    used = np.unique(label[lattice.inside])
    rank = np.empty(label.max() + 1, dtype=np.int64)
    rank[used] = np.arange(used.size)
    padding = np.setdiff1d(np.arange(rank.size), used)
    rank[padding] = used.size + np.arange(padding.size)
    label = rank[label]
    weight = np.zeros(label.size)
    weight[lattice.inside] = 1.0
    weight[label >= used.size] = 1.0  # padding nodes have the mean of all their cells
    total = np.bincount(label, weights=weight, minlength=rank.size)
    axes = [np.bincount(label, weights=weight * axis, minlength=rank.size) for axis in lattice.centres.T]
    centres = np.stack(axes, axis=1) / total[:, None]
    edges = sparse.coo_array(lattice.adjacency)
    rows, columns = label[edges.coords[0]], label[edges.coords[1]]
    apart = rows != columns
    graph = sparse.coo_array((np.ones(apart.sum()), (rows[apart], columns[apart])), shape=2 * (rank.size,))
    adjacency = sparse.csr_matrix(graph)
    adjacency.data[:] = 1.0
    return Lattice(centres, adjacency, np.arange(used.size), spacing), label[lattice.inside]


def _interpolation(cells: Floats, nodes: Floats) -> sparse.csr_matrix:
    """Linear interpolation on the triangulation of the nodes; outside of it the nearest node's
    value."""
    # Weights are barycentric coordinates, so they are at least 0 and each row sums to 1.
    _, nearest = cKDTree(nodes).query(cells)
    columns, weights = np.repeat(nearest[:, None], 3, axis=1), np.zeros((cells.shape[0], 3))
    weights[:, 0] = 1.0
    try:
        triangles = Delaunay(nodes)
    except (QhullError, ValueError):  # fewer than three nodes, or all on a line
        triangles = None
    if triangles is not None:
        simplex = triangles.find_simplex(cells)
        inside = np.flatnonzero(simplex >= 0)
        affine = triangles.transform[simplex[inside]]
        # `transform` gives two barycentric coordinates; the third is what they leave of 1. Thin
        # triangles at the rim have no finite transform and fall back to the nearest node.
        two = np.einsum("ijk,ik->ij", affine[:, :2], cells[inside] - affine[:, 2])
        three = np.clip(np.column_stack([two, 1.0 - two.sum(axis=1)]), 0.0, 1.0)
        good = np.all(np.isfinite(three), axis=1)
        weights[inside[good]] = three[good] / three[good].sum(axis=1, keepdims=True)
        columns[inside[good]] = triangles.simplices[simplex[inside[good]]]
    rows = np.repeat(np.arange(cells.shape[0]), 3)
    shape = (cells.shape[0], nodes.shape[0])
    return sparse.csr_matrix(sparse.coo_array((weights.ravel(), (rows, columns.ravel())), shape=shape))
