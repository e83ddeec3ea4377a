"""Scoring: what designs cost and achieve in simulated releases of the reference data; pure and picklable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpgp_core.mechanisms.base import Budget, Design
from dpgp_core.mechanisms.registry import mechanism_named, mechanism_of
from workflow.search.facts import cut
from workflow.search.task import Scene, Scored, SearchTask, Utility


@dataclass(frozen=True)
class Batch:
    """Designs of one mechanism that share work, noise still open, and the budgets to try each of them at.

    Parameters
    ----------
    mechanism
        Its name in `MECHANISMS`.
    designs
        (design, epsilons) pairs.
    scenes
        Numbers of the task's scenes in which they are simulated.
    """

    mechanism: str
    designs: tuple[tuple[Design, tuple[float, ...]], ...]
    scenes: tuple[int, ...]


def score_batch(task: SearchTask, batch: Batch) -> list[tuple[float, Scored]]:
    """Every design of a batch, with every free post-processing, at each budget that it can meet."""
    mechanism, found = mechanism_named(batch.mechanism), []
    for number in batch.scenes:
        scene = task.scenes[number]
        for open_shape, epsilons in batch.designs:
            shape, met = mechanism.fitted(open_shape, scene.world), []
            for epsilon in epsilons:
                budget = Budget(epsilon, task.budget.delta, task.budget.bound)
                design = mechanism.calibrate(shape, task.facts, budget)
                if design is not None:
                    met.append((epsilon, design))
            found += _variants(task, scene, met)
    return found


def _variants(
    task: SearchTask, scene: Scene, designs: Sequence[tuple[float, Design]]
) -> list[tuple[float, Scored]]:
    """What designs of one shape, each for its own budget, achieve with every free post-processing."""
    offered = []
    for epsilon, design in designs:
        mechanism = mechanism_of(design)
        bce = mechanism.held_out(design, scene.world).bce if task.objective == "bce" else float("nan")
        offered += [(epsilon, bce, each) for each in cut(task.ask, mechanism.variants(design, task.ask))]
    agreements = scene.agreements([each for _, _, each in offered], glance=True)
    return [
        (epsilon, Scored(each, scene.response, epsilon, replace(Utility.of(agreement), bce=bce)))
        for (epsilon, bce, each), agreement in zip(offered, agreements, strict=True)
    ]


def utilities_of(scene: Scene, designs: Sequence[Design]) -> list[Utility]:
    """What simulated releases of designs achieve, held-out figures left out."""
    return [Utility.of(found) for found in scene.agreements(designs)]


def utility_of(scene: Scene, design: Design) -> Utility:
    """The same of one design."""
    return utilities_of(scene, (design,))[0]


def with_held_out(scene: Scene, scored: Scored) -> Scored:
    """With the held-out cross-entropy and the effective dimension: for designs that are shown."""
    held = mechanism_of(scored.design).held_out(scored.design, scene.world)
    utility = replace(scored.utility, bce=held.bce, effective_dimension=held.effective_dimension)
    return replace(scored, utility=utility)


def with_held_out_iou(scene: Scene, scored: Scored) -> Scored:
    """With the agreement on cells whose records the design did not see: for the answer of a search."""
    sets = mechanism_of(scored.design).simulate_held_out(scored.design, scene.world)
    return replace(scored, utility=replace(scored.utility, holdout_iou=scene.world.held_out_iou(sets)))
