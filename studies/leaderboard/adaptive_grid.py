"""A private adaptive grid of sums and counts, after Qardaji, Yang and Li (ICDE 2013)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.errors import DesignError
from dpgp_core.mechanisms.cell_sums import noisy_totals
from dpgp_core.mechanisms.design import SearchSpec
from dpgp_core.noise import Entropy
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import PublicFacts, Released
from studies.leaderboard.squares import (
    COUNT_SENSITIVITY,
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

MOST_PARTS = 8  # of one side of a square of the first grid


@dataclass(frozen=True, kw_only=True)
class AdaptiveGridDesign(SquaresDesign):
    """A coarse grid of counts, and each of its squares parted according to its noisy count.

    Parameters
    ----------
    side
        The first grid has side x side squares.
    leaf
        Records that a part of the second grid should hold at least, by the noisy count.
    share
        Of mu^2 for the first grid's counts, in (0, 1).
    """

    mechanism: ClassVar[str] = "adaptive-grid"

    side: int = 4
    leaf: float = 20.0
    share: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("leaf", "share")
        if not (1 <= self.side <= 64 and self.share < 1):
            raise DesignError("side must be 1 to 64 and share below 1.")

    def noises(self) -> tuple[float, float]:
        """Deviations of the noise on the first grid's counts and on the second's sums and counts."""
        return (
            COUNT_SENSITIVITY / (self.mu * self.share**0.5) * UP,
            SENSITIVITY / (self.mu * (1.0 - self.share) ** 0.5) * UP,
        )


def parts(lattice: Lattice, side: int, counts: np.ndarray, leaf: float) -> Integers:
    """(N,) part of every cell: square k of the first grid, in numbers, is cut into about counts[k] / leaf."""
    first = numbered(square_of(lattice, side))
    cuts = np.clip(np.floor(np.sqrt(np.maximum(counts, 0.0) / leaf)), 1, MOST_PARTS).astype(np.int64)
    part = np.zeros(first.size, dtype=np.int64)
    for cut in np.unique(cuts):
        among = cuts[first] == cut
        part[among] = square_of(lattice, side * int(cut))[among]
    return numbered((cuts[first] * len(counts) + first) * (side * MOST_PARTS) ** 2 + part)


@dataclass(frozen=True, eq=False)
class _Prepared:
    design: AdaptiveGridDesign
    lattice: Lattice
    records: CollapsedRecords

    def draw(self, entropy: Entropy) -> Released:
        """Counts, the parts they lead to, sums and counts of these, and each part's own posterior."""
        design, (coarse, fine) = self.design, self.design.noises()
        first = numbered(square_of(self.lattice, design.side))
        _, counted = noisy_totals(self.records, first, coarse, entropy)
        part = parts(self.lattice, design.side, counted, design.leaf)
        sums, counts = noisy_totals(self.records, part, fine, entropy)
        known = np.maximum(counts, 0.0)
        error = fine**2 + known * (SCATTER * design.scale) ** 2
        precision = design.scale**-2.0 + known**2 / error
        field = (known * sums / error / precision)[part]
        return design.read_as(field, (precision**-0.5)[part])


class AdaptiveSpace(SquaresSpace):
    """A few coarse grids and sizes of parts."""

    def grid(self, facts: PublicFacts, ask: SearchSpec) -> tuple[AdaptiveGridDesign, ...]:
        """Designs to try, noise still open."""
        return tuple(
            AdaptiveGridDesign(side=side, leaf=leaf, scale=scale, paths=ask.paths)
            for side in (3, 6, 12)
            if side**2 <= facts.lattice.size
            for leaf in (5.0, 20.0, 60.0)
            for scale in (0.3, 0.6)
        )


class AdaptiveGrid(OnSquares):
    """Noisy counts of a coarse public grid say how finely each square is parted; the parts are released."""

    name, title = "adaptive-grid", "Adaptive grid"
    summary = "Parts a public grid by noisy counts and adds noise to sums and counts of the parts."
    source = "Qardaji et al. 2013, with Gaussian noise: counts move by sqrt(2), sums and counts by 2"
    design_type = AdaptiveGridDesign
    space = AdaptiveSpace

    def guarantee(self, design: AdaptiveGridDesign, facts: PublicFacts) -> Guarantee:
        """The proved cost of releasing `design`; `BoundRefused` where records may be more or less."""
        return self.guaranteed(design, facts, 4 * facts.lattice.size)

    def prepare(self, design: AdaptiveGridDesign, facts: PublicFacts, records: CollapsedRecords) -> _Prepared:
        """The draw, ready."""
        return _Prepared(design, facts.lattice, records)

    def describe(self, design: AdaptiveGridDesign) -> str:
        """The design in a few words."""
        return f"{design.side} x {design.side} squares, parts of {design.leaf:g} records, mu {design.mu:.4g}"
