"""Scoring: what designs cost and achieve in simulated releases of the reference data; pure and picklable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpgp_core.mechanisms.design import Budget, Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.simulation import Agreement
from hexcursion.search.problem.facts import cut
from hexcursion.search.problem.task import Scene, Scored, SearchTask, Utility, glanced, over


@dataclass(frozen=True)
class Batch:
    """Designs of one mechanism that share work, noise still open, and the budgets to try each of them at."""

    mechanism: str
    designs: tuple[tuple[Design, tuple[float, ...]], ...]  # (design, epsilons) pairs
    scenes: tuple[int, ...]  # numbers of the task's scenes in which they are simulated


def score_batch(task: SearchTask, batch: Batch) -> list[tuple[float, Scored]]:
    """Score every design of a batch, with every free post-processing, at each budget that it can meet.

    Go field by field, then shape by shape, then scene by scene: what was made for one serves the next, and
    nothing has to be kept for longer.
    """
    offers = {
        (number, place): _offers(task, task.scenes[number], design, epsilons)
        for number in batch.scenes
        for place, (design, epsilons) in enumerate(batch.designs)
    }
    seen: dict[tuple[int, int], list[list[Agreement]]] = {where: [] for where in offers}
    for field in range(len(task.scenes[0].worlds)):
        for place in range(len(batch.designs)):
            for number in batch.scenes:
                world = task.scenes[number].worlds[field]
                found = [glanced(each.design, world) for each in offers[number, place]]
                seen[number, place].append(found)
    return [
        (offer.epsilon, replace(offer, utility=replace(Utility.of(over(each)), bce=offer.utility.bce)))
        for where, shape in offers.items()
        for offer, each in zip(shape, zip(*seen[where], strict=True), strict=True)
    ]


def _offers(task: SearchTask, scene: Scene, shape: Design, epsilons: Sequence[float]) -> list[Scored]:
    """The variants of a shape at each budget that it can meet, with nothing simulated yet."""
    mechanism, found = mechanism_of(shape), []
    shape = mechanism.fitted(shape, scene.world)
    for epsilon in epsilons:
        budget = Budget(epsilon, task.budget.delta, task.budget.bound)
        design = mechanism.calibrate(shape, task.facts, budget)
        if design is None:
            continue
        bce = mechanism.held_out(design, scene.world).bce if task.objective == "bce" else math.nan
        blank = Utility(math.nan, math.nan, bce=bce)
        variants = cut(task.ask, mechanism.variants(design, task.ask))
        found += [Scored(each, scene.response, epsilon, blank) for each in variants]
    return found


def utilities_of(scene: Scene, designs: Sequence[Design]) -> list[Utility]:
    """What simulated releases of designs achieve, held-out figures left out."""
    return [Utility.of(found) for found in scene.agreements(designs)]


def utility_of(scene: Scene, design: Design) -> Utility:
    """The same of one design."""
    return utilities_of(scene, (design,))[0]


def with_held_out(scene: Scene, scored: Scored) -> Scored:
    """With the held-out cross-entropy and the effective dimension."""
    held = mechanism_of(scored.design).held_out(scored.design, scene.world)
    utility = replace(scored.utility, bce=held.bce, effective_dimension=held.effective_dimension)
    return replace(scored, utility=utility)


def as_shown(scene: Scene, scored: Scored) -> Scored:
    """With all figures of a design that is shown, its gain over shuffled values among them."""
    held = with_held_out(scene, scored)
    return replace(held, utility=replace(held.utility, gain=scene.gain(scored.design)))


def with_held_out_iou(scene: Scene, scored: Scored) -> Scored:
    """With the agreement on cells whose records the design did not see: for the answer of a search."""
    sets = mechanism_of(scored.design).simulate_held_out(scored.design, scene.world)
    return replace(scored, utility=replace(scored.utility, holdout_iou=scene.world.held_out_iou(sets)))


def sharpened(task: SearchTask, scored: Scored) -> Scored:
    """Return a calibrated design at its own epsilon with up to a tenth less noise, simulated in full.

    The search charges all of its candidates a coarser price, quick to invert, and ranks them at a glance.
    """
    mechanism = mechanism_of(scored.design)
    budget = replace(task.budget, epsilon=scored.epsilon)
    design = cut(task.ask, (mechanism.sharpened(scored.design, task.facts, budget),))[0]
    utility = utility_of(task.scene_of(scored.response), design)
    return replace(scored, design=design, utility=replace(utility, bce=scored.utility.bce))
