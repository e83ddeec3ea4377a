"""Comparing mechanisms: the best design of each at equal epsilon, and the table of them."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from dpgp_core.linalg import Bools, Floats
from dpgp_core.mechanisms.design import Design, Protects, Unit
from dpgp_core.mechanisms.registry import mechanism_named, mechanism_of
from dpgp_core.noise import SimulationEntropy
from dpgp_core.numbers import lower
from dpgp_core.releasing import draw_release
from dpgp_core.simulation import World
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.record import promised_from
from hexcursion.search.choice import too_few
from hexcursion.search.executors import ALONE, Run
from hexcursion.search.limit import LossWorlds, why_no_limit
from hexcursion.search.optimise import search
from hexcursion.search.score import unconstrained_design
from hexcursion.search.task import Scored, SearchResult, SearchTask, Utility
from hexcursion.search.tuning import search_task
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import ReferenceKind, mechanism_names, that_can_serve
from hexcursion.words import ratio_words

RELEASES = 6
BINS = 10
SEED = 271828  # simulated releases of reference data only; a release never sees it


def calibration_of(design: Design, world: World, truth: Bools) -> float:
    """Expected calibration error of simulated releases of a world's records, 0 (right) to 1.

    `truth`, (N,), is the map without privacy, taken as certain. A mechanism without probabilities
    is judged by the vote fractions of its paths.
    """
    mechanism, entropy = mechanism_of(design), SimulationEntropy(SEED)
    drawable = replace(design, paths=1) if mechanism.free_paths else design
    prepared = mechanism.prepare(drawable, world.facts, world.records)
    releases = [draw_release(prepared, entropy, simulation=True) for _ in range(RELEASES)]
    probabilities = [world.probabilities(released) for released in releases]
    return calibration_error(np.concatenate(probabilities), np.tile(truth, RELEASES))


def calibration_error(probability: Floats, inside: Bools) -> float:
    """Mean over hexagons of the gap, in their tenth of (S,) probabilities, between stated and
    observed chances.

    Examples
    --------
    >>> calibration_error(np.array([0.9, 0.9, 0.9, 0.9]), np.array([True, True, True, False]))
    0.15
    """
    tenth = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(tenth, weights=probability - inside, minlength=BINS)
    return round(float(np.abs(gaps).sum() / probability.size), 12)


EPSILONS = (0.5, 1.0, 2.0, 4.0, 10.0)
BY_HAND = ("lengthscale", "ridge", "pilot")
"""Settings of a release that a comparison does not show."""


@dataclass(frozen=True)
class Row:
    """The best design of one mechanism at one epsilon; every figure is on reference data."""

    mechanism: str
    protects: Protects  # what the mechanism hides by its own noise
    epsilon: float  # the budget at the comparison's delta
    result: SearchResult | None  # None where no design meets the budget
    calibration: float  # error of simulated releases of the best design, or NaN
    reason: str  # why there is no result; "" otherwise
    seconds: float  # time of its search on this machine
    # lost: share of a field's variance that the release leaves where records are; limit: the least
    # that any such release can leave. Both hold for worlds that meet the limit's conditions; NaN
    # for other worlds, or without a proved limit
    lost: float = math.nan
    limit: float = math.nan

    @property
    def best(self) -> Scored | None:
        """The best design, None where no design meets the budget."""
        return None if self.result is None else self.result.chosen

    @property
    def title(self) -> str:
        """The mechanism's name for a reader."""
        return mechanism_named(self.mechanism).title


@dataclass(frozen=True)
class Comparison:
    """All rows, by what the mechanisms hide and then in the order asked for, epsilons
    increasing."""

    rows: tuple[Row, ...]
    delta: float
    unit: Unit
    n: int  # the public number of records
    cells: int
    basis: ReferenceKind  # what the figures rest on

    @property
    def protections(self) -> tuple[Protects, ...]:
        """The different protections among the rows."""
        return tuple(dict.fromkeys(row.protects for row in self.rows))

    @property
    def banner(self) -> str:
        """The warning over rows of different protections; "" where all hide the same."""
        if len(self.protections) < 2:
            return ""
        return (
            "These mechanisms do not hide the same: some hide values and places, others values only. Equal "
            "epsilons promise different things, so there is one ranking for each protection and none across."
        )

    def under(self, protects: Protects) -> tuple[Row, ...]:
        """The rows of one protection."""
        return tuple(row for row in self.rows if row.protects == protects)

    def recommendations(self) -> tuple[str, ...]:
        """For every protection and epsilon the mechanism that is expected to show most records on
        their right side, in words."""
        return tuple(line for protects in self.protections for line in self.recommended(protects))

    def recommended(self, protects: Protects) -> Iterator[str]:
        """The same for one protection."""
        ordered = sorted(self.under(protects), key=lambda row: row.epsilon)
        for epsilon, group in groupby(ordered, key=lambda row: row.epsilon):
            candidates = [(row.best.utility, row) for row in group if row.best is not None]
            if not candidates:
                yield f"Hiding {protects}, epsilon {epsilon:g}: no mechanism meets the budget."
                continue
            if not any(math.isfinite(utility.agreement + utility.records) for utility, _ in candidates):
                yield f"Hiding {protects}, epsilon {epsilon:g}: the map to be reached has one side only."
                continue
            candidates.sort(key=lambda item: -item[0].known_records)
            best, row = candidates[0]
            close = [
                other.title
                for utility, other in candidates[1:]
                if best.records - utility.records <= (best.records_spread + utility.records_spread) / 2.0
            ]
            yield (
                f"Hiding {protects}, epsilon {epsilon:g}: {row.title} shows most records on their right "
                f"side, {ratio_words(best.records)} (deviation {best.records_spread:.2f})"
                f"{_why(candidates, close)}."
            )


