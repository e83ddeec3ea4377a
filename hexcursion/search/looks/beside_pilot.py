"""Beside a pilot: what a release may cost when an accounted look at the records was paid for already."""

from __future__ import annotations

import math
from dataclasses import replace

from dpgp_core.accounting.composition import Cost, epsilon
from dpgp_core.accounting.groups import together
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.mechanisms.terms import Budget
from dpgp_core.releasing.facts import PublicFacts
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Pilot, Project
from hexcursion.search.problem.facts import public_facts
from hexcursion.search.problem.task import Scored

STEPS = 14
LOOSE = (
    "this price of the choice is a proved bound, and loose: no values that were searched for cost more than "
    "a quarter of it"
)
"""What the reports of a private choice's cost say about the bound; docs/public-places.md has the figures."""
SLACK = 1.25  # calibration charges a release up to so much more than it is proved to cost


def left_for_release(total: float, pilot: Pilot | None) -> float:
    """About the epsilon left for a release beside a pilot: costs of Gaussian-like releases add in squares."""
    return total if pilot is None else math.sqrt(total**2 - pilot.epsilon**2)


def cost_beside_pilot(design: Design, facts: PublicFacts, pilot: Pilot, delta: float) -> float:
    """Epsilon at `delta` of pilot and release together, an upper bound."""
    return epsilon(with_pilot(mechanism_of(design).guarantee(design, facts).cost, pilot), delta).epsilon


def with_pilot(cost: Cost, pilot: Pilot | None) -> Cost:
    """What a release costs together with the pilot that chose its design, for what both of them hide."""
    return cost if pilot is None else together((cost, pilot.cost))


def beside_pilot(project: Project, chosen: Scored, pilot: Pilot) -> Scored:
    """The chosen design with the least noise at which pilot and release together cost at most epsilon.

    Its utility stays that of the search, whose noise differed by the little that composition leaves.
    Bisection on the release's own epsilon; the total is a proved bound.

    Raises
    ------
    WorkflowError
        If the pilot leaves too little for any release.
    """
    settings, facts = project.settings, public_facts(project)
    mechanism = mechanism_of(chosen.design)
    low, high, best = 0.0, SLACK * settings.epsilon, None
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        budget = Budget(middle, project.delta, settings.bound)
        design = mechanism.calibrate(chosen.design, facts, budget)
        if design is None:
            low = middle
            continue
        total = cost_beside_pilot(design, facts, pilot, project.delta)
        if total <= settings.epsilon:
            low, best = middle, replace(chosen, design=design, epsilon=total)
        else:
            high = middle
    if best is None:
        raise WorkflowError(
            "What was paid for beforehand leaves too little for a release: lower its share or raise epsilon."
        )
    return best
