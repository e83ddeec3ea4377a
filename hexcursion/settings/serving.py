"""Which mechanisms can serve what is to be protected, by their own account of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from dpgp_core.mechanisms.base import Mechanism
from dpgp_core.mechanisms.registry import MECHANISMS
from hexcursion.settings.words import Relation, Unit


def units_of(mechanism: str) -> tuple[Unit, ...]:
    """The units of protection that a mechanism takes."""
    return MECHANISMS[mechanism].protection.units


def relations_of(mechanism: str) -> tuple[Relation, ...]:
    """The neighbouring relations for which a mechanism is proved."""
    return MECHANISMS[mechanism].protection.relations


def shows_places(mechanism: str) -> bool:
    """Whether a mechanism protects values only, so that it needs public places."""
    return MECHANISMS[mechanism].protection.what == "values"


def that_can_serve(
    mechanisms: Iterable[str], unit: Unit, relation: Relation, places_public: bool = False
) -> tuple[str, ...]:
    """Those of the mechanisms that are proved for this unit of protection and these neighbours, in order."""
    return tuple(
        name
        for name in mechanisms
        if unit in units_of(name)
        and relation in relations_of(name)
        and (places_public or not shows_places(name))
    )


Origin = Literal["searched", "fixed", "fixed with a chosen range", "by hand"]
"""Where a design comes from: see `origin_of`."""


def can_weigh_drift(mechanism: str) -> bool:
    """Whether a mechanism can start from a published map and weigh how far the field has drifted since."""
    return MECHANISMS[mechanism].weighs_drift


def has_fixed(mechanism: str) -> bool:
    """Whether a mechanism has a design that is released unsearched where no reference data say anything."""
    return MECHANISMS[mechanism].fixed(1.0) is not None


def origin_of(
    mechanisms: Iterable[str], *, reference: bool, pilot: bool, range_choice: bool, by_hand: bool
) -> Origin:
    """Where the design of a release comes from, by what its settings name."""
    if by_hand:
        return "by hand"
    if reference or pilot or not any(map(has_fixed, mechanisms)):
        return "searched"
    return "fixed with a chosen range" if range_choice else "fixed"


def that_release(mechanisms: Iterable[str], origin: Origin) -> tuple[str, ...]:
    """Those of the mechanisms by which a design of this origin may be released."""
    names = tuple(mechanisms)
    if origin == "searched":
        return names
    if origin == "by hand":
        return tuple(name for name in names if type(MECHANISMS[name]).given is not Mechanism.given)
    return next(((name,) for name in names if has_fixed(name)), ())


def not_read(mechanisms: Iterable[str], origin: Origin) -> tuple[str, ...]:
    """Return the settings of which nothing comes with these mechanisms and a design of this origin.

    The prior families also serve the map without privacy that a search is after, and the folds of a private
    choice of the range: there they are read, whatever the mechanism.
    """
    names = that_release(mechanisms, origin)
    read: set[str] = {choice for name in names for choice in MECHANISMS[name].reads}
    if origin in ("searched", "fixed with a chosen range"):
        read.add("priors")
    if origin == "searched":
        read |= {"focus", "objective"}
    return tuple(
        name
        for name in ("priors", "paths", "bound", "covariates", "looks", "values", "focus", "objective")
        if name not in read
    )
