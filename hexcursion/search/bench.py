"""The bench: what any design costs and achieves on reference data, and the least epsilon of a wanted map."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpgp_core.audit.coverage import Coverage, simulated_coverage
from dpgp_core.excursion import excursion
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Design, Parameter
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy
from dpgp_core.priors.lattice import smooth
from dpgp_core.releasing import draw_release
from dpgp_core.yardstick import judged_domain, shown_side
from hexcursion.bundle import supports
from hexcursion.bundle.products import NO_RECORD_CLASS, likely
from hexcursion.errors import Report, WorkflowError
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.search.judging import judged_utility
from hexcursion.search.pilot import cost_beside_pilot
from hexcursion.search.public_map import answered, as_many, starting_point
from hexcursion.search.scenes import Question, Start, make_scene, public_facts
from hexcursion.search.score import as_shown, sharpened, utility_of
from hexcursion.search.task import FrontierPoint, Scene, Scored, SearchResult, SearchTask, Utility
from hexcursion.search.tuning import Tuned, search_task

COVERAGE_SEED = 577215  # simulated releases of reference data only; a release never sees it
RELEASES = 40
CONFIDENCES = (0.9, 0.8, 0.5)  # the first that the paths can speak of
FACTORS = (0.25, 0.4, 0.63, 1.0, 1.6, 2.5, 4.0)
SHARES = tuple(step / 10 for step in range(10))
"""Shares of prior noise in the variance of a path, to choose among."""
FEW = (1, 2, 3, 5, 10)
MANY = (30, 100)  # numbers of paths to look at where they cost nothing
MOST_PATHS = 1000  # as many as settings allow


class Bench:
    """Judges designs as the search of `result` judged its own: same reference data, baseline and draws."""

    def __init__(self, project: Project, result: SearchResult) -> None:
        project = answered(project, result)
        self.project, self.result = project, result
        self._task = search_task(project, unconstrained=result.unconstrained).aiming_at(result.baseline)

    def scene(self, response: ResponseScale) -> Scene:
        """Return the world of a response scale; `WorkflowError` for one that the search did not try."""
        return self._task.scene_of(response)

    def price(self, design: Design) -> tuple[Design, float]:
        """Return the design under its cheapest proved bound, and its epsilon (upper bound, maybe inf).

        A pilot that stands in for reference data is inside the epsilon.
        """
        delta, bound = self.project.delta, self.project.settings.bound
        best, epsilon = questions.priced(design, self._task.facts, delta, bound)
        if self.project.pilot is not None:
            epsilon = cost_beside_pilot(best, self._task.facts, self.project.pilot, delta)
        return best, epsilon

    def score(self, design: Design, response: ResponseScale) -> Scored:
        """Score a design, held-out figures included.

        Raise `ValueError` if its prior does not exist at its lengthscale.
        """
        best, epsilon = self.price(design)
        scene = self.scene(response)
        return as_shown(scene, Scored(best, response, epsilon, utility_of(scene, design)))

    def with_prior_noise(self, candidate: Scored, share: float) -> Scored | None:
        """Return a design of paths with another share of prior noise in [0, 1), at the same budget; None
        where no scale meets it. Its own scale is the least that does."""
        design = mechanism_of(candidate.design).search.varied(candidate.design, "noise_share", share)
        scene = self.scene(candidate.response)
        calibrated = _scorer(self._task, scene, design)(self._task.budget.epsilon)
        return None if calibrated is None else as_shown(scene, sharpened(self._task, calibrated))

    def judged(self, design: Design, response: ResponseScale) -> Utility:
        """Records on the side that simulated releases show, and their agreement in judged hexagons; nothing
        else."""
        scene = replace(self.scene(response), controls=())
        return judged_utility(scene, design, Utility(math.nan, math.nan))


@dataclass(frozen=True)
class SimulatedCoverage:
    """Coverage of the sets at `confidence`; the truth is the reference map without privacy."""

    coverage: Coverage
    confidence: float


def supported_confidence(paths: int) -> float | None:
    """The confidence of which so many paths can speak: they must be able to leave one out."""
    return next((confidence for confidence in CONFIDENCES if supports(paths, confidence)), None)


def coverage_of(
    bench: Bench, candidate: Scored, report: Report | None = None, releases: int = RELEASES
) -> SimulatedCoverage:
    """Release the reference data again and again in simulation, and compare with their map without privacy.

    The mechanism's randomness is repeated; the truth is the reference baseline, whose errors no
    private release can show.
    `report(fraction, text)` may raise to cancel. Raise `WorkflowError` for a design with a single path.
    """
    tell = report or (lambda fraction, text: None)
    design = candidate.design
    confidence = supported_confidence(design.paths)
    if confidence is None:
        raise WorkflowError("one path cannot say what is sure: coverage needs at least two paths.")
    world = bench.scene(candidate.response).world
    prepared = mechanism_of(design).prepare(design, world.facts, world.records)
    entropy, number = SimulationEntropy(COVERAGE_SEED), 0
    up = bench.result.baseline == (world.direction == "above")
    truth = world.level + np.where(up, 1.0, -1.0)  # only the side of the threshold counts

    def one() -> tuple[Floats, Floats]:
        nonlocal number
        tell(number / releases, f"Simulated release {number + 1} of {releases}")
        number += 1
        paths = draw_release(prepared, entropy, simulation=True).shifted(world.offset).paths
        return truth, smooth(world.facts.lattice, paths, design.smoothing)

    coverage = simulated_coverage(one, world.level, confidence, releases, world.direction)
    return SimulatedCoverage(coverage, confidence)


@dataclass(frozen=True)
class Varied:
    """One value of a parameter: metres, a positive number or a number of paths, by the parameter's kind."""

    value: float
    epsilon: float  # upper bound; `inf` where no finite one exists
    records: float  # expected share of records on the side that the map shows; NaN where unknown
    agreement: float  # expected IoU with the reference baseline, in judged hexagons; NaN where unknown


