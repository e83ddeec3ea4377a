"""The privacy-utility search: the best design under an epsilon constraint, judged on reference data only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.base import SearchSpace
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_named, mechanism_of
from hexcursion.errors import WorkflowError
from hexcursion.search.executors import ALONE, Run
from hexcursion.search.score import (
    Batch,
    as_shown,
    baseline_set,
    fixed_of,
    free_held_out_iou,
    score_batch,
    sharpened,
    unconstrained_design,
    unsearched,
    utilities_of,
    with_held_out,
    with_held_out_iou,
)
from hexcursion.search.task import (
    Edge,
    FrontierPoint,
    LeftEarly,
    Scored,
    SearchResult,
    SearchTask,
    family_of,
)
from hexcursion.words import plural

REFINED = 3  # designs of a mechanism refined around in its local stage, and compared in full
IN_STAGES = 2  # most designs in each of several local stages; the last has one
FIRST_PASS = 2  # a mechanism that comes after others shows every so many designs of its grid first
IN_WORLDS = 6  # and every so many where each is simulated in several worlds
FEW_WORLDS = 2  # in which a first pass is judged, against the best so far in the same worlds
BEHIND = 0.06  # agreement (IoU) by which that pass may be behind the best so far; see studies/README.md
BESIDE = 2  # designs that the next budget of a frontier takes over from the one before
Found = list[tuple[float, Scored]]
Place = Callable[[Design], Design]


def search(task: SearchTask, run: Run = ALONE) -> SearchResult:
    """Search without privacy, then every mechanism's grid and its local stage, at all budgets.

    Noise is solved for, never searched. Raise `WorkflowError`,
    naming the smallest feasible epsilon of the grid, when no design fits the budget.
    """
    if task.unsearched:
        fixed = fixed_of(task.mechanisms, task.facts.lattice.spacing, task.ask.looks)
        if fixed is not None:
            return unsearched(task, fixed, run.report)
    free = task.unconstrained or unconstrained_design(task, run.part(0.0, 0.2))
    model = free.design
    shown = task.baseline_scene.world.baseline  # a simulated field comes with the map that its records show
    baseline = baseline_set(task.baseline_scene.world, model) if shown is None else shown
    task = task.aiming_at(baseline)
    place: Place = lru_cache(None)(lambda design: mechanism_of(design).search.place_of(design, task.facts))
    found: Found = []
    left_early: list[LeftEarly] = []
    quick_first = sorted(task.mechanisms, key=lambda name: not mechanism_named(name).search.quick)
    for number, name in enumerate(quick_first):
        low, share = 0.2 + 0.75 * number / len(task.mechanisms), 0.75 / len(task.mechanisms)
        space = mechanism_named(name).search
        grid = _coarse(task, space)
        first, coarse = _first_pass(task, grid, found)
        few = _in_few_worlds(task)
        own = _scored(few, run.part(low, 0.25 * share), first, len(found))
        if _behind(few, own, found):
            left_early.append(LeftEarly(name, len(own), max(item.utility.known_agreement for _, item in own)))
            continue
        if few is not task:  # designs judged in few worlds are ranked in all of them
            coarse, own = first + coarse, []
        own += _scored(task, run.part(low + 0.25 * share, 0.5 * share), coarse, len(found) + len(own))
        own = _in_order(task, own, grid, place) if first else own
        for stage in range(space.stages):
            most = REFINED if space.stages == 1 else max(1, min(IN_STAGES, REFINED - stage))
            fine = _refinement(task, space, own, task.epsilon, place, most)
            part = _stage_part(run.part(low, share), stage, space.stages)
            own += _scored(task, part, fine, len(found) + len(own))
        if space.quick:
            own += _beside(task, space, own, run.part(low + share, 0.0), place)
        found += own
    eligible = [item for budget, item in found if budget == task.epsilon]
    if not eligible:
        raise WorkflowError(_infeasible(task))
    run.report(0.95, "Looking closer at the designs that are shown")
    chosen = _most_honest(task, _sharpened_bests(task, eligible))
    scene = task.scene_of(chosen.response)
    chosen = as_shown(scene, chosen)
    holdout = free_held_out_iou(task.baseline_scene.world, model)
    result = SearchResult(
        unconstrained=replace(free, utility=replace(free.utility, holdout_iou=holdout)),
        chosen=with_held_out_iou(scene, chosen),
        frontier=_frontier(task, found, chosen),
        baseline=baseline,
        evaluated=len(found) + sum(each.designs for each in left_early),
        objective=task.objective,
        on_edge=_on_edge(chosen, eligible, place),
        public_mean=task.public_mean,
        cutoffs=_cutoffs(task, chosen),
        left_early=tuple(left_early),
        further=tuple(float(each.baseline.mean()) for each in scene.others if each.baseline is not None),
    )
    run.report(1.0, "Search finished")
    return result


def _stage_part(run: Run, stage: int, stages: int) -> Run:
    """The last quarter of a mechanism's work, shared out among its local stages."""
    return run.part(0.75 + 0.25 * stage / stages, 0.25 / stages)


