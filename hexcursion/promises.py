"""What a guarantee promises, to whom and to whom not, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpgp_core.accounting.composition import Neighbours
from dpgp_core.mechanisms.design import Protects, Unit
from dpgp_core.numbers import upper
from dpgp_core.releasing import Relation
from hexcursion.words import PUBLISHERS, UnitWord, guess_words, one_in, plural, slack, times

# With a chance of failure above this a guarantee is not worth the name.
USELESS_DELTA = 0.01
# Above this epsilon a guarantee excludes no feared outcome.
USELESS_EPSILON = 20.0


def protected_word(guarantee: Mapping[str, Any]) -> UnitWord:
    """Whom a stated guarantee is about, in one word: the owner of records where a column names one."""
    return str(guarantee.get("owner", {}).get("word", guarantee["unit_word"]))


@dataclass(frozen=True)
class Protected:
    """Whom and what a guarantee protects."""

    word: UnitWord  # for one record
    unit: Unit = "point"
    relation: Relation = "replace-one"
    protects: Protects = "values and places"
    values: int = 1  # of a record; 0 where records are counted
    owner: Mapping[str, Any] | None = None  # the block of a statement on the owners of records

    @classmethod
    def by(cls, guarantee: Mapping[str, Any], values: int = 1) -> Protected:
        """Read it from the guarantee of a statement."""
        return cls(
            guarantee["unit_word"],
            guarantee["unit"],
            guarantee["relation"],
            guarantee["protects"],
            values,
            guarantee.get("owner"),
        )

    @property
    def one(self) -> UnitWord:
        """The word for the owner of records, or for one record where no column names owners."""
        return self.word if self.owner is None else str(self.owner["word"])

    @property
    def exchanged(self) -> str:
        """What is exchanged: "one reading", "one sensor", or "all readings of one sensor"."""
        if self.owner is None or self.owner["records"] == 1:
            return f"one {self.one}"
        return f"all {self.many} of one {self.one}"

    @property
    def many(self) -> str:
        """The word for several records."""
        return plural(2, self.word).removeprefix("2 ")

    @property
    def of_record(self) -> str:
        """The words for the values of one record that has any."""
        return "its value" if self.values == 1 else "its values"


def epsilon_sentence(
    protected: Protected, epsilon: float, delta: float, n: int | None = None, *, chance: float | None = None
) -> str:
    """What epsilon promises, as odds and as what becomes of a guess.

    `chance` is that of `surest`, None before there is a design. With a delta of at least one in the number of
    records `n` a whole record may be published, and the sentence gives no chance, which would be luck.
    """
    change = "Exchanging" if protected.relation == "replace-one" else "Adding or removing"
    if protected.owner is not None and protected.relation == "add-or-remove":
        change = "Adding, removing or exchanging"
    text = (
        f"{change} {protected.exchanged} can make any published result up to {times(epsilon)} more "
        f"likely, apart from a slack of {one_in(delta)}."
    )
    if n is not None and n * delta >= 1.0:
        text += f" With {plural(n, protected.word)} this slack allows a whole record to be published."
    elif chance is not None:
        text += f" {guess_words(chance, protected.one)}."
    return f"{text} {PROTECTS_NOBODY}" if epsilon > USELESS_EPSILON else text


PROTECTS_NOBODY = f"An epsilon above {USELESS_EPSILON:g} protects nobody in practice."


def protected_text(protected: Protected, n: int) -> str:
    """What the guarantee covers, in one sentence; a number `n` that is not public is only about right."""
    places = protected.protects == "values and places"
    owner, word = protected.owner, protected.word
    among = "among" if protected.relation == "replace-one" else "among about"
    if protected.unit == "cell":
        place = ", and which hexagon it is" if places else ""
        public = "" if place else " Which hexagons hold observations is public."
        return (
            f"One hexagon's whole record: the median of its observations{place}, {among} "
            f"{plural(n, 'non-empty cell')}.{public}"
        )
    if owner is not None and owner["records"] > 1:
        apart = ", no two of them in one hexagon" if owner["apart"] else ""
        hidden, end = "the values and the places" if protected.values else "the places", ""
        if not places:
            hidden, end = "the values", " Their places are public."
        return (
            f"One {owner['word']}: {hidden} of all its {protected.many}, at most "
            f"{owner['records']:,}{apart}, {among} {plural(n, word)}.{end}"
        )
    if not places:
        return f"One {word}: {protected.of_record}, {among} {plural(n, word)}. Its place is public."
    hidden = f"{protected.of_record} and its place" if protected.values else "its place"
    return f"One {word}: {hidden}, {among} {plural(n, word)}."


def hidden_words(neighbours: Neighbours) -> str:
    """What a release hides of one record, by the neighbours that its cost compares."""
    return {
        "values-only": "the value of a record",
        "replace-one": "the value and the place of a record",
        "add-or-remove": "whether a record is there at all",
    }[neighbours]


def not_protected_texts(protected: Protected, *, each_row: bool = False) -> tuple[str, ...]:
    """What the guarantee does not cover, one sentence each; `each_row`: equal rows are separate records."""
    exchange = protected.relation == "replace-one"
    noun = "non-empty cells" if protected.unit == "cell" else protected.many
    shared = [OF_THE_AREA, IN_EARLIER, UNMADE if exchange else UNMADE_FOR_NONE]
    if protected.protects == "values":
        shared.insert(0, f"The places of the {noun} are treated as public.")
    if exchange:
        shared.insert(0, f"The number of {noun} is treated as public.")
    if protected.unit == "cell":
        return (
            "A single observation is protected only as part of its hexagon's record.",
            f"Someone whose observations fall into several hexagons is protected less{LINES}",
            *shared,
        )
    again = (
        f"Equal rows without an identifier count as {noun} of their own, so one {protected.word} that is "
        f"listed several times is protected less{LINES}"
    )
    person = f"A person with more than one {protected.one} is protected less{LINES}"
    if protected.one == "person":
        person = f"Several persons whose records are known to be alike are protected less{LINES}"
    return (person, *([again] if each_row else []), *shared)


OF_THE_AREA = "It does not hide what is true of the area as a whole."
IN_EARLIER = "That some records were in an earlier release: receipt and budget tell it."
UNMADE = (
    "That a record had a map refused: the only one in the area, one without a logarithm, an identifier used "
    "twice, one too many left out."
)
UNMADE_FOR_NONE = "That a map is refused because no record lies in the area, or too many are left out."
LINES = ": see the group lines."


def limits(statement: Mapping[str, Any]) -> list[str]:
    """What the guarantee of a statement does not cover, for a page without its group lines, and
    what it takes from the publisher."""
    guarantee = statement["guarantee"]
    told = [text.replace(LINES, ".") for text in guarantee["not_protected"]]
    if (owner := guarantee.get("owner")) is None:
        record = (
            "the median of one hexagon" if guarantee["unit"] == "cell" else f"one {guarantee['unit_word']}"
        )
        return [*told, f"That a record is {record}: {PUBLISHERS}."]
    apart = ", no two of them in one hexagon" if owner["apart"] and owner["records"] > 1 else ""
    used = f"That at most {plural(owner['records'], 'row')} of each {owner['word']} were used{apart}"
    return [*told, f"{used}: {PUBLISHERS}."]


def group_sentence(records: int, epsilon: float, delta: float, unit_word: UnitWord) -> str:
    """The guarantee of someone with up to `records` of a unit of protection, or that none is left."""
    who = f"Someone with up to {plural(records, unit_word)}"
    if unit_word == "person":
        who = f"A group of {plural(records, unit_word)}"
    if not (delta < USELESS_DELTA and math.isfinite(epsilon)):
        return f"{who}: no useful guarantee."
    text = f"{who}: epsilon {upper(epsilon)} at delta {slack(delta)} (up to {times(epsilon)})."
    return f"{text} {PROTECTS_NOBODY}" if epsilon > USELESS_EPSILON else text
