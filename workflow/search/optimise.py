"""The privacy-utility search: the best design under an epsilon constraint, judged on reference data only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from dpgp_core.mechanisms.base import Design, Mechanism
from dpgp_core.mechanisms.registry import mechanism_named, mechanism_of
from workflow.errors import WorkflowError
from workflow.progress import Report
from workflow.search.executors import Executor, SerialExecutor
from workflow.search.score import Batch, score_batch, with_held_out, with_held_out_iou
from workflow.search.sharpen import sharpened
from workflow.search.task import FrontierPoint, Scored, SearchResult, SearchTask, family_of, model_of
from workflow.search.unconstrained import baseline_set, free_held_out_iou, unconstrained_design

REFINED = 3  # designs of a mechanism refined around in its local stage
Found = list[tuple[float, Scored]]


def search(task: SearchTask, report: Report | None = None, executor: Executor | None = None) -> SearchResult:
    """The unconstrained search, then every mechanism's grid and its local stage, at all budgets.

    Noise is solved for, never searched. `report(fraction, text)` may raise to cancel.

    Raises
    ------
    WorkflowError
        Naming the smallest feasible epsilon of the grid when no design fits the budget.
    """
    tell, where = report or (lambda fraction, text: None), executor or SerialExecutor()
    free = task.unconstrained or unconstrained_design(task, where, _part(tell, 0.0, 0.2))
    model = model_of(free)
    baseline = baseline_set(task.baseline_scene.world, model)
    task = task.aiming_at(baseline)
    found: Found = []
    for number, name in enumerate(task.mechanisms):
        low, share = 0.2 + 0.75 * number / len(task.mechanisms), 0.75 / len(task.mechanisms)
        mechanism = mechanism_named(name)
        coarse = _coarse(task, mechanism)
        own = _run(task, where, coarse, _part(tell, low, 0.75 * share), len(found))
        for stage in range(mechanism.local_stages):
            fine = _refinement(task, mechanism, own)
            part = _part(tell, low + (0.75 + 0.25 * stage / mechanism.local_stages) * share, 0.25 * share)
            own += _run(task, where, fine, part, len(found) + len(own))
        found += own
    eligible = [item for budget, item in found if budget == task.epsilon]
    if not eligible:
        raise WorkflowError(_infeasible(task))
    tell(0.95, "Looking closer at the designs that are shown")
    chosen = min(_sharpened_bests(task, eligible), key=lambda item: task.loss(item.utility))
    scene = task.scene_of(chosen.response)
    holdout = free_held_out_iou(task.baseline_scene.world, model)
    result = SearchResult(
        unconstrained=replace(free, utility=replace(free.utility, holdout_iou=holdout)),
        chosen=with_held_out_iou(scene, with_held_out(scene, chosen)),
        frontier=_frontier(task, found),
        baseline=baseline,
        evaluated=len(found),
        objective=task.objective,
        on_edge=_on_edge(chosen, eligible),
        public_mean=task.public_mean,
    )
    tell(1.0, "Search finished")
    return result


def _part(tell: Report, low: float, share: float) -> Report:
    return lambda fraction, text: tell(low + share * fraction, text)


def _coarse(task: SearchTask, mechanism: Mechanism) -> list[Batch]:
    """The mechanism's grid: thorough at the budget that is asked for, plainer beside it."""
    scenes = tuple(range(len(task.scenes)))
    beside = tuple(epsilon for epsilon in sorted(set(task.frontier)) if epsilon != task.epsilon)
    plain = mechanism.grid(task.facts, replace(task.ask, thorough=False))
    asked = dict.fromkeys(mechanism.grid(task.facts, replace(task.ask, thorough=True)), (task.epsilon,))
    budgets: dict[Design, tuple[float, ...]] = {
        design: tuple(sorted({*epsilons, *(beside if design in set(plain) else ())}))
        for design, epsilons in asked.items()
    }
    for design in plain:
        budgets.setdefault(design, beside)
    return [
        Batch(mechanism.name, tuple(group), scenes)
        for _, group in groupby(budgets.items(), key=lambda item: mechanism.group_of(item[0]))
    ]