def _coarse(task: SearchTask, space: SearchSpace) -> list[Batch]:
    """Return the mechanism's grid: all of it at the budget that is asked for, a part of it beside it.

    Budgets beside it wait where a mechanism is quick: they start from the best at the asked one (`_beside`).
    """
    scenes = tuple(range(len(task.scenes)))
    beside = () if space.quick else _others(task, task.frontier)
    plain = set(space.grid(task.facts, replace(task.ask, thorough=False)))
    budgets = {
        design: tuple(sorted({task.epsilon, *(beside if design in plain else ())}))
        for design in space.grid(task.facts, replace(task.ask, thorough=True))
    }
    return [
        Batch(space.mechanism.name, tuple(group), scenes)
        for _, group in groupby(budgets.items(), key=lambda item: space.group_of(item[0]))
    ]


def _first_pass(task: SearchTask, coarse: list[Batch], found: Found) -> tuple[list[Batch], list[Batch]]:
    """Split a grid: every few designs in the scene of the best so far, and the rest.

    The first part is empty where every mechanism is searched to its end: for the first one, for a frontier,
    which shows them all, and for another objective than the agreement.
    """
    if not found or task.frontier or task.walked or task.objective != "iou":
        return [], coarse
    reached = [scored for budget, scored in found if budget == task.epsilon]
    if not reached:
        return [], coarse
    best = min(reached, key=lambda scored: task.loss(scored.utility)).response
    here = tuple(number for number, scene in enumerate(task.scenes) if scene.response == best)
    there = tuple(number for number in range(len(task.scenes)) if number not in here)
    first, rest, step = [], [], IN_WORLDS if task.scenes[0].others else FIRST_PASS
    for batch in coarse:
        shown = batch.designs[1::step]
        others = tuple(item for item in batch.designs if item not in shown)
        first.append(replace(batch, designs=shown, scenes=here))
        rest += [replace(batch, designs=others), replace(batch, designs=shown, scenes=there)]
    return first, rest


def _in_few_worlds(task: SearchTask) -> SearchTask:
    """The same task with the first and the last world of each scene: enough to see who is far behind.

    Worlds that drifted from a reference are in order of their drift, so the two are the least and the most.
    """
    if len(task.scenes[0].worlds) <= FEW_WORLDS:
        return task
    return replace(
        task, scenes=tuple(replace(each, others=each.others[1 - FEW_WORLDS :]) for each in task.scenes)
    )


def _behind(task: SearchTask, own: Found, found: Found) -> bool:
    """Whether a first pass found designs, all of them far behind the best so far in full."""
    ours, others = ([item for budget, item in each if budget == task.epsilon] for each in (own, found))
    if not (ours and others):
        return False
    best = min(task.loss(item.utility) for item in _sharpened_bests(task, others))
    return min(task.loss(item.utility) for item in ours) - best > BEHIND


