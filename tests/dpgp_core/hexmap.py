"""Small lattices and record sets for the tests of the core, and entropies that reveal a sampler's law."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dpgp_core.noise import SimulationEntropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice

Floats = NDArray[np.float64]
DIRECTIONS = ((1, 0), (0, 1), (1, -1))


def lattice_of(
    q: NDArray[np.int64], r: NDArray[np.int64], inside: NDArray[np.bool_], spacing: float
) -> Lattice:
    """Lattice of the hexagons at axial coordinates (q, r)."""
    place = {(int(a), int(b)): i for i, (a, b) in enumerate(zip(q, r, strict=True))}
    pairs = [
        (i, place[a + da, b + db])
        for (a, b), i in place.items()
        for da, db in DIRECTIONS
        if (a + da, b + db) in place
    ]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    half = sparse.coo_matrix((np.ones(rows.size), (rows, columns)), shape=(q.size, q.size)).tocsr()
    centres = spacing * np.stack([q + r / 2.0, r * np.sqrt(3.0) / 2.0], axis=1)
    return Lattice(
        centres, sparse.csr_matrix(half + half.T), np.flatnonzero(inside).astype(np.int64), spacing
    )


def disk(radius: int, padding: int = 0, spacing: float = 400.0) -> Lattice:
    """A disk of 3 R (R + 1) + 1 hexagons with rings of padding around it."""
    total = radius + padding
    q, r = (axis.ravel() for axis in np.meshgrid(*2 * [np.arange(-total, total + 1)], indexing="ij"))
    ring = np.max(np.abs([q, r, q + r]), axis=0)
    kept = ring <= total
    return lattice_of(q[kept], r[kept], ring[kept] <= radius, spacing)


def line(size: int, spacing: float = 400.0) -> Lattice:
    """A row of cells."""
    return lattice_of(np.arange(size), np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool), spacing)


def lone(size: int) -> Lattice:
    """Cells without neighbours."""
    return lattice_of(5 * np.arange(size), np.zeros(size, dtype=np.int64), np.ones(size, dtype=bool), 400.0)


def islands() -> Lattice:
    """Two disks that do not touch, a lone cell between them."""
    q = np.array([0, 1, 0, 1, 10, 11, 10, 20])
    r = np.array([0, 0, 1, -1, 0, 0, 1, 0])
    return lattice_of(q, r, np.ones(q.size, dtype=bool), 400.0)


def records_on(lattice: Lattice, n: int, seed: int) -> tuple[NDArray[np.int64], Floats, CollapsedRecords]:
    """n records with repeated cells: (cell of each, response of each, collapsed)."""
    generator = np.random.default_rng(seed)
    cells = generator.integers(0, lattice.size, n)
    responses = np.clip(generator.normal(0.2, 0.6, n), -1.0, 1.0)
    return cells, responses, CollapsedRecords.from_records(cells, responses)


def textbook(
    covariance: Floats, cells: NDArray[np.int64], responses: Floats, ridge: float
) -> tuple[Floats, Floats]:
    """Posterior mean (N,) and covariance (N, N) of single records, straight from the definition."""
    cross = covariance[:, cells]
    gram = covariance[np.ix_(cells, cells)] + ridge**2 * np.eye(cells.size)
    return cross @ np.linalg.solve(gram, responses), covariance - cross @ np.linalg.solve(gram, cross.T)


class ZeroEntropy(SimulationEntropy):
    """All noise zero: what is drawn is the mean."""

    def __init__(self) -> None:
        super().__init__(0)

    def normal(self, shape: int | tuple[int, ...]) -> Floats:
        return np.zeros(shape)

    uniform = normal


class ProbeEntropy(SimulationEntropy):
    """Noise that is `step` times the identity matrix, one unit vector per path.

    A draw is `mean + B z`: with as many paths as there are numbers in z, the paths show the columns of B, and
    `B B^T` is the covariance of what the sampler draws, exactly and without sampling.
    """

    def __init__(self, step: float = 1.0) -> None:
        super().__init__(0)
        self.used = 0
        self.step = step

    def normal(self, shape: int | tuple[int, ...]) -> Floats:
        rows, paths = shape  # type: ignore[misc]
        block = np.zeros((rows, paths))
        here = np.arange(min(rows, max(paths - self.used, 0)))
        block[here, self.used + here] = self.step
        self.used += rows
        return block

    def uniform(self, shape: int | tuple[int, ...]) -> Floats:
        raise AssertionError("a Gaussian sampler must not ask for uniform numbers")


def drawn_law(draw: object, paths: int, step: float = 1.0) -> tuple[Floats, Floats]:
    """Exact mean and covariance of `draw(paths, entropy) -> (paths, N)`; `paths` must cover all its noise."""
    mean = draw(1, ZeroEntropy())[0]  # type: ignore[operator]
    probe = ProbeEntropy(step)
    root = (draw(paths, probe) - mean) / step  # type: ignore[operator]
    assert probe.used <= paths, "not all of the sampler's noise was probed"
    return mean, root.T @ root
