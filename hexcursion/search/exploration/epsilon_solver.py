"""The epsilon solver: the smallest epsilon that reaches a wanted agreement on reference data."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import replace

from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from hexcursion.errors import Report, WorkflowError
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.search.decision.tuning import Tuned, search_task
from hexcursion.search.optimisation.score import as_shown, sharpened, utility_of
from hexcursion.search.problem.public_map import answered
from hexcursion.search.problem.task import FrontierPoint, Scene, Scored, SearchResult, SearchTask

STEPS = tuple(float(f"{10.0 ** (step / 100.0):.3g}") for step in range(-200, 131))
"""Epsilons that can be an answer, 0.01 to 20 in steps of about 2.3 %, three significant digits each."""

Score = Callable[[float], Scored | None]


def smallest_epsilon(
    project: Project, tuned: Tuned, wanted: float, report: Report | None = None
) -> FrontierPoint | None:
    """Return the least epsilon of `STEPS` at which a design of the frontier reaches IoU `wanted`, or None.

    All is computed on reference data; the point's own design is the one to release. `report` may raise to
    cancel. Raise `WorkflowError` for a wanted IoU outside (0, 1], and where a pilot stands in for reference
    data: its cost was fixed with an epsilon in mind.
    """
    if project.pilot is not None:
        raise WorkflowError("A wanted IoU needs reference data: a pilot is a share of a fixed epsilon.")
    task = search_task(answered(project, tuned.result), None, tuned.result.unconstrained)
    return solve(task, tuned.result, wanted, report)


def solve(
    task: SearchTask, result: SearchResult, wanted: float, report: Report | None = None
) -> FrontierPoint | None:
    """Solve `smallest_epsilon` for a search's task and result; `WorkflowError` as there.

    Each design of the frontier keeps its parameters and gets its noise solved anew at every epsilon.
    Agreement, on draws that all epsilons share, rises with epsilon but for small wiggles, so bisection finds
    a step at which the design reaches the wanted one and does not one step below. A design that is nowhere
    the best at the frontier's own epsilons might reach it a little earlier.
    """
    if not 0.0 < wanted <= 1.0:
        raise WorkflowError(f"A wanted IoU lies above 0 and at most at 1, not {wanted!r}: try 0.8.")
    tell = report or (lambda fraction, text: None)
    task = task.aiming_at(result.baseline)
    best: FrontierPoint | None = None
    shapes = _shapes(task, result)
    for number, (scene, design) in enumerate(shapes):
        so_far = "no epsilon reaches it yet" if best is None else f"epsilon {best.epsilon:g} reaches it"
        say = _at(tell, number / len(shapes), f"Design {number + 1} of {len(shapes)}; {so_far}")
        score = _scorer(task, scene, design)
        steps = STEPS if best is None else STEPS[: bisect.bisect_left(STEPS, best.epsilon)]
        best = _least(score, steps, wanted, say) or best
    if best is None:
        return None
    scene = task.scene_of(best.scored.response)
    return FrontierPoint(best.epsilon, as_shown(scene, sharpened(task, best.scored)))


def _at(tell: Report, fraction: float, text: str) -> Callable[[], None]:
    return lambda: tell(fraction, text)


def _least(
    score: Score, steps: tuple[float, ...], wanted: float, say: Callable[[], None]
) -> FrontierPoint | None:
    """The first of increasing epsilons that reaches the wanted agreement, if the last one does."""

    def reached(epsilon: float) -> Scored | None:
        say()
        scored = score(epsilon)
        return scored if scored is not None and scored.utility.agreement >= wanted else None

    found = reached(steps[-1]) if steps else None
    if found is None:
        return None
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        scored = reached(steps[middle])
        if scored is None:
            low = middle + 1
        else:
            high, found = middle, scored
    return FrontierPoint(steps[high], found)


def _shapes(task: SearchTask, result: SearchResult) -> list[tuple[Scene, Design]]:
    """The frontier's distinct designs apart from their noise, those of the smallest epsilons first."""
    shapes: dict[tuple[ResponseScale, Design], tuple[Scene, Design]] = {}
    for point in sorted(result.frontier, key=lambda item: item.epsilon):
        design, response = point.scored.design, point.scored.response
        key = (response, mechanism_of(design).unpriced(design))
        shapes.setdefault(key, (task.scene_of(response), design))
    return list(shapes.values())


def _scorer(task: SearchTask, scene: Scene, design: Design) -> Score:
    """The design's utility as a function of epsilon, its noise being the least that epsilon allows."""
    mechanism = mechanism_of(design)

    def score(epsilon: float) -> Scored | None:
        priced = mechanism.calibrate(design, task.facts, replace(task.budget, epsilon=epsilon))
        if priced is None:
            return None
        return Scored(priced, scene.response, epsilon, utility_of(scene, priced))

    return score
