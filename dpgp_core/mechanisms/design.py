"""Choices made before any access to private data: design, budget, protection, and search."""

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
Unit = Literal["point", "cell"]  # unit of protection: one observation, or one hexagon's median
Reads = Literal["priors", "paths", "bound", "covariates", "looks", "values"]
"""A choice of a person that a mechanism may read: priors, paths, bound, public columns, looks,
answers."""


@dataclass(frozen=True)
class Protection:
    """The protection of a mechanism, and the public facts that it needs."""

    what: Protects  # "values and places", or "values" if the places of the records are public
    units: tuple[Unit, ...]  # supported units of protection
    relations: tuple[Relation, ...] = ("replace-one",)  # neighbouring relations with a proof
    # facts assumed public beyond the domain, in words
    public: tuple[str, ...] = ("the number of records",)
    # whether a release shows places that are already public, so that it hides values only
    shows_public_places: bool = False

    def refusal(self, facts: PublicFacts) -> str:
        """Reason for a refusal under these public facts, as a clause after the mechanism's title,
        or ""."""
        if self.what == "values" and not facts.places_public:
            return (
                "hides values only and shows where the records are: set `places_public` where their places "
                "are public anyway, or choose another mechanism."
            )
        if facts.relation not in self.relations:
            return f"is proved for other neighbours: choose {' or '.join(map(repr, self.relations))}."
        return ""

    def hides(self, facts: PublicFacts) -> Protects:
        """The part of the records that the noise hides under these public facts: at most `what`."""
        values_only = self.shows_public_places and facts.neighbours == "values-only"
        return "values" if values_only else self.what


ParameterKind = Literal["length", "positive", "count"]


@dataclass(frozen=True)
class Parameter:
    """A number of a design that a person may vary or type."""

    name: str  # the design's attribute
    term: str  # key of the glossary
    kind: ParameterKind  # "length" (metres), "positive" (a positive number) or "count" (a whole number)


LENGTHSCALE = Parameter("lengthscale", "lengthscale", "length")
RIDGE = Parameter("ridge", "ridge", "positive")
MU = Parameter("mu", "mu", "positive")
NUMBER = Parameter("paths", "paths", "count")  # of paths


@dataclass(frozen=True)
class Budget:
    """The largest cost of a release."""

    epsilon: float  # > 0, an upper bound on the cost at `delta`
    delta: float  # in (0, 1)
    bound: str | None = None  # name in `BOUNDS` of the bound to price with; None for the best proved one

    @property
    def mu(self) -> float:
        """Largest Gaussian-DP parameter, with room for the exact samplers' distance to the ideal
        law."""
        return allowed_mu(self.epsilon, self.delta)


@dataclass(frozen=True)
class SearchSpec:
    """Limits of a search, all of them public."""

    priors: tuple[str, ...]  # names of prior families in `PRIORS`, in order
    paths: int = 1  # number of paths to release, for mechanisms whose paths have a cost
    quick: bool = False  # a coarser grid
    # whether this search is for the requested budget; those of the frontier try a part of its
    # designs
    thorough: bool = True
    cutoff: float | None = None  # fixed cutoff; None leaves the choice to the mechanism
    looks: int = 1  # of the fixed design: 1 or 2


@dataclass(frozen=True, kw_only=True)
class Design:
    """Parameters of a release, fixed before any access to private data; subclasses add their own.

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
        """Raise `DesignError` if smoothing is requested for paths of a model that is already
        smooth."""
        if self.smoothing:
            raise DesignError(f"{self.mechanism} is read by a smooth model: leave smoothing at 0.")

    @property
    def held(self) -> tuple[str, ...]:
        """Parameters that are fixed in this design."""
        return ()

    def with_cutoff(self, cutoff: float) -> Self:
        """Fix the cutoff, whatever the release shows."""
        return replace(self, cutoff=cutoff)

    def settled(self, released: Released, level: Floats | float, direction: Direction) -> Self:
        """Set the cutoff that a drawn release chooses at a level, one or (N,); otherwise
        unchanged."""
        return self

    def to_mapping(self) -> dict[str, Any]:
        """Plain values with the mechanism's name, for settings and statements."""
        return {"mechanism": self.mechanism, **asdict(self)}

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Read the output of `to_mapping`; DesignError for unknown, missing or impossible
        values."""
        parameters = {name: value for name, value in values.items() if name != "mechanism"}
        names = sorted(item.name for item in fields(cls))
        if unknown := sorted(set(parameters).difference(names)):
            raise DesignError(f"{cls.mechanism} has no parameter {unknown[0]!r}: it has {', '.join(names)}.")
        try:
            return cls(**parameters)
        except TypeError as error:
            text = f"A design of {cls.mechanism} has missing or impossible values: {error}."
            raise DesignError(text) from error
