"""What designs cost and achieve in simulated releases of reference data: fitted, fixed or to be searched."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.errors import BoundRefused
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Budget, Design, SearchSpec
from dpgp_core.mechanisms.grids import coarse_grid
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.posterior_sampling import priced_paths
from dpgp_core.mechanisms.registry import mechanism_named, mechanism_of
from dpgp_core.mechanisms.spectral_design import FIXED_RANGE, FIXED_RIDGE, FIXED_SPREAD, SPREADS_OF_COUNTS
from dpgp_core.mechanisms.spectral_release import map_of_counts, per_cell
from dpgp_core.posterior.fitting import fit, mean_about
from dpgp_core.posterior.records import CollapsedRecords
from dpgp_core.releasing import PublicFacts
from dpgp_core.simulation import Agreement, World
from hexcursion.errors import Report, WorkflowError
from hexcursion.project.model import Project
from hexcursion.project.records import public_places
from hexcursion.project.response import ResponseScale
from hexcursion.project.simulated import StandIns, simulated_worlds
from hexcursion.search.executors import ALONE, Run
from hexcursion.search.judging import judged_utility
from hexcursion.search.scenes import cut, project_scene, shuffled
from hexcursion.search.task import (
    Bools,
    FrontierPoint,
    Scene,
    Scored,
    SearchResult,
    SearchTask,
    Unconstrained,
    Utility,
    over,
    quick_agreement,
)
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import has_fixed


@dataclass(frozen=True)
class Batch:
    """Designs of one mechanism that share work, noise still open, and the budgets to try each of them at."""

    mechanism: str
    designs: tuple[tuple[Design, tuple[float, ...]], ...]  # (design, epsilons) pairs
    scenes: tuple[int, ...]  # numbers of the task's scenes in which they are simulated


def score_batch(task: SearchTask, batch: Batch) -> list[tuple[float, Scored]]:
    """Score every design of a batch, with every free post-processing, at each budget that it can meet.

    Go field by field, then shape by shape, then scene by scene: the work for one serves the next, and
    nothing has to be kept for longer.
    """
    offers = {
        (number, place): _offers(task, task.scenes[number], design, epsilons)
        for number in batch.scenes
        for place, (design, epsilons) in enumerate(batch.designs)
    }
    runs: dict[tuple[int, int], list[list[Agreement]]] = {where: [] for where in offers}
    for field in range(len(task.scenes[0].worlds)):
        for place in range(len(batch.designs)):
            for number in batch.scenes:
                world = task.scenes[number].worlds[field]
                agreements = [quick_agreement(offer.design, world) for offer in offers[number, place]]
                runs[number, place].append(agreements)
    return [
        (offer.epsilon, replace(offer, utility=replace(Utility.of(over(worlds)), bce=offer.utility.bce)))
        for where, shape in offers.items()
        for offer, worlds in zip(shape, zip(*runs[where], strict=True), strict=True)
    ]


def _offers(task: SearchTask, scene: Scene, shape: Design, epsilons: Sequence[float]) -> list[Scored]:
    """The variants of a shape at each budget that it can meet, with nothing simulated yet."""
    mechanism, offers = mechanism_of(shape), []
    shape = mechanism.search.fitted(shape, scene.world)
    for epsilon in epsilons:
        budget = Budget(epsilon, task.budget.delta, task.budget.bound)
        design = mechanism.calibrate(shape, task.facts, budget)
        if design is None:
            continue
        bce = questions.held_out(design, scene.world).bce if task.objective == "bce" else math.nan
        blank = Utility(math.nan, math.nan, bce=bce)
        variants = cut(task.ask, mechanism.search.variants(design, task.ask))
        offers += [Scored(variant, scene.response, epsilon, blank) for variant in variants]
    return offers


def utilities_of(scene: Scene, designs: Sequence[Design]) -> list[Utility]:
    """What simulated releases of designs achieve, held-out figures left out."""
    return [Utility.of(agreement) for agreement in scene.agreements(designs)]


def utility_of(scene: Scene, design: Design) -> Utility:
    """The same of one design."""
    return utilities_of(scene, (design,))[0]


def with_held_out(scene: Scene, candidate: Scored) -> Scored:
    """With the held-out cross-entropy and the effective dimension."""
    held_out = questions.held_out(candidate.design, scene.world)
    utility = replace(candidate.utility, bce=held_out.bce, effective_dimension=held_out.effective_dimension)
    return replace(candidate, utility=utility)


def as_shown(scene: Scene, candidate: Scored) -> Scored:
    """With all figures of a design that is shown, its gain and its records on the right side among them."""
    with_figures = with_held_out(scene, candidate)
    utility = scene.gained(candidate.design, with_figures.utility)
    return replace(with_figures, utility=judged_utility(scene, candidate.design, utility))


def with_held_out_iou(scene: Scene, candidate: Scored) -> Scored:
    """With the agreement on cells whose records the design did not see: for the answer of a search."""
    sets = questions.simulate_held_out(candidate.design, scene.world)
    return replace(candidate, utility=replace(candidate.utility, holdout_iou=scene.world.held_out_iou(sets)))


def sharpened(task: SearchTask, candidate: Scored) -> Scored:
    """Return a calibrated design at its own epsilon with up to a tenth less noise, simulated in full.

    The search charges all of its candidates a coarser price, quick to invert, and ranks them at a glance.
    """
    budget = replace(task.budget, epsilon=candidate.epsilon)
    design = cut(task.ask, (questions.sharpened(candidate.design, task.facts, budget),))[0]
    utility = utility_of(task.scene_of(candidate.response), design)
    return replace(candidate, design=design, utility=replace(utility, bce=candidate.utility.bce))


SCALES = tuple(float(s) for s in np.geomspace(0.05, 2.0, 14))  # unconstrained scales, response units
BASELINE_RIDGE = 8.0  # an unconstrained fit beyond this ridge has forgotten its data


@dataclass(frozen=True)
class _Family:
    """One prior at one lengthscale (metres), with the ridges to try."""

    prior: str
    lengthscale: float
    ridges: tuple[float, ...]


def unconstrained_design(task: SearchTask, run: Run = ALONE) -> Unconstrained:
    """Smallest held-out BCE over (prior, lengthscale, ridge, scale), with what releasing it would cost."""
    grid = coarse_grid(task.facts.lattice, task.n, task.ask.quick)
    ridges = tuple(ridge for ridge in grid.ridges if ridge <= BASELINE_RIDGE)
    families = [
        _Family(prior, lengthscale, ridges) for prior in task.ask.priors for lengthscale in grid.lengthscales
    ]
    best, design = math.inf, PosteriorSamplingDesign(task.ask.priors[0], 1.0, 1.0, 1.0)
    for step, (loss, offer) in enumerate(run.executor.map(_best_of_family, task, families)):
        run.report((step + 1) / len(families), "Searching without the privacy constraint")
        if loss < best:
            best, design = loss, offer
    design = replace(design, paths=task.ask.paths)
    world = task.baseline_scene.world
    try:
        priced, epsilon = priced_paths(design, task.facts, task.budget.delta, task.budget.bound)
    except BoundRefused:  # not proved for these neighbours: the baseline is never released anyway
        priced, epsilon = design, math.inf
    dimension = questions.held_out(design, world).effective_dimension
    utility = Utility(1.0, 0.0, bce=best, effective_dimension=dimension, area_error=0.0, right=1.0)
    return Unconstrained(priced, task.baseline_scene.response, epsilon, utility)


def _best_of_family(task: SearchTask, family: _Family) -> tuple[float, PosteriorSamplingDesign]:
    world, best = task.baseline_scene.world, math.inf
    design = PosteriorSamplingDesign(family.prior, family.lengthscale, family.ridges[0], 1.0)
    for ridge in family.ridges:
        mean, sd = held_out_moments(world, family.prior, family.lengthscale, ridge)
        for scale in SCALES:
            value = world.held_out_bce(mean, scale * sd)
            if value < best:
                best, design = value, replace(design, ridge=ridge, scale=scale)
    return best, design


def held_out_moments(world: World, prior: str, lengthscale: float, ridge: float) -> tuple[Floats, Floats]:
    """Fit on the training cells; (k,) mean, response units, and deviation, at scale 1, at held-out ones."""
    state = world.family(prior, lengthscale, training=True).at(ridge)
    return state.mean[world.held_out], np.sqrt(state.variance[world.held_out])


def baseline_set(world: World, design: PosteriorSamplingDesign) -> Bools:
    """(N,) non-private excursion set on the reference data: posterior probability above one half."""
    if world.facts.law in SPREADS_OF_COUNTS:
        counts = per_cell(world.records, world.facts)[0]
        return world.inside(map_of_counts(world.facts, counts, design.lengthscale)[0])
    if world.usual:
        return world.inside(_mean_about(world, world.records, design))
    return world.inside(world.family(design.prior, design.lengthscale).at(design.ridge).mean)


def _mean_about(world: World, records: CollapsedRecords, design: PosteriorSamplingDesign) -> Floats:
    """(N,) mean response of the map without privacy that returns to the usual one."""
    prior = world.facts.prior(design.prior, design.lengthscale)
    return mean_about(fit(prior, records, design.ridge), records, world.usual)


def free_held_out_iou(world: World, design: PosteriorSamplingDesign) -> float:
    """IoU of the non-private excursion set, fitted without the held-out cells, with their labels."""
    if world.usual:
        return world.held_out_iou(world.inside(_mean_about(world, world.training, design)))
    state = world.family(design.prior, design.lengthscale, training=True).at(design.ridge)
    return world.held_out_iou(world.inside(state.mean))


def fixed_of(names: Iterable[str], spacing: float = 1.0, looks: int = 1) -> Design | None:
    """Return the fixed design of the first mechanism that has one; None where all have to be searched.

    `spacing` of the hexagons is in metres (any number says whether there is one), `looks` 1, or 2 for a
    mechanism that can take two.
    """
    designs = (mechanism_named(name).search.fixed(spacing, looks) for name in names)
    return next((design for design in designs if design is not None), None)


def takes_fixed(settings: ReleaseSettings) -> bool:
    """Whether settings lead to the fixed design: no reference data, no look, and a mechanism with one."""
    return (
        settings.reference is None
        and settings.pilot is None
        and settings.lengthscale is None
        and any(map(has_fixed, settings.mechanisms))
    )


def fixed_model(
    facts: PublicFacts,
    ask: SearchSpec,
    budget: Budget,
    response: ResponseScale,
    model: tuple[float, float] | None = None,
) -> Unconstrained:
    """The Gaussian process of the map without privacy, with the range and ridge of the fixed design, or those
    of `model`: a range (metres) and a ridge that published answers tell."""
    lengthscale, ridge = model or (FIXED_RANGE * facts.lattice.spacing, FIXED_RIDGE)
    design = PosteriorSamplingDesign(ask.priors[0], lengthscale, ridge, FIXED_SPREAD, paths=ask.paths)
    try:
        design, epsilon = priced_paths(design, facts, budget.delta, budget.bound)
    except BoundRefused:  # not proved for these neighbours: it is never released anyway
        epsilon = math.inf
    return Unconstrained(design, response, epsilon, Utility(1.0, 0.0, area_error=0.0, right=1.0))


def _best_scene(task: SearchTask, design: Design) -> Scene:
    """The scene in which a fixed design shows most simulated records on the right side; the first of equals.

    Without a choice, or a budget that the design can meet, the first.
    """
    priced = mechanism_of(design).calibrate(design, task.facts, task.budget)
    if len(task.scenes) == 1 or priced is None:
        return task.scenes[0]
    shares = [
        judged_utility(replace(scene, controls=()), priced, Utility(math.nan, math.nan)).records
        for scene in task.scenes
    ]
    return task.scenes[int(np.argmax(np.nan_to_num(shares, nan=-1.0)))]


def unsearched(task: SearchTask, design: Design, tell: Report) -> SearchResult:
    """Simulate the fixed design at every budget that is shown, in the scene that serves the asked one best.

    Raise `WorkflowError` if it cannot meet the asked one.
    """
    mechanism = mechanism_of(design)
    scene = _best_scene(task, design)
    budgets = sorted({task.epsilon, *task.frontier, *task.walked})
    points = []
    for step, epsilon in enumerate(budgets):
        tell(step / len(budgets), f"Simulating releases at epsilon {epsilon:g}")
        priced = mechanism.calibrate(design, task.facts, replace(task.budget, epsilon=epsilon))
        if priced is None:
            continue
        priced = cut(task.ask, (priced,))[0]
        utility = utility_of(scene, priced)
        utility = judged_utility(scene, priced, scene.gained(priced, utility))
        points.append(FrontierPoint(epsilon, Scored(priced, scene.response, epsilon, utility)))
    proposal = next((point.scored for point in points if point.epsilon == task.epsilon), None)
    free, baseline = task.unconstrained, scene.world.baseline
    if proposal is None or free is None or baseline is None:
        raise WorkflowError(
            f"The fixed design cannot meet epsilon {task.epsilon:g}: choose a larger epsilon."
        )
    tell(1.0, "Simulated releases finished")
    return SearchResult(
        unconstrained=free,
        chosen=proposal,
        frontier=tuple(points),
        baseline=baseline,
        evaluated=1,
        objective=task.objective,
        further=tuple(float(world.baseline.mean()) for world in scene.others if world.baseline is not None),
        fixed=True,
    )


def simulated_scenes(
    project: Project,
    facts: PublicFacts,
    scales: Sequence[ResponseScale],
    model: PosteriorSamplingDesign,
    *,
    fixed: bool,
) -> tuple[Scene, ...]:
    """One scene for each response scale, all in the same simulated worlds, and their maps without privacy.

    For judging one `fixed` design the same worlds with their values exchanged come along, if records have
    values.
    """
    settings = project.settings
    record_places = public_places(project.private.placed) if settings.places_public else None
    stand_ins = StandIns(
        settings,
        project.lattice,
        project.response,
        facts.n,
        record_places,
        facts.covariates,
        project.exposure,
        facts.prior,
    )
    worlds: list[list[World]] = [[] for _ in scales]
    mixed: list[list[World]] = [[] for _ in scales]
    for number in range(simulated_worlds(settings, fixed)):
        observed = stand_ins.draw(number)
        truth = baseline_set(project_scene(project, facts, observed, project.response).world, model)
        for scale, mine, exchanged in zip(scales, worlds, mixed, strict=True):
            mine.append(project_scene(project, facts, observed, scale).world.aiming_at(truth))
            if fixed and project.exposure is None:
                exchanged.append(project_scene(project, facts, shuffled(observed), scale).world)
    return tuple(
        Scene(scale, mine[0], tuple(mine[1:]), tuple(exchanged))
        for scale, mine, exchanged in zip(scales, worlds, mixed, strict=True)
    )
