"""Search and pilot in a subprocess, and designs in words: their report, dots and expected figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.numbers import significant, upper
from dpgp_core.priors.registry import PRIORS
from geo.errors import part_of
from hexcursion.bundle.published.earlier import load_columns, load_with_earlier
from hexcursion.door.pipeline import search_design
from hexcursion.errors import Report, WorkflowError
from hexcursion.estimates.forecasts import asked_of, refuse_what_cannot_fit
from hexcursion.estimates.model import own_speed, search_estimate
from hexcursion.ledger import open_ledger
from hexcursion.project.atlas import AtlasProject
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.atlas import AtlasChoice, choose_atlas
from hexcursion.search.executors import Workers
from hexcursion.search.pilot import pilot_warning, run_pilot
from hexcursion.search.public_map import answered
from hexcursion.search.results import as_searched
from hexcursion.search.task import FrontierPoint, Scored, SearchResult, family_of, known
from hexcursion.search.tuning import Tuned
from hexcursion.settings.atlas import AtlasSettings
from hexcursion.settings.model import ReleaseSettings
from hexcursion.words import design_words, error_words, ratio_words, records_words
from pages.shared.subprocess_job import (
    UNASKED,
    Job,
    Lost,
    executor_of,
    in_background,
    in_subprocess,
    workers,
)

SHORT = 20.0  # seconds of work, below which a search stays in one process
MANY_TIMES = 10  # beyond it an increase is not worth a number


def family(design: Design) -> str:
    """Mechanism and prior in words."""
    title, prior = mechanism_of(design).title, family_of(design)[1]
    return f"{title}, {PRIORS[prior].title}" if prior else title


def line_of(design: Design, designs: Iterable[Design]) -> str:
    """What a chart calls the line of a design: its mechanism, and its prior where another has a line too."""
    name = mechanism_of(design).line
    own_name, prior = family_of(design)
    several = len({pair for pair in map(family_of, designs) if pair[0] == own_name}) > 1
    return f"{name}, {PRIORS[prior].title}" if prior and several else name


def load_and_tune(
    report: Report, settings: ReleaseSettings, piloted: Project | None = None
) -> tuple[Project, Tuned]:
    """Load the data, unless `piloted`, a pilot's project, holds them, and search. The tuning that is stated
    does not state yet whether the curator looked: a plan adds that from the settings."""
    if piloted is None:
        project = load_with_earlier(settings, part_of(report, 0.0, 0.05))
    else:
        project = replace(piloted, settings=settings)
    blind = replace(project, settings=settings.with_changes(looked=False))
    refuse_what_cannot_fit(blind, executor_of(settings).processes or 1)
    return project, search_design(blind, part_of(report, 0.05, 1.0), where_of(blind), beside=())


def load_and_choose(report: Report, settings: AtlasSettings) -> tuple[AtlasProject, AtlasChoice]:
    """Load all columns, and judge the map of each in simulated worlds. The plan
    states from the settings whether the curator looked."""
    project = load_columns(settings, part_of(report, 0.0, 0.05))
    refuse_what_cannot_fit(project.first, 1)
    project.first.refuse_large_delta()
    choice = choose_atlas(project.restated(looked=False), part_of(report, 0.05, 1.0))
    return project, choice


def where_of(project: Project) -> Workers:
    """Where a search runs: further processes would take longer to start than a short search takes."""
    name, several = executor_of(project.settings)
    short = search_estimate(asked_of(project, alone=True), own_speed()).seconds < SHORT
    return Workers("serial", 1) if name == "processes" and short else Workers(name, several)


def draw_curve(report: Report, project: Project, tuned: Tuned, name: str) -> tuple[FrontierPoint, ...]:
    """What one mechanism reaches at the budgets of the chart, from the start that the search chose."""
    question = answered(as_searched(project, tuned), tuned.result)
    alone = replace(question, settings=question.settings.with_changes(mechanisms=(name,), looked=False))
    try:
        search = search_design(alone, report, where_of(alone))
    except WorkflowError:  # this mechanism has no design for these data: it has no line either
        return ()
    return search.result.frontier


def search_beside(report: Report, project: Project, tuned: Tuned, name: str) -> Scored:
    """The best design of another mechanism at the same budget, from the start that the search chose."""
    question = answered(as_searched(project, tuned), tuned.result)
    alone = replace(question, settings=question.settings.with_changes(mechanisms=(name,), looked=False))
    return search_design(alone, report, where_of(alone), beside=()).result.chosen


def lines_of(result: SearchResult, settings: ReleaseSettings) -> tuple[str, ...]:
    """The mechanisms of which a chart shows lines, the chosen design's first."""
    own_name = result.chosen.design.mechanism
    serve = () if result.fixed or settings.values != "amount" else settings.mechanisms
    return tuple(dict.fromkeys((own_name, *serve)))


search_job = in_background(load_and_tune)
atlas_job = in_background(load_and_choose)
curve_job = in_background(draw_curve, UNASKED)
beside_job = in_background(search_beside)


def report_rows(tuned: Tuned, candidate: Scored | None = None) -> dict[str, tuple[str, str]]:
    """Return the paper's report of a design, the search's own without `candidate`: by the glossary's term,
    the value without and under the privacy constraint. The held-out IoU is known of the search's own only."""
    free, design = tuned.result.unconstrained, candidate or tuned.result.chosen
    gap = tuned.result.iou_gap if design is tuned.result.chosen else math.nan
    return {
        "epsilon": (_cost(free.epsilon), _cost(design.epsilon)),
        "records": (
            _known(design.utility.aim_records, records_words),
            _known(design.utility.records, records_words),
        ),
        "judged_iou": ("1", _known(design.utility.judged_iou, ratio_words)),
        "dimension": (
            _known(free.utility.effective_dimension, lambda value: significant(value, 3)),
            _known(design.utility.effective_dimension, lambda value: significant(value, 3)),
        ),
        "bce": (
            _known(free.utility.bce, lambda value: significant(value, 2)),
            _loss(design.utility.bce, free.utility.bce),
        ),
        "held_iou": (
            _known(free.utility.holdout_iou, ratio_words),
            _known(design.utility.holdout_iou, ratio_words),
        ),
        "iou_gap": ("0 %", _percent(gap)),
    }


