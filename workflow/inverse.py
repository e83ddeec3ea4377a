"""The search read backwards: the smallest epsilon that reaches a wanted agreement on reference data."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpgp_core.cell_statistics import statistic_noise_for
from dpgp_core.design import NOISY_CELL_STATISTICS, Design
from workflow.errors import WorkflowError
from workflow.evaluation import Evaluator, Utility
from workflow.pricing import cheapest_price
from workflow.project import Project
from workflow.scored import FrontierPoint, Scored, SearchResult, SearchTask
from workflow.statistics_search import simulated_statistics, statistics_utility
from workflow.tuning import Tuned, search_task

STEPS = tuple(float(f"{10.0 ** (step / 100.0):.3g}") for step in range(-200, 131))
"""Epsilons that can be an answer, 0.01 to 20 in steps of about 2.3 %, three significant digits each."""

Score = Callable[[float], Scored | None]
Report = Callable[[float, str], None]


def smallest_epsilon(
    project: Project, tuned: Tuned, wanted: float, report: Report | None = None
) -> FrontierPoint | None:
    """The least epsilon of `STEPS` at which a design of the frontier reaches IoU `wanted`, or None.

    wanted  expected IoU with the reference baseline, in (0, 1]
    report  told (fraction, text) before every epsilon tried; it may raise to cancel
    Everything is computed on reference data. The answer's own design is the one to release at that epsilon.
    Raises `WorkflowError` for a wanted IoU outside (0, 1], and where a pilot stands in for reference data:
    its cost was fixed with an epsilon in mind.
    """
    if project.pilot is not None:
        raise WorkflowError("A wanted IoU needs reference data: a pilot is a share of a fixed epsilon.")
    return solve(search_task(project, None, tuned.result.unconstrained), tuned.result, wanted, report)


def solve(
    task: SearchTask, result: SearchResult, wanted: float, report: Report | None = None
) -> FrontierPoint | None:
    """`smallest_epsilon` for a search's task and result.

    The frontier's designs differ in prior, lengthscale, ridge, share of prior noise, smoothing and clip
    bound. Each keeps these and gets its noise solved anew at every epsilon. Its agreement, on draws that all
    epsilons share, rises with epsilon but for small wiggles, so bisection finds a step at which the design
    reaches the wanted one while it does not one step below. A design that is nowhere the best at the
    frontier's own epsilons might reach it a little earlier.
    """
    if not 0.0 < wanted <= 1.0:
        raise WorkflowError(f"A wanted IoU lies above 0 and at most at 1, not {wanted!r}: try 0.8.")
    tell = report or (lambda fraction, text: None)
    best: FrontierPoint | None = None
    shapes = _shapes(task, result)
    for number, (judge, design) in enumerate(shapes):
        so_far = "no epsilon reaches it yet" if best is None else f"epsilon {best.epsilon:g} reaches it"
        say = _at(tell, number / len(shapes), f"Design {number + 1} of {len(shapes)}; {so_far}")
        say()
        judge.baseline = result.baseline
        score = _scorer(task, judge, design)
        steps = STEPS if best is None else STEPS[: bisect.bisect_left(STEPS, best.epsilon)]
        best = _least(score, steps, wanted, say) or best
    return best


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


def _shapes(task: SearchTask, result: SearchResult) -> list[tuple[Evaluator, Design]]:
    """The frontier's distinct designs apart from their noise, those of the smallest epsilons first."""
    judges = {judge.response: judge for judge in task.judges}
    shapes: dict[tuple[object, ...], tuple[Evaluator, Design]] = {}
    for point in sorted(result.frontier, key=lambda item: item.epsilon):
        design, response = point.scored.design, point.scored.response
        model = design.scale if design.mechanism == NOISY_CELL_STATISTICS else round(_share(design), 6)
        key = (response, design.mechanism, design.prior, design.lengthscale, design.ridge, design.smoothing)
        shapes.setdefault((*key, model), (judges[response], design))
    return list(shapes.values())


def _share(design: Design) -> float:
    """Share of prior noise in the released variance."""
    return (design.noise_scale / math.hypot(design.scale, design.noise_scale)) ** 2


def _scorer(task: SearchTask, judge: Evaluator, design: Design) -> Score:
    """The design's utility as a function of epsilon, its noise being the least that epsilon allows."""
    prior = judge.prior(design.prior, design.lengthscale)
    if design.mechanism == NOISY_CELL_STATISTICS:

        def by_statistics(epsilon: float) -> Scored:
            noisy = replace(design, statistic_noise=statistic_noise_for(epsilon, task.delta))
            draws = simulated_statistics(judge, noisy.statistic_noise)
            utility = statistics_utility(judge, prior, noisy, draws, with_bce=True)
            return Scored(noisy, judge.response, epsilon, utility)

        return by_statistics
    share = _share(design)
    dimension = judge.effective_dimension(design.prior, design.lengthscale, design.ridge)
    mean, sd = judge.holdout_moments(design.prior, design.lengthscale, design.ridge)
    simulated = judge.simulated_sets(design.prior, design.lengthscale, design.ridge)

    def by_sampling(epsilon: float) -> Scored | None:
        price = cheapest_price(
            prior, task.n, design.ridge, epsilon, task.delta, task.paths, share, task.bound
        )
        if price is None:
            return None
        priced = replace(design, scale=price.scale, noise_scale=price.noise_scale, bound=price.bound)
        sets = simulated.at(price.scale, price.noise_scale, design.smoothing)
        loss = judge.holdout_bce(mean, np.hypot(price.scale * sd, price.noise_scale))
        utility = Utility(*judge.agreement(sets), math.nan, loss, dimension)
        return Scored(priced, judge.response, epsilon, utility)

    return by_sampling
