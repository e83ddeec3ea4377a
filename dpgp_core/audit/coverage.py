"""Simulated coverage: how often inner and outer sets are right when the truth is known.

Regularised posteriors are biased towards the prior mean, and one path knows little of its error, so
stated confidences may be wrong. A simulation with known truth measures them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from dpgp_core.errors import InvalidValue
from dpgp_core.excursion import Direction, excursion, inner_set, outer_set
from dpgp_core.linalg import Floats

World = Callable[[], tuple[Floats, Floats]]
"""One simulated world: the true field (N,) and released paths (L, N), response units."""


@dataclass(frozen=True)
class Share:
    """A share of simulations with its exact (Clopper-Pearson) 95 % confidence interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, trials: int) -> Share:
        low = float(betaincinv(hits, trials - hits + 1, 0.025)) if hits else 0.0
        high = float(betaincinv(hits + 1, trials - hits, 0.975)) if hits < trials else 1.0
        return cls(hits / trials, low, high)


@dataclass(frozen=True)
class Coverage:
    """Coverage of the products of a release in `simulations` worlds."""

    inner: Share  # share of worlds in which every cell of the inner set is in the true set
    outer: Share  # share of worlds in which the outer set contains the true set
    both: Share  # share of worlds in which both hold
    told: float  # mean share of the domain's cells that are decided, surely in or surely out
    told_right: float  # mean share of the decided cells that are right (1 if no cell is decided)
    simulations: int


def simulated_coverage(
    world: World, level: float, confidence: float, simulations: int, direction: Direction = "above"
) -> Coverage:
    """Coverage of excursion products on one side of a level, over `simulations` worlds.

    Raises InvalidValue for fewer than one simulation.
    """
    if simulations < 1:
        raise InvalidValue(f"at least one simulation is needed, got {simulations}.")
    hits = np.zeros((simulations, 2), dtype=bool)
    values = np.zeros((simulations, 2))
    for row in range(simulations):
        truth, paths = world()
        inside = excursion(truth, level, direction)
        inner = inner_set(paths, level, confidence, direction)
        outer = outer_set(paths, level, confidence, direction)
        decided = inner | ~outer
        right = np.where(inner, inside, ~inside)[decided]
        hits[row] = not np.any(inner & ~inside), not np.any(inside & ~outer)
        values[row] = (decided.mean(), right.mean() if right.size else 1.0)
    inner_hits, outer_hits = (int(number) for number in np.count_nonzero(hits, axis=0))
    both_hits = int(np.count_nonzero(hits.all(axis=1)))
    told_share, told_right = (float(value) for value in values.mean(axis=0))
    return Coverage(
        Share.of(inner_hits, simulations),
        Share.of(outer_hits, simulations),
        Share.of(both_hits, simulations),
        told_share,
        told_right,
        simulations,
    )
