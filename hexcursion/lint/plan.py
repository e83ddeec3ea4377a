"""A planned release described by where each of its parts comes from: plain words, no data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from hexcursion.errors import WorkflowError

NOT_STATED: Final = "not stated"
UNSEEN: Final = "cannot be seen in a bundle"
PRIVATE: Final = "private data"

# What a person may state of each field; a plan read from a bundle may have `UNSEEN` instead.
Unstated = Literal["not stated", "cannot be seen in a bundle"]
Origin = Literal[
    "public", "public reference data", "reference data", "private selection", "private data", Unstated
]
PlannedUnit = Literal["point", "cell", Unstated]
DeltaRule = Literal["given", "function of n", Unstated]
Number = Literal["public by nature", "taken as public", "accounted", Unstated]
Cells = Literal["public", "occupied cells", "extent of the private data", Unstated]
Mask = Literal["none", "public", "occupied cells", Unstated]
Scaling = Literal["public", "extent of the private data", Unstated]
Centre = Literal[Origin, "threshold"]
Legend = Literal[Origin, "released paths"]
Mean = Literal["none", "public", "public reference data", "reference data", "private data", Unstated]
TuningOrigin = Literal[
    "public reference data", "reference data", "simulated", "fixed", "given", "private selection",
    "not accounted", Unstated,
]  # fmt: skip
Seed = Literal["operating system", "fixed", "recorded", "derived from the data", Unstated]
Draws = Literal["once", "until one looks right", Unstated]
Proved = Literal["proved", "not proved", Unstated]
Charged = Literal["before the result is shown", "after the result is shown", "none", Unstated]

# What a tooltip or an exported file may hold without costing anything, and what it may not.
ReleasedContent = Literal[
    "released paths", "released sets", "regions", "vote fraction", "statement", "label", "public facts"
]
PrivateContent = Literal[
    "counts", "medians", "records", "baseline", "clipped counts", "load report", "log file", "seed",
    "utility on private data", "last update of a cell", "table of today's practice",
]  # fmt: skip
Content = Literal[ReleasedContent, PrivateContent]
PRIVATE_CONTENTS: frozenset[Content] = frozenset(get_args(PrivateContent))


@dataclass(frozen=True)
class PlannedRelease:
    """Where every part of a release comes from; `CHOICES` lists the words each field may take.

    A plan read from a bundle has `UNSEEN` where its files cannot show what was done. Raise `WorkflowError`
    for a word that its field does not take, and an impossible number.
    """

    name: str = ""
    unit: PlannedUnit = NOT_STATED
    epsilon: float | None = None  # planned cost, with `delta`
    delta: float | None = None
    delta_rule: DeltaRule = NOT_STATED  # whether delta is a function of n
    n: int | None = None  # number of records if it is known; `n_handling` says why it may be known
    n_handling: Number = NOT_STATED
    domain: Cells = NOT_STATED
    mask: Mask = NOT_STATED  # cells left out of the released map
    scaling: Scaling = NOT_STATED  # of coordinates, and lattice
    selection: Origin = NOT_STATED  # filters (years, segment, district): chosen on what
    centre: Centre = NOT_STATED  # public map from values to responses, with `clip`
    clip: Origin = NOT_STATED
    threshold: Origin = NOT_STATED
    legend: Legend = NOT_STATED  # range of the colour scale
    prior_mean: Mean = NOT_STATED
    tuning: TuningOrigin = NOT_STATED
    seed: Seed = NOT_STATED
    draws: Draws = NOT_STATED
    bound: Proved = NOT_STATED
    ledger: Charged = NOT_STATED
    tooltips: tuple[Content, ...] = ()  # what the map shows on hover
    exports: tuple[Content, ...] = ()  # what leaves the building
    records_per_person: int | None = None  # the most records one person may have, if known
    group_stated: bool = False  # is the weaker guarantee of such a person published?

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value not in (*choices, UNSEEN):
                raise WorkflowError(f"{name} is {value!r}, but must be one of: {', '.join(choices)}.")
        if self.epsilon is not None and not (_number(self.epsilon) and self.epsilon > 0):
            raise WorkflowError(f"epsilon must be a positive finite number, not {self.epsilon!r}.")
        if self.delta is not None and not (_number(self.delta) and 0 < self.delta < 1):
            raise WorkflowError(f"delta must lie strictly between 0 and 1, not {self.delta!r}.")
        for name in ("n", "records_per_person"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise WorkflowError(f"{name} must be a whole number >= 1, not {value!r}.")
        known = get_args(Content)
        for name in ("tooltips", "exports"):
            values = getattr(self, name)
            if isinstance(values, str) or not all(isinstance(value, str) for value in values):
                raise WorkflowError(f"{name} must be a list of words.")
            unknown = [value for value in values if value not in known]
            if unknown:
                raise WorkflowError(
                    f"{name} holds {unknown[0]!r}; known words are {', '.join(sorted(known))}."
                )


def _choices() -> dict[str, tuple[str, ...]]:
    """Field -> its words, as its type lists them, "not stated" last; those without a list are left out."""
    found = {}
    for name, hint in get_type_hints(PlannedRelease).items():
        if get_origin(hint) is Literal:
            words = [word for word in get_args(hint) if word not in (NOT_STATED, UNSEEN)]
            found[name] = (*words, NOT_STATED)
    return found


def plan_from_mapping(raw: Mapping[str, Any]) -> PlannedRelease:
    """Read a plan from plain key-value pairs; `WorkflowError` for an unknown key or impossible value."""
    known = [item.name for item in fields(PlannedRelease)]
    unknown = sorted(set(raw) - set(known))
    if unknown:
        raise WorkflowError(f"Unknown plan key {unknown[0]!r}; known keys are {', '.join(known)}.")
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()
    }
    return PlannedRelease(**values)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


CHOICES = _choices()
"""The words that each field may take, read from their types."""
