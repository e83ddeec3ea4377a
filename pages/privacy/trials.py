"""Trials on a screen: the smallest epsilon, the parameter sweep, a typed design, coverage of its sets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpgp_core.errors import DesignError
from dpgp_core.mechanisms.design import Design, Parameter, SearchSpec
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.numbers import lower, significant, upper
from geo.errors import part_of
from hexcursion.door.pipeline import search_design
from hexcursion.door.remedies import Remedy, Tried, try_remedy
from hexcursion.errors import Report, WorkflowError
from hexcursion.project.model import Project
from hexcursion.search.bench import (
    Bench,
    SimulatedCoverage,
    Variation,
    coverage_of,
    prior_noises,
    smallest_epsilon,
    supported_confidence,
    sweep,
)
from hexcursion.search.limit import Loss, losses
from hexcursion.search.results import as_searched
from hexcursion.search.task import FrontierPoint, Scored, family_of, known
from hexcursion.search.tuning import Tuned
from hexcursion.words import plural, ratio_words, records_words
from pages.privacy.designs import family, line_of, where_of
from pages.shared.subprocess_job import UNASKED, in_background

NO_BOUND = "no finite bound"


@dataclass(frozen=True)
class Entry:
    """One number of a design as a form asks for it: kilometres for lengths, whole numbers for counts."""

    name: str
    term: str
    unit: str
    value: float
    whole: bool


def _solve(report: Report, project: Project, tuned: Tuned, target: float) -> FrontierPoint | None:
    """The smallest epsilon that reaches a wanted agreement: from a search at several budgets, as the command
    line has it."""
    question = as_searched(project, tuned)
    blind = replace(question, settings=question.settings.with_changes(looked=False))
    searched = search_design(blind, part_of(report, 0.0, 0.7), where_of(blind))
    return smallest_epsilon(question, searched, target, part_of(report, 0.7, 1.0))


def _try(report: Report, project: Project, tuned: Tuned, remedy: Remedy) -> Tried:
    """What another choice reaches in simulation."""
    return try_remedy(as_searched(project, tuned), tuned, remedy, report)


def _sweep(report: Report, project: Project, tuned: Tuned, candidate: Scored) -> tuple[Variation, ...]:
    """What each parameter of a design does."""
    report(0.0, "Taking up the reference data")
    return sweep(Bench(project, tuned.result), candidate, report)


def _judge(report: Report, project: Project, tuned: Tuned, candidate: Scored, typed: Design) -> Scored:
    """Price and utility of a typed design under the response scale of `candidate`."""
    report(0.1, "Pricing the design and simulating its release")
    try:
        return Bench(project, tuned.result).score(typed, candidate.response)
    except WorkflowError:
        raise
    except ValueError as error:  # of a prior that cannot be made, among others
        raise WorkflowError(f"This design is impossible: {error}") from error


def _noises(
    report: Report, project: Project, tuned: Tuned, candidate: Scored
) -> tuple[tuple[float, Scored], ...]:
    """What each share of prior noise does to a design of paths at its budget."""
    report(0.0, "Taking up the reference data")
    return prior_noises(Bench(project, tuned.result), candidate, report)


def _cover(report: Report, project: Project, tuned: Tuned, candidate: Scored) -> SimulatedCoverage:
    """How often the sets of a design are right on the reference data."""
    report(0.0, "Taking up the reference data")
    return coverage_of(Bench(project, tuned.result), candidate, report)


def _lose(report: Report, project: Project, tuned: Tuned) -> tuple[Loss, ...]:
    """What the frontier's designs lose of a field, and the least that any can."""
    return losses(as_searched(project, tuned), tuned.result, report)


solve_job = in_background(_solve)
remedy_job = in_background(_try, UNASKED)
sweep_job = in_background(_sweep)
typed_job = in_background(_judge)
noises_job = in_background(_noises)
coverage_job = in_background(_cover)
limit_job = in_background(_lose)


def best_reached(tuned: Tuned) -> FrontierPoint:
    """The point of the frontier with the largest agreement in judged hexagons; the cheapest of equals."""

    def rank(point: FrontierPoint) -> tuple[float, float]:
        return known(point.scored.utility.judged_iou) or 0.0, -point.epsilon

    return max(tuned.result.frontier, key=rank)


def loss_dots(losses: tuple[Loss, ...]) -> list[dict[str, Any]]:
    """Rows of a chart, one per design, with the limit at its epsilon; all in per cent of the variance."""
    return [
        {
            "number": loss.number,
            "epsilon": loss.epsilon,
            "lost": 100.0 * loss.lost,
            "low": 100.0 * max(0.0, loss.lost - loss.error),
            "high": 100.0 * (loss.lost + loss.error),
            "limit": 100.0 * loss.limit,
            "family": line_of(loss.design, [other.design for other in losses]),
        }
        for loss in losses
    ]


def loss_sentence(losses: tuple[Loss, ...], epsilon: float) -> str:
    """Say what the best design at a budget loses and what none can undercut; "" without a design."""
    at_epsilon = [loss for loss in losses if loss.epsilon == epsilon]
    if not at_epsilon:
        return ""
    best = min(at_epsilon, key=lambda loss: loss.lost)
    return (
        f"At ε {epsilon:g} the best design leaves {significant(100.0 * best.lost, 2)} % of the field's "
        f"variance unknown where records are (give or take {significant(100.0 * best.error, 1)} %), and no "
        f"mechanism as private can leave less than {lower(100.0 * best.limit, 2)} %."
    )


