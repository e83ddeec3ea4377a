"""The words that settings may hold: written down where they are final, looked up where they grow."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Literal

from data_loaders import LOADERS as OWN_LOADERS
from data_loaders import SEGMENTS, Loader
from dpgp_core.bounds.registry import BOUNDS
from dpgp_core.excursion import Direction
from dpgp_core.mechanisms.base import SearchSpace
from dpgp_core.mechanisms.design import Unit
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.plugins import Registry
from dpgp_core.priors.registry import PRIORS
from dpgp_core.releasing import Relation
from hexcursion.errors import WorkflowError
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

TriedOn = Literal["the reference data", "simulated fields", "what the pilot showed"]
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


DEFAULT_MECHANISMS: tuple[str, ...] = tuple(name for name in MECHANISMS.own if MECHANISMS[name].usual)
"""Mechanisms that a search tries unless told otherwise, as far as they serve what is to be protected.

Those of other papers and of installed packages are asked for by name: each design of the former needs a
dense factorisation.
"""

DEFAULT_PRIORS: tuple[str, ...] = ("car", "exponential")
"""Prior families that a search tries unless told otherwise; see `default_priors`."""

DENSE_CELLS = 600
"""Hexagons up to which a search tries priors with a dense matrix without being asked.

On 2,375 hexagons of London the dense one made a whole release take 1.4 times as long, and the map agreed with
cells that no fit had seen by .763 in place of .782 (`python -m studies.speed.defaults`).
"""


def default_priors(cells: int) -> tuple[str, ...]:
    """The prior families that a search tries on so many hexagons where the settings name none."""
    return tuple(name for name in DEFAULT_PRIORS if cells <= DENSE_CELLS or PRIORS[name].sparse)


def default_delta(n: int) -> float:
    """Propose a delta for `n` records (public): the largest power of ten that is at most 1/(10 n).

    A delta near 1/n is no promise: releasing one record chosen at random would satisfy it. Raise
    `WorkflowError` for `n` below 1.
    """
    if operator.index(n) < 1:
        raise WorkflowError(f"delta is chosen from the number of records, which must be at least 1, not {n}.")
    exponent = len(str(10 * n - 1))  # the least k with 10^k >= 10 n, without rounding errors
    return float(f"1e-{exponent}")


USUAL_DELTA = 1e-5


def usual_delta(n: int) -> float:
    """The delta of a release that states none: 1e-5, or `default_delta` where that is smaller."""
    return min(USUAL_DELTA, default_delta(n))


def that_can_serve(
    mechanisms: Iterable[str], unit: Unit, relation: Relation, places_public: bool = False
) -> tuple[str, ...]:
    """Those of the mechanisms that are proved for this unit of protection and these neighbours, in order.

    A mechanism that protects values only needs public places.
    """
    given = {name: MECHANISMS[name].protection for name in mechanisms}
    return tuple(
        name
        for name, own in given.items()
        if unit in own.units and relation in own.relations and (places_public or own.what != "values")
    )


Origin = Literal["searched", "fixed", "by hand"]
"""Where a design comes from: see `origin_of`."""


def has_fixed(mechanism: str) -> bool:
    """Whether a mechanism has a design that is released unsearched where no reference data say anything."""
    return MECHANISMS[mechanism].search.fixed(1.0) is not None


def origin_of(mechanisms: Iterable[str], *, reference: bool, pilot: bool, by_hand: bool) -> Origin:
    """Where the design of a release comes from, by what its settings name."""
    if by_hand:
        return "by hand"
    if reference or pilot or not any(map(has_fixed, mechanisms)):
        return "searched"
    return "fixed"


def that_release(mechanisms: Iterable[str], origin: Origin) -> tuple[str, ...]:
    """Those of the mechanisms by which a design of this origin may be released."""
    names = tuple(mechanisms)
    if origin == "searched":
        return names
    if origin == "by hand":
        return tuple(name for name in names if MECHANISMS[name].space.given is not SearchSpace.given)
    return next(((name,) for name in names if has_fixed(name)), ())


def not_read(mechanisms: Iterable[str], origin: Origin) -> tuple[str, ...]:
    """Return the settings of which nothing comes with these mechanisms and a design of this origin.

    The prior families also serve the map without privacy that a search is after: there they are read,
    whatever the mechanism.
    """
    names = that_release(mechanisms, origin)
    read: set[str] = {choice for name in names for choice in MECHANISMS[name].reads}
    if origin == "searched":
        read |= {"priors", "focus", "objective"}
    return tuple(
        name
        for name in ("priors", "paths", "bound", "covariates", "looks", "values", "focus", "objective")
        if name not in read
    )
