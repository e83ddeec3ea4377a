"""The receipt: every public fact of a planned or finished release, one line each, warnings
marked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpgp_core.accounting.composition import Neighbours
from dpgp_core.accounting.composition import epsilon as composed_epsilon
from dpgp_core.accounting.rdp import epsilon_from_rdp
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Design, Protects
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.registry import mechanism_named
from dpgp_core.numbers import significant, upper
from dpgp_core.releasing import Relation
from hexcursion import promises, words
from hexcursion.bundle.statement.designs import values_of
from hexcursion.bundle.statement.guarantee import owner_block
from hexcursion.ledger.account import ROUNDING
from hexcursion.project.response import ResponseScale
from hexcursion.record import PrivacyFacts, ReceiptLine, Tuning

# From here on the odds line is marked: any result may become over 100 times more likely. Small
# epsilons never carry a warning.
LARGE_EPSILON = math.log(100.0)
# n delta: the expected number of records that a mechanism of this delta might publish whole. Above
# this the receipt also says what a smaller delta would cost.
SMALL_EXPOSURE = 0.01
ON_INTEGERS = (
    "The guarantee holds for the numbers as the computer drew them: sums of whole numbers, and noise that is "
    "normal and rounded exactly, from bits of the operating system."
)
ON_PATHS = (
    "The guarantee holds for the numbers as the computer drew them: every value is the path that the proof "
    "is about, rounded to the nearest multiple of 2^-20, which whole numbers prove, from bits of the "
    "operating system."
)
ON_REALS = (
    "The proof is about real numbers. The noise was computed in floating point, from bits of the operating "
    "system, and what is published is rounded to a public grid; no proof covers that rounding."
)

AT_EDGE = "The best Renyi order lies at the edge of the public grid: epsilon is valid, but may be loose."


@dataclass(frozen=True)
class BudgetLine:
    """The dataset's budget around one release: epsilons at the budget's delta, composed by the
    ledger."""

    before: float  # upper bound without this release
    after: float  # and with it
    budget: float | None = None  # None where none was set for the dataset
    delta: float | None = None  # that of the budget, where it is not the release's own
    # what all of these releases hide, where that is less than this one promises; else None
    hidden: Neighbours | None = None

    @property
    def left(self) -> float | None:
        """What remains after the release, never negative; None without a budget."""
        return None if self.budget is None else max(0.0, self.budget - self.after)


@dataclass(frozen=True)
class ReceiptFacts:
    """The public facts that a receipt is made of."""

    privacy: PrivacyFacts
    design: Design
    response: ResponseScale
    tuning: Tuning
    cells: int  # hexagons of the domain
    resolution: int
    domain_origin: str  # "" where it is not stated
    value_unit: str = ""
    ledger: BudgetLine | None = None
    prior_mean_origin: str | None = None
    generated: bool = False
    simulation: bool = False
    relation: Relation = "replace-one"
    protects: Protects = "values and places"

    @property
    def protected(self) -> promises.Protected:
        """Whom and what the guarantee protects."""
        return promises.Protected(
            self.privacy.unit_word,
            self.privacy.unit,
            self.relation,
            self.protects,
            self.values,
            self.owner,
        )

    @property
    def owner(self) -> dict[str, Any] | None:
        """The statement's block on owners; None where a column names none."""
        return owner_block(self.privacy)

    @property
    def values(self) -> int:
        """How many values a record has: 0 where records are only counted."""
        return values_of(self.design)


def build_receipt(facts: ReceiptFacts) -> tuple[ReceiptLine, ...]:
    """Return the receipt's lines: the unit first, then the fixed choices, then the cost."""
    lines = [*_choice_lines(facts), *_cost_lines(facts)]
    if facts.generated:
        lines.append(ReceiptLine("Data", "Generated demo data: no real person is described."))
    if facts.simulation:
        lines.append(ReceiptLine("Randomness", "Simulation with a fixed seed: not a private release.", True))
    return tuple(lines)