def _in_order(task: SearchTask, own: Found, grid: list[Batch], place: Place) -> Found:
    """As a search in one part finds them: of designs that are level the first is taken."""
    places = {
        place(design): (number, step)
        for number, batch in enumerate(grid)
        for step, (design, _) in enumerate(batch.designs)
    }
    scenes = {scene.response: number for number, scene in enumerate(task.scenes)}

    def position(item: tuple[float, Scored]) -> tuple[int, int, int]:
        batch, step = places.get(place(item[1].design), (len(grid), 0))
        return batch, scenes[item[1].response], step

    return sorted(own, key=position)


def _others(task: SearchTask, budgets: tuple[float, ...]) -> tuple[float, ...]:
    """Budgets other than the asked one, each once, increasing."""
    return tuple(epsilon for epsilon in sorted(set(budgets)) if epsilon != task.epsilon)


def _bests(
    task: SearchTask, found: Found, epsilon: float, place: Place, most: int
) -> list[tuple[int, Design]]:
    """The best few distinct designs at one budget, each with the number of its scene."""
    ranked = sorted(
        (item for budget, item in found if budget == epsilon), key=lambda item: task.loss(item.utility)
    )
    numbers = {scene.response: number for number, scene in enumerate(task.scenes)}
    best = dict.fromkeys((numbers[item.response], place(item.design)) for item in ranked)
    return list(best)[:most]


def _refinement(
    task: SearchTask, space: SearchSpace, found: Found, epsilon: float, place: Place, most: int = REFINED
) -> list[Batch]:
    """Around the best few distinct designs at one budget, each in its own scene."""
    numbers = {scene.response: number for number, scene in enumerate(task.scenes)}
    seen = {
        (numbers[item.response], place(item.design))
        for budget, item in found
        if budget == epsilon and (space.stages > 1 or space.quick)
    }
    batches = []
    for number, design in _bests(task, found, epsilon, place, most):
        near = [
            each for each in space.refinement((design,), task.facts, task.ask) if (number, each) not in seen
        ]
        seen |= {(number, each) for each in near}
        for _, group in groupby(near, key=space.group_of):
            name, shapes = space.mechanism.name, tuple((each, (epsilon,)) for each in group)
            batches.append(Batch(name, shapes, (number,)))
    return batches


def _beside(task: SearchTask, space: SearchSpace, found: Found, run: Run, place: Place) -> Found:
    """Find a frontier as good as a search at each of its budgets: outward from the asked one, step by step.

    Each budget takes over the best designs of the one before, with its own noise, and looks around the best
    (not for several simulated fields, which take several times as long).
    """
    others, made = _others(task, (*task.frontier, *task.walked)), Found()
    for side in (
        sorted((each for each in others if each < task.epsilon), reverse=True),
        sorted(each for each in others if each > task.epsilon),
    ):
        last, known = task.epsilon, list(found)
        for epsilon in side:
            over = _bests(task, known, last, place, BESIDE)
            name = space.mechanism.name
            taken = [Batch(name, ((design, (epsilon,)),), (number,)) for number, design in over]
            known += _scored(task, run, taken, len(known))
            single = not task.scenes[0].others
            near = _refinement(task, space, known, epsilon, place, 1) if single else []
            known += _scored(task, run, near, len(known))
            last = epsilon
        made += known[len(found) :]
    return made


def _scored(task: SearchTask, run: Run, batches: list[Batch], before: int) -> Found:
    found: Found = []
    for step, part in enumerate(run.executor.map(score_batch, task, batches)):
        found += part
        run.report((step + 1) / len(batches), f"{len(found) + before:,} designs scored")
    return found


def _frontier(
    task: SearchTask, found: Iterable[tuple[float, Scored]], chosen: Scored
) -> tuple[FrontierPoint, ...]:
    """The best of each family at each budget; at the asked one the chosen design represents its family."""
    best: dict[tuple[float, str, str], Scored] = {}
    for budget, item in found:
        key = (budget, *family_of(item.design))
        if key not in best or task.loss(item.utility) < task.loss(best[key].utility):
            best[key] = item
    own = (task.epsilon, *family_of(chosen.design))
    shown = {key: sharpened(task, item) for key, item in best.items() if key != own}
    judged = {key: as_shown(task.scene_of(item.response), item) for key, item in shown.items()}
    judged[own] = chosen
    return tuple(FrontierPoint(key[0], judged[key]) for key in sorted(judged))


