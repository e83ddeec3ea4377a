"""The privacy-utility search: the best design under an epsilon constraint, judged on reference data only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.design import POSTERIOR_SAMPLING, Design
from workflow.candidates import NOISE_SHARES, SMOOTHINGS, around, coarse_grid
from workflow.errors import WorkflowError
from workflow.evaluation import Utility
from workflow.held_out import free_held_out_iou, private_held_out_iou
from workflow.pricing import cheapest_price, priced, smallest_feasible_epsilon
from workflow.scored import FrontierPoint, Scored, SearchResult, SearchTask
from workflow.statistics_search import score_statistics

Report = Callable[[float, str], None]

SCALES = tuple(float(s) for s in np.geomspace(0.05, 2.0, 14))  # unconstrained scales, response units
BASELINE_RIDGE = 8.0  # an unconstrained fit beyond this ridge has forgotten its data
REFINED = 3  # candidates refined around in the local stage


def search(task: SearchTask, report: Report | None = None) -> SearchResult:
    """Unconstrained and constrained search over (clip, prior, lengthscale, ridge, prior noise, smoothing).

    The scale is solved in closed form, never searched. `report(fraction, text)` may raise to cancel.
    Raises `WorkflowError` naming the smallest feasible epsilon of the grid when no design fits the budget.
    """
    tell = report or (lambda fraction, text: None)
    unconstrained = task.unconstrained or unconstrained_design(
        task, lambda fraction, text: tell(0.2 * fraction, text)
    )
    free = unconstrained.design
    baseline = task.baseline_judge.baseline_set(free.prior, free.lengthscale, free.ridge)
    for judge in (task.baseline_judge, *task.judges):
        judge.baseline = baseline
    budgets = tuple(sorted({*task.frontier, task.epsilon}))
    found: list[tuple[float, Scored]] = []
    coarse = _coarse_cells(task)
    for step, cell in enumerate(coarse):
        tell(0.2 + 0.5 * step / len(coarse), f"Trying {cell.prior} priors, {len(found):,} designs scored")
        found += _score(task, cell, budgets, (0.0,))
    fine = _refinement(task, found, set(coarse))
    for step, cell in enumerate(fine):
        tell(0.7 + 0.2 * step / len(fine), f"Refining the best designs, {len(found):,} scored")
        found += _score(task, cell, (task.epsilon,), NOISE_SHARES)
    found += score_statistics(task, budgets, lambda fraction, text: tell(0.9 + 0.1 * fraction, text))
    eligible = [item for budget, item in found if budget == task.epsilon]
    if not eligible:
        raise WorkflowError(_infeasible(task, coarse))
    tell(1.0, "Search finished")
    chosen = min(eligible, key=lambda item: task.loss(item.utility))
    judge = next(judge for judge in task.judges if judge.response == chosen.response)
    return SearchResult(
        unconstrained=_held_out(unconstrained, free_held_out_iou(task.baseline_judge, free)),
        chosen=_held_out(chosen, private_held_out_iou(judge, chosen.design)),
        frontier=_frontier(task, found),
        baseline=baseline,
        evaluated=len(found),
        objective=task.objective,
    )


def _held_out(scored: Scored, iou: float) -> Scored:
    return replace(scored, utility=replace(scored.utility, holdout_iou=iou))


@dataclass(frozen=True)
class _Cell:
    """One point of the grid: the judge (clip bound), prior, lengthscale and ridge."""

    judge: int
    prior: str
    lengthscale: float
    ridge: float


def unconstrained_design(task: SearchTask, tell: Report) -> Scored:
    """Smallest held-out BCE over (prior, lengthscale, ridge, scale): the non-private baseline's design."""
    judge = task.baseline_judge
    grid = coarse_grid(judge.lattice, task.n, task.quick)
    ridges = tuple(ridge for ridge in grid.ridges if ridge <= BASELINE_RIDGE)
    best, design = math.inf, Design(prior=task.priors[0], lengthscale=1.0, ridge=1.0, scale=1.0)
    families = [(prior, lengthscale) for prior in task.priors for lengthscale in grid.lengthscales]
    for step, (prior, lengthscale) in enumerate(families):
        for ridge in ridges:
            tell(step / len(families), "Searching without the privacy constraint")
            mean, sd = judge.holdout_moments(prior, lengthscale, ridge)
            for scale in SCALES:
                value = judge.holdout_bce(mean, scale * sd)
                if value < best:
                    best, design = (
                        value,
                        Design(prior=prior, lengthscale=lengthscale, ridge=ridge, scale=scale),
                    )
    facts = judge.prior(design.prior, design.lengthscale)
    design, epsilon = priced(replace(design, paths=task.paths), task.n, facts, task.delta, task.bound)
    dimension = judge.effective_dimension(design.prior, design.lengthscale, design.ridge)
    return Scored(design, judge.response, epsilon, Utility(1.0, 0.0, math.nan, best, dimension))