def _why(candidates: Sequence[tuple[Utility, Row]], close: Sequence[str]) -> str:
    """The mechanisms that simulations cannot distinguish from the best, or the next one."""
    if close:
        return f"; {' and '.join(close)} within the spread of releases"
    if len(candidates) < 2:
        return "; nothing else meets the budget"
    utility, row = candidates[1]
    gap = candidates[0][0].records - utility.records
    return f", {gap:.2f} above {row.title}, and more than releases vary"


def comparable_under(settings: ReleaseSettings, names: Sequence[str] = ()) -> tuple[str, ...]:
    """The mechanisms of these names, or of all, that serve the settings' unit, neighbours, places
    and values."""
    able = that_can_serve(
        names or mechanism_names(), settings.unit, settings.relation, settings.places_public
    )
    if settings.values == "amount":
        return able
    return tuple(name for name in able if "values" in mechanism_named(name).reads)


def comparable(project: Project, names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the mechanisms of these names, or of all, that serve the project's unit and
    neighbours.

    Raise `WorkflowError` if no mechanism does.
    """
    able = comparable_under(project.settings, names)
    if not able:
        raise WorkflowError(
            "None of the mechanisms can serve this unit, relation and kind of values: choose another unit, "
            "or amounts."
        )
    return able


def compare_mechanisms(
    project: Project,
    names: Sequence[str],
    epsilons: Sequence[float] = EPSILONS,
    run: Run = ALONE,
) -> Comparison:
    """Search every mechanism alone at every epsilon, on the same reference data and the same
    baseline.

    Each mechanism gets the same thorough search of its grid. Nothing is drawn from private records
    and nothing is charged. Raise `WorkflowError` for impossible epsilons, for too few records to
    tell how right a map is, or where the search cannot run.
    """
    _refuse_few(project)
    if not epsilons or not all(epsilon > 0 for epsilon in epsilons):
        raise WorkflowError("Compare at one or more epsilons above 0.")
    run.report(0.0, "Fitting the map to be reached")
    scoring = Run(executor=run.executor)
    task = search_task(project, scoring, every_scale=True)
    free = task.unconstrained or unconstrained_design(task, scoring)
    task = replace(task, unconstrained=free)
    pairs = [(name, epsilon) for name in names for epsilon in sorted(set(epsilons))]
    fields = None if why_no_limit(project) else LossWorlds.of(project, free, RELEASES)
    rows = []
    for number, (name, epsilon) in enumerate(pairs):
        run.report((number + 1) / (len(pairs) + 1), f"{mechanism_named(name).title} at epsilon {epsilon:g}")
        rows.append(_row(task, name, epsilon, scoring, fields))
    rows.sort(key=lambda row: row.protects != "values and places")
    settings = project.settings
    return Comparison(
        tuple(rows), project.delta, settings.unit, task.n, task.facts.lattice.size, project.reference_kind
    )


def _refuse_few(project: Project) -> None:
    """Raise `WorkflowError` for too few records: no figure of a mechanism may then be said."""
    few = too_few(project, public=bool(project.settings.prior_mean))
    if few is not None:
        raise WorkflowError(f"Mechanisms cannot be compared: {promised_from(few)}.")


def _row(task: SearchTask, name: str, epsilon: float, scoring: Run, fields: LossWorlds | None) -> Row:
    budget = replace(task.budget, epsilon=epsilon)
    alone = replace(task, mechanisms=(name,), budget=budget, frontier=(epsilon,))
    protects, start = mechanism_named(name).protection.hides(task.facts), time.perf_counter()
    try:
        result = search(alone, scoring)
    except WorkflowError as error:
        return Row(name, protects, epsilon, None, float("nan"), str(error), time.perf_counter() - start)
    world = alone.scene_of(result.chosen.response).world
    design = result.chosen.design
    calibration = calibration_of(design, world, result.baseline)
    lost = limit = math.nan
    if fields is not None and fields.bounds(design):
        lost, limit = fields.lost(design, result.chosen.response)[0], fields.limit(epsilon, task.budget.delta)
    seconds = time.perf_counter() - start
    return Row(name, protects, epsilon, result, calibration, "", seconds, lost, limit)


COLUMNS = (
    "mechanism",
    "protects",
    "epsilon",
    "delta",
    "unit",
    "n",
    "cells",
    "basis",
    "records",
    "records_sd",
    "agreement",
    "area_error",
    "right",
    "bce",
    "calibration_error",
    "lost",
    "limit",
    "design",
    "seconds",
    "reason",
)
MARKS = "osD^vPX*"


def lines(comparison: Comparison) -> list[str]:
    """The printed text: banner, one block for each protection, and a recommendation."""
    text = [
        f"{comparison.n:,} records of unit {comparison.unit}, {comparison.cells:,} hexagons, "
        f"delta {comparison.delta:g}; figures on {comparison.basis}."
    ]
    if comparison.banner:
        text += ["", comparison.banner]
    for protects in comparison.protections:
        text += ["", f"Hiding {protects}"]
        text += [f"  {_line(row)}" for row in comparison.under(protects)]
    return [*text, "", *comparison.recommendations()]


def _line(row: Row) -> str:
    start = f"{row.title:<28} epsilon {row.epsilon:<5g}"
    if row.best is None:
        return f"{start} {row.reason}"
    utility = row.best.utility
    return (
        f"{start} records right {ratio_words(utility.records)} (deviation {utility.records_spread:.2f}), "
        f"agreement {ratio_words(utility.judged_iou)}, "
        f"area error {utility.area_error:.0%}, calibration error {row.calibration:.2f}{_lost_words(row)}"
    )


def _lost_words(row: Row) -> str:
    """The text after the other figures of a row with a proved limit; "" for other rows."""
    if not math.isfinite(row.limit):
        return ""
    floor = lower(100.0 * row.limit, 2)
    return f", variance left {100.0 * row.lost:.0f} % (no mechanism as private less than {floor} %)"


def csv_text(comparison: Comparison) -> str:
    """One row for each mechanism and epsilon; a missing figure is an empty cell."""
    with io.StringIO(newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for row in comparison.rows:
            utility = None if row.best is None else row.best.utility
            figures = (
                (math.nan,) * 9
                if utility is None
                else (
                    utility.records,
                    utility.records_sd,
                    utility.judged_iou,
                    utility.area_error,
                    utility.right,
                    utility.bce,
                    row.calibration,
                    row.lost,
                    row.limit,
                )
            )
            cells = ["" if math.isnan(figure) else figure for figure in figures]
            table.writerow(
                [
                    row.mechanism,
                    row.protects,
                    row.epsilon,
                    comparison.delta,
                    comparison.unit,
                    comparison.n,
                    comparison.cells,
                    comparison.basis,
                    *cells,
                    "" if row.best is None else row.best.design.to_mapping(),
                    round(row.seconds, 3),
                    row.reason,
                ]
            )
        return file.getvalue()


def svg_text(comparison: Comparison) -> str:
    """Records on their right side over epsilon with their deviation; each protection has its panel."""
    # Only this figure needs the library, and every other command would wait for it.
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    count = len(comparison.protections)
    figure = Figure(figsize=(5.6 * count, 4.2), layout="constrained")
    FigureCanvasSVG(figure)
    panels = figure.subplots(1, count, sharey=True, squeeze=False)[0]
    for panel, protects in zip(panels, comparison.protections, strict=True):
        rows = [row for row in comparison.under(protects) if row.best is not None]
        for number, name in enumerate(dict.fromkeys(row.mechanism for row in rows)):
            points = [row for row in rows if row.mechanism == name]
            reached = [row.best.utility for row in points if row.best is not None]
            panel.errorbar(
                [row.epsilon for row in points],
                [utility.records for utility in reached],
                [utility.records_spread for utility in reached],
                marker=MARKS[number % len(MARKS)],
                capsize=3,
                label=points[0].title,
            )
        panel.set_xscale("log")
        panel.set_ylim(0.0, 1.0)
        panel.set_xlabel(f"epsilon at delta {comparison.delta:g}")
        panel.set_title(f"Hiding {protects}", fontsize=10)
        if rows:
            panel.legend(fontsize=8, loc="lower right")
    panels[0].set_ylabel("records on their right side")
    if comparison.banner:
        figure.suptitle("Different protections: no ranking across the panels", fontsize=10)
    with io.StringIO() as file:
        figure.savefig(file, format="svg")
        return file.getvalue()
