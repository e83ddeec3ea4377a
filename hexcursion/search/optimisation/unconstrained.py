"""The unconstrained search: the non-private baseline's design, by held-out cross-entropy alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpgp_core.errors import BoundRefused
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.grids import coarse_grid
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.mechanisms.posterior_sampling import PosteriorSampling
from dpgp_core.mechanisms.spectral_design import SPREADS_OF_COUNTS
from dpgp_core.mechanisms.spectral_release import map_of_counts, per_cell
from dpgp_core.simulation import World
from hexcursion.errors import Report
from hexcursion.search.executors import Executor
from hexcursion.search.problem.task import Bools, SearchTask, Unconstrained, Utility

SCALES = tuple(float(s) for s in np.geomspace(0.05, 2.0, 14))  # unconstrained scales, response units
BASELINE_RIDGE = 8.0  # an unconstrained fit beyond this ridge has forgotten its data


@dataclass(frozen=True)
class _Family:
    """One prior at one lengthscale (metres), with the ridges to try."""

    prior: str
    lengthscale: float
    ridges: tuple[float, ...]


def unconstrained_design(task: SearchTask, executor: Executor, tell: Report) -> Unconstrained:
    """Smallest held-out BCE over (prior, lengthscale, ridge, scale), with what releasing it would cost."""
    grid = coarse_grid(task.facts.lattice, task.n, task.ask.quick)
    ridges = tuple(ridge for ridge in grid.ridges if ridge <= BASELINE_RIDGE)
    families = [
        _Family(prior, lengthscale, ridges) for prior in task.ask.priors for lengthscale in grid.lengthscales
    ]
    best, design = math.inf, PosteriorSamplingDesign(task.ask.priors[0], 1.0, 1.0, 1.0)
    for step, (loss, offer) in enumerate(executor.map(_best_of_family, task, families)):
        tell((step + 1) / len(families), "Searching without the privacy constraint")
        if loss < best:
            best, design = loss, offer
    design = replace(design, paths=task.ask.paths)
    mechanism, world = PosteriorSampling(), task.baseline_scene.world
    try:
        priced, epsilon = mechanism.priced(design, task.facts, task.budget.delta, task.budget.bound)
    except BoundRefused:  # not proved for these neighbours: the baseline is never released anyway
        priced, epsilon = design, math.inf
    dimension = mechanism.held_out(design, world).effective_dimension
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
    """Fit on the training cells; return mean and deviation (at scale 1) at the k held-out ones, (k,) each."""
    state = world.family(prior, lengthscale, training=True).at(ridge)
    return state.mean[world.held_out], np.sqrt(state.variance[world.held_out])


def baseline_set(world: World, design: PosteriorSamplingDesign) -> Bools:
    """(N,) non-private excursion set on the reference data: posterior probability above one half."""
    if world.facts.law in SPREADS_OF_COUNTS:
        counts = per_cell(world.records, world.facts)[0]
        return world.inside(map_of_counts(world.facts, counts, design.lengthscale)[0])
    return world.inside(world.family(design.prior, design.lengthscale).at(design.ridge).mean)


def free_held_out_iou(world: World, design: PosteriorSamplingDesign) -> float:
    """IoU of the non-private excursion set, fitted without the held-out cells, with their labels."""
    state = world.family(design.prior, design.lengthscale, training=True).at(design.ridge)
    return world.held_out_iou(world.inside(state.mean))