def _choice_lines(facts: ReceiptFacts) -> Iterator[ReceiptLine]:
    """The protected unit, and every choice made before the draw."""
    privacy, response, origin = facts.privacy, facts.response, facts.response.origin
    yield ReceiptLine(
        "Unit of protection",
        promises.protected_text(facts.protected, privacy.n),
    )
    yield _records_line(privacy, facts.relation)
    yield from _places_lines(facts.protects)
    filled = facts.domain_origin or "their origin is not stated"
    yield ReceiptLine(
        "Domain",
        f"{facts.cells:,} H3 cells of resolution {facts.resolution}: {filled.rstrip('.')}.",
        not facts.domain_origin,
    )
    clip = "none: records that are counted have no values"
    if facts.values:
        clip = _clip(response, facts.value_unit)
    origin_words = origin or "its origin is not stated"
    yield ReceiptLine("Centre", f"{_centre(response, facts.value_unit)}; {origin_words}.", not origin)
    yield ReceiptLine("Clip bound", f"{clip}; {origin_words}.", not origin)
    if facts.prior_mean_origin is not None:
        yield ReceiptLine("Prior mean", f"Public: {facts.prior_mean_origin}.")
    yield ReceiptLine("Tuning", _tuning(facts.tuning), not facts.tuning.accounted)
    for topic, text in questions.receipt_lines(facts.design):
        yield ReceiptLine(topic, text)


def _cost_lines(facts: ReceiptFacts) -> Iterator[ReceiptLine]:
    """What the release costs, by which proof, and what that means for one record and for several."""
    privacy, owner = facts.privacy, facts.owner
    proof = "proved" if privacy.proved else "NOT proved"
    yield ReceiptLine("Bound", f"{privacy.bound}: {privacy.bound_source}, {proof}.", not privacy.proved)
    yield ReceiptLine("Computer", _computer(facts.design, privacy))
    cost = f"epsilon {upper(privacy.epsilon)} at delta {words.slack(privacy.delta)}."
    yield ReceiptLine("This release", cost)
    yield _delta_line(privacy)
    yield from _ledger_lines(facts.ledger)
    chance = _surest(privacy, facts.relation)
    sentence = promises.epsilon_sentence(
        facts.protected, privacy.epsilon, privacy.delta, privacy.n, chance=chance
    )
    yield ReceiptLine("In words", sentence, privacy.epsilon > LARGE_EPSILON)
    word = facts.protected.one
    for q, epsilon, delta in privacy.group:
        yield ReceiptLine("Group", promises.group_sentence(q, epsilon, delta, word))
    yield from _owner_lines(privacy, owner)


def _owner_lines(privacy: PrivacyFacts, owner: Mapping[str, Any] | None) -> tuple[ReceiptLine, ...]:
    """How many records of an owner are used, where a column names it
    (docs/proofs/owners.md)."""
    if owner is None:
        return ()
    apart = ", no two of them in one hexagon" if owner["apart"] and owner["records"] > 1 else ""
    used = f"{words.plural(owner['records'], 'row')}{apart}"
    text = f"Used of each {owner['word']}: at most {used}, by a public rule that prefers no value. "
    return (ReceiptLine("Owner", f"{text}Epsilon is about one whole {owner['word']}."),)


def drawn_exactly(mechanism: str, distance: float) -> bool:
    """Whether a release's proof covers the numbers as a computer draws them.

    Paths have been drawn exactly since their distance to the ideal is stated; before, in floating
    point.
    """
    if mechanism == PosteriorSamplingDesign.mechanism:
        return distance > 0.0
    return mechanism_named(mechanism).exact_on_a_computer


def _computer(design: Design, privacy: PrivacyFacts) -> str:
    distance = 0.0 if privacy.cost is None else privacy.cost.distance
    if not drawn_exactly(design.mechanism, distance):
        return ON_REALS
    return ON_PATHS if isinstance(design, PosteriorSamplingDesign) else ON_INTEGERS


def _surest(privacy: PrivacyFacts, relation: Relation) -> float:
    """The chance of a right guess at even odds, as the statement has it."""
    distance = 0.0 if privacy.cost is None else privacy.cost.distance
    return words.surest(privacy.epsilon, privacy.delta, relation, privacy.gaussian_mu, distance)


