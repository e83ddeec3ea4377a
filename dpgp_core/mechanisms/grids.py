"""Candidate lengthscales, ridges, cutoffs and budgets of a search."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpgp_core.priors.lattice import Lattice

RECORD_RIDGES = (0.7, 1.5, 3.0)
"""Scatter of one record around its cell's value, in units of the field's deviation."""

FRONTIER_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 10.0)

CELL_SCALES = (0.25, 0.5, 1.0)
"""Standard deviations of the field, response units, for mechanisms that observe every cell."""

SCALES = (0.3, 0.6)
"""Standard deviations of the field, response units, for models that need a dense factorisation."""

CUTOFFS = (0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2)
"""Cutoffs on exceedance probabilities: those below a half are for maps that should miss little."""

FEW_CUTOFFS = CUTOFFS[:4]


@dataclass(frozen=True)
class Grid:
    """Coarse grid: lengthscales in metres and ridges, both increasing."""

    lengthscales: tuple[float, ...]
    ridges: tuple[float, ...]


def tried(values: tuple[float, ...], thorough: bool, usual: int = 1) -> tuple[float, ...]:
    """All values in a thorough search, else the one at position `usual` alone."""
    return values if thorough else values[usual : usual + 1]


def coarse_grid(lattice: Lattice, n: int, quick: bool = False) -> Grid:
    """Lengthscales from two cell spacings to the domain's extent; ridges from 0.3 to about sqrt(n).

    A ridge far above sqrt(n) forgets the data, one far below 0.3 is never private: public facts
    both.
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
