"""The words of settings: literals for closed sets, functions for registries that grow."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Literal

from data_loaders import LOADERS as OWN_LOADERS
from data_loaders import SEGMENTS, Loader
from dpgp_core.bounds.registry import BOUNDS
from dpgp_core.excursion import Direction as Direction
from dpgp_core.mechanisms.base import SearchSpace
from dpgp_core.mechanisms.design import Unit as Unit
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.plugins import Registry
from dpgp_core.priors.registry import PRIORS
from dpgp_core.releasing import Relation as Relation
from hexcursion.errors import WorkflowError
from hexcursion.words import UnitWord as UnitWord

Transform = Literal["log", "identity"]
Values = Literal["amount", "yes-no", "count"]
"""The content of a record: an amount, the answer to a question, or only its existence."""
PeriodShares = Literal["equal", "front-loaded"]
"""The division of a budget among the periods of a series."""
PilotBy = Literal["sums", "choice"]
"""What a pilot buys: noisy sums of every hexagon, or a private choice of a simulated field's law."""
Objective = Literal["iou", "bce"]
Focus = Literal["threshold", "all"]
ExecutorName = Literal["serial", "processes", "dask"]

ReferenceKind = Literal["public reference data", "reference data", "simulated", "private selection"]
"""The data on which a design is tuned: "reference data" are set aside and not published, a "private
selection" is a pilot whose cost is part of the release's epsilon."""

TriedOn = Literal["the reference data", "simulated fields", "what the pilot showed"]
TRIED_ON: dict[ReferenceKind, TriedOn] = {
    "public reference data": "the reference data",
    "reference data": "the reference data",
    "simulated": "simulated fields",
    "private selection": "what the pilot showed",
}
"""The data on which a search tries its designs, in words."""

TuningKind = Literal[ReferenceKind, "fixed", "given", "not accounted"]
"""How a design was chosen: tuned, "fixed" (the same for all data without reference data, without a
search), "given" (typed in, and declared public by the curator), or by looking at the private
data."""

Group = Literal["data", "reference", "geography", "privacy", "set", "design", "running", "statement"]
"""The heading of a setting on the command line, in the reference page and on screens."""

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
    """Return the names of the registered prior families."""
    return tuple(PRIORS)


def mechanism_names() -> tuple[str, ...]:
    """Return the names of the registered mechanisms."""
    return tuple(MECHANISMS)


def loader_names() -> tuple[str, ...]:
    """Return the names of the registered loaders."""
    return tuple(LOADERS)


def bound_names() -> tuple[str, ...]:
    """Return the names of the proved bounds, which may price a release."""
    return tuple(name for name, bound in BOUNDS.items() if bound.proved)


def segment_names() -> tuple[str, ...]:
    """Return the names of the market segments of Price Paid sales."""
    return tuple(SEGMENTS)


DEFAULT_MECHANISMS: tuple[str, ...] = tuple(name for name in MECHANISMS.own if MECHANISMS[name].usual)
"""The default mechanisms of a search, of which it tries those proved for the unit of protection.

Mechanisms of other papers and of installed packages must be named: each design of the former needs
a dense factorisation.
"""

DEFAULT_PRIORS: tuple[str, ...] = ("car", "exponential")
"""The default prior families of a search; see `default_priors`."""

DENSE_CELLS = 600
"""The number of hexagons up to which a search tries priors with a dense matrix by default.

On larger areas its factorisation takes much of a release's time, and London's map is no better.
"""


def default_priors(cells: int) -> tuple[str, ...]:
    """Return the default prior families of a search on this number of hexagons."""
    return tuple(name for name in DEFAULT_PRIORS if cells <= DENSE_CELLS or PRIORS[name].sparse)


def default_delta(n: int) -> float:
    """Propose a delta for `n` records (public): the largest power of ten that is at most 1/(10 n).

    A delta near 1/n is no promise: releasing one record chosen at random would satisfy it. Raise
    `WorkflowError` for `n` below 1.
    """
    if operator.index(n) < 1:
        raise WorkflowError(f"delta is chosen from the number of records, which must be at least 1, not {n}.")
    exponent = len(str(10 * n - 1))  # the least k with 10^k >= 10 n, in exact arithmetic
    return float(f"1e-{exponent}")


USUAL_DELTA = 1e-5


def usual_delta(n: int) -> float:
    """Return the default delta of a release: 1e-5, or `default_delta` if that is smaller."""
    return min(USUAL_DELTA, default_delta(n))


def that_can_serve(
    mechanisms: Iterable[str], unit: Unit, relation: Relation, places_public: bool = False
) -> tuple[str, ...]:
    """Return the mechanisms that are proved for this unit of protection and these neighbours, in
    order.

    A mechanism that protects values only needs public places.
    """
    protections = {name: MECHANISMS[name].protection for name in mechanisms}
    return tuple(
        name
        for name, protection in protections.items()
        if unit in protection.units
        and relation in protection.relations
        and (places_public or protection.what != "values")
    )


Origin = Literal["searched", "fixed", "by hand"]
"""The origin of a design; see `origin_of`."""


def has_fixed(mechanism: str) -> bool:
    """Whether a mechanism has a fixed design, released without a search or reference data."""
    return MECHANISMS[mechanism].search.fixed(1.0) is not None


def origin_of(mechanisms: Iterable[str], *, reference: bool, pilot: bool, by_hand: bool) -> Origin:
    """Return the origin of a release's design, from its settings."""
    if by_hand:
        return "by hand"
    if reference or pilot or not any(map(has_fixed, mechanisms)):
        return "searched"
    return "fixed"


def that_release(mechanisms: Iterable[str], origin: Origin) -> tuple[str, ...]:
    """Return the mechanisms that may release a design of this origin."""
    names = tuple(mechanisms)
    if origin == "searched":
        return names
    if origin == "by hand":
        return tuple(name for name in names if MECHANISMS[name].space.given is not SearchSpace.given)
    return next(((name,) for name in names if has_fixed(name)), ())


def not_read(mechanisms: Iterable[str], origin: Origin, *, amounts: bool = True) -> tuple[str, ...]:
    """Return the settings without effect for these mechanisms and a design of this origin.

    A search also uses the prior families for its target, the map without privacy, and so reads them
    with any mechanism.
    """
    names = that_release(mechanisms, origin)
    read: set[str] = {choice for name in names for choice in MECHANISMS[name].reads}
    if origin == "searched":
        read |= {"priors", "focus", "objective"}
    elif origin == "fixed" and amounts:  # one clip bound about the threshold, or the usual one
        read |= {"focus"}
    return tuple(
        name
        for name in ("priors", "paths", "bound", "covariates", "looks", "values", "focus", "objective")
        if name not in read
    )
