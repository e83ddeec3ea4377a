"""The published code's London recipe, simulated for comparison only: cell records, its unproved constant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dpgp_core.bounds.registry import smallest_scale, variance_bound
from dpgp_core.bounds.sensitivities import sensitivity_paper_code
from dpgp_core.excursion import excursion
from dpgp_core.mechanisms.design import Budget, SearchSpec
from dpgp_core.mechanisms.grids import coarse_grid
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from dpgp_core.noise import Entropy
from dpgp_core.posterior.fitting import fit
from dpgp_core.priors.registry import make_prior
from hexcursion.project.model import Project
from hexcursion.project.records import bin_records
from hexcursion.search.scenes import Question, make_scene, private_n, public_facts
from hexcursion.search.score import held_out_moments, unconstrained_design
from hexcursion.search.task import Scene, SearchTask
from studies.excursions.fields import Bools


def paper_recipe(
    project: Project, epsilons: Iterable[float], draws: int, entropy: Entropy
) -> Iterator[tuple[float, Bools, str]]:
    """(epsilon, sets of simulated releases (draws, N), design in words), for budgets that some design meets.

    As the paper does: exponential prior, hyperparameters by held-out cross-entropy on the earlier year, one
    path, no smoothing. The constant sqrt(2) of the code is not proved, so this is never a release.
    """
    settings, n = project.settings, private_n(project)
    world = _scene(project).world
    records = bin_records(project.private.placed, project.response, settings.unit)
    grid = coarse_grid(project.lattice, n, settings.quick)
    for epsilon in epsilons:
        best, design = np.inf, None
        for lengthscale in grid.lengthscales:
            kappa = world.facts.prior("exponential", lengthscale).kappa
            for ridge in grid.ridges:
                variance = variance_bound(n, ridge, kappa)
                scale = smallest_scale(
                    epsilon,
                    project.delta,
                    ridge=ridge,
                    variance=variance,
                    sensitivity=sensitivity_paper_code(n, ridge, variance),
                )
                if not np.isfinite(scale):
                    continue
                mean, sd = held_out_moments(world, "exponential", lengthscale, ridge)
                loss = world.held_out_bce(mean, scale * sd)
                if loss < best:
                    best, design = loss, (lengthscale, ridge, scale)
        if design is None:
            continue
        lengthscale, ridge, scale = design
        prior = make_prior("exponential", project.lattice, lengthscale)
        paths = fit(prior, records, ridge).draw(scale, draws, entropy)
        sets = excursion(paths, project.level, settings.direction)
        words = f"range {lengthscale / 1000.0:.2g} km, ridge {ridge:.3g}, scale {scale:.3g}, 1 path"
        yield epsilon, sets, words


def free_design(project: Project) -> PosteriorSamplingDesign:
    """The design of the unconstrained search on the reference data: smallest held-out cross-entropy."""
    settings, facts = project.settings, public_facts(project)
    scene = _scene(project)
    task = SearchTask(
        (scene,),
        scene,
        facts,
        Budget(settings.epsilon, project.delta),
        SearchSpec(project.priors, 1, settings.quick),
        (),
    )
    return unconstrained_design(task).design


def _scene(project: Project) -> Scene:
    return make_scene(public_facts(project), Question.of(project), project.reference, project.response)