@dataclass(frozen=True)
class Variation:
    """One parameter varied around `current`, values increasing."""

    parameter: Parameter
    current: float
    points: tuple[Varied, ...]


def sweep(bench: Bench, candidate: Scored, report: Report | None = None) -> tuple[Variation, ...]:
    """Vary each parameter of the design's mechanism by up to a factor of four either way, the others held.

    Every value is priced by its lowest proved bound, as a release of it would be, and compared on common
    random numbers. `report(fraction, text)` may raise to cancel.
    """
    tell = report or (lambda fraction, text: None)
    design, mechanism = candidate.design, mechanism_of(candidate.design)
    values = {parameter: _values(design, parameter) for parameter in mechanism.parameters}
    total, step, variations = sum(len(series) for series in values.values()), 0, []
    for parameter, series in values.items():
        points = []
        for value in series:
            name = "the number of paths" if parameter.kind == "count" else f"the {parameter.name}"
            tell(step / total, f"Varying {name.replace('_', ' ')}")
            varied = mechanism.search.varied(design, parameter.name, value)
            utility = bench.judged(varied, candidate.response)
            points.append(Varied(value, bench.price(varied)[1], utility.records, utility.judged_iou))
            step += 1
        variations.append(Variation(parameter, float(getattr(design, parameter.name)), tuple(points)))
    return tuple(variations)


def _values(design: Design, parameter: Parameter) -> tuple[float, ...]:
    current = getattr(design, parameter.name)
    if parameter.kind == "count":
        free = MANY if mechanism_of(design).free_paths else ()
        near = {round(current / 2), current, min(2 * current, MOST_PATHS)} if current > FEW[-1] else {current}
        return tuple(sorted(float(value) for value in {*FEW, *near, *free} if value >= 1))
    return tuple(factor * current for factor in FACTORS)


