"""What a series says in words: its question, its periods, and the change from each to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpgp_core.numbers import significant
from hexcursion import words
from hexcursion.bundle.products.at_threshold import LIKELY
from hexcursion.bundle.products.classes import part_of
from hexcursion.bundle.series.gather import Series, classes_of

EXPLAINED = "The two maps do not differ by more than the noise explains."


@dataclass(frozen=True)
class Step:
    """The change from one period to the next."""

    row: int  # of `Series.risen`; 0 for the change over all periods
    before: str  # with `after`: labels
    after: str
    risen: int  # with `fallen`: hexagons whose value likely rose, and likely fell, by more than was asked
    fallen: int
    # whether noise explains all by which the released sums differ; None over several periods
    explained: bool | None
    log_evidence: float | None  # of no change against change, nats, likewise
    sentence: str  # the same in words


def question_of(series: Series) -> str:
    """The question of all periods as a reader would ask it."""
    subject = series.last.statement["subject"]
    scope = {**subject.get("scope", {}), "period": f"{series.labels[0]} to {series.labels[-1]}"}
    asked = {**subject, "threshold": series.threshold, "scope": scope}
    return words.asked(asked, series.last.statement["guarantee"]["unit_word"])


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
        said = (
            f"From {before} to {after} the value likely rose{by} in {risen:,} of {total:,} hexagons "
            f"({part_of(risen, total)}) and fell{by} in {fallen:,} ({part_of(fallen, total)})."
        )
        sentence = f"{said} {EXPLAINED}" if explained else said
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
    prior = series.reading.prior
    said = [
        f"Each map uses the releases of all {len(series.labels)} periods: it is not the map that a period's "
        "own bundle shows.",
        f"The field keeps {100 * prior.memory:.1f} % of its pattern over the usual distance of two periods. "
        f"This, and the range of {significant(prior.lengthscale / 1e3, 3)} km, make the released sums "
        "likeliest.",
    ]
    if not series.dated:
        said.append("The periods tell no dates: they are taken as equally far apart, in the order given.")
    scopes = [bundle.statement["subject"].get("scope", {}) for bundle in series.bundles]
    rows = [(scope.get("population", ""), _filters(scope)) for scope in scopes]
    if any(each != rows[-1] for each in rows):
        said.append("The releases name other populations or filters: a change may be one of who is in them.")
    if any(bundle.covariates is not None for bundle in series.bundles):
        said.append("Public columns that single releases start from are not used here.")
    if any(bundle.statement["release"]["simulation"] for bundle in series.bundles):
        said.append("At least one release is a simulation: not a private release.")
    if any(bundle.statement["release"]["generated"] for bundle in series.bundles):
        said.append("At least one release is of generated data.")
    return tuple(said)


def _filters(scope: Mapping[str, Any]) -> list[str]:
    """The filters of a release but for one that says its period: "year = 2018" in 2018."""
    period = scope.get("period", "")
    return [each for each in scope.get("filters", ()) if not period or each.partition(" = ")[2] != period]
