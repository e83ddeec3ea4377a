"""How a planned release stands among earlier ones of the same records: the facts that its receipt repeats."""

from __future__ import annotations

from dataclasses import dataclass

from dpgp_core.accounting.composition import Neighbours
from dpgp_core.mechanisms.terms import Unit
from hexcursion.ledger.overlap.links import Decision


@dataclass(frozen=True)
class OtherUnit:
    """Releases of the same records under the other unit of protection."""

    unit: Unit
    releases: int
    epsilon: float  # their composed epsilon at the release's delta, for one of their own units
    # the same for two of them exchanged at once, at the same delta (docs/accounting.md, section 7)
    pair_epsilon: float
    # what both compare: the strongest that all of these releases hide, an exchange at most
    neighbours: Neighbours = "replace-one"


@dataclass(frozen=True)
class Stronger:
    """Releases of the same records that promise to hide more than all releases together do."""

    neighbours: Neighbours  # what they promise to hide
    releases: int  # how many they are, the planned one among them where it promises this
    epsilon: float  # what they cost together, for these neighbours


@dataclass(frozen=True)
class Standing:
    """A release among earlier ones."""

    unit: Unit  # with `delta`: the unit of protection and the delta at which epsilons are stated
    delta: float
    n: int  # records of the dataset, in the area and outside of it
    # how many of them earlier releases of this unit could have contained; `most` bounds it from above,
    # `exact` says whether it was counted or estimated
    shared: int
    most: int
    exact: bool
    # with `after`: composed epsilon of all releases of this unit that could have contained one of them,
    # without this one and with it, for `neighbours`: those that all of these releases hide
    before: float
    after: float
    other_units: tuple[OtherUnit, ...] = ()  # releases of the same records under another unit
    # numbers of records stated by earlier releases over other areas or with other filters
    other_numbers: tuple[int, ...] = ()
    # accounts of earlier datasets whose record hashes were not kept, so that it cannot be seen whether they
    # hold some of the same records
    unknown: int = 0
    apart: tuple[Decision, ...] = ()  # decisions by which datasets that share records are not counted
    neighbours: Neighbours = "replace-one"
    # the releases among them that promise to hide more, the strongest promise first
    stronger: tuple[Stronger, ...] = ()


@dataclass(frozen=True)
class Alike:
    """A charged dataset that may hold the same records in other words; for the curator's eyes."""

    dataset: str  # its fingerprint
    entry: int  # with `title`: its latest charge, and what that charge calls its release
    title: str
    places: float  # share of the different places of the dataset with fewer of them that the other has too
    file: bool  # whether both come from one file