STEPS = tuple(float(f"{10.0 ** (step / 100.0):.3g}") for step in range(-200, 131))
"""Epsilons that can be an answer, 0.01 to 20 in steps of about 2.3 %, three significant digits each."""

Score = Callable[[float], Scored | None]


def smallest_epsilon(
    project: Project, tuned: Tuned, target: float, report: Report | None = None
) -> FrontierPoint | None:
    """Return the least epsilon of `STEPS` at which a design of the frontier reaches IoU `target` within the
    hexagons that its releases judge, or None.

    All is computed on reference data; the point's own design is the one to release. `report` may raise to
    cancel. Raise `WorkflowError` for a wanted IoU outside (0, 1], and where a pilot stands in for reference
    data: its cost was fixed with an epsilon in mind.
    """
    if project.pilot is not None:
        raise WorkflowError("A wanted IoU needs reference data: a pilot is a share of a fixed epsilon.")
    task = search_task(answered(project, tuned.result), unconstrained=tuned.result.unconstrained)
    return solve(task, tuned.result, target, report)


def solve(
    task: SearchTask, result: SearchResult, target: float, report: Report | None = None
) -> FrontierPoint | None:
    """Solve `smallest_epsilon` for a search's task and result; `WorkflowError` as there.

    Each design of the frontier keeps its parameters and gets its noise solved anew at every epsilon.
    Agreement, on draws that all epsilons share, rises with epsilon but for small wiggles, so bisection finds
    a step at which the design reaches the wanted one and does not one step below. A design that is nowhere
    the best at the frontier's own epsilons might reach it a little earlier.
    """
    if not 0.0 < target <= 1.0:
        raise WorkflowError(f"A wanted IoU lies above 0 and at most at 1, not {target!r}: try 0.8.")
    tell = report or (lambda fraction, text: None)
    task = task.aiming_at(result.baseline)
    best: FrontierPoint | None = None
    shapes = _shapes(task, result)
    for number, (scene, design) in enumerate(shapes):
        so_far = "no epsilon reaches it yet" if best is None else f"epsilon {best.epsilon:g} reaches it"
        say = _at(tell, number / len(shapes), f"Design {number + 1} of {len(shapes)}; {so_far}")
        score = _scorer(task, scene, design)
        steps = STEPS if best is None else STEPS[: bisect.bisect_left(STEPS, best.epsilon)]
        best = _least(score, steps, target, say) or best
    if best is None:
        return None
    scene = task.scene_of(best.scored.response)
    return FrontierPoint(best.epsilon, as_shown(scene, sharpened(task, best.scored)))


def _at(tell: Report, fraction: float, text: str) -> Callable[[], None]:
    return lambda: tell(fraction, text)


def _least(
    score: Score, steps: tuple[float, ...], target: float, say: Callable[[], None]
) -> FrontierPoint | None:
    """The first of increasing epsilons that reaches the wanted agreement, if the last one does."""

    def reached(epsilon: float) -> Scored | None:
        say()
        candidate = score(epsilon)
        return candidate if candidate is not None and candidate.utility.judged_iou >= target else None

    best = reached(steps[-1]) if steps else None
    if best is None:
        return None
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        candidate = reached(steps[middle])
        if candidate is None:
            low = middle + 1
        else:
            high, best = middle, candidate
    return FrontierPoint(steps[high], best)


def _shapes(task: SearchTask, result: SearchResult) -> list[tuple[Scene, Design]]:
    """The frontier's distinct designs apart from their noise, those of the smallest epsilons first."""
    shapes: dict[tuple[ResponseScale, Design], tuple[Scene, Design]] = {}
    for point in sorted(result.frontier, key=lambda item: item.epsilon):
        design, response = point.scored.design, point.scored.response
        key = (response, mechanism_of(design).search.unpriced(design, task.facts))
        shapes.setdefault(key, (task.scene_of(response), design))
    return list(shapes.values())


