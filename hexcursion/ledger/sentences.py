"""The consequences of earlier releases of the same records for a new one, as values and
sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dpgp_core.accounting.composition import Neighbours
from dpgp_core.mechanisms.design import Unit
from dpgp_core.numbers import upper
from hexcursion import promises, words
from hexcursion.ledger.overlap import ALIKE, Decision


@dataclass(frozen=True)
class OtherUnit:
    """Releases of the same records under the other unit of protection."""

    unit: Unit
    releases: int
    epsilon: float  # their composed epsilon at the release's delta, for one of their units
    # the same for two of their units exchanged at once, at the same delta (docs/accounting.md,
    # section 7)
    pair_epsilon: float
    # of both epsilons: the strongest that all of these releases hide, an exchange at most
    neighbours: Neighbours = "replace-one"


@dataclass(frozen=True)
class Stronger:
    """Releases of the same records that promise to hide more than all releases together do."""

    neighbours: Neighbours  # the neighbours that they promise to hide
    releases: int  # their number, with the planned release if it makes this promise
    epsilon: float  # their composed cost for these neighbours


@dataclass(frozen=True)
class Standing:
    """A release among earlier ones."""

    unit: Unit  # the unit of protection
    delta: float  # at which epsilons are stated
    n: int  # records of the dataset, in the area and outside of it
    # number of them that earlier releases of this unit could have contained; `most` is an upper
    # bound, `exact` tells a count from an estimate
    shared: int
    most: int
    exact: bool
    # composed epsilon of all releases of this unit that could have contained one of them, without
    # this one and with it, for the `neighbours` that all of these releases hide
    before: float
    after: float
    other_units: tuple[OtherUnit, ...] = ()  # releases of the same records under another unit
    # numbers of records stated by earlier releases over other areas or with other filters
    other_numbers: tuple[int, ...] = ()
    # accounts of earlier datasets without stored record hashes, which may hold some of the same
    # records
    unknown: int = 0
    # decisions by which datasets that share records are not counted
    apart: tuple[Decision, ...] = ()
    neighbours: Neighbours = "replace-one"
    # the releases among them that promise to hide more, the strongest promise first
    stronger: tuple[Stronger, ...] = ()


@dataclass(frozen=True)
class Alike:
    """A charged dataset that may hold the same records in other words; only for the curator."""

    dataset: str  # its fingerprint
    entry: int  # its latest charge
    title: str  # of the release of that charge
    places: float  # share of the distinct places of the dataset with fewer of them that both have
    file: bool  # whether both come from one file


NUMBERS = 10  # of records stated over other areas that one line lists
Topic = Literal["Neighbours", "Earlier releases", "Other unit", "Other numbers", "Not compared", "Kept apart"]


@dataclass(frozen=True)
class Line:
    """One line for a receipt: its topic, its text, and whether it is a warning."""

    topic: Topic
    text: str
    warning: bool = False


def account_lines(standing: Standing, protected: promises.Protected) -> tuple[Line, ...]:
    """Return the lines about earlier releases of the same records for receipt and statement, or the
    line on neighbours alone. The numbers of shared records, and of records inside and outside of
    the area, are exact facts about single records that no epsilon covers. These lines are
    published, so they state neither; the curator reads the count in `shared_text`."""
    text = neighbours_text(protected)
    lines = [Line("Neighbours", text)]
    if standing.shared:
        lines.append(Line("Earlier releases", shared_unnumbered(standing)))
    if standing.stronger:
        lines.append(Line("Earlier releases", stronger_text(standing), warning=True))
    lines += [
        Line("Other unit", other_unit_text(other, standing.unit, standing.delta))
        for other in standing.other_units
    ]
    if standing.other_numbers and protected.relation == "replace-one":
        lines.append(Line("Other numbers", other_numbers_text(standing.other_numbers), warning=True))
    if standing.unknown:
        lines.append(Line("Not compared", unknown_text(standing.unknown), warning=True))
    lines += [
        Line(
            "Kept apart",
            f"By a person's decision (ledger entry {decision.entry}) releases of another dataset that seemed "
            f"to hold some of the same records are not counted: {decision.reason.strip().rstrip('.')}.",
            warning=True,
        )
        for decision in standing.apart
    ]
    return tuple(lines)


def neighbours_text(protected: promises.Protected) -> str:
    """Describe the neighbouring datasets of the guarantee: one record of the area exchanged, added
    or removed, or with other values.

    If a column names owners, all records of an owner change.
    """
    added, values_only = protected.relation == "add-or-remove", protected.protects == "values"
    if protected.owner is not None:
        how = "exchanged for others"
        if added:
            how = "which may be there, be gone or be others,"
        elif values_only:
            how = "in their values only,"
        return (
            f"Two datasets that differ in all {protected.many} of one {protected.one}, {how} within the area "
            "and the filters of this release. Of releases that knew no owners a single record is counted."
        )
    record = "hexagon's record" if protected.unit == "cell" else protected.word
    if added:
        return (
            f"Two datasets of which one has one {record} more than the other within the area and the filters "
            "of this release: whether it is there at all is hidden too."
        )
    if values_only:
        return (
            f"Two datasets with the same records at the same places, which differ in one {record}, in "
            f"{protected.of_record} only, within the area and the filters of this release. Where "
            "records are, and how many, is not hidden."
        )
    number = "non-empty hexagons" if protected.unit == "cell" else protected.many
    return (
        f"Two datasets with the same number of {number}, which differ in one {record} exchanged for another "
        "within the area and the filters of this release. Whether a record lies in the area and passes the "
        "filters at all is not hidden from someone who knows the numbers for other areas or filters."
    )


def shared_text(standing: Standing) -> str:
    """State how many records earlier releases could have contained: for the curator, never
    published."""
    records = words.plural(standing.n, "record")
    verb = "was" if standing.shared == 1 else "were"
    if not standing.shared:
        return f"None of these {records} was part of an earlier release."
    if standing.shared == standing.n and standing.exact:
        subject = f"All {records} were" if standing.n > 1 else "The one record was"
    elif standing.exact:
        subject = f"{standing.shared:,} of these {records} {verb}"
    else:
        subject = f"About {standing.shared:,} (at most {standing.most:,}) of these {records} were"
    return f"{subject} part of earlier releases. The release says of that: some or all."


def shared_unnumbered(standing: Standing) -> str:
    """State the composed cost of all releases for publication, without any number of records."""
    return (
        "Some or all of these records were part of releases that cost epsilon "
        f"{upper(standing.before)} before; together {upper(standing.after)}. "
        "How many they are is not published."
    )


def stronger_text(standing: Standing) -> str:
    """State the promise of all releases of these records together, and the promises of only some of
    them."""
    also = "; ".join(
        f"{promise.releases} of them also {'hides' if promise.releases == 1 else 'hide'} "
        f"{promises.hidden_words(promise.neighbours)}, at epsilon {upper(promise.epsilon)}, "
        "and the others do not"
        for promise in standing.stronger
    )
    text = (
        "Releases of these records promise different things. All of them together hide "
        f"{promises.hidden_words(standing.neighbours)}, at epsilon {upper(standing.after)}; {also}."
    )
    if any(promise.neighbours == "add-or-remove" for promise in standing.stronger):
        text += (
            " A release that hides whether a record is there counts for an exchanged record at its own price "
            "of an exchange, or at that of one record less and one more."
        )
    return text


def alike_text(alike: Alike) -> str:
    """Explain why an earlier release may be of the same records: for the curator, never in a
    receipt."""
    title = f" ({alike.title})" if alike.title else ""
    places = f"{alike.places:.0%} of its places" if alike.places >= ALIKE else ""
    why = " and ".join(filter(None, [places, "its file" if alike.file else ""]))
    return (
        f"The release of ledger entry {alike.entry}{title} shares {why} with these data, but no record was "
        "recognised, so the two are not counted together. If they hold the same records, with other values, "
        "times or names, count them together."
    )


def other_unit_text(other: OtherUnit, unit: Unit, delta: float) -> str:
    """State the cost of releases under the other unit of protection for records of this unit."""
    releases = words.plural(other.releases, "release")
    cost = f"epsilon {upper(other.epsilon)} at delta {upper(delta, 3)}"
    if unit == "cell":
        what = "the values of single" if other.neighbours == "values-only" else "single"
        return (
            f"{releases} of these data protected {what} observations, at {cost} together. A hexagon's record "
            "is made of all its observations, so it is protected by them only as a group of that many. Not "
            "counted in this epsilon."
        )
    if other.neighbours == "values-only":
        return (
            f"{releases} of these data protected the values of whole hexagons, at {cost} together, and took "
            "as public which hexagons hold observations: where one observation is, they do not hide. Not "
            "counted in this epsilon."
        )
    pair = (
        f"at most epsilon {upper(other.pair_epsilon)} at the same delta"
        if math.isfinite(other.pair_epsilon)
        else "more than any useful guarantee"
    )
    return (
        f"{releases} of these data protected whole hexagons, at {cost} together. Exchanging one observation "
        f"can change the records of two hexagons, so for it they cost {pair}, provided that the number of "
        "non-empty hexagons stays the same. Not counted in this epsilon."
    )


def other_numbers_text(numbers: tuple[int, ...]) -> str:
    """Warn that numbers of records over several areas reveal the number in between."""
    listed = ", ".join(f"{number:,}" for number in numbers[:NUMBERS])
    remaining = len(numbers) - NUMBERS
    suffix = f" and {words.plural(remaining, 'more number')} of" if remaining > 0 else ""
    return (
        f"Earlier releases over other areas or filters stated {listed}{suffix} records. From two such "
        "numbers it can be computed exactly how many records lie in one area and not in the other, and no "
        "epsilon accounts for that."
    )


def unknown_text(count: int) -> str:
    """Warn that some accounts cannot be compared."""
    return (
        f"The ledger holds releases of {words.plural(count, 'dataset')} from before it kept hashes of "
        "records: whether they contained some of these is not known and not counted."
    )
