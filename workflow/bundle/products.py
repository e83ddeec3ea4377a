"""Excursion products of released paths at one threshold: all post-processing, so all free of charge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion import (
    Direction,
    excursion,
    inner_set,
    outer_set,
    released_set,
    three_way,
    vorobev_set,
    vote_fraction,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

CONFIDENCE = 0.9

MEANINGS: dict[str, str] = {
    "path": "The excursion set of one released path.",
    "vote-set": "Cells that lie in the excursion set of at least the stated share of the paths.",
    "vorobev": "Vorob'ev set: the vote-fraction set whose area is the paths' mean area.",
    "inner": "Cells that lie in the excursion set all at once, in at least the stated share of the paths.",
    "outer": "Cells outside of which, in at least the stated share of the paths, nothing lies in the set.",
}


@dataclass(frozen=True)
class Products:
    """What L paths say about one threshold, each array over the N cells of the domain.

    votes      share of the paths in whose excursion set a cell lies, in steps of 1/L
    paths      (L, N) excursion set of each path
    vote_set   cells with votes >= cutoff
    vorobev    Vorob'ev set
    inner, outer, three_way
               inner and outer set at `confidence` and +1 above / -1 below / 0 cannot tell; None when L paths
               cannot support that confidence (see `supports`)
    """

    level: float
    direction: Direction
    cutoff: float
    confidence: float
    votes: Floats
    paths: Bools
    vote_set: Bools
    vorobev: Bools
    inner: Bools | None
    outer: Bools | None
    three_way: NDArray[np.int8] | None

    def sets(self) -> dict[str, Bools]:
        """The sets that summarise all paths, by product name, without those that are not supported."""
        named = {"vote-set": self.vote_set, "vorobev": self.vorobev, "inner": self.inner, "outer": self.outer}
        return {name: cells for name, cells in named.items() if cells is not None}


def supports(count: int, confidence: float) -> bool:
    """Whether `count` paths can speak of `confidence`: it must leave out at least one of them.

    With fewer, "in 90 % of the paths" would only say "in all of these few".
    """
    return count * (1.0 - confidence) >= 1.0 - 1e-9


def products_at(
    paths: Floats, level: float, direction: Direction, *, cutoff: float, confidence: float = CONFIDENCE
) -> Products:
    """All products of (already smoothed) paths (L, N) at a level in response units."""
    supported = supports(paths.shape[0], confidence)
    return Products(
        level=level,
        direction=direction,
        cutoff=cutoff,
        confidence=confidence,
        votes=vote_fraction(paths, level, direction),
        paths=excursion(paths, level, direction),
        vote_set=released_set(paths, level, cutoff, direction),
        vorobev=vorobev_set(paths, level, direction),
        inner=inner_set(paths, level, confidence, direction) if supported else None,
        outer=outer_set(paths, level, confidence, direction) if supported else None,
        three_way=three_way(paths, level, confidence) if supported else None,
    )
