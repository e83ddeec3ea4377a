"""The words that settings may hold: written down where they are final, looked up where they grow."""

from __future__ import annotations

from typing import Literal

from data_loaders import LOADERS as OWN_LOADERS
from data_loaders import SEGMENTS, Loader
from dpgp_core.bounds.registry import BOUNDS
from dpgp_core.excursion.sets import Direction
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.mechanisms.terms import Unit
from dpgp_core.plugins import Registry
from dpgp_core.priors.registry import PRIORS
from dpgp_core.releasing.facts import Relation
from hexcursion.words import UnitWord

__all__ = [
    "GROUPS", "LOADERS", "TRIED_ON", "Direction", "ExecutorName", "Focus", "Group", "Objective",
    "PeriodShares", "ReferenceKind", "Relation", "Transform", "TriedOn", "TuningKind", "Unit", "UnitWord",
    "Values", "bound_names", "loader_names", "mechanism_names", "prior_names", "segment_names",
]  # fmt: skip


Transform = Literal["log", "identity"]
Values = Literal["amount", "yes-no", "count"]
"""What a record says: an amount, the answer to a question, or nothing but that it is there."""
PeriodShares = Literal["equal", "front-loaded"]
"""How a budget is divided among the periods of a series."""
Objective = Literal["iou", "bce"]
Focus = Literal["threshold", "all"]
ExecutorName = Literal["serial", "processes", "dask"]

ReferenceKind = Literal["public reference data", "reference data", "simulated", "private selection"]
"""On what a design is tuned: "reference data" are set aside and not published, a "private selection" is a
pilot whose cost is inside the release's epsilon."""

TriedOn = Literal[
    "the reference data", "simulated fields", "what the pilot showed", "simulated fields of the chosen range"
]
TRIED_ON: dict[ReferenceKind, TriedOn] = {
    "public reference data": "the reference data",
    "reference data": "the reference data",
    "simulated": "simulated fields",
    "private selection": "what the pilot showed",
}
"""What a search tries its designs on, in words."""

TuningKind = Literal[ReferenceKind, "fixed", "given", "not accounted"]
"""How a design was chosen: tuned, "fixed" (the same for all data without reference data, nothing was
searched), "given" (typed in, public by the curator's word), or by looking."""

Group = Literal["data", "reference", "geography", "privacy", "set", "design", "running", "statement"]
"""Under which heading a setting stands: on the command line, in the reference page and on screens."""

GROUPS: dict[Group, str] = {
    "data": "private data",
    "reference": "reference data (public or set aside; the design is tuned on them)",
    "geography": "public geography",
    "privacy": "privacy",
    "set": "excursion set",
    "design": "design",
    "running": "running and keeping",
    "statement": "title, and what the curator states (components of NIST SP 800-226)",
}


LOADERS = Registry("hexcursion.loaders", OWN_LOADERS, Loader)


def prior_names() -> tuple[str, ...]:
    """Names of the prior families, as they are registered now."""
    return tuple(PRIORS)


def mechanism_names() -> tuple[str, ...]:
    """Names of the mechanisms, as they are registered now."""
    return tuple(MECHANISMS)


def loader_names() -> tuple[str, ...]:
    """Names of the loaders, as they are registered now."""
    return tuple(LOADERS)


def bound_names() -> tuple[str, ...]:
    """Names of the bounds that are proved and so may price a release."""
    return tuple(name for name, bound in BOUNDS.items() if bound.proved)


def segment_names() -> tuple[str, ...]:
    """Names of the market segments of Price Paid sales."""
    return tuple(SEGMENTS)
