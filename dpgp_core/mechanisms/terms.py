"""The terms in which a mechanism answers: whom it protects, what may be varied, what a release may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dpgp_core.accounting.gaussian import allowed_mu
from dpgp_core.releasing.facts import PublicFacts, Relation

Protects = Literal["values and places", "values"]
Unit = Literal["point", "cell"]
"""Whose exchange is hidden: one observation, or one hexagon's median."""
Reads = Literal["priors", "paths", "bound", "covariates", "looks", "values"]
"""A choice of a person that a mechanism may read: priors, paths, bound, public columns, looks, answers."""


@dataclass(frozen=True)
class Protection:
    """Whom a mechanism protects, and what must be public for it.

    Parameters
    ----------
    what
        "values and places", or "values" where the places of the records are public.
    units
        Units of protection it takes.
    relations
        Neighbouring relations it is proved for.
    public
        What it takes as public beyond the domain, in words.
    """

    what: Protects
    units: tuple[Unit, ...]
    relations: tuple[Relation, ...] = ("replace-one",)
    public: tuple[str, ...] = ("the number of records",)

    def holds(self, facts: PublicFacts) -> bool:
        """Whether anything is proved under these public facts: the neighbours, and what must be public."""
        return facts.relation in self.relations and (self.what != "values" or facts.places_public)


ParameterKind = Literal["length", "positive", "count"]


@dataclass(frozen=True)
class Parameter:
    """One number of a design that a person may vary or type."""

    name: str  # the design's attribute
    term: str  # key of the glossary
    kind: ParameterKind  # "length" (metres), "positive" (a positive number) or "count" (a whole number)


@dataclass(frozen=True)
class Budget:
    """What a release may cost: epsilon at delta, and the bound to price with (None: the best proved one)."""

    epsilon: float
    delta: float
    bound: str | None = None

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter that it allows, with room for the exact samplers' distance to the ideal."""
        return allowed_mu(self.epsilon, self.delta)


@dataclass(frozen=True)
class Ask:
    """What a search may try, all of it public."""

    priors: tuple[str, ...]  # names of prior families in `PRIORS`, in order
    paths: int = 1  # number of paths to release where paths cost something
    quick: bool = False  # a coarser grid
    # whether this is for the budget that is asked for; the frontier beside it tries a part of its designs
    thorough: bool = True
    # cutoff, model: the one cutoff, and the range (metres) and ridge, to try; None leaves them to the
    # mechanism
    cutoff: float | None = None
    model: tuple[float, float] | None = None
    looks: int = 1  # of the fixed design: 1 or 2
