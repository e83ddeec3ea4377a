"""A planned release described by where each of its parts comes from: plain words, no data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from workflow.errors import WorkflowError

NOT_STATED = "not stated"
PUBLIC = "public"
REFERENCE = "reference data"
PUBLIC_REFERENCE = "public reference data"
PRIVATE = "private data"
PRIVATE_SELECTION = "private selection"
ORIGINS = (PUBLIC, PUBLIC_REFERENCE, REFERENCE, PRIVATE_SELECTION, PRIVATE, NOT_STATED)
OCCUPIED = "occupied cells"

CHOICES: dict[str, tuple[str, ...]] = {
    "unit": ("point", "cell", NOT_STATED),
    "domain": (PUBLIC, OCCUPIED, "extent of the private data", NOT_STATED),
    "scaling": (PUBLIC, "extent of the private data", NOT_STATED),
    "mask": ("none", PUBLIC, OCCUPIED, NOT_STATED),
    "selection": (*ORIGINS,),
    "centre": (*ORIGINS, "threshold"),
    "clip": ORIGINS,
    "threshold": ORIGINS,
    "legend": (*ORIGINS, "released paths"),
    "prior_mean": ("none", PUBLIC, PUBLIC_REFERENCE, REFERENCE, PRIVATE, NOT_STATED),
    "tuning": (
        "public reference data",
        "reference data",
        "simulated",
        "given",
        PRIVATE_SELECTION,
        "not accounted",
        NOT_STATED,
    ),
    "seed": ("operating system", "fixed", "recorded", "derived from the data", NOT_STATED),
    "draws": ("once", "until one looks right", NOT_STATED),
    "n_handling": ("public by nature", "taken as public", "accounted", NOT_STATED),
    "delta_rule": ("given", "function of n", NOT_STATED),
    "bound": ("proved", "not proved", NOT_STATED),
    "ledger": ("before the result is shown", "after the result is shown", "none", NOT_STATED),
}
# What a tooltip or an exported file may hold without costing anything, and what it may not.
RELEASED_CONTENTS = frozenset(
    {"released paths", "released sets", "regions", "vote fraction", "statement", "label", "public facts"}
)
PRIVATE_CONTENTS = frozenset(
    {
        "counts",
        "medians",
        "records",
        "baseline",
        "clipped counts",
        "load report",
        "log file",
        "seed",
        "utility on private data",
        "last update of a cell",
    }
)


@dataclass(frozen=True)
class PlannedRelease:
    """Where every part of a release comes from; `CHOICES` lists the words each field may take.

    epsilon, delta      the planned cost; `delta_rule` says whether delta is a function of n
    n                   number of records if it is known; `n_handling` says why it may be known
    domain, mask        the set of cells, and cells left out of the released map
    scaling             coordinate scaling and lattice
    selection           filters (years, segment, district): chosen on what
    centre, clip        public map from values to responses; `legend`: range of the colour scale
    tooltips, exports   what the map shows on hover, and what leaves the building
    records_per_person  the most records one person may have, if known; `group_stated`: is the weaker
                        guarantee of such a person published?
    """

    name: str = ""
    unit: str = NOT_STATED
    epsilon: float | None = None
    delta: float | None = None
    delta_rule: str = NOT_STATED
    n: int | None = None
    n_handling: str = NOT_STATED
    domain: str = NOT_STATED
    mask: str = NOT_STATED
    scaling: str = NOT_STATED
    selection: str = NOT_STATED
    centre: str = NOT_STATED
    clip: str = NOT_STATED
    threshold: str = NOT_STATED
    legend: str = NOT_STATED
    prior_mean: str = NOT_STATED
    tuning: str = NOT_STATED
    seed: str = NOT_STATED
    draws: str = NOT_STATED
    bound: str = NOT_STATED
    ledger: str = NOT_STATED
    tooltips: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    records_per_person: int | None = None
    group_stated: bool = False

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise WorkflowError(f"{name} is {value!r}, but must be one of: {', '.join(choices)}.")
        if self.epsilon is not None and not (_number(self.epsilon) and self.epsilon > 0):
            raise WorkflowError(f"epsilon must be a positive finite number, not {self.epsilon!r}.")
        if self.delta is not None and not (_number(self.delta) and 0 < self.delta < 1):
            raise WorkflowError(f"delta must lie strictly between 0 and 1, not {self.delta!r}.")
        for name in ("n", "records_per_person"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise WorkflowError(f"{name} must be a whole number >= 1, not {value!r}.")
        known = RELEASED_CONTENTS | PRIVATE_CONTENTS
        for name in ("tooltips", "exports"):
            values = getattr(self, name)
            if isinstance(values, str) or not all(isinstance(value, str) for value in values):
                raise WorkflowError(f"{name} must be a list of words.")
            unknown = [value for value in values if value not in known]
            if unknown:
                raise WorkflowError(
                    f"{name} holds {unknown[0]!r}; known words are {', '.join(sorted(known))}."
                )


def plan_from_mapping(raw: Mapping[str, Any]) -> PlannedRelease:
    """A plan from plain key-value pairs, as a TOML file gives them; one sentence for what is wrong."""
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
