"""Which mechanisms can serve what is to be protected, by their own account of it."""

from __future__ import annotations

from collections.abc import Iterable

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
