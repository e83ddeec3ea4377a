"""The falsification suite: it builds neighbouring datasets to break a bound, at random and by hill climbing.

A *family* makes prior kernels on a handful of cells and says which bounds are claimed for them. An attack
keeps a population of neighbouring pairs (prior, core, the two replaced records) and climbs to the largest
true sensitivity. `breaches` then compares exact Renyi divergences (see `divergence`) with the claims at many
orders, scales and noise shares. Responses are extreme (+1 or -1), as the worst ones always are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tests.oracles.divergence import posterior, renyi, squared_distance, white_basis

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Random = np.random.Generator

GENERIC = ("sharp", "separate", "triangle", "joint-sharp")
LATTICE = ("maximum-principle", "joint-maximum-principle", *GENERIC)


def _distances(points: Floats) -> Floats:
    return np.linalg.norm(points[:, :, None, :] - points[:, None, :, :], axis=-1)


def exponential_plane(random: Random, size: int, cells: int) -> Floats:
    """Exponential kernels of many lengthscales on random points of the plane, some of them almost equal."""
    points = random.normal(size=(size, cells, 2)) * 10.0 ** random.uniform(-1.5, 1.0, size=(size, 1, 1))
    return np.exp(-_distances(points))


def squared_exponential(random: Random, size: int, cells: int) -> Floats:
    """Squared exponential kernels: the smoothest, with covariances of nearly lower rank."""
    points = random.normal(size=(size, cells, 2)) * 10.0 ** random.uniform(-0.5, 0.7, size=(size, 1, 1))
    return np.exp(-0.5 * _distances(points) ** 2)


def gram(random: Random, size: int, cells: int) -> Floats:
    """Arbitrary Gram matrices with variances up to 1, of low and full rank and with negative correlations."""
    rank = int(random.integers(1, cells + 1))
    features = random.normal(size=(size, cells, rank))
    features /= np.linalg.norm(features, axis=2, keepdims=True)
    features *= random.choice([1.0, 0.97, 0.6], size=(size, cells, 1), p=[0.7, 0.2, 0.1])
    return features @ features.transpose(0, 2, 1)


def star(random: Random, size: int, cells: int) -> Floats:
    """Orthogonal cells and two that see them all: the core mean grows with sqrt(n) (paper, Lemma B.2)."""
    weights = random.normal(size=(size, 2, cells - 2)) * random.choice([0.0, 0.3], size=(size, 1, 1)) + 1.0
    weights[:, 1] *= random.choice([1.0, -1.0], size=(size, 1))
    weights /= np.linalg.norm(weights, axis=2, keepdims=True)
    weights *= random.uniform(0.3, 1.0, size=(size, 2, 1))
    spare = np.sqrt(1.0 - np.sum(weights**2, axis=2))
    features = np.zeros((size, cells, cells))
    features[:, 2:, 2:] = np.eye(cells - 2)
    features[:, :2, 2:] = weights
    features[:, 0, 0], features[:, 1, 1] = spare[:, 0], spare[:, 1]
    return features @ features.transpose(0, 2, 1)


def line_exponential(random: Random, size: int, cells: int) -> Floats:
    """Exponential kernels on random points of a line."""
    points = random.normal(size=(size, cells, 1)) * 10.0 ** random.uniform(-2.0, 1.0, size=(size, 1, 1))
    return np.exp(-_distances(points))


def m_matrix(random: Random, size: int, cells: int) -> Floats:
    """Inverses of random symmetric M-matrices with row sums >= 0, scaled to largest variance 1."""
    links = np.triu(random.random((size, cells, cells)) < random.uniform(0.2, 1.0, size=(size, 1, 1)), 1)
    links = links * 10.0 ** random.uniform(-3.0, 2.0, size=links.shape)
    links = links + links.transpose(0, 2, 1)
    killed = 10.0 ** random.uniform(-4.0, 1.0, size=(size, cells))
    precision = -links
    diagonal = np.arange(cells)
    precision[:, diagonal, diagonal] = links.sum(axis=2) + killed
    kernel = np.linalg.inv(precision)
    kernel = 0.5 * (kernel + kernel.transpose(0, 2, 1))
    return kernel / (np.max(kernel[:, diagonal, diagonal], axis=1)[:, None, None] * (1.0 + 1e-12))


def constant(random: Random, size: int, cells: int) -> Floats:
    """The kernel that is 1 everywhere."""
    return np.ones((size, cells, cells))


def diagonal(random: Random, size: int, cells: int) -> Floats:
    """The kernel that is 1 on the diagonal and 0 elsewhere."""
    return np.tile(np.eye(cells), (size, 1, 1))


@dataclass(frozen=True)
class Family:
    """Prior kernels and the bounds claimed for them."""

    name: str
    make: Callable[[Random, int, int], Floats]
    bounds: tuple[str, ...]
    cells: int = 6


FAMILIES = (
    Family("exponential on the plane", exponential_plane, GENERIC),
    Family("squared exponential", squared_exponential, GENERIC),
    Family("any Gram matrix", gram, GENERIC),
    Family("star of orthogonal cells", star, GENERIC, 14),
    Family("inverse M-matrix", m_matrix, LATTICE),
    Family("exponential on a line", line_exponential, ("line-exponential", *LATTICE)),
    Family("diagonal", diagonal, ("diagonal", *LATTICE)),
    Family("constant", constant, ("constant", *GENERIC)),
)


@dataclass(frozen=True)
class Pairs:
    """T neighbouring pairs: prior, core counts and signs per cell, and the two replaced records."""

    kernel: Floats  # (T, N, N)
    counts: Ints  # (T, N), the same total n - 1 for all
    signs: Floats  # (T, N) responses of the core records, +1 or -1 per cell
    cells: Ints  # (T, 2) cells of the record in D and of its replacement in D'
    responses: Floats  # (T, 2)
    ridge: float

    @property
    def n(self) -> int:
        return int(self.counts[0].sum()) + 1

    @property
    def kappa(self) -> float:
        """Least prior correlation of all T priors, 0 if some are negative."""
        return float(np.clip(self.kernel.min(), 0.0, 1.0))

    @property
    def basis(self) -> Floats:
        return white_basis(self.kernel)

    def dataset(self, which: int | None) -> tuple[Floats, Floats]:
        """Posterior of D (0), of D' (1) or of the common core (None)."""
        counts, total = self.counts.astype(float), self.signs * self.counts
        if which is not None:
            rows = np.arange(len(counts))
            np.add.at(counts, (rows, self.cells[:, which]), 1.0)
            np.add.at(total, (rows, self.cells[:, which]), self.responses[:, which])
        mean = np.where(counts > 0.0, total / np.maximum(counts, 1.0), 0.0)
        return posterior(self.basis, counts, mean, self.ridge)

    def sensitivity(self) -> Floats:
        """(T,) true distances of the two posterior means in the space of the core's posterior kernel."""
        difference = self.dataset(0)[0] - self.dataset(1)[0]
        return np.sqrt(np.maximum(0.0, squared_distance(self.dataset(None)[1], difference)))

    def divergence(self, orders: Floats, scale: float, noise: float) -> Floats:
        """(T, K) exact Renyi divergence of one path of D against one of D'."""
        (mean_a, cov_a), (mean_b, cov_b) = self.dataset(0), self.dataset(1)
        s2, e2 = scale**2, noise**2 * np.eye(self.kernel.shape[-1])
        return renyi(mean_a, s2 * cov_a + e2, mean_b, s2 * cov_b + e2, orders)