def _scorer(task: SearchTask, scene: Scene, design: Design) -> Score:
    """The design's utility as a function of epsilon, its noise being the least that epsilon allows."""
    mechanism = mechanism_of(design)

    def score(epsilon: float) -> Scored | None:
        priced = mechanism.calibrate(design, task.facts, replace(task.budget, epsilon=epsilon))
        if priced is None:
            return None
        utility = judged_utility(replace(scene, controls=()), priced, utility_of(scene, priced))
        return Scored(priced, scene.response, epsilon, utility)

    return score


def prior_noises(
    bench: Bench, candidate: Scored, report: Report | None = None
) -> tuple[tuple[float, Scored], ...]:
    """Judge every share of `SHARES` that the budget allows; `report(fraction, text)` may raise to cancel."""
    tell, judged_shares = report or (lambda fraction, text: None), []
    for number, share in enumerate(SHARES):
        tell(number / len(SHARES), f"Trying a share of prior noise of {100 * share:.0f} %")
        judged = bench.with_prior_noise(candidate, share)
        if judged is not None:
            judged_shares.append((share, judged))
    return tuple(judged_shares)


DRAWN_SEED = 161803  # drawn on reference data only
SEVERAL = 5  # paths that are shown side by side


@dataclass(frozen=True, eq=False)
class SimulatedRelease:
    """A design drawn once on the reference data; its figures are about the hexagons that it judges."""

    released: NDArray[np.bool_]  # (N,) the drawn set
    baseline: NDArray[np.bool_]  # (N,) the set without privacy
    classes: NDArray[np.int64]  # (N,) as the release would show them: 0 likely to 3 not judged
    right: float  # share of the records tried on the side that the map shows; NaN without a record
    # (K, N) the sets of paths, the release's first, K at least SEVERAL; none where they are free
    paths: NDArray[np.bool_]

    @property
    def aim(self) -> NDArray[np.int64]:
        """(N,) classes of the map without privacy, on the hexagons that the release judges."""
        return np.where(self.classes == NO_RECORD_CLASS, NO_RECORD_CLASS, np.where(self.baseline, 0, 2))


def simulated_release(project: Project, result: SearchResult, candidate: Scored) -> SimulatedRelease:
    """Draw a design once on reference data, from a fixed seed.

    With a public prior mean the records are those of `starting_point`.
    """
    project = answered(project, result)
    settings, design, offset = project.settings, candidate.design, None
    facts = public_facts(project)
    if settings.prior_mean:
        field, _, (observations, *_) = starting_point(project, result.model)
        offset, facts = field.at_cells(project.lattice.domain_centres), replace(facts, field=field)
    else:
        observations = as_many(project, project.reference)
    world = make_scene(facts, Question.of(project), observations, candidate.response, Start(offset)).world
    world = world.aiming_at(result.baseline)
    mechanism, entropy = mechanism_of(design), SimulationEntropy(DRAWN_SEED)
    draw = draw_release(mechanism.prepare(design, world.facts, world.records), entropy, simulation=True)
    released = world.published(draw, design)
    paths = draw.shifted(world.offset).paths[: 0 if mechanism.free_paths else None]
    if 0 < len(paths) < SEVERAL:  # what other draws would have been
        rest_design = replace(design, paths=SEVERAL - len(paths))
        other_draws = draw_release(
            mechanism.prepare(rest_design, world.facts, world.records), entropy, simulation=True
        )
        paths = np.concatenate([paths, other_draws.shifted(world.offset).paths])
    fields = smooth(world.facts.lattice, paths, design.smoothing) if len(paths) else paths
    sets = excursion(fields, world.level, world.direction)
    judged = np.ones(released.size, dtype=bool)
    if draw.records is not None and project.exposure is None:
        judged = judged_domain(draw.records)
    chance = world.probabilities(draw)
    classes = np.where(judged, 1 - likely(chance), NO_RECORD_CLASS)
    right = world.sides_of_records.right(shown_side(chance, judged), judged)
    return SimulatedRelease(released, result.baseline, classes, right, sets)
