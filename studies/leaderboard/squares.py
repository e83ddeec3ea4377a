"""Squares of a public grid over the domain: noisy sums and counts of each, and a field read from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.guarantee import Guarantee
from dpgp_core.excursion import agreed
from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import Mechanism, SearchSpace
from dpgp_core.mechanisms.design import Budget, Design, Protection, SearchSpec
from dpgp_core.mechanisms.grids import FEW_CUTOFFS
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy, distance_of
from dpgp_core.priors.lattice import Lattice
from dpgp_core.releasing import PublicFacts, Released, draw_release
from dpgp_core.simulation import SEED, SIMULATED_RELEASES, World

Integers = NDArray[np.int64]
SENSITIVITY = 2.0
"""L2 sensitivity of all squares' (sum, count), responses in [-1, 1], one record replaced: in one square the
sum moves by at most 2, between two squares by (1, 1) each, of length at most 2."""
COUNT_SENSITIVITY = 2.0**0.5
UP = 1.0 + 2.0**-40
SCATTER = 0.6  # of one record around its square's value, in units of the field's deviation


def square_of(lattice: Lattice, side: int) -> Integers:
    """(N,) number of the square, among side x side over the domain's bounding square, that holds a cell."""
    centres = lattice.domain_centres
    share = (centres - centres.min(axis=0)) / max(float(np.ptp(centres, axis=0).max()), 1e-9)
    steps = np.minimum((share * side).astype(np.int64), side - 1)
    return np.asarray(steps[:, 0] * side + steps[:, 1], dtype=np.int64)


def numbered(groups: Integers) -> Integers:
    """The same partition with numbers 0, 1, ... and none left out."""
    return np.unique(groups, return_inverse=True)[1].ravel().astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class SquaresDesign(Design):
    """What the designs on squares have in common.

    Parameters
    ----------
    scale
        Standard deviation of the field, response units, > 0; used for the reading only.
    mu
        Gaussian parameter of the whole release, > 0.
    """

    scale: float = 0.5
    mu: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_unless_positive("scale", "mu")

    def read_as(self, field: Floats, deviation: Floats) -> Released:
        """A release whose paths are all its mean (N,): a rival has no joint draws."""
        return Released(np.tile(field, (self.paths, 1)), field, deviation)


class SquaresSpace(SearchSpace):
    """The same release read at every cutoff."""

    def variants(self, design: Any, ask: SearchSpec) -> tuple[Design, ...]:
        """The same release read at every cutoff."""
        return tuple(replace(design, cutoff=cutoff) for cutoff in FEW_CUTOFFS)


class OnSquares(Mechanism):
    """A mechanism for exchanged records, the Gaussian parameter of its whole release in the design's `mu`.

    Its simulated releases are read at every cutoff without being drawn again.
    """

    protection = Protection("values and places", ("point", "cell"))
    reads = ("paths",)
    free_paths = True
    exact_on_a_computer = True

    def guaranteed(self, design: Any, facts: PublicFacts, numbers: int) -> Guarantee:
        """The cost of a design that releases this number of rounded numbers."""
        return Guarantee.gaussian(Cost.gaussian(design.mu, distance_of(numbers)), self.source)

    def calibrate(self, design: Any, facts: PublicFacts, budget: Budget) -> Any:
        """The design at the budget's mu; None for another relation than exchanged records."""
        return replace(design, mu=budget.mu)


@questions.simulate.register
def _simulate(design: SquaresDesign, world: World, *, quick: bool = False) -> Bools:
    """(S, N) sets of simulated releases."""
    blank = replace(design, cutoff=0.5)

    def make() -> Floats:
        entropy, prepared = (
            SimulationEntropy(SEED),
            mechanism_of(design).prepare(blank, world.facts, world.records),
        )
        return np.array(
            [
                world.probabilities(draw_release(prepared, entropy, simulation=True))
                for _ in range(SIMULATED_RELEASES)
            ]
        )

    return agreed(world.cache.keep(design.mechanism, (world.key, world.level, blank), make), design.cutoff)