def random_pairs(random: Random, family: Family, size: int, n: int, ridge: float) -> Pairs:
    """Random priors and cores: spread out, clustered, or all records at one cell."""
    weights = random.dirichlet(np.full(family.cells, random.choice([0.05, 0.5, 5.0])), size=size)
    counts = np.stack([random.multinomial(n - 1, row) for row in weights])
    return Pairs(
        family.make(random, size, family.cells),
        counts,
        random.choice([-1.0, 1.0], size=(size, family.cells)),
        random.integers(0, family.cells, size=(size, 2)),
        random.choice([-1.0, 1.0], size=(size, 2)),
        ridge,
    )


def _mutated(random: Random, family: Family, pairs: Pairs) -> Pairs:
    """A change of one kind for every pair: move records, flip signs, move the replaced records, new prior."""
    size, cells = pairs.counts.shape
    rows, kind = np.arange(size), random.integers(0, 5, size=size)
    counts, signs = pairs.counts.copy(), pairs.signs.copy()
    source, goal = random.integers(0, cells, size=(2, size))
    moved = np.where(kind == 0, np.ceil(counts[rows, source] * random.random(size) ** 3).astype(np.int64), 0)
    np.add.at(counts, (rows, source), -moved)
    np.add.at(counts, (rows, goal), moved)
    signs[rows, goal] *= np.where(kind == 1, -1.0, 1.0)
    places, responses = pairs.cells.copy(), pairs.responses.copy()
    which = random.integers(0, 2, size=size)
    places[rows, which] = np.where(kind == 2, goal, places[rows, which])
    responses[rows, which] *= np.where(kind == 3, -1.0, 1.0)
    kernel = np.where((kind == 4)[:, None, None], family.make(random, size, cells), pairs.kernel)
    return replace(pairs, kernel=kernel, counts=counts, signs=signs, cells=places, responses=responses)


def climb(random: Random, family: Family, pairs: Pairs, rounds: int) -> tuple[Pairs, Floats]:
    """Hill climbing on the true sensitivity; returns the pairs found and their sensitivities (T,)."""
    reached = pairs.sensitivity()
    for _ in range(rounds):
        other = _mutated(random, family, pairs)
        new = other.sensitivity()
        better = new > reached
        reached = np.where(better, new, reached)
        chosen = {
            name: np.where(
                better.reshape((-1,) + (1,) * (getattr(pairs, name).ndim - 1)), value, getattr(pairs, name)
            )
            for name, value in vars(other).items()
            if name != "ridge"
        }
        pairs = replace(pairs, **chosen)
    return pairs, reached


Price = Callable[[str, Pairs, Floats, float, float], Floats]
"""(bound, pairs, orders (K,), scale, noise) -> claimed RDP (K,)."""


def breaches(pairs: Pairs, price: Price, bound: str, orders: Floats, scale: float, noise: float) -> Floats:
    """(T, K) how far the exact divergence exceeds the claim, relative to it; <= 0 where the claim stands.

    The oracle's own rounding, relative 1e-6 and absolute 1e-11/(alpha - 1), is granted.
    """
    exact = pairs.divergence(orders, scale, noise)
    claim = price(bound, pairs, orders, scale, noise)
    slack = 1e-6 * claim + 1e-11 * (1.0 + 1.0 / (orders - 1.0))
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(claim), -1.0, (exact - claim - slack) / np.maximum(claim, 1e-300))