def _cutoffs(task: SearchTask, chosen: Scored) -> tuple[Scored, ...]:
    """The chosen design with every cutoff that its mechanism offers: free, on the same simulated releases."""
    mechanism, scene = mechanism_of(chosen.design), task.scene_of(chosen.response)
    variants = mechanism.search.variants(chosen.design, task.ask)
    if variants == (chosen.design,):
        return ()
    offered = sorted({each.cutoff for each in variants} | {chosen.design.cutoff}, reverse=True)
    given = [chosen.design.with_cutoff(cutoff) for cutoff in offered]
    designs = given if chosen.design in given else [chosen.design, *given]
    if len(designs) == 1 or task.objective == "bce":
        return ()
    found = zip(designs, utilities_of(scene, designs), strict=True)
    return tuple(replace(chosen, design=design, utility=utility) for design, utility in found)


def _sharpened_bests(task: SearchTask, eligible: Iterable[Scored]) -> list[Scored]:
    """Price the best few designs of each mechanism as they would be released, and simulate them in full."""
    ranked = sorted(eligible, key=lambda item: task.loss(item.utility))
    names = dict.fromkeys(item.design.mechanism for item in ranked)
    return [
        sharpened(task, item)
        for name in names
        for item in [each for each in ranked if each.design.mechanism == name][: _closer(name)]
    ]


def _most_honest(task: SearchTask, bests: list[Scored]) -> Scored:
    """Of designs within one standard error of the best agreement return the one with the best probabilities.

    Agreement is blind to them: amplitude and cutoff make up for each other. They are judged by the
    cross-entropy of held-out cells, which is returned with the design.
    """
    best = min(bests, key=lambda item: task.loss(item.utility))
    limit = task.loss(best.utility) + (best.utility.error if task.objective == "iou" else 0.0)
    level = [item for item in bests if task.loss(item.utility) <= limit]
    judged = [with_held_out(task.scene_of(item.response), item) for item in level]
    return min(judged, key=lambda item: item.utility.bce)


def _closer(name: str) -> int:
    """How many designs of a mechanism are compared in full: several where simulations are quick."""
    return REFINED if mechanism_named(name).search.quick else 1


def _on_edge(chosen: Scored, eligible: Iterable[Scored], place: Place) -> tuple[tuple[str, Edge], ...]:
    """What of the chosen design is the least or the most that was tried by its mechanism at this budget."""
    mechanism = mechanism_of(chosen.design)
    rivals = [item for item in eligible if item.design.mechanism == chosen.design.mechanism]
    tried = {"clip bound": sorted({item.response.clip for item in rivals})}
    own = {"clip bound": chosen.response.clip}
    places, here = {place(item.design) for item in rivals}, place(chosen.design)
    for parameter in mechanism.parameters:
        if parameter.kind != "count":
            word = parameter.name.replace("_", " ")
            tried[word] = sorted({float(getattr(each, parameter.name)) for each in places})
            own[word] = float(getattr(here, parameter.name))
    return tuple(
        (word, "smallest" if own[word] == values[0] else "largest")
        for word, values in tried.items()
        if len(values) > 1 and own[word] in (values[0], values[-1])
    )


def _infeasible(task: SearchTask) -> str:
    floors = [
        questions.floor(design, task.facts, task.budget.delta)
        for mechanism in map(mechanism_named, task.mechanisms)
        for design in mechanism.search.grid(task.facts, task.ask)
    ]
    if not floors:
        text = "no mechanism that was asked for takes this unit of protection."
    elif min(floors) > task.epsilon:
        text = f"the smallest feasible epsilon on the grid is {min(floors):.3g}."
        if task.ask.paths > 1:
            text = f"{text[:-1]}; fewer paths need less."
    else:
        text = "choose a smaller epsilon."
    return (
        f"No design on the grid meets epsilon {task.epsilon:g} at delta {task.budget.delta:g} with "
        f"{plural(task.ask.paths, 'path')} and n = {task.n:,}: {text}"
    )
