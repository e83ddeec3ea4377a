"""The registry of strategies: how features are made from public facts, and what each is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpgp_core.errors import InvalidValue
from dpgp_core.features.facts import PublicFacts
from dpgp_core.features.gridded import Features
from dpgp_core.features.powers import water_filling
from dpgp_core.features.tree import tree_rows
from dpgp_core.features.waves import wave_rows
from dpgp_core.linalg import Floats

_SOURCE = "docs/spectral-statistics.md, section 3"


@dataclass(frozen=True)
class Strategy:
    """One way of making features."""

    name: str  # key in `STRATEGIES`
    title: str  # in words, for a screen
    source: str  # where it comes from
    # public facts to rows (M, p) of any length; each row is then divided by its length
    rows: Callable[[PublicFacts], Floats]
    needs_hierarchy: bool = False  # whether it reads `PublicFacts.hierarchy`


def _identity(facts: PublicFacts) -> Floats:
    return np.eye(facts.nodes.size)


def _coloured(facts: PublicFacts) -> Floats:
    return np.asarray(facts.pairs.vectors * np.sqrt(facts.pairs.values))


def _water_filled(facts: PublicFacts) -> Floats:
    pairs = facts.pairs
    # Eigenvalues of a correlation whose diagonal falls short of 1 at the rim are scaled to mean variance 1.
    values = pairs.values * (pairs.size / float(pairs.variance.sum()))
    powers = water_filling(facts.signal(values), facts.scatter, facts.noise, float(pairs.size))
    kept = powers > 0
    return np.asarray(pairs.vectors[:, kept] * np.sqrt(powers[kept]))


STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy(
            "water-filled",
            "Water-filled eigenfunctions",
            _SOURCE,
            _water_filled,
        ),
        Strategy("coloured", "Noise in the prior's own colour", "Hall, Rinaldo, Wasserman 2013", _coloured),
        Strategy("plane-waves", "Plane waves", _SOURCE, wave_rows),
        Strategy("parent-tree", "Tree of parent cells", "Hay et al. 2010", tree_rows, needs_hierarchy=True),
        Strategy("identity", "One number per cell", "docs/mathematics.md, section 11", _identity),
    )
}


def make_features(strategy: str, facts: PublicFacts) -> Features:
    """The features of the strategy of this name.

    Raises InvalidValue for an unknown name, or a strategy whose hierarchy is missing.
    """
    if strategy not in STRATEGIES:
        raise InvalidValue(f"unknown strategy {strategy!r}: choose one of {', '.join(STRATEGIES)}.")
    chosen = STRATEGIES[strategy]
    if chosen.needs_hierarchy and not facts.hierarchy:
        raise InvalidValue(
            f"the strategy {strategy!r} needs a public hierarchy of parents: pass `hierarchy`."
        )
    return Features.of(strategy, chosen.rows(facts))
