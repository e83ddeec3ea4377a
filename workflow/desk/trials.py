"""Trials on a screen: the search read backwards, a design's surroundings, a typed design, its sets' worth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from dpgp_core.design import NOISY_CELL_STATISTICS, Design
from workflow.around import Variation, around
from workflow.bench import Bench
from workflow.candidates import SMOOTHINGS
from workflow.desk.designs import FAMILIES, MECHANISMS, as_searched
from workflow.errors import WorkflowError
from workflow.inverse import STEPS, smallest_epsilon
from workflow.jobs import Job
from workflow.project import Project
from workflow.rehearsed_coverage import RehearsedCoverage, rehearsed_confidence, rehearsed_coverage
from workflow.scored import FrontierPoint, Scored
from workflow.tuning import Choice, Tuned, typed_choice
from workflow.words import plural, significant, upper

Report = Callable[[float, str], None]
NO_BOUND = "no finite bound"
MODEL_SCALE = 0.5  # prior standard deviation behind noisy cell statistics, response units: it costs nothing


@dataclass(frozen=True)
class TypedDesign:
    """A design as a person types it: kilometres, ridge, scale (or noise of the statistics), paths.

    model_scale  for noisy cell statistics the prior standard deviation behind them, response units
    """

    mechanism: str
    prior: str
    kilometres: float
    ridge: float
    scale: float
    paths: int
    smoothing: int
    model_scale: float = MODEL_SCALE


@dataclass(frozen=True)
class VariedView:
    """One value of a varied parameter as a chart takes it; `epsilon` is None without a finite bound."""

    value: float
    epsilon: float | None
    said: str
    agreement: float
    current: bool


@dataclass(frozen=True)
class VariationView:
    """One parameter varied: the glossary's term for it, its unit, the values and what they do, in words."""

    parameter: str
    term: str
    unit: str
    points: tuple[VariedView, ...]
    words: str


def solve_job(project: Project, tuned: Tuned, wanted: float) -> Job[FrontierPoint | None]:
    """The smallest epsilon that reaches a wanted agreement, in the background."""
    return Job(lambda report: smallest_epsilon(as_searched(project, tuned), tuned, wanted, report))


def best_reached(tuned: Tuned) -> FrontierPoint:
    """The point of the frontier with the largest agreement; the cheapest of equals."""
    return max(tuned.result.frontier, key=lambda point: (point.scored.utility.agreement, -point.epsilon))


def most_epsilon() -> float:
    """The largest epsilon that the search for a smallest one considers."""
    return STEPS[-1]


def around_job(project: Project, tuned: Tuned, scored: Scored) -> Job[tuple[VariationView, ...]]:
    """What each parameter of a design does, in the background."""

    def work(report: Report) -> tuple[VariationView, ...]:
        report(0.0, "Taking up the reference data")
        bench = Bench(project, tuned.result)
        noisy = scored.design.mechanism == NOISY_CELL_STATISTICS
        return tuple(_view(variation, noisy) for variation in around(bench, scored, report))

    return Job(work)


def typed_job(project: Project, tuned: Tuned, scored: Scored, typed: TypedDesign) -> Job[Scored]:
    """Price and utility of a typed design under the response scale of `scored`, in the background."""

    def work(report: Report) -> Scored:
        report(0.1, "Pricing the design and rehearsing it")
        try:
            return Bench(project, tuned.result).score(design_of(typed), scored.response)
        except WorkflowError:
            raise
        except ValueError as error:
            raise WorkflowError(f"This design is impossible: {error}") from error

    return Job(work)


def coverage_job(project: Project, tuned: Tuned, scored: Scored) -> Job[RehearsedCoverage]:
    """How often the sets of a design are right on the reference data, in the background."""

    def work(report: Report) -> RehearsedCoverage:
        report(0.0, "Taking up the reference data")
        return rehearsed_coverage(Bench(project, tuned.result), scored, report)

    return Job(work)


def design_of(typed: TypedDesign) -> Design:
    """The design that was typed; `ValueError` where it cannot exist. Its prior noise is none."""
    noisy = typed.mechanism == NOISY_CELL_STATISTICS
    if not typed.scale > 0:
        raise ValueError("the scale must be a positive number: a map without spread is not private.")
    design = Design(
        prior=typed.prior, lengthscale=1000.0 * typed.kilometres, ridge=typed.ridge,
        scale=typed.model_scale if noisy else typed.scale, statistic_noise=typed.scale if noisy else 0.0,
        paths=typed.paths, smoothing=0 if noisy else typed.smoothing, mechanism=typed.mechanism,
    )  # fmt: skip
    return replace(design, bound="gaussian-mechanism") if noisy else design