def _coarse_cells(task: SearchTask) -> list[_Cell]:
    if POSTERIOR_SAMPLING not in task.mechanisms:
        return []
    grid = coarse_grid(task.judges[0].lattice, task.n, task.quick)
    return [
        _Cell(judge, prior, lengthscale, ridge)
        for prior in task.priors
        for lengthscale in grid.lengthscales
        for judge in range(len(task.judges))
        for ridge in grid.ridges
    ]


def _refinement(task: SearchTask, found: list[tuple[float, Scored]], seen: set[_Cell]) -> list[_Cell]:
    """Neighbours, in lengthscale and ridge, of the best few distinct designs at the task's epsilon."""
    clips = [judge.response.clip for judge in task.judges]
    ranked = sorted(
        (item for budget, item in found if budget == task.epsilon), key=lambda s: task.loss(s.utility)
    )
    best: dict[_Cell, None] = {}
    for item in ranked:
        design = item.design
        best.setdefault(
            _Cell(clips.index(item.response.clip), design.prior, design.lengthscale, design.ridge)
        )
        if len(best) == REFINED:
            break
    fine = [
        replace(cell, lengthscale=lengthscale, ridge=ridge)
        for cell in best
        for lengthscale in around(cell.lengthscale, 1.4)
        for ridge in around(cell.ridge, 1.18)
    ]
    return list(dict.fromkeys([*best, *(cell for cell in fine if cell not in seen)]))


def _score(
    task: SearchTask, cell: _Cell, budgets: Iterable[float], shares: Iterable[float]
) -> list[tuple[float, Scored]]:
    """Every smoothing and noise share of one grid point, at each budget it can meet."""
    judge = task.judges[cell.judge]
    facts = judge.prior(cell.prior, cell.lengthscale)
    shares = tuple(shares)
    prices = [
        (budget, price)
        for budget in budgets
        for share in shares
        if (
            price := cheapest_price(
                facts, task.n, cell.ridge, budget, task.delta, task.paths, share, task.bound
            )
        )
    ]
    if not prices:
        return []
    dimension = judge.effective_dimension(cell.prior, cell.lengthscale, cell.ridge)
    mean, sd = judge.holdout_moments(cell.prior, cell.lengthscale, cell.ridge)
    found: list[tuple[float, Scored]] = []
    simulated = judge.simulated_sets(cell.prior, cell.lengthscale, cell.ridge)
    for budget, price in prices:
        loss = judge.holdout_bce(mean, np.hypot(price.scale * sd, price.noise_scale))
        for rounds in SMOOTHINGS:
            agreement, spread = judge.agreement(simulated.at(price.scale, price.noise_scale, rounds))
            design = Design(
                prior=cell.prior, lengthscale=cell.lengthscale, ridge=cell.ridge, scale=price.scale,
                noise_scale=price.noise_scale, paths=task.paths, smoothing=rounds, bound=price.bound,
            )  # fmt: skip
            utility = Utility(agreement, spread, math.nan, loss, dimension)
            found.append((budget, Scored(design, judge.response, budget, utility)))
    return found


def _frontier(task: SearchTask, found: list[tuple[float, Scored]]) -> tuple[FrontierPoint, ...]:
    best: dict[tuple[str, str, float], Scored] = {}
    for budget, item in found:
        key = (item.design.mechanism, item.design.prior, budget)
        if key not in best or task.loss(item.utility) < task.loss(best[key].utility):
            best[key] = item
    return tuple(FrontierPoint(key[2], best[key]) for key in sorted(best, key=lambda k: (k[2], k[0], k[1])))


def _infeasible(task: SearchTask, coarse: list[_Cell]) -> str:
    facts = {(c.prior, c.lengthscale): task.judges[0].prior(c.prior, c.lengthscale) for c in coarse}
    smallest = min(
        smallest_feasible_epsilon(
            facts[cell.prior, cell.lengthscale], task.n, cell.ridge, task.delta, task.paths
        )
        for cell in coarse
    )
    return (
        f"No design on the grid meets epsilon {task.epsilon:g} at delta {task.delta:g} with "
        f"{task.paths} path(s) and n = {task.n:,}: the smallest feasible epsilon on the grid is "
        f"{smallest:.3g}."
    )
