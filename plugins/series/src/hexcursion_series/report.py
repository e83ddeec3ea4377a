"""The promise of a series of releases, and its question and changes, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpgp_core.accounting.composition import Cost
from dpgp_core.accounting.composition import epsilon as composed
from dpgp_core.accounting.guarantee import priced_for, together
from dpgp_core.numbers import significant, upper
from dpgp_core.yardstick import LIKELY
from hexcursion import words
from hexcursion.bundle.products import part_of
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
    """The promise of a series of releases: epsilons, upper bounds, and for whom they hold."""

    delta: float  # of all epsilons here: the smallest delta of the releases
    # epsilon of any one record; None if it is unknown which releases share records, and for
    # hexagons
    one_record: float | None
    # epsilon of a person with a record in every period, and of a record that is in all periods
    every_period: float
    sentences: tuple[str, ...]  # the same in words


def promise_of(series: Series, shared: PeriodsShared | None = None) -> Promise:
    """The promise of a series of releases; `shared` is the curator's ledger on their records, if
    it was read."""
    guarantees = [bundle.statement["guarantee"] for bundle in series.bundles]
    costs = list(map(stated_cost, guarantees))
    delta = min(guarantee["delta"] for guarantee in guarantees)
    every = composed(together(costs), delta).epsilon
    protected = set(map(protected_word, guarantees))
    word, unit = protected.pop() if len(protected) == 1 else "record", guarantees[-1]["unit"]
    record = "hexagon's record" if unit == "cell" else word
    overlap = nothing_known(len(costs)) if shared is None else shared
    one_record = _one_record(costs, overlap, delta) if all(overlap.known) and unit != "cell" else None
    if unit == "cell":
        first = "A hexagon may have a record in every period, so nothing smaller is promised for one hexagon."
    else:
        first = _of_one(one_record, every, delta, record, shared, overlap, series.labels)
    sentences = [FREE, first]
    if any(bundle.statement["release"]["simulation"] for bundle in series.bundles):
        sentences.insert(0, SIMULATED)
    many = f"Somebody with one {record} in each of the {len(costs)} periods"
    at = f"epsilon {upper(every)} at delta {upper(delta, 3)}, all releases together"
    sentences.append(f"{many}: {at}{together_guess(guarantees)}.")
    sentences.append("Other releases of the same records, outside of this series, come on top.")
    if set(overlap.pairs.values()) & {"same", "shared"}:
        sentences.append(SHARED)
    if (hidden := together(costs).neighbours) == "values-only":
        sentences.append(
            "These epsilons hide values only: at least one of the releases takes places as public."
        )
    elif len({cost.neighbours for cost in costs}) > 1:
        sentences.append(
            f"The releases promise different things; the epsilons here are of the weakest, {hidden}."
        )
    return Promise(delta, one_record, every, tuple(sentences))


def _one_record(costs: Sequence[Cost], overlap: PeriodsShared, delta: float) -> float:
    """The greatest epsilon of releases that may hold one record, for neighbours of all releases."""
    hidden = together(costs).neighbours
    groups = [
        priced_for(together(costs[k] for k in overlap.together_with(place)), hidden)
        for place in range(len(costs))
    ]
    return max(composed(group, delta).epsilon for group in groups)


def _of_one(
    epsilon: float | None,
    every: float,
    delta: float,
    record: str,
    shared: PeriodsShared | None,
    overlap: PeriodsShared,
    labels: Sequence[str],
) -> str:
    at = f"at delta {upper(delta, 3)}"
    if shared is None:
        return (
            f"One {record}: no ledger was asked, so it is not known whether one is in several of these "
            f"releases. If in one only, epsilon is that of this release; if in all, {upper(every)} {at}."
        )
    if epsilon is None:
        missing = ", ".join(
            label for label, recorded in zip(labels, overlap.known, strict=True) if not recorded
        )
        return (
            f"One {record}: the ledger does not know the records of {missing}, so nothing shows that periods "
            f"are disjoint. Epsilon {upper(every)} {at} covers one that is in all of them."
        )
    kinds = set(overlap.pairs.values())
    if kinds & {"same", "shared", "unknown"}:
        return (
            f"One {record}: epsilon at most {upper(epsilon)} {at}. Some of these releases hold, or may "
            "hold, the same records by the curator's ledger, and their costs are added."
        )
    text = "The curator's ledger recognises none in two of these releases (by the hashes of all records)."
    if "none in a sample" in kinds:
        text = (
            "The curator's ledger recognises none in two of these releases in a sample of their hashes: a "
            f"few may be missed, and one that is in all costs {upper(every)}."
        )
    if "kept apart" in kinds:
        text = "That no two releases hold the same one is, for some of them, the word of a person alone."
    return f"One {record}: epsilon {upper(epsilon)} {at}, however many periods are published. {text}"


EXPLAINED = "The two maps do not differ by more than the noise explains"


@dataclass(frozen=True)
class Step:
    """The change from one period to the next."""

    row: int  # of `Series.risen`; 0 for the change over all periods
    before: str  # labels of the two periods
    after: str
    risen: int  # hexagons whose value likely rose by more than `Series.by`
    fallen: int  # or likely fell
    # whether noise explains the difference of the released sums; None over several periods
    explained: bool | None
    log_evidence: float | None  # of no change against change, nats, likewise
    sentence: str  # the same in words


def question_of(series: Series) -> str:
    """The question of all periods in a reader's words."""
    subject = series.last.statement["subject"]
    periods = f"{series.labels[0]} to {series.labels[-1]}"
    scope = {**subject.get("scope", {}), "period": periods}
    asked_subject = {**subject, "threshold": series.threshold, "scope": scope}
    question = words.asked(asked_subject, series.last.statement["guarantee"]["unit_word"])
    return question.replace(f" in {periods}", f" from {periods}")