def _records_line(privacy: PrivacyFacts, relation: Relation) -> ReceiptLine:
    noun = "non-empty cell" if privacy.unit == "cell" else privacy.unit_word
    if relation == "add-or-remove":
        return ReceiptLine(
            "Records",
            f"About {words.plural(privacy.n, noun)} by public knowledge; their true number is not published.",
        )
    return ReceiptLine("Records", f"{words.plural(privacy.n, noun)}; this number is treated as public.")


def _places_lines(protects: Protects) -> tuple[ReceiptLine, ...]:
    """That places are not protected, where they were declared public."""
    if protects == "values and places":
        return ()
    text = "The places of the records are treated as public and are not protected: only their values are."
    return (ReceiptLine("Places", text, True),)


def _centre(response: ResponseScale, unit: str) -> str:
    if response.transform == "log":
        value = words.quantity(math.exp(response.centre), unit, 6)
        return f"{value} (log {significant(response.centre, 5)})"
    if response.transform == "probit":
        return f"a share of {words.quantity(float(response.value(0.0)), '%', 6)}"
    return words.quantity(response.centre, unit)


def _clip(response: ResponseScale, unit: str) -> str:
    if response.transform == "log":
        factor = significant(math.exp(response.clip), 3)
        return f"a factor of {factor} either way (log {significant(response.clip, 4)})"
    if response.transform == "probit":
        return "none: answers of yes and no are not clipped"
    return f"{words.quantity(response.clip, unit)} either way"


def _tuning(tuning: Tuning) -> str:
    if not tuning.accounted:
        return (
            f"NOT ACCOUNTED: the design was chosen by looking at the private records. {tuning.detail}".strip()
        )
    text = f"{tuning.kind}: {tuning.detail}".rstrip(": ")
    if tuning.kind == "reference data":  # set aside, not published
        text += ". Records in the reference data are not protected by this statement."
    return text


def _delta_line(privacy: PrivacyFacts) -> ReceiptLine:
    """delta against 1/n, and what the same release costs at a delta that is small against it."""
    exposure = privacy.n * privacy.delta
    text = f"delta {words.slack(privacy.delta)} is {words.one_in(privacy.delta)}"
    if exposure >= 1:
        remedy = "at least one in the number of records, so publishing whole records would be allowed"
        return ReceiptLine("Delta", f"{text}: {remedy}. Choose a smaller delta.", warning=True)
    if exposure > SMALL_EXPOSURE and (privacy.cost is not None or privacy.rdp_orders):
        smaller = 10.0 ** math.floor(math.log10(SMALL_EXPOSURE / privacy.n))
        epsilon = _epsilon_at(privacy, smaller)
        text += f". At delta {upper(smaller, 1)} the same release has epsilon {upper(epsilon)}"
    return ReceiptLine("Delta", f"{text}.")


def _epsilon_at(privacy: PrivacyFacts, delta: float) -> float:
    if privacy.cost is not None:
        return composed_epsilon(privacy.cost, delta).epsilon
    return epsilon_from_rdp(np.array(privacy.rdp_orders), np.array(privacy.rdp_values), delta).epsilon


def _ledger_lines(ledger: BudgetLine | None) -> tuple[ReceiptLine, ...]:
    if ledger is None:
        return ()
    former, total = (upper(value) for value in (ledger.before, ledger.after))
    only = "" if ledger.hidden is None else f" They hide {promises.hidden_words(ledger.hidden)} and no more."
    at = "" if ledger.delta is None else f", at delta {words.slack(ledger.delta)}"
    spent = ReceiptLine(
        "Ledger",
        f"All releases of these records: epsilon {former} before, {total} after this one{at}.{only}",
        bool(only),
    )
    if ledger.left is None or ledger.budget is None:
        return (spent, ReceiptLine("Budget", "No budget is set for this dataset.", True))
    over = ledger.after > ledger.budget * (1.0 + ROUNDING)
    left = "over budget" if over else f"{words.remaining(ledger.left)} left"
    return (spent, ReceiptLine("Budget", f"epsilon {significant(ledger.budget, 4)} in total, {left}.", over))
