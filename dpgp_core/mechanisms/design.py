"""What is fixed before private data are touched: a design, a budget, whom it protects, and what is tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

from dpgp_core.accounting.gaussian import allowed_mu
from dpgp_core.errors import DesignError
from dpgp_core.excursion import Direction
from dpgp_core.linalg import Floats
from dpgp_core.releasing import PublicFacts, Relation, Released

Protects = Literal["values and places", "values"]
Unit = Literal["point", "cell"]  # whose exchange is hidden: one observation, or one hexagon's median
Reads = Literal["priors", "paths", "bound", "covariates", "looks", "values"]
"""A choice of a person that a mechanism may read: priors, paths, bound, public columns, looks, answers."""


@dataclass(frozen=True)
class Protection:
    """Whom a mechanism protects, and what must be public for it."""

    what: Protects  # "values and places", or "values" where the places of the records are public
    units: tuple[Unit, ...]  # units of protection it takes
    relations: tuple[Relation, ...] = ("replace-one",)  # neighbouring relations it is proved for
    # what it takes as public beyond the domain, in words
    public: tuple[str, ...] = ("the number of records",)
    # whether a release shows places that are public anyway, so that it hides values only
    shows_public_places: bool = False

    def refusal(self, facts: PublicFacts) -> str:
        """Why nothing is proved under these public facts, after the mechanism's title; "" where it is."""
        if self.what == "values" and not facts.places_public:
            return (
                "hides values only and shows where the records are: set `places_public` where their places "
                "are public anyway, or choose another mechanism."
            )
        if facts.relation not in self.relations:
            return f"is proved for other neighbours: choose {' or '.join(map(repr, self.relations))}."
        return ""

    def hides(self, facts: PublicFacts) -> Protects:
        """What a release hides by its noise under these public facts: at most `what`."""
        shown = self.shows_public_places and facts.neighbours == "values-only"
        return "values" if shown else self.what


ParameterKind = Literal["length", "positive", "count"]


@dataclass(frozen=True)
class Parameter:
    """One number of a design that a person may vary or type."""

    name: str  # the design's attribute
    term: str  # key of the glossary
    kind: ParameterKind  # "length" (metres), "positive" (a positive number) or "count" (a whole number)


LENGTHSCALE = Parameter("lengthscale", "lengthscale", "length")
RIDGE = Parameter("ridge", "ridge", "positive")
MU = Parameter("mu", "mu", "positive")
NUMBER = Parameter("paths", "paths", "count")  # of paths


@dataclass(frozen=True)
class Budget:
    """What a release may cost."""

    epsilon: float  # > 0, an upper bound on the cost at `delta`
    delta: float  # in (0, 1)
    bound: str | None = None  # name in `BOUNDS` of the bound to price with; None for the best proved one

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter that it allows, with room for the exact samplers' distance to the ideal."""
        return allowed_mu(self.epsilon, self.delta)


@dataclass(frozen=True)
class SearchSpec:
    """What a search may try, all of it public."""

    priors: tuple[str, ...]  # names of prior families in `PRIORS`, in order
    paths: int = 1  # number of paths to release where paths cost something
    quick: bool = False  # a coarser grid
    # whether this is for the budget that is asked for; the frontier beside it tries a part of its designs
    thorough: bool = True
    cutoff: float | None = None  # the one to try; None leaves it to the mechanism
    looks: int = 1  # of the fixed design: 1 or 2


@dataclass(frozen=True, kw_only=True)
class Design:
    """What is fixed before the private data are touched; subclasses add their own parameters.

    A number outside its range raises `DesignError`.
    """

    mechanism: ClassVar[str] = ""

    paths: int = 1  # number of released paths, at least 1
    smoothing: int = 0  # rounds of neighbour averaging applied to a released path: post-processing, free
    # vote fraction, or exceedance probability, in (0, 1] from which a cell counts as inside the set
    cutoff: float = 0.5

    def __post_init__(self) -> None:
        if isinstance(self.paths, bool) or self.paths < 1 or self.paths != int(self.paths):
            raise DesignError(f"paths must be a whole number >= 1, got {self.paths!r}.")
        if isinstance(self.smoothing, bool) or self.smoothing < 0 or self.smoothing != int(self.smoothing):
            raise DesignError(f"smoothing must be a whole number >= 0, got {self.smoothing!r}.")
        if not 0 < self.cutoff <= 1:
            raise DesignError(f"cutoff must be in (0, 1], got {self.cutoff!r}.")

    def refuse_unless_positive(self, *names: str) -> None:
        """Raise `DesignError` unless every named parameter is a positive finite number."""
        for name in names:
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise DesignError(f"{name} must be a positive finite number, got {value!r}.")

    def refuse_if_negative(self, *names: str) -> None:
        """Raise `DesignError` unless every named parameter is a finite number >= 0."""
        for name in names:
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise DesignError(f"{name} must be a finite number >= 0, got {value!r}.")

    def refuse_unless_share(self, *names: str) -> None:
        """Raise `DesignError` unless every named parameter is at least 0 and below 1."""
        for name in names:
            if not 0.0 <= (value := getattr(self, name)) < 1.0:
                raise DesignError(f"{name} must be at least 0 and below 1, got {value!r}.")

    def refuse_unless_among(self, name: str, choices: Iterable[str]) -> None:
        """Raise `DesignError` unless a named parameter is one of these words."""
        if (value := getattr(self, name)) not in choices:
            raise DesignError(f"unknown {name} {value!r}: choose {' or '.join(choices)}.")

    def refuse_smoothing(self) -> None:
        """Raise `DesignError` if paths are to be smoothed, which a smooth model draws."""
        if self.smoothing:
            raise DesignError(f"{self.mechanism} is read by a smooth model: leave smoothing at 0.")

    @property
    def held(self) -> tuple[str, ...]:
        """Parameters that nobody can vary in this design."""
        return ()

    def with_cutoff(self, cutoff: float) -> Self:
        """The same design, cut there whatever is released."""
        return replace(self, cutoff=cutoff)

    def settled(self, released: Released, level: Floats | float, direction: Direction) -> Self:
        """The drawn release's design at a level, one or (N,): the same, unless it chooses its own cutoff."""
        return self

    def to_mapping(self) -> dict[str, Any]:
        """Plain values, tagged with the mechanism's name: what settings and statements hold."""
        return {"mechanism": self.mechanism, **asdict(self)}

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Read what `to_mapping` wrote; raises DesignError for unknown, missing or impossible values."""
        given = {name: value for name, value in values.items() if name != "mechanism"}
        known = sorted(item.name for item in fields(cls))
        if unknown := sorted(set(given).difference(known)):
            raise DesignError(f"{cls.mechanism} has no parameter {unknown[0]!r}: it has {', '.join(known)}.")
        try:
            return cls(**given)
        except TypeError as error:
            text = f"A design of {cls.mechanism} has missing or impossible values: {error}."
            raise DesignError(text) from error
