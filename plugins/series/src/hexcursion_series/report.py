"""What the releases of a series promise together, and what they say together, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.composition import epsilon as composed
from dpgp_core.accounting.guarantee import priced_for, together
from dpgp_core.numbers import significant, upper
from hexcursion import words
from hexcursion.bundle.products import LIKELY, part_of
from hexcursion.bundle.statement.guarantee import stated_cost, together_guess
from hexcursion.ledger.overlap import PeriodsShared, nothing_known
from hexcursion.promises import protected_word
from hexcursion_series.together import Series, classes_of

SIMULATED = (
    "At least one release is a simulation, which protects nobody: the epsilons are what a release costs."
)
SHARED = (
    "Records that are in several releases are read as if each release had its own: what they have in common "
    "may be known a little less well than is stated."
)
FREE = "Reading the releases together costs nothing: it computes with what each of them published."


@dataclass(frozen=True)
class Promise:
    """What the releases of a series promise together: epsilons, upper bounds, and for whom they hold."""

    delta: float  # at which all epsilons here are stated: the smallest of the releases' own
    # epsilon of any one record; None where it is not known which releases share records, and of hexagons
    one_record: float | None
    # epsilon of somebody with a record in every period, and of a record that is in all of them
    every_period: float
    sentences: tuple[str, ...]  # the same in words


def promise_of(series: Series, shared: PeriodsShared | None = None) -> Promise:
    """What the releases of a series promise together. `shared`: what the curator's ledger knows of their
    records; None where nobody asked one."""
    guarantees = [bundle.statement["guarantee"] for bundle in series.bundles]
    costs = [stated_cost(each) for each in guarantees]
    delta = min(each["delta"] for each in guarantees)
    every = composed(together(costs), delta).epsilon
    named = {protected_word(each) for each in guarantees}
    word, unit = named.pop() if len(named) == 1 else "record", guarantees[-1]["unit"]
    record = "hexagon's record" if unit == "cell" else word
    told = nothing_known(len(costs)) if shared is None else shared
    one = _one_record(costs, told, delta) if all(told.known) and unit != "cell" else None
    if unit == "cell":
        first = "A hexagon may have a record in every period, so nothing smaller is promised for one hexagon."
    else:
        first = _of_one(one, every, delta, record, shared, told, series.labels)
    sentences = [FREE, first]
    if any(bundle.statement["release"]["simulation"] for bundle in series.bundles):
        sentences.insert(0, SIMULATED)
    many = f"Somebody with one {record} in each of the {len(costs)} periods"
    at = f"epsilon {upper(every)} at delta {upper(delta, 3)}, all releases together"
    sentences.append(f"{many}: {at}{together_guess(guarantees)}.")
    sentences.append("Other releases of the same records, outside of this series, come on top.")
    if set(told.pairs.values()) & {"same", "shared"}:
        sentences.append(SHARED)
    if (hidden := together(costs).neighbours) == "values-only":
        sentences.append(
            "These epsilons hide values only: at least one of the releases takes places as public."
        )
    elif len({cost.neighbours for cost in costs}) > 1:
        sentences.append(
            f"The releases promise different things; the epsilons here are of the weakest, {hidden}."
        )
    return Promise(delta, one, every, tuple(sentences))


def _one_record(costs: Sequence[Cost], told: PeriodsShared, delta: float) -> float:
    """The most that the releases which may hold one record cost together, for what all releases hide."""
    hidden = together(costs).neighbours
    groups = [
        priced_for(together(costs[k] for k in told.together_with(place)), hidden)
        for place in range(len(costs))
    ]
    return max(composed(each, delta).epsilon for each in groups)


def _of_one(
    one: float | None,
    every: float,
    delta: float,
    record: str,
    shared: PeriodsShared | None,
    told: PeriodsShared,
    labels: Sequence[str],
) -> str:
    at = f"at delta {upper(delta, 3)}"
    if shared is None:
        return (
            f"One {record}: no ledger was asked, so it is not known whether one is in several of these "
            f"releases. If in one only, epsilon is that of this release; if in all, {upper(every)} {at}."
        )
    if one is None:
        missing = ", ".join(label for label, known in zip(labels, told.known, strict=True) if not known)
        return (
            f"One {record}: the ledger does not know the records of {missing}, so nothing shows that periods "
            f"are disjoint. Epsilon {upper(every)} {at} covers one that is in all of them."
        )
    kinds = set(told.pairs.values())
    if kinds & {"same", "shared", "unknown"}:
        return (
            f"One {record}: epsilon at most {upper(one)} {at}. Some of these releases hold, or may hold, the "
            "same records by the curator's ledger, and their costs are added."
        )
    text = "The curator's ledger recognises none in two of these releases (by the hashes of all records)."
    if "none in a sample" in kinds:
        text = (
            "The curator's ledger recognises none in two of these releases in a sample of their hashes: a "
            f"few may be missed, and one that is in all costs {upper(every)}."
        )
    if "kept apart" in kinds:
        text = "That no two releases hold the same one is, for some of them, the word of a person alone."
    return f"One {record}: epsilon {upper(one)} {at}, however many periods are published. {text}"


EXPLAINED = "The two maps do not differ by more than the noise explains"


@dataclass(frozen=True)
class Step:
    """The change from one period to the next."""

    row: int  # of `Series.risen`; 0 for the change over all periods
    before: str  # labels of the two periods
    after: str
    risen: int  # hexagons whose value likely rose by more than was asked
    fallen: int  # or likely fell
    # whether noise explains all by which the released sums differ; None over several periods
    explained: bool | None
    log_evidence: float | None  # of no change against change, nats, likewise
    sentence: str  # the same in words


def question_of(series: Series) -> str:
    """The question of all periods as a reader would ask it."""
    subject = series.last.statement["subject"]
    periods = f"{series.labels[0]} to {series.labels[-1]}"
    scope = {**subject.get("scope", {}), "period": periods}
    asked = {**subject, "threshold": series.threshold, "scope": scope}
    question = words.asked(asked, series.last.statement["guarantee"]["unit_word"])
    return question.replace(f" in {periods}", f" from {periods}")


def limit_words(series: Series) -> str:
    """The side that is asked for: "above £442,413"."""
    unit = str(series.last.statement["subject"]["unit"])
    return f"{words.side_words(series.direction)} {words.quantity(series.threshold, unit)}"


def by_words(series: Series) -> str:
    """By how much a change is asked for, with a space before it: " by more than 5 %"; "" for any change."""
    if series.by == 0.0:
        return ""
    if series.logarithms:
        return f" by more than {significant(100.0 * series.by, 4)} %"
    return f" by more than {words.quantity(series.by, str(series.last.statement['subject']['unit']))}"


def steps_of(series: Series) -> tuple[Step, ...]:
    """The change over all periods, then from each to the next; with two periods that is one."""
    found, total, by = [], series.domain.size, by_words(series)
    seen, rose, fell = ~series.unseen, series.risen >= LIKELY, series.fallen >= LIKELY
    for row, (one, other) in enumerate(series.spans):
        if row == 0 and len(series.labels) == 2:
            continue
        risen, fallen = int(np.sum(rose[row] & seen[row])), int(np.sum(fell[row] & seen[row]))
        before, after = series.labels[one], series.labels[other]
        evidence = float(series.reading.no_change[row - 1]) if row else None
        explained = bool(series.reading.explained[row - 1]) if row else None
        text = (
            f"From {before} to {after} the value likely rose{by} in {risen:,} of {total:,} hexagons "
            f"({part_of(risen, total)}) and fell{by} in {fallen:,} ({part_of(fallen, total)})."
        )
        chance = ": these changes may be noise alone" if risen or fallen else ""
        sentence = f"{text} {EXPLAINED}{chance}." if explained else text
        found.append(Step(row, before, after, risen, fallen, explained, evidence, sentence))
    return tuple(found)


def periods_said(series: Series) -> Sequence[str]:
    """How many hexagons are likely on the asked side in each period."""
    classes, total = classes_of(series.chance, series.empty), series.domain.size
    return [
        f"{label}: {int(np.sum(row == 0)):,} of {total:,} hexagons likely {limit_words(series)}, "
        f"{int(np.sum(row == 1)):,} open."
        for label, row in zip(series.labels, classes, strict=True)
    ]


def notes_of(series: Series) -> tuple[str, ...]:
    """What a reader should know of the reading."""
    prior, apart = series.reading.prior, np.diff(series.times)
    even = np.allclose(apart, apart[0])
    usual = "from one period to the next" if even else "over the usual distance between two periods"
    sentences = [
        f"Each map uses the releases of all {len(series.labels)} periods: it is not the map that a period's "
        "own bundle shows.",
        f"The map is taken to keep {100 * prior.memory:.1f} % of its pattern {usual}, and "
        f"values to stay similar over {significant(prior.lengthscale / 1e3, 3)} km: these numbers fit "
        "the released sums best.",
    ]
    if not series.dated:
        sentences.append(
            "The periods tell no dates: they are taken as equally far apart, in the order given."
        )
    scopes = [bundle.statement["subject"].get("scope", {}) for bundle in series.bundles]
    rows = [(scope.get("population", ""), _filters(scope)) for scope in scopes]
    if any(each != rows[-1] for each in rows):
        sentences.append(
            "The releases name other populations or filters: a change may be one of who is in them."
        )
    if any(bundle.covariates is not None for bundle in series.bundles):
        sentences.append("Public columns that single releases start from are not used here.")
    if any(bundle.statement["release"]["simulation"] for bundle in series.bundles):
        sentences.append("At least one release is a simulation: not a private release.")
    if any(bundle.statement["release"]["generated"] for bundle in series.bundles):
        sentences.append("At least one release is of generated data.")
    return tuple(sentences)


def _filters(scope: Mapping[str, Any]) -> list[str]:
    """The filters of a release but for one that says its period: "year = 2018" in 2018."""
    period = scope.get("period", "")
    return [each for each in scope.get("filters", ()) if not period or each.partition(" = ")[2] != period]