def _refinement(task: SearchTask, mechanism: Mechanism, found: Found) -> list[Batch]:
    """Around the best few distinct designs at the task's epsilon, each in its own scene."""
    ranked = sorted(
        (item for budget, item in found if budget == task.epsilon), key=lambda item: task.loss(item.utility)
    )
    best: dict[tuple[int, Design], None] = {}
    for item in ranked:
        number = task.scenes.index(task.scene_of(item.response))
        best.setdefault((number, mechanism.place_of(item.design)))
        if len(best) == REFINED:
            break
    scenes = {scene.response: number for number, scene in enumerate(task.scenes)}
    seen = {
        (scenes[item.response], mechanism.place_of(item.design)) for budget, item in found
        if budget == task.epsilon and mechanism.local_stages > 1
    }  # fmt: skip
    batches = []
    for number, design in best:
        near = [
            each
            for each in mechanism.refinement((design,), task.facts, task.ask)
            if (number, each) not in seen
        ]
        seen |= {(number, each) for each in near}
        for _, group in groupby(near, key=mechanism.group_of):
            batches.append(Batch(mechanism.name, tuple((each, (task.epsilon,)) for each in group), (number,)))
    return batches


def _run(task: SearchTask, where: Executor, batches: list[Batch], tell: Report, before: int) -> Found:
    found: Found = []
    for step, part in enumerate(where.map(score_batch, task, batches)):
        found += part
        tell((step + 1) / len(batches), f"{len(found) + before:,} designs scored")
    return found


def _frontier(task: SearchTask, found: Iterable[tuple[float, Scored]]) -> tuple[FrontierPoint, ...]:
    best: dict[tuple[float, str, str], Scored] = {}
    for budget, item in found:
        key = (budget, *family_of(item.design))
        if key not in best or task.loss(item.utility) < task.loss(best[key].utility):
            best[key] = item
    return tuple(
        FrontierPoint(key[0], with_held_out(task.scene_of(best[key].response), sharpened(task, best[key])))
        for key in sorted(best)
    )


def _sharpened_bests(task: SearchTask, eligible: Iterable[Scored]) -> list[Scored]:
    """The best design of each mechanism, at the price at which it would be released: so they are compared."""
    best: dict[str, Scored] = {}
    for item in eligible:
        name = item.design.mechanism
        if name not in best or task.loss(item.utility) < task.loss(best[name].utility):
            best[name] = item
    return [sharpened(task, item) for item in best.values()]


def _on_edge(chosen: Scored, eligible: Iterable[Scored]) -> tuple[tuple[str, str], ...]:
    """What of the chosen design is the least or the most that was tried by its mechanism at this budget."""
    mechanism = mechanism_of(chosen.design)
    rivals = [item for item in eligible if item.design.mechanism == chosen.design.mechanism]
    tried = {"clip bound": sorted({item.response.clip for item in rivals})}
    own = {"clip bound": chosen.response.clip}
    place = mechanism.place_of(chosen.design)
    for parameter in mechanism.parameters:
        if parameter.kind != "count":
            places = (mechanism.place_of(item.design) for item in rivals)
            word = parameter.name.replace("_", " ")
            tried[word] = sorted({float(getattr(each, parameter.name)) for each in places})
            own[word] = float(getattr(place, parameter.name))
    return tuple(
        (word, "smallest" if own[word] == values[0] else "largest")
        for word, values in tried.items()
        if len(values) > 1 and own[word] in (values[0], values[-1])
    )


def _infeasible(task: SearchTask) -> str:
    floors = [
        mechanism.floor(design, task.facts, task.budget.delta)
        for mechanism in map(mechanism_named, task.mechanisms)
        for design in mechanism.grid(task.facts, task.ask)
    ]
    said = (
        f"the smallest feasible epsilon on the grid is {min(floors):.3g}."
        if floors
        else "no mechanism that was asked for takes this unit of protection."
    )
    return (
        f"No design on the grid meets epsilon {task.epsilon:g} at delta {task.budget.delta:g} with "
        f"{task.ask.paths} path(s) and n = {task.n:,}: {said}"
    )
