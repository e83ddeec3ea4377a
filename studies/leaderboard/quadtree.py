"""A private quadtree of sums and counts, after Cormode, Procopiuc, Srivastava, Shen and Yu (ICDE 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.errors import DesignError
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.cell_sums import noisy_totals
from dpgp_core.mechanisms.design import SearchSpec
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import PublicFacts, Released
from studies.leaderboard.squares import (
    SCATTER,
    SENSITIVITY,
    UP,
    Integers,
    OnSquares,
    SquaresDesign,
    SquaresSpace,
    numbered,
    square_of,
)

MOST_LEAVES = 200


@dataclass(frozen=True, kw_only=True)
class QuadtreeDesign(SquaresDesign):
    """A complete tree of squares, its budget growing by a factor from each level to the next.

    Parameters
    ----------
    depth
        Levels below the root: 4^depth squares at most are leaves.
    growth
        Of a level's share of mu^2 over the level above it, > 0.
    """

    mechanism: ClassVar[str] = "quadtree"

    depth: int = 3
    growth: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("growth")
        if not 1 <= self.depth <= 8:
            raise DesignError(f"depth must be 1 to 8, got {self.depth!r}.")

    def noises(self) -> tuple[float, ...]:
        """Deviations of every level's noise, finest last; the levels together cost mu."""
        shares = self.growth ** np.arange(1, self.depth + 1)
        return tuple(SENSITIVITY / (self.mu * np.sqrt(shares / shares.sum())) * UP)


@dataclass(frozen=True, eq=False)
class Tree:
    """The public squares of a domain of N cells, L of them leaves.

    Parameters
    ----------
    leaf
        (N,) leaf of every cell
    levels
        for each level, coarsest first, the (L,) square of every leaf
    """

    leaf: Integers
    levels: tuple[Integers, ...]

    @classmethod
    def of(cls, lattice: Lattice, depth: int) -> Tree:
        """The tree of 4^depth squares over the domain, without those that hold no cell."""
        leaf = numbered(square_of(lattice, 2**depth))
        first = np.unique(leaf, return_index=True)[1]
        levels = [numbered(square_of(lattice, 2**level))[first] for level in range(1, depth + 1)]
        return cls(leaf, tuple(levels))

    def alike(self, weights: Floats) -> Floats:
        """(L, L) sum over levels of a weight where two leaves share that level's square."""
        pairs = zip(self.levels, weights, strict=True)
        return np.asarray(sum(w * (at[:, None] == at[None, :]) for at, w in pairs), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Prepared:
    design: QuadtreeDesign
    tree: Tree
    records: CollapsedRecords

    def draw(self, entropy: Entropy) -> Released:
        """Every level once; their least-squares consistent leaves, read with a prior over the same tree."""
        design, tree = self.design, self.tree
        noises = np.array(design.noises())
        agreeing = tree.alike(noises**-2.0)  # what all levels together say about pairs of leaves
        pulled = np.zeros((2, tree.levels[-1].size))
        for at, noise in zip(tree.levels, noises, strict=True):
            for row, noisy in enumerate(noisy_totals(self.records, at[tree.leaf], float(noise), entropy)):
                pulled[row] += noisy[at] / noise**2
        error = np.linalg.inv(agreeing)
        sums, counts = error @ pulled[0], np.maximum(error @ pulled[1], 0.0)
        shared = np.full(len(noises), 1.0 / len(noises))
        prior = design.scale**2 * tree.alike(shared)
        observed = counts[:, None] * prior * counts[None, :] + error
        observed += np.diag(counts * (SCATTER * design.scale) ** 2)
        gain = np.linalg.solve(observed, counts[:, None] * prior).T
        mean = gain @ sums
        variance = np.maximum(design.scale**2 - np.einsum("ij,ij->i", gain, counts[None, :] * prior), 0.0)
        field = mean[tree.leaf]
        return design.read_as(field, np.sqrt(variance)[tree.leaf])


class TreeSpace(SquaresSpace):
    """The deepest trees that can be read."""

    def grid(self, facts: PublicFacts, ask: SearchSpec) -> tuple[QuadtreeDesign, ...]:
        """Designs to try, noise still open."""
        depths = [d for d in range(1, 7) if np.unique(square_of(facts.lattice, 2**d)).size <= MOST_LEAVES]
        return tuple(
            QuadtreeDesign(depth=depth, growth=growth, scale=scale, paths=ask.paths)
            for depth in depths[-3:]
            for growth in (1.0, 2.0)
            for scale in (0.3, 0.6)
        )


class Quadtree(OnSquares):
    """Noisy sums and counts of the squares of every level, each level a partition of the public domain."""

    name, title = "quadtree", "Private quadtree"
    summary = "Adds noise to sums and counts of the squares of a public tree and reads the leaves."
    source = "Cormode et al. 2012, with Gaussian noise: levels of sensitivity 2 compose in mu^2"
    design_type = QuadtreeDesign
    space = TreeSpace

    def guarantee(self, design: QuadtreeDesign, facts: PublicFacts) -> Guarantee:
        """The proved cost of releasing `design`; `BoundRefused` where records may be more or less."""
        return self.guaranteed(design, facts, 4 * facts.lattice.size * design.depth)

    def prepare(self, design: QuadtreeDesign, facts: PublicFacts, records: CollapsedRecords) -> _Prepared:
        """The draw, ready; the tree is made once for each depth."""
        tree = facts.cache.keep("quadtree", (design.depth,), lambda: Tree.of(facts.lattice, design.depth))
        return _Prepared(design, tree, records)

    def describe(self, design: QuadtreeDesign) -> str:
        """The design in a few words."""
        return f"{design.depth} levels, budget x{design.growth:g} a level, mu {design.mu:.4g}"
