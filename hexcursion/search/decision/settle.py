"""Settling on a design: the project and choice that release a dot of the frontier, or a typed design."""

from __future__ import annotations

from dataclasses import replace

from dpgp_core.mechanisms.registry import mechanism_of
from hexcursion.project.model import Project
from hexcursion.record import Yardsticks
from hexcursion.search.decision.choice import Choice, expected_of, known_gain, typed_choice
from hexcursion.search.decision.tuning import Tuned
from hexcursion.search.problem.task import FrontierPoint, Scored


def as_searched(project: Project, tuned: Tuned) -> Project:
    """The project with the number of paths it was searched with; a typed design may have changed it since."""
    paths = tuned.result.unconstrained.design.paths
    return replace(project, settings=project.settings.with_changes(paths=paths))


def settle_on(project: Project, tuned: Tuned, point: FrontierPoint) -> tuple[Project, Choice]:
    """The project and choice that release the design of a dot, at that dot's epsilon."""
    searched = as_searched(project, tuned)
    settled = replace(searched, settings=searched.settings.with_changes(epsilon=point.epsilon))
    return settled, Choice(
        point.scored.design,
        point.scored.response,
        tuned.choice.tuning,
        tuned.choice.public_map,  # all designs of a search that starts from it have one response scale
        expected_of(project, point.scored),
        _yardsticks(tuned, point.scored),
    )


def _yardsticks(tuned: Tuned, scored: Scored) -> Yardsticks | None:
    """Those of the search, with the design's own gain over shuffled values."""
    known = tuned.choice.yardsticks
    return None if known is None else replace(known, gain=known_gain(scored))


def at_budget(tuned: Tuned, epsilon: float) -> FrontierPoint | None:
    """Return the best design that the search found at exactly this budget; None where it looked at none."""
    result = tuned.result
    points = [point for point in result.frontier if point.epsilon == epsilon]
    return min(points, key=lambda point: result.loss_of(point.scored.utility), default=None)


def moved_to(project: Project, tuned: Tuned, point: FrontierPoint) -> tuple[Project, Tuned]:
    """Return project and answer as if the search had been asked for this point's budget.

    What held at the other budget alone is left out; its cutoffs are kept for a way back.
    """
    settled, choice = settle_on(project, tuned, point)
    result = replace(tuned.result, chosen=point.scored, on_edge=())
    return settled, replace(tuned, result=result, choice=choice, starts="")


def settle_on_typed(project: Project, tuned: Tuned, scored: Scored) -> tuple[Project, Choice]:
    """The project and choice that release a typed design within the settings' epsilon."""
    choice = replace(typed_choice(project, tuned.result, scored), yardsticks=_yardsticks(tuned, scored))
    settings = project.settings
    if "paths" in mechanism_of(scored.design).reads:  # where they are free, the design has its own number
        settings = settings.with_changes(paths=scored.design.paths)
    return replace(project, settings=settings), choice
