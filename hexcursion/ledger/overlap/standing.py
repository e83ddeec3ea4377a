"""How a planned release stands among earlier ones of the same records: the facts that its receipt repeats."""

from __future__ import annotations

from dataclasses import dataclass

from dpgp_core.accounting.composition import Neighbours
from dpgp_core.mechanisms.terms import Unit
from hexcursion.ledger.overlap.links import Decision


@dataclass(frozen=True)
class OtherUnit:
    """Releases of the same records under the other unit of protection.

    Parameters
    ----------
    epsilon
        their composed epsilon at the release's delta, for one of their own units
    pair_epsilon
        the same for two of them exchanged at once, at the same delta (docs/accounting.md, section 7)
    neighbours
        what both compare: the strongest that all of these releases hide, an exchange at most
    """

    unit: Unit
    releases: int
    epsilon: float
    pair_epsilon: float
    neighbours: Neighbours = "replace-one"


@dataclass(frozen=True)
class Stronger:
    """Releases of the same records that promise to hide more than all releases together do.

    Parameters
    ----------
    neighbours
        what they promise to hide
    releases
        how many they are, the planned one among them where it promises this
    epsilon
        what they cost together, for these neighbours
    """

    neighbours: Neighbours
    releases: int
    epsilon: float


@dataclass(frozen=True)
class Standing:
    """A release among earlier ones.

    Parameters
    ----------
    unit, delta
        the unit of protection and the delta at which epsilons are stated
    n
        records of the dataset, in the area and outside of it
    shared
        how many of them earlier releases of this unit could have contained; `most` bounds it from above,
        `exact` says whether it was counted or estimated
    before, after
        composed epsilon of all releases of this unit that could have contained one of them, without this one
        and with it, for `neighbours`: those that all of these releases hide
    stronger
        the releases among them that promise to hide more, the strongest promise first
    other_units
        releases of the same records under another unit
    other_numbers
        numbers of records stated by earlier releases over other areas or with other filters
    unknown
        accounts of earlier datasets whose record hashes were not kept, so that it cannot be seen whether they
        hold some of the same records
    apart
        decisions by which datasets that share records are not counted
    """

    unit: Unit
    delta: float
    n: int
    shared: int
    most: int
    exact: bool
    before: float
    after: float
    other_units: tuple[OtherUnit, ...] = ()
    other_numbers: tuple[int, ...] = ()
    unknown: int = 0
    apart: tuple[Decision, ...] = ()
    neighbours: Neighbours = "replace-one"
    stronger: tuple[Stronger, ...] = ()


@dataclass(frozen=True)
class Alike:
    """A charged dataset that may hold the same records in other words; for the curator's eyes.

    Parameters
    ----------
    dataset
        its fingerprint
    entry, title
        its latest charge, and what that charge calls its release
    places
        share of the different places of the dataset with fewer of them that the other has too
    file
        whether both come from one file
    """

    dataset: str
    entry: int
    title: str
    places: float
    file: bool