def limit_words(series: Series) -> str:
    """The question's side of the threshold: "above £442,413"."""
    unit = str(series.last.statement["subject"]["unit"])
    return f"{words.side_words(series.direction)} {words.quantity(series.threshold, unit)}"


def by_words(series: Series) -> str:
    """The size of a change, after a space: " by more than 5 %"; "" for any change."""
    if series.by == 0.0:
        return ""
    if series.logarithms:
        return f" by more than {significant(100.0 * series.by, 4)} %"
    return f" by more than {words.quantity(series.by, str(series.last.statement['subject']['unit']))}"


def steps_of(series: Series) -> tuple[Step, ...]:
    """The change over all periods, then the steps; for two periods the one step."""
    steps, total, by = [], series.domain.size, by_words(series)
    judged, rose, fell = ~series.unseen, series.risen >= LIKELY, series.fallen >= LIKELY
    for row, (start, end) in enumerate(series.spans):
        if row == 0 and len(series.labels) == 2:
            continue
        risen, fallen = int(np.sum(rose[row] & judged[row])), int(np.sum(fell[row] & judged[row]))
        before, after = series.labels[start], series.labels[end]
        evidence = float(series.reading.no_change[row - 1]) if row else None
        explained = bool(series.reading.explained[row - 1]) if row else None
        text = (
            f"From {before} to {after} the value likely rose{by} in {risen:,} of {total:,} hexagons "
            f"({part_of(risen, total)}) and fell{by} in {fallen:,} ({part_of(fallen, total)})."
        )
        chance = ": these changes may be noise alone" if risen or fallen else ""
        sentence = f"{text} {EXPLAINED}{chance}." if explained else text
        steps.append(Step(row, before, after, risen, fallen, explained, evidence, sentence))
    return tuple(steps)


def periods_said(series: Series) -> Sequence[str]:
    """The number of hexagons likely on the question's side in each period."""
    classes, total = classes_of(series.chance, series.empty), series.domain.size
    return [
        f"{label}: {int(np.sum(row == 0)):,} of {total:,} hexagons likely {limit_words(series)}, "
        f"{int(np.sum(row == 1)):,} open."
        for label, row in zip(series.labels, classes, strict=True)
    ]


def notes_of(series: Series) -> tuple[str, ...]:
    """Notes on the reading for its readers."""
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
    if any(row != rows[-1] for row in rows):
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
    """The filters of a release without that of its period, such as "year = 2018" in 2018."""
    period = scope.get("period", "")
    return [
        condition
        for condition in scope.get("filters", ())
        if not period or condition.partition(" = ")[2] != period
    ]
