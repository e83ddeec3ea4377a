"""What a receipt and a statement say about earlier releases of the same records: text lines, nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dpgp_core.mechanisms.terms import Unit
from dpgp_core.numbers import upper
from dpgp_core.releasing.facts import Relation
from hexcursion import words
from hexcursion.ledger.overlap.matching import ALIKE
from hexcursion.ledger.overlap.standing import Alike, OtherUnit, Standing
from hexcursion.words import UnitWord

NUMBERS = 10  # of records stated over other areas that one line lists
Topic = Literal["Neighbours", "Earlier releases", "Other unit", "Other numbers", "Not compared", "Kept apart"]


@dataclass(frozen=True)
class Line:
    """One line for a receipt: what it is about, what it says, and whether it is a warning."""

    topic: Topic
    text: str
    warning: bool = False


def account_lines(
    standing: Standing, unit_word: UnitWord, relation: Relation = "replace-one", *, values_only: bool = False
) -> tuple[Line, ...]:
    """Everything that receipt and statement must say about earlier releases of the same records: nothing but
    the line on neighbours where there is nothing to say. How many records are shared, and how many lie in and
    outside of the area, are exact facts about single records that no epsilon covers: these lines are
    published, so they count neither. The curator reads the count in `shared_text`."""
    lines = [Line("Neighbours", neighbours_text(standing.unit, unit_word, relation, values_only))]
    if standing.shared:
        lines.append(Line("Earlier releases", shared_unnumbered(standing)))
    if standing.stronger:
        lines.append(Line("Earlier releases", stronger_text(standing), warning=True))
    lines += [
        Line("Other unit", other_unit_text(other, standing.unit, standing.delta))
        for other in standing.other_units
    ]
    if standing.other_numbers and relation == "replace-one":
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


def neighbours_text(
    unit: Unit, unit_word: UnitWord, relation: Relation = "replace-one", values_only: bool = False
) -> str:
    """What the guarantee compares: records of the area, exchanged, one more or less, or one other value."""
    record = "hexagon's record" if unit == "cell" else unit_word
    if relation == "add-or-remove":
        return (
            f"Two datasets of which one has one {record} more than the other within the area and the filters "
            "of this release: whether it is there at all is hidden too."
        )
    if values_only:
        return (
            f"Two datasets with the same records at the same places, which differ in one {record}, in its "
            "value only, within the area and the filters of this release. Where records are, and how many, "
            "is not hidden."
        )
    number = "non-empty hexagons" if unit == "cell" else words.plural(2, unit_word).removeprefix("2 ")
    return (
        f"Two datasets with the same number of {number}, which differ in one {record} exchanged for another "
        "within the area and the filters of this release. Whether a record lies in the area and passes the "
        "filters at all is not hidden from someone who knows the numbers for other areas or filters."
    )


def shared_text(standing: Standing) -> str:
    """How many records earlier releases could have contained: for the curator, never to be published."""
    records = words.plural(standing.n, "record")
    verb = "was" if standing.shared == 1 else "were"
    if not standing.shared:
        return f"None of these {records} was part of an earlier release."
    if standing.shared == standing.n and standing.exact:
        some = f"All {records} were" if standing.n > 1 else "The one record was"
    elif standing.exact:
        some = f"{standing.shared:,} of these {records} {verb}"
    else:
        some = f"About {standing.shared:,} (at most {standing.most:,}) of these {records} were"
    return f"{some} part of earlier releases. The release says of that: some or all."


def shared_unnumbered(standing: Standing) -> str:
    """The same as it is published: what all releases cost together, without any number of records."""
    return (
        "Some or all of these records were part of releases that cost epsilon "
        f"{upper(standing.before)} before; together {upper(standing.after)}. "
        "How many they are is not published."
    )


def stronger_text(standing: Standing) -> str:
    """What all releases of these records hide together, and what only some of them promise to hide."""
    also = "; ".join(
        f"{one.releases} of them also {'hides' if one.releases == 1 else 'hide'} "
        f"{words.hidden_words(one.neighbours)}, at epsilon {upper(one.epsilon)}, and the others do not"
        for one in standing.stronger
    )
    said = (
        "Releases of these records promise different things. All of them together hide "
        f"{words.hidden_words(standing.neighbours)}, at epsilon {upper(standing.after)}; {also}."
    )
    if any(one.neighbours == "add-or-remove" for one in standing.stronger):
        said += (
            " A release that hides whether a record is there counts for an exchanged record at its own price "
            "of an exchange, or at that of one record less and one more."
        )
    return said


def alike_text(alike: Alike) -> str:
    """Why an earlier release may be of the same records; for the curator alone, and in no receipt."""
    shown = f" ({alike.title})" if alike.title else ""
    places = f"{alike.places:.0%} of its places" if alike.places >= ALIKE else ""
    why = " and ".join(filter(None, [places, "its file" if alike.file else ""]))
    return (
        f"The release of ledger entry {alike.entry}{shown} shares {why} with these data, but no record was "
        "recognised, so the two are not counted together. If they hold the same records, with other values, "
        "times or names, count them together."
    )


def other_unit_text(other: OtherUnit, unit: Unit, delta: float) -> str:
    """What releases under the other unit of protection mean for this one: they are not free for it."""
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
    """That numbers of records over several areas reveal the number in between."""
    stated = ", ".join(f"{number:,}" for number in numbers[:NUMBERS])
    more = len(numbers) - NUMBERS
    rest = f" and {words.plural(more, 'more number')} of" if more > 0 else ""
    return (
        f"Earlier releases over other areas or filters stated {stated}{rest} records. From two such "
        "numbers it can be computed exactly how many records lie in one area and not in the other, and no "
        "epsilon accounts for that."
    )


def unknown_text(count: int) -> str:
    """That some accounts cannot be compared."""
    return (
        f"The ledger holds releases of {words.plural(count, 'dataset')} from before it kept hashes of "
        "records: whether they contained some of these is not known and not counted."
    )
