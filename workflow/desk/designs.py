"""Designs on a screen: the report, the frontier's dots, a rehearsal on reference data, settling on one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpgp_core.design import NOISY_CELL_STATISTICS, POSTERIOR_SAMPLING, Design
from dpgp_core.entropy import SimulationEntropy
from dpgp_core.excursion import Direction, released_set
from dpgp_core.mechanisms import draw_paths
from dpgp_core.priors import make_prior
from dpgp_core.scores import iou
from dpgp_core.smoothing import smooth
from workflow.jobs import Job
from workflow.project import Project, load_project
from workflow.records import bin_records
from workflow.scored import FrontierPoint, Scored
from workflow.settings import ReleaseSettings
from workflow.tuning import Choice, Tuned, halves, public_map, reference_mean, tune
from workflow.words import significant, upper

MANY_TIMES = 10  # beyond it an increase is not worth a number
REHEARSAL_SEED = 161803  # rehearsals are drawn on reference data only
# How mechanisms and priors are called on a screen; the first of each is the default.
MECHANISMS = {POSTERIOR_SAMPLING: "Posterior sampling", NOISY_CELL_STATISTICS: "Noisy cell statistics"}
FAMILIES = {"car": "neighbour graph (CAR)", "exponential": "exponential kernel"}


@dataclass(frozen=True)
class ReportRow:
    """One line of the report: what it is about and its value without and under the privacy constraint."""

    term: str
    free: str
    private: str


@dataclass(frozen=True)
class Dot:
    """One design on the frontier: its cost, what it achieves on reference data, and its family in words."""

    number: int
    epsilon: float
    agreement: float
    spread: float
    family: str
    design: str


@dataclass(frozen=True)
class Rehearsal:
    """A design drawn once on the reference data: what a release would look like, at no cost.

    released, baseline  (N,) the drawn set and the non-private one, both of the reference data
    """

    released: NDArray[np.bool_]
    baseline: NDArray[np.bool_]
    iou: float


def family(design: Design) -> str:
    """Mechanism and prior in words."""
    return f"{MECHANISMS[design.mechanism]}, {FAMILIES.get(design.prior, design.prior)}"


def describe(design: Design) -> str:
    """The parameters of a design in one line, each with its word and unit."""
    parts = [
        f"range {significant(design.lengthscale / 1000.0, 2)} km",
        f"ridge {significant(design.ridge, 3)}",
    ]
    if design.mechanism == NOISY_CELL_STATISTICS:
        parts.append(f"noise {significant(design.statistic_noise, 3)}")
    else:
        parts.append(f"scale {significant(design.scale, 3)}")
    if design.noise_scale > 0:
        parts.append(f"prior noise {significant(design.noise_scale, 3)}")
    parts.append(f"{design.paths} path{'' if design.paths == 1 else 's'}")
    if design.smoothing:
        parts.append(f"{design.smoothing} rounds of smoothing")
    return ", ".join(parts)


def search_job(settings: ReleaseSettings, piloted: Project | None = None) -> Job[tuple[Project, Tuned]]:
    """Load and search in the background; `piloted` is the project of a pilot that was paid for already.

    The tuning it states does not yet say whether somebody looked: a plan adds that from the settings.
    """

    def work(report: Callable[[float, str], None]) -> tuple[Project, Tuned]:
        if piloted is None:
            project = load_project(settings, lambda fraction, text: report(0.05 * fraction, text))
        else:
            project = replace(piloted, settings=settings)
        blind = replace(project, settings=settings.with_changes(looked=False))
        return project, tune(blind, lambda fraction, text: report(0.05 + 0.95 * fraction, text))

    return Job(work)


def report_rows(tuned: Tuned, scored: Scored | None = None) -> tuple[ReportRow, ...]:
    """Epsilon, agreement, effective dimension, BCE, held-out IoU and its gap, as the paper reports them.

    scored  the design to report on; None for the search's own. The held-out IoU is known for the latter only.
    """
    free, chosen = tuned.result.unconstrained, scored or tuned.result.chosen
    gap = tuned.result.iou_gap if chosen is tuned.result.chosen else math.nan
    return (
        ReportRow("epsilon", _cost(free.epsilon), _cost(chosen.epsilon)),
        ReportRow("iou", "1", _ratio(chosen.utility.agreement)),
        ReportRow(
            "dimension",
            significant(free.utility.effective_dimension, 3),
            _known(chosen.utility.effective_dimension, lambda value: significant(value, 3)),
        ),
        ReportRow("bce", significant(free.utility.bce, 2), _loss(chosen.utility.bce, free.utility.bce)),
        ReportRow(
            "held_iou", _known(free.utility.holdout_iou, _ratio), _known(chosen.utility.holdout_iou, _ratio)
        ),
        ReportRow("iou_gap", "0 %", _percent(gap)),
    )


def dots(tuned: Tuned) -> tuple[Dot, ...]:
    """The frontier, one dot per design, in its own order."""
    return tuple(
        Dot(
            number,
            point.epsilon,
            point.scored.utility.agreement,
            point.scored.utility.agreement_sd,
            family(point.scored.design),
            describe(point.scored.design),
        )
        for number, point in enumerate(tuned.result.frontier)
    )


def rehearse(project: Project, tuned: Tuned, scored: Scored) -> Rehearsal:
    """Draw a design once on the reference data, from a fixed seed.

    With a public prior mean one half of the reference data plays the public map and the other the private
    data, so that no observation is counted twice.
    """
    settings, design, placed, offset = project.settings, scored.design, project.reference, None
    if settings.prior_mean:
        first, placed = halves(project.reference)
        offset = reference_mean(project, first, tuned.result.unconstrained.design, scored.response)
    records = bin_records(placed, scored.response, settings.unit, offset).records
    prior = make_prior(design.prior, project.lattice, design.lengthscale)
    paths = draw_paths(design, prior, records, SimulationEntropy(REHEARSAL_SEED), simulation=True)
    paths = smooth(project.lattice, paths if offset is None else paths + offset, design.smoothing)
    level = float(scored.response.forward(settings.threshold))
    direction: Direction = "below" if settings.direction == "below" else "above"
    released = released_set(paths, level, design.cutoff, direction)
    return Rehearsal(released, tuned.result.baseline, iou(released, tuned.result.baseline))


def as_searched(project: Project, tuned: Tuned) -> Project:
    """The project with the number of paths it was searched with; a typed design may have changed it since."""
    paths = tuned.result.unconstrained.design.paths
    return replace(project, settings=project.settings.with_changes(paths=paths))


def settle_on(project: Project, tuned: Tuned, point: FrontierPoint) -> tuple[Project, Choice]:
    """The project and choice that release the design of a dot, at that dot's epsilon."""
    searched = as_searched(project, tuned)
    settled = replace(searched, settings=searched.settings.with_changes(epsilon=point.epsilon))
    public = public_map(project, tuned.result, point.scored.response)
    return settled, Choice(point.scored.design, point.scored.response, tuned.choice.tuning, public)


def _cost(epsilon: float) -> str:
    return "no finite bound" if math.isinf(epsilon) else upper(epsilon, 3)


def _ratio(value: float) -> str:
    return f"{value:.2f}"


def _loss(value: float, without: float) -> str:
    """A cross-entropy with its increase: in per cent while that is readable, in times beyond."""
    if math.isnan(value) or not without > 0:
        return _known(value, lambda known: significant(known, 2))
    times = value / without
    said = f"{100 * (times - 1):+.0f} %" if times < 2 else f"{significant(times, 2)} times"
    return f"{significant(value, 2)} ({said if times < MANY_TIMES else f'more than {MANY_TIMES} times'})"


def _percent(value: float) -> str:
    return _known(value, lambda known: f"{100 * known:+.0f} %")


def _known(value: float, say: Callable[[float], str]) -> str:
    return "–" if math.isnan(value) else say(value)
