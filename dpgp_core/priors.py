"""The registry of priors: what each is called, where it comes from and how it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from dpgp_core import kernels
from dpgp_core.car import CarPrior
from dpgp_core.kernels import DensePrior
from dpgp_core.lattice import Lattice
from dpgp_core.numerics import Floats

SE_NUGGET = 1e-6
"""Declared nugget of the smooth prior, far above the rounding of a Cholesky factor of 10,000 cells."""


class Prior(Protocol):
    """A prior on the cells of one lattice, with the public facts that price a design.

    name, lengthscale (metres), lattice
    kappa        proved lower bound of the covariance between any two cells of the domain
    bounds       names in BOUNDS of the sensitivity bounds proved for this prior
    proof_facts  the public numbers on which those proofs' premises rest
    """

    @property
    def name(self) -> str: ...
    @property
    def lengthscale(self) -> float: ...
    @property
    def lattice(self) -> Lattice: ...
    @property
    def size(self) -> int: ...
    @property
    def kappa(self) -> float: ...
    @property
    def bounds(self) -> tuple[str, ...]: ...
    @property
    def proof_facts(self) -> dict[str, float | bool]: ...
    @property
    def white_size(self) -> int: ...
    def correlation(self) -> Floats: ...
    def colour(self, white: Floats) -> Floats: ...


@dataclass(frozen=True)
class PriorFamily:
    """A family of priors indexed by a lengthscale in metres."""

    name: str
    title: str
    source: str
    sparse: bool
    make: Callable[[Lattice, float], Prior]


def _exponential(lattice: Lattice, lengthscale: float) -> Prior:
    return DensePrior("exponential", lattice, lengthscale, kernels.exponential, markov_line=True)


def _matern32(lattice: Lattice, lengthscale: float) -> Prior:
    return DensePrior("matern32", lattice, lengthscale, kernels.matern32)


def _squared_exponential(lattice: Lattice, lengthscale: float) -> Prior:
    return DensePrior(
        "squared-exponential", lattice, lengthscale, kernels.squared_exponential, nugget=SE_NUGGET
    )


PRIORS: dict[str, PriorFamily] = {
    family.name: family
    for family in (
        PriorFamily("exponential", "Exponential", "Maciazek, arXiv:2606.17995", False, _exponential),
        PriorFamily("car", "Conditional autoregression (lattice)", "Besag 1974", True, CarPrior.make),
        PriorFamily("matern32", "Matérn 3/2", "Matérn 1960", False, _matern32),
        PriorFamily(
            "squared-exponential", "Squared exponential", "textbook kernel", False, _squared_exponential
        ),
    )
}


def can_make(name: str, cells: int) -> bool:
    """Whether the prior `name` of PRIORS can be made on so many cells: dense ones have a limit."""
    return PRIORS[name].sparse or cells <= kernels.MAX_DENSE_CELLS


def make_prior(name: str, lattice: Lattice, lengthscale: float) -> Prior:
    """The prior `name` of PRIORS on a lattice, lengthscale in metres; ValueError for an unknown name."""
    if name not in PRIORS:
        raise ValueError(f"unknown prior {name!r}: choose one of {', '.join(sorted(PRIORS))}.")
    return PRIORS[name].make(lattice, float(lengthscale))