def cutoff_rows(tuned: Tuned, candidate: Scored) -> list[dict[str, str]]:
    """What each cutoff that was tried for the search's own design does, by the headings of a table; none for
    another design."""
    cuts = tuned.result.cutoffs
    if all(cut.design != candidate.design for cut in cuts):
        return []
    return [
        {
            "inside from": _inside_from(cut.design, is_own=cut.design == candidate.design),
            "agreement (IoU)": _known(cut.utility.agreement, ratio_words),
            "area off by": _known(cut.utility.area_error, error_words),
        }
        for cut in cuts
    ]


def _inside_from(design: Design, is_own: bool) -> str:
    is_fixed = design == design.with_cutoff(design.cutoff)
    text = f"{design.cutoff:g}" if is_fixed else "what the release itself says"
    return f"{text} (the design)" if is_own else text


def dots(tuned: Tuned) -> list[dict[str, Any]]:
    """Return the frontier as rows of a chart, one per design of which a share of records is known; `number`
    is its place."""
    candidates = [(number, point.epsilon, point.scored) for number, point in enumerate(tuned.result.frontier)]
    designs = [candidate.design for _, _, candidate in candidates]
    return [
        {
            "number": number,
            "epsilon": epsilon,
            "records": candidate.utility.records,
            "low": max(0.0, candidate.utility.records - candidate.utility.records_spread),
            "high": min(1.0, candidate.utility.records + candidate.utility.records_spread),
            "agreement": known(candidate.utility.judged_iou),
            "family": line_of(candidate.design, designs),
            "design": design_words(candidate.design),
        }
        for number, epsilon, candidate in candidates
        if math.isfinite(candidate.utility.records)
    ]


def _cost(epsilon: float) -> str:
    return "no finite bound" if math.isinf(epsilon) else upper(epsilon, 3)


def _loss(value: float, without: float) -> str:
    """A cross-entropy with its increase: in per cent while that is readable, in times beyond."""
    if math.isnan(value) or not without > 0:
        return _known(value, lambda number: significant(number, 2))
    times = value / without
    text = f"{100 * (times - 1):+.0f} %" if times < 2 else f"{significant(times, 2)} times"
    return f"{significant(value, 2)} ({text if times < MANY_TIMES else f'more than {MANY_TIMES} times'})"


def _percent(value: float) -> str:
    return _known(value, lambda number: f"{100 * number:+.0f} %")


def _known(value: float, say: Callable[[float], str]) -> str:
    return "–" if math.isnan(value) else say(value)


# What may change after a pilot: everything that only reads what it showed.
AFTERWARDS = tuple(
    "threshold direction paths priors mechanisms objective bound quick title looked notes".split()
)

MAY_BE_CHARGED = (
    "Look into the ledger first: if it shows an open entry for this pilot, the pilot is paid for and stays "
    "so."
)


def pilot_job(settings: ReleaseSettings, total: float, session: str = "") -> Job[Project]:
    """Load, charge the ledger, draw the pilot: once per call, so call it from a submitted action only.

    `total` is the dataset's budget, set if there is none; a `session` pays for the same pilot once. Once it
    is charged, such a job must not be cancelled: a paid pilot would be lost."""

    def work(report: Report) -> Project:
        try:
            return in_subprocess(report, pay_and_draw, settings, total, session)
        except Lost as error:
            raise WorkflowError(f"{error} {MAY_BE_CHARGED}") from error

    return Job(work)


def pay_and_draw(report: Report, settings: ReleaseSettings, total: float, session: str) -> Project:
    """Load, charge, draw and read a pilot, once; picklable, for a subprocess.

    `WorkflowError` for data that will not do and a look that would show next to nothing, before the charge;
    `Unreleased` after it."""
    project = load_project(settings, part_of(report, 0.0, 0.5))
    if warning := pilot_warning(project):
        raise WorkflowError(warning)
    refuse_what_cannot_fit(project, workers())
    report(0.5, "Trying it, charging the ledger, drawing once, reading what was drawn")
    # The look sets the budget where there is none, once it has been tried.
    with_budget = replace(project, settings=settings.with_changes(budget=total))
    paid = run_pilot(with_budget, open_ledger(settings.ledger), session)
    return replace(paid, settings=settings)


def pilot_serves(piloted: Project, settings: ReleaseSettings) -> bool:
    """Whether a pilot that was paid for answers these settings too: nothing it depends on has changed."""
    then = {name: getattr(piloted.settings, name) for name in AFTERWARDS}
    return replace(settings, **then) == piloted.settings


def pilot_words(piloted: Project) -> str:
    """Say the price in one sentence; `ValueError` without a pilot."""
    paid = piloted.pilot
    if paid is None:
        raise ValueError("no pilot was paid for.")
    number = paid.entry.split(":")[0]
    law = paid.law
    chose = ""
    if law is not None:
        share = law.spread**2 / (law.spread**2 + law.scatter**2)
        chose = (
            f" It chose a field with a range of {significant(law.lengthscale / 1e3, 2)} km, of which the "
            f"records share {share:.0%} of their variance."
        )
    return (
        f"A pilot was paid for: ε {upper(paid.epsilon, 3)}, ledger entry {number}. It is "
        f"part of the stated ε, and what it showed can be used again at no further cost.{chose}"
    )
