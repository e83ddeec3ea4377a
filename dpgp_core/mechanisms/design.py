"""A design: everything about a release that is fixed before the private data are touched."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar, Self

from dpgp_core.errors import DesignError
from dpgp_core.excursion import Direction
from dpgp_core.linalg import Floats
from dpgp_core.releasing.released import Released


@dataclass(frozen=True, kw_only=True)
class Design:
    """What is fixed before the private data are touched; subclasses add their own parameters.

    A number outside its range raises `DesignError`.

    Parameters
    ----------
    paths
        Number of released paths, at least 1.
    smoothing
        Rounds of neighbour averaging applied to a released path: post-processing, free.
    cutoff
        Vote fraction, or exceedance probability, in (0, 1] from which a cell counts as inside the set.
    """

    mechanism: ClassVar[str] = ""

    paths: int = 1
    smoothing: int = 0
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
            said = f"A design of {cls.mechanism} has missing or impossible values: {error}."
            raise DesignError(said) from error
