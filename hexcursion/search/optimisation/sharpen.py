"""Sharpening: the designs that a search shows get the least noise that is proved for their budget."""

from __future__ import annotations

from dataclasses import replace

from dpgp_core.mechanisms.registry import mechanism_of
from hexcursion.search.optimisation.score import utility_of
from hexcursion.search.problem.facts import cut
from hexcursion.search.problem.task import Scored, SearchTask


def sharpened(task: SearchTask, scored: Scored) -> Scored:
    """A calibrated design at its own epsilon with up to a tenth less noise, and what it achieves with it.

    The search charges a coarser price, quick to invert, to all of its candidates alike, and ranks them at a
    glance; what it shows and what is released is charged the sharper one and simulated in full.
    """
    mechanism = mechanism_of(scored.design)
    budget = replace(task.budget, epsilon=scored.epsilon)
    design = cut(task.ask, (mechanism.sharpened(scored.design, task.facts, budget),))[0]
    utility = utility_of(task.scene_of(scored.response), design)
    return replace(scored, design=design, utility=replace(utility, bce=scored.utility.bce))
