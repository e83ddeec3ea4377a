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
Candidates = list[tuple[float, Scored]]
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
    # A simulated field comes with the map that its records show
    field_map = task.baseline_scene.world.baseline
    baseline = baseline_set(task.baseline_scene.world, model) if field_map is None else field_map
    task = task.aiming_at(baseline)
    place: Place = lru_cache(None)(lambda design: mechanism_of(design).search.place_of(design, task.facts))
    candidates: Candidates = []
    left_early: list[LeftEarly] = []
    quick_first = sorted(task.mechanisms, key=lambda name: not mechanism_named(name).search.quick)
    for number, name in enumerate(quick_first):
        low, share = 0.2 + 0.75 * number / len(task.mechanisms), 0.75 / len(task.mechanisms)
        space = mechanism_named(name).search
        grid = _coarse(task, space)
        first, coarse = _first_pass(task, grid, candidates)
        easier = _in_few_worlds(task)
        pool = _scored(easier, run.part(low, 0.25 * share), first, len(candidates))
        if _behind(easier, pool, candidates):
            best = max(item.utility.known_agreement for _, item in pool)
            left_early.append(LeftEarly(name, len(pool), best))
            continue
        if easier is not task:  # designs judged in few worlds are ranked in all of them
            coarse, pool = first + coarse, []
        half = run.part(low + 0.25 * share, 0.5 * share)
        pool += _scored(task, half, coarse, len(candidates) + len(pool))
        pool = _in_order(task, pool, grid, place) if first else pool
        for stage in range(space.stages):
            count = REFINED if space.stages == 1 else max(1, min(IN_STAGES, REFINED - stage))
            fine = _refinement(task, space, pool, task.epsilon, place, count)
            part = _stage_part(run.part(low, share), stage, space.stages)
            pool += _scored(task, part, fine, len(candidates) + len(pool))
        if space.quick:
            pool += _beside(task, space, pool, run.part(low + share, 0.0), place)
        candidates += pool
    eligible = [item for budget, item in candidates if budget == task.epsilon]
    if not eligible:
        raise WorkflowError(_infeasible(task))
    run.report(0.95, "Looking closer at the designs that are shown")
    proposal = _most_honest(task, _sharpened_bests(task, eligible))
    scene = task.scene_of(proposal.response)
    proposal = as_shown(scene, proposal)
    holdout = free_held_out_iou(task.baseline_scene.world, model)
    result = SearchResult(
        unconstrained=replace(free, utility=replace(free.utility, holdout_iou=holdout)),
        chosen=with_held_out_iou(scene, proposal),
        frontier=_frontier(task, candidates, proposal),
        baseline=baseline,
        evaluated=len(candidates) + sum(early.designs for early in left_early),
        objective=task.objective,
        on_edge=_on_edge(proposal, eligible, place),
        public_mean=task.public_mean,
        cutoffs=_cutoffs(task, proposal),
        left_early=tuple(left_early),
        further=tuple(float(world.baseline.mean()) for world in scene.others if world.baseline is not None),
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
    other_budgets = () if space.quick else _others(task, task.frontier)
    plain = set(space.grid(task.facts, replace(task.ask, thorough=False)))
    budgets = {
        design: tuple(sorted({task.epsilon, *(other_budgets if design in plain else ())}))
        for design in space.grid(task.facts, replace(task.ask, thorough=True))
    }
    return [
        Batch(space.mechanism.name, tuple(group), scenes)
        for _, group in groupby(budgets.items(), key=lambda item: space.group_of(item[0]))
    ]


def _first_pass(
    task: SearchTask, coarse: list[Batch], candidates: Candidates
) -> tuple[list[Batch], list[Batch]]:
    """Split a grid: every few designs in the scene of the best so far, and the rest.

    The first part is empty where every mechanism is searched to its end: for the first one, for a frontier,
    which shows them all, and for another objective than the agreement.
    """
    if not candidates or task.frontier or task.walked or task.objective != "iou":
        return [], coarse
    reached = [candidate for budget, candidate in candidates if budget == task.epsilon]
    if not reached:
        return [], coarse
    best = min(reached, key=lambda candidate: task.loss(candidate.utility)).response
    best_scenes = tuple(number for number, scene in enumerate(task.scenes) if scene.response == best)
    other_scenes = tuple(number for number in range(len(task.scenes)) if number not in best_scenes)
    first, later, step = [], [], IN_WORLDS if task.scenes[0].others else FIRST_PASS
    for batch in coarse:
        sample = batch.designs[1::step]
        other_designs = tuple(item for item in batch.designs if item not in sample)
        first.append(replace(batch, designs=sample, scenes=best_scenes))
        later += [replace(batch, designs=other_designs), replace(batch, designs=sample, scenes=other_scenes)]
    return first, later


def _in_few_worlds(task: SearchTask) -> SearchTask:
    """The same task with the first and the last world of each scene: enough to see who is far behind.

    Worlds that drifted from a reference are in order of their drift, so the two are the least and the most.
    """
    if len(task.scenes[0].worlds) <= FEW_WORLDS:
        return task
    return replace(
        task, scenes=tuple(replace(scene, others=scene.others[1 - FEW_WORLDS :]) for scene in task.scenes)
    )


def _behind(task: SearchTask, own_pool: Candidates, candidates: Candidates) -> bool:
    """Whether a first pass found designs, all of them far behind the best so far in full."""
    ours, rivals = (
        [item for budget, item in pool if budget == task.epsilon] for pool in (own_pool, candidates)
    )
    if not (ours and rivals):
        return False
    best = min(task.loss(item.utility) for item in _sharpened_bests(task, rivals))
    return min(task.loss(item.utility) for item in ours) - best > BEHIND


def _in_order(task: SearchTask, pool: Candidates, grid: list[Batch], place: Place) -> Candidates:
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

    return sorted(pool, key=position)


def _others(task: SearchTask, budgets: tuple[float, ...]) -> tuple[float, ...]:
    """Budgets other than the asked one, each once, increasing."""
    return tuple(epsilon for epsilon in sorted(set(budgets)) if epsilon != task.epsilon)


def _bests(
    task: SearchTask, candidates: Candidates, epsilon: float, place: Place, count: int
) -> list[tuple[int, Design]]:
    """The best few distinct designs at one budget, each with the number of its scene."""
    ranked = sorted(
        (item for budget, item in candidates if budget == epsilon), key=lambda item: task.loss(item.utility)
    )
    numbers = {scene.response: number for number, scene in enumerate(task.scenes)}
    best = dict.fromkeys((numbers[item.response], place(item.design)) for item in ranked)
    return list(best)[:count]


def _refinement(
    task: SearchTask,
    space: SearchSpace,
    candidates: Candidates,
    epsilon: float,
    place: Place,
    count: int = REFINED,
) -> list[Batch]:
    """Around the best few distinct designs at one budget, each in its own scene."""
    numbers = {scene.response: number for number, scene in enumerate(task.scenes)}
    visited = {
        (numbers[item.response], place(item.design))
        for budget, item in candidates
        if budget == epsilon and (space.stages > 1 or space.quick)
    }
    batches = []
    for number, design in _bests(task, candidates, epsilon, place, count):
        near = [
            neighbour
            for neighbour in space.refinement((design,), task.facts, task.ask)
            if (number, neighbour) not in visited
        ]
        visited |= {(number, neighbour) for neighbour in near}
        for _, group in groupby(near, key=space.group_of):
            name, shapes = space.mechanism.name, tuple((neighbour, (epsilon,)) for neighbour in group)
            batches.append(Batch(name, shapes, (number,)))
    return batches


def _beside(
    task: SearchTask, space: SearchSpace, candidates: Candidates, run: Run, place: Place
) -> Candidates:
    """Find a frontier as good as a search at each of its budgets: outward from the asked one, step by step.

    Each budget takes over the best designs of the one before, with its own noise, and looks around the best
    (not for several simulated fields, which take several times as long).
    """
    other_budgets, outward = _others(task, (*task.frontier, *task.walked)), Candidates()
    for side in (
        sorted((budget for budget in other_budgets if budget < task.epsilon), reverse=True),
        sorted(budget for budget in other_budgets if budget > task.epsilon),
    ):
        last, pool = task.epsilon, list(candidates)
        for epsilon in side:
            over = _bests(task, pool, last, place, BESIDE)
            name = space.mechanism.name
            batches = [Batch(name, ((design, (epsilon,)),), (number,)) for number, design in over]
            pool += _scored(task, run, batches, len(pool))
            single = not task.scenes[0].others
            near = _refinement(task, space, pool, epsilon, place, 1) if single else []
            pool += _scored(task, run, near, len(pool))
            last = epsilon
        outward += pool[len(candidates) :]
    return outward


def _scored(task: SearchTask, run: Run, batches: list[Batch], earlier_count: int) -> Candidates:
    candidates: Candidates = []
    for step, part in enumerate(run.executor.map(score_batch, task, batches)):
        candidates += part
        run.report((step + 1) / len(batches), f"{len(candidates) + earlier_count:,} designs scored")
    return candidates


def _frontier(
    task: SearchTask, candidates: Iterable[tuple[float, Scored]], proposal: Scored
) -> tuple[FrontierPoint, ...]:
    """The best of each family at each budget; at the asked one the chosen design represents its family."""
    best: dict[tuple[float, str, str], Scored] = {}
    for budget, item in candidates:
        key = (budget, *family_of(item.design))
        if key not in best or task.loss(item.utility) < task.loss(best[key].utility):
            best[key] = item
    own_key = (task.epsilon, *family_of(proposal.design))
    finer = {key: sharpened(task, item) for key, item in best.items() if key != own_key}
    judged = {key: as_shown(task.scene_of(item.response), item) for key, item in finer.items()}
    judged[own_key] = proposal
    return tuple(FrontierPoint(key[0], judged[key]) for key in sorted(judged))


def _cutoffs(task: SearchTask, proposal: Scored) -> tuple[Scored, ...]:
    """The chosen design with every cutoff that its mechanism offers: free, on the same simulated releases."""
    mechanism, scene = mechanism_of(proposal.design), task.scene_of(proposal.response)
    variants = mechanism.search.variants(proposal.design, task.ask)
    if variants == (proposal.design,):
        return ()
    cutoffs = sorted({variant.cutoff for variant in variants} | {proposal.design.cutoff}, reverse=True)
    cut_designs = [proposal.design.with_cutoff(cutoff) for cutoff in cutoffs]
    designs = cut_designs if proposal.design in cut_designs else [proposal.design, *cut_designs]
    if len(designs) == 1 or task.objective == "bce":
        return ()
    judged = zip(designs, utilities_of(scene, designs), strict=True)
    return tuple(replace(proposal, design=design, utility=utility) for design, utility in judged)


def _sharpened_bests(task: SearchTask, eligible: Iterable[Scored]) -> list[Scored]:
    """Price the best few designs of each mechanism as they would be released, and simulate them in full."""
    ranked = sorted(eligible, key=lambda item: task.loss(item.utility))
    names = dict.fromkeys(item.design.mechanism for item in ranked)
    return [
        sharpened(task, item)
        for name in names
        for item in [candidate for candidate in ranked if candidate.design.mechanism == name][: _closer(name)]
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


def _on_edge(proposal: Scored, eligible: Iterable[Scored], place: Place) -> tuple[tuple[str, Edge], ...]:
    """What of the chosen design is the least or the most that was tried by its mechanism at this budget."""
    mechanism = mechanism_of(proposal.design)
    rivals = [item for item in eligible if item.design.mechanism == proposal.design.mechanism]
    all_values = {"clip bound": sorted({item.response.clip for item in rivals})}
    own_values = {"clip bound": proposal.response.clip}
    places, own_place = {place(item.design) for item in rivals}, place(proposal.design)
    for parameter in mechanism.parameters:
        if parameter.kind != "count":
            word = parameter.name.replace("_", " ")
            all_values[word] = sorted({float(getattr(design, parameter.name)) for design in places})
            own_values[word] = float(getattr(own_place, parameter.name))
    return tuple(
        (word, "smallest" if own_values[word] == values[0] else "largest")
        for word, values in all_values.items()
        if len(values) > 1 and own_values[word] in (values[0], values[-1])
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