def entries_of(design: Design) -> tuple[Entry, ...]:
    """The numbers of a design, to start typing from; three significant digits, noise included."""
    entries = []
    for parameter in mechanism_of(design).parameters:
        unit, divisor = unit_of(parameter)
        value = float(f"{getattr(design, parameter.name) / divisor:.3g}")
        entries.append(Entry(parameter.name, parameter.term, unit, value, parameter.kind == "count"))
    return tuple(entries)


def typed_design(near: Design, values: Mapping[str, float], smoothing: int) -> Design:
    """Return the design that was typed, lengths in kilometres; `DesignError` if it cannot exist."""
    mechanism, design = mechanism_of(near), near
    for parameter in mechanism.parameters:
        value = values[parameter.name] * unit_of(parameter)[1]
        if not value > 0:
            raise DesignError(f"the {parameter.name.replace('_', ' ')} must be a positive number.")
        design = mechanism.search.varied(design, parameter.name, value)
    return replace(design, smoothing=smoothing)


def families_of(tuned: Tuned) -> dict[tuple[str, str], str]:
    """Mechanism and prior of every family on the frontier, with its name on a screen."""
    return {family_of(point.scored.design): family(point.scored.design) for point in tuned.result.frontier}


def start_of(tuned: Tuned, candidate: Scored, pair: tuple[str, str]) -> Design:
    """The design of a family to start typing from: the one looked at, or the family's own nearest in cost."""
    if family_of(candidate.design) == pair:
        return candidate.design
    points = [point for point in tuned.result.frontier if family_of(point.scored.design) == pair]
    return min(points, key=lambda point: abs(point.epsilon - candidate.epsilon)).scored.design


def smoothings(design: Design) -> tuple[int, ...]:
    """Rounds of smoothing that can be judged for a design's mechanism."""
    return tuple(
        variant.smoothing for variant in mechanism_of(design).search.variants(design, SearchSpec(()))
    )


def covers(design: Design) -> bool:
    """Whether a design has paths enough to call cells sure."""
    return supported_confidence(design.paths) is not None


def coverage_sentences(simulated: SimulatedCoverage) -> tuple[str, ...]:
    """What the simulated releases say about inner, outer and three-way sets, with their intervals."""
    coverage = simulated.coverage
    sure = f"{100 * simulated.confidence:.0f} %"
    inner, outer = (
        f"{100 * interval.value:.0f} % (95 % interval {100 * interval.low:.0f} to {100 * interval.high:.0f} "
        "%)"
        for interval in (coverage.inner, coverage.outer)
    )
    return (
        f"The map calls {100 * coverage.told:.0f} % of the hexagons surely in or surely out; "
        f"{100 * coverage.told_right:.1f} % of those calls agree with the map without privacy.",
        f"The inner region lay wholly inside the true one in {inner} of {coverage.simulations} simulated "
        f"releases, and the outer region held all of it in {outer}; the paths themselves claim {sure}.",
    )


def cost_scale(variations: tuple[Variation, ...]) -> tuple[tuple[float, float], tuple[float, ...]]:
    """One logarithmic scale for the costs of all charts: its ends, and the powers of ten within."""
    finite = [
        point.epsilon
        for variation in variations
        for point in variation.points
        if 0 < point.epsilon < math.inf
    ]
    low, high = (min(finite), max(finite)) if finite else (0.1, 10.0)
    if high < 10.0 * low:  # a nearly flat line should look flat
        low, high = low / 3.0, high * 3.0
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return (low, high), tuple(10.0**power for power in powers)


def cost(epsilon: float) -> str:
    """An epsilon as a screen says it, rounded upwards."""
    return NO_BOUND if math.isinf(epsilon) else f"ε {upper(epsilon, 3)}"


def unit_of(parameter: Parameter) -> tuple[str, float]:
    """The unit of a parameter on a screen, and what its values are divided by: ranges are in kilometres."""
    return ("km", 1000.0) if parameter.kind == "length" else ("", 1.0)


def varied_rows(variation: Variation, *, too_few: bool = False) -> list[dict[str, Any]]:
    """Rows of a chart, one per value of the parameter; None where there is no finite number, and of too
    `too_few` records no figure of how right a map is."""
    divisor = unit_of(variation.parameter)[1]
    return [
        {
            "value": point.value / divisor,
            "epsilon": None if math.isinf(point.epsilon) else point.epsilon,
            "said": cost(point.epsilon),
            "here": point.value == variation.current,
            "unbounded": math.isinf(point.epsilon),
            **({} if too_few else {"records": known(point.records), "agreement": known(point.agreement)}),
        }
        for point in variation.points
    ]


def variation_words(variation: Variation, *, too_few: bool = False) -> str:
    """Say where a varied parameter begins and ends, and what that does; of too `too_few` records the cost
    alone."""
    unit, divisor = unit_of(variation.parameter)
    first, last = variation.points[0], variation.points[-1]
    ends = (significant(point.value / divisor, 3 if unit else 2) for point in (first, last))
    span = " to ".join(ends) + (f" {unit}" if unit else "")
    costs = f"From {span}: {cost(first.epsilon)} to {cost(last.epsilon)}"
    if too_few:
        return f"{costs}."
    sides = " to ".join(of_100(point.records) for point in (first, last))
    return f"{costs}, {sides} records on their right side."


def of_100(share: float) -> str:
    """A share of records in front of their name, "83 of 100"; of a map that judges none "no"."""
    return records_words(share).removesuffix(" records") if math.isfinite(share) else "no"


def achieved_words(candidate: Scored) -> str:
    """The records on their right side, then the agreement in judged hexagons, in words."""
    utility = candidate.utility
    text = f"agreement {ratio_words(utility.judged_iou)} with {plural(candidate.design.paths, 'path')}"
    if not math.isfinite(utility.records):
        return text
    return f"{records_words(utility.records)} on their right side, {text}"
