"""Search grids: lengthscales, ridges and budgets to try, from the domain and n alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpgp_core.priors.lattice import Lattice

FRONTIER_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 10.0)


@dataclass(frozen=True)
class Grid:
    """Coarse grid: lengthscales in metres and ridges, both increasing."""

    lengthscales: tuple[float, ...]
    ridges: tuple[float, ...]


def coarse_grid(lattice: Lattice, n: int, quick: bool = False) -> Grid:
    """Lengthscales from two cell spacings to the domain's extent; ridges from 0.3 to about sqrt(n).

    A ridge far above sqrt(n) forgets the data, one far below 0.3 is never private: public facts both.
    """
    extent = float(np.ptp(lattice.domain_centres, axis=0).max())
    shortest = 2.0 * lattice.spacing
    longest = max(extent, 2.0 * shortest)
    lengthscales = np.geomspace(shortest, longest, 3 if quick else 5)
    ridges = np.geomspace(0.3, max(4.0, 0.8 * math.sqrt(n)), 7 if quick else 11)
    return Grid(tuple(float(x) for x in lengthscales), tuple(float(x) for x in ridges))


def steps_around(value: float, ratio: float) -> tuple[float, ...]:
    """The local refinement of one positive parameter: a step down and a step up in log scale."""
    return (value / ratio, value, value * ratio)