def typed_like(design: Design) -> TypedDesign:
    """The fields that describe a design, to start typing from; three significant digits, noise included."""
    noisy = design.mechanism == NOISY_CELL_STATISTICS
    scale = design.statistic_noise if noisy else math.hypot(design.scale, design.noise_scale)
    kilometres, ridge, scale = (float(f"{x:.3g}") for x in (design.lengthscale / 1e3, design.ridge, scale))
    model = design.scale if noisy else MODEL_SCALE
    return TypedDesign(
        design.mechanism, design.prior, kilometres, ridge, scale, design.paths, design.smoothing, model
    )


def typed_families(project: Project) -> dict[tuple[str, str], str]:
    """(mechanism, prior) pairs that the choices allow, with their names on a screen."""
    settings = project.settings
    return {
        (mechanism, prior): f"{MECHANISMS[mechanism]}, {FAMILIES.get(prior, prior)}"
        for mechanism in settings.mechanisms
        for prior in project.priors
    }


def smoothings() -> tuple[int, ...]:
    """Rounds of smoothing that can be judged."""
    return SMOOTHINGS


def settle_on_typed(project: Project, tuned: Tuned, scored: Scored) -> tuple[Project, Choice]:
    """The project and choice that release a typed design within the settings' epsilon."""
    choice = typed_choice(project, tuned, scored)
    settings = project.settings.with_changes(paths=scored.design.paths)
    return replace(project, settings=settings), choice


def covers(design: Design) -> bool:
    """Whether a design has paths enough to call cells sure."""
    return rehearsed_confidence(design.paths) is not None


def coverage_sentences(found: RehearsedCoverage) -> tuple[str, ...]:
    """What the rehearsals say about inner, outer and three-way sets, in words with their intervals."""
    seen = found.coverage
    sure = f"{100 * found.confidence:.0f} %"
    inner, outer = (
        f"{100 * each.value:.0f} % (95 % interval {100 * each.low:.0f} to {100 * each.high:.0f} %)"
        for each in (seen.inner, seen.outer)
    )
    return (
        f"The map calls {100 * seen.told:.0f} % of the hexagons surely in or surely out; "
        f"{100 * seen.told_right:.1f} % of those calls agree with the map without privacy.",
        f"The inner region lay wholly inside the true one in {inner} of {seen.simulations} rehearsals, and "
        f"the outer region held all of it in {outer}; the paths themselves claim {sure}.",
    )


def cost_scale(views: tuple[VariationView, ...]) -> tuple[tuple[float, float], tuple[float, ...]]:
    """One logarithmic scale for the costs of all views: its ends, and the powers of ten within."""
    finite = [point.epsilon for view in views for point in view.points if point.epsilon]
    low, high = (min(finite), max(finite)) if finite else (0.1, 10.0)
    if high < 10.0 * low:  # a nearly flat line should look flat
        low, high = low / 3.0, high * 3.0
    powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    return (low, high), tuple(10.0**power for power in powers)


def cost(epsilon: float) -> str:
    """An epsilon as a screen says it, rounded upwards."""
    return NO_BOUND if math.isinf(epsilon) else f"ε {upper(epsilon, 3)}"


def _view(variation: Variation, noisy: bool) -> VariationView:
    """A variation with the names and units of a screen; ranges in kilometres."""
    term, unit, divisor = {
        "lengthscale": ("lengthscale", "km", 1000.0),
        "ridge": ("ridge", "", 1.0),
        "scale": ("statistic_noise" if noisy else "scale", "", 1.0),
        "paths": ("paths", "", 1.0),
    }[variation.parameter]
    points = tuple(
        VariedView(
            point.value / divisor,
            None if math.isinf(point.epsilon) else point.epsilon,
            cost(point.epsilon),
            point.agreement,
            point.value == variation.current,
        )
        for point in variation.points
    )
    first, last = points[0], points[-1]
    ends = (significant(each.value, 3 if unit else 2) for each in (first, last))
    span = " to ".join(ends) + (f" {unit}" if unit else "")
    return VariationView(
        variation.parameter, term, unit, points,
        f"From {span}: {first.said} to {last.said}, "
        f"agreement {first.agreement:.2f} to {last.agreement:.2f}.",
    )  # fmt: skip


def rehearsals_words(scored: Scored) -> str:
    """The mean and spread of an agreement, in words."""
    utility = scored.utility
    spread = f" ± {utility.agreement_sd:.2f}" if utility.agreement_sd >= 0.005 else ""
    return f"{utility.agreement:.2f}{spread} with {plural(scored.design.paths, 'path')}"
