"""The registry of priors: what each family is called, what it needs, and how it is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpgp_core.errors import PriorError
from dpgp_core.plugins import Registry
from dpgp_core.priors import dense
from dpgp_core.priors.car import CarPrior
from dpgp_core.priors.dense import DensePrior, exponential, matern32, squared_exponential
from dpgp_core.priors.lattice import Lattice, Prior

SE_NUGGET = 1e-6
"""Nugget of the smooth prior, far above the rounding of a Cholesky factor of 10,000 cells."""


@dataclass(frozen=True)
class PriorFamily:
    """A family of priors indexed by a lengthscale in metres.

    Raises `PriorError` if name or title is empty, or the decay is left out, not finite or not
    positive.
    """

    name: str  # in settings, designs and statements
    title: str  # in words, for screens
    # whether it needs no dense matrix, and so takes more than `dense.MAX_DENSE_CELLS` cells
    sparse: bool
    # the prior on a lattice at a lengthscale in metres; raises `PriorError`
    make: Callable[[Lattice, float], Prior]
    # exponent a > 0 of its spectrum (1 + (lengthscale w)^2)^-a in the plane, by which plane waves
    # are weighed: nu + 1 for Matern kernels of smoothness nu. The squared exponential has none and
    # takes a large one.
    decay: float = math.nan

    def __post_init__(self) -> None:
        if not (self.name and self.title):
            raise PriorError("a prior needs a name and a title in words.")
        if not (math.isfinite(self.decay) and self.decay > 0.0):
            raise PriorError(
                f"the prior {self.name!r} must state its decay, a positive exponent: see PriorFamily."
            )


def _exponential(lattice: Lattice, lengthscale: float) -> Prior:
    return DensePrior("exponential", lattice, lengthscale, exponential)


def _matern32(lattice: Lattice, lengthscale: float) -> Prior:
    return DensePrior("matern32", lattice, lengthscale, matern32)


def _squared_exponential(lattice: Lattice, lengthscale: float) -> Prior:
    return DensePrior("squared-exponential", lattice, lengthscale, squared_exponential, nugget=SE_NUGGET)


_OWN = (
    PriorFamily("exponential", "exponential kernel", False, _exponential, 1.5),
    PriorFamily("car", "neighbour graph (CAR)", True, CarPrior.make, 1.0),
    PriorFamily("matern32", "Matérn 3/2 kernel", False, _matern32, 2.5),
    PriorFamily("squared-exponential", "squared exponential kernel", False, _squared_exponential, 6.0),
)
PRIORS = Registry("hexcursion.priors", {family.name: family for family in _OWN}, PriorFamily)


def can_make(name: str, cells: int) -> bool:
    """Whether the prior `name` of PRIORS can be made on `cells` cells: dense ones have a limit."""
    return PRIORS[name].sparse or cells <= dense.MAX_DENSE_CELLS


def make_prior(name: str, lattice: Lattice, lengthscale: float) -> Prior:
    """Make a prior of a name in `PRIORS` on the N cells of a lattice, lengthscale in metres, > 0.

    Raises PriorError for an unknown name, or a lengthscale that the prior does not take.
    """
    if name not in PRIORS:
        raise PriorError(f"unknown prior {name!r}: choose one of {', '.join(sorted(PRIORS))}.")
    return PRIORS[name].make(lattice, float(lengthscale))
