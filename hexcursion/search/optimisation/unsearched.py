"""Without reference data nothing is searched: one fixed design, told by simulated worlds of its prior."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dpgp_core.errors import BoundRefused
from dpgp_core.mechanisms.design import Ask, Budget, Design
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.posterior_sampling import PosteriorSampling
from dpgp_core.mechanisms.registry import mechanism_named, mechanism_of
from dpgp_core.mechanisms.spectral_design import FIXED_RANGE, FIXED_RIDGE, FIXED_SPREAD
from dpgp_core.releasing import PublicFacts
from dpgp_core.simulation import World
from hexcursion.errors import Report, WorkflowError
from hexcursion.project.model import Project
from hexcursion.project.response import ResponseScale
from hexcursion.project.simulated import QUICK_WORLDS, WORLDS, simulate_reference
from hexcursion.search.optimisation.score import utility_of
from hexcursion.search.optimisation.unconstrained import baseline_set
from hexcursion.search.problem.facts import cut
from hexcursion.search.problem.task import (
    FrontierPoint,
    Scene,
    Scored,
    SearchResult,
    SearchTask,
    Unconstrained,
    Utility,
)
from hexcursion.search.problem.worlds import project_scene
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import has_fixed


def fixed_of(
    names: Iterable[str], spacing: float = 1.0, model: tuple[float, float] | None = None, looks: int = 1
) -> Design | None:
    """Return the fixed design of the first mechanism that has one; None where all have to be searched.

    `spacing` of the hexagons is in metres (any number says whether there is one), `model` the range (metres)
    and ridge that a private choice has found, `looks` 1, or 2 for a mechanism that can take two.
    """
    designs = (mechanism_named(name).fixed(spacing, model, looks) for name in names)
    return next((design for design in designs if design is not None), None)


def takes_fixed(settings: ReleaseSettings) -> bool:
    """Whether settings lead to the fixed design: no reference data, no look, and a mechanism with one."""
    return (
        settings.reference is None
        and not settings.pays_for_a_look
        and settings.lengthscale is None
        and any(map(has_fixed, settings.mechanisms))
    )


def fixed_model(facts: PublicFacts, ask: Ask, budget: Budget, response: ResponseScale) -> Unconstrained:
    """The Gaussian process of the map without privacy, with the range and ridge of the fixed design."""
    lengthscale, ridge = ask.model or (FIXED_RANGE * facts.lattice.spacing, FIXED_RIDGE)
    design = PosteriorSamplingDesign(ask.priors[0], lengthscale, ridge, FIXED_SPREAD, paths=ask.paths)
    try:
        design, epsilon = PosteriorSampling().priced(design, facts, budget.delta, budget.bound)
    except BoundRefused:  # not proved for these neighbours: it is never released anyway
        epsilon = math.inf
    return Unconstrained(design, response, epsilon, Utility(1.0, 0.0, area_error=0.0, right=1.0))


def unsearched(task: SearchTask, design: Design, tell: Report) -> SearchResult:
    """Simulate the fixed design at every budget that is shown.

    Raise `WorkflowError` if it cannot meet the asked one.
    """
    scene, mechanism = task.scenes[0], mechanism_of(design)
    budgets = sorted({task.epsilon, *task.frontier, *task.walked})
    points = []
    for step, epsilon in enumerate(budgets):
        tell(step / len(budgets), f"Simulating releases at epsilon {epsilon:g}")
        priced = mechanism.calibrate(design, task.facts, replace(task.budget, epsilon=epsilon))
        if priced is None:
            continue
        priced = cut(task.ask, (priced,))[0]
        utility = utility_of(scene, priced)
        points.append(FrontierPoint(epsilon, Scored(priced, scene.response, epsilon, utility)))
    chosen = next((point.scored for point in points if point.epsilon == task.epsilon), None)
    free, baseline = task.unconstrained, scene.world.baseline
    if chosen is None or free is None or baseline is None:
        raise WorkflowError(
            f"The fixed design cannot meet epsilon {task.epsilon:g}: choose a larger epsilon."
        )
    tell(1.0, "Simulated releases finished")
    return SearchResult(
        unconstrained=free,
        chosen=chosen,
        frontier=tuple(points),
        baseline=baseline,
        evaluated=1,
        objective=task.objective,
        further=tuple(float(each.baseline.mean()) for each in scene.others if each.baseline is not None),
        fixed=True,
    )


def simulated_scenes(
    project: Project, facts: PublicFacts, scales: Sequence[ResponseScale], model: PosteriorSamplingDesign
) -> tuple[Scene, ...]:
    """One scene for each response scale, all in the same simulated worlds, and their maps without privacy."""
    settings = project.settings
    known = project.private.placed.index if settings.places_public else None
    chosen = None if project.pilot is None else project.pilot.model
    worlds: list[list[World]] = [[] for _ in scales]
    for number in range(QUICK_WORLDS if settings.quick else WORLDS):
        observed = simulate_reference(
            settings,
            project.lattice,
            project.response,
            facts.n,
            known,
            number,
            chosen,
            facts.prior,
            facts.covariates,
            project.exposure,
        )
        truth = baseline_set(project_scene(project, facts, observed, project.response).world, model)
        for scale, mine in zip(scales, worlds, strict=True):
            mine.append(project_scene(project, facts, observed, scale).world.aiming_at(truth))
    return tuple(Scene(scale, mine[0], tuple(mine[1:])) for scale, mine in zip(scales, worlds, strict=True))
