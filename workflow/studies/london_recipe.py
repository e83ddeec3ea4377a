"""The published code's London recipe, simulated for comparison only: cell records, its unproved constant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from dpgp_core.design import Design
from dpgp_core.entropy import Entropy
from dpgp_core.posterior import fit
from dpgp_core.priors import make_prior
from dpgp_core.scale import smallest_scale
from dpgp_core.sensitivities import sensitivity_paper_code
from dpgp_core.variance import variance_bound
from workflow.candidates import coarse_grid
from workflow.evaluation import Evaluator, Shelf
from workflow.project import Project
from workflow.records import bin_records
from workflow.scored import SearchTask
from workflow.search import unconstrained_design
from workflow.studies.fields import Bools
from workflow.studies.tables import quiet
from workflow.tuning import private_n


def paper_recipe(
    project: Project, epsilons: Iterable[float], draws: int, entropy: Entropy
) -> Iterator[tuple[float, Bools, str]]:
    """(epsilon, sets of simulated releases (draws, N), design in words), for budgets that some design meets.

    As the paper does: exponential prior, hyperparameters by held-out cross-entropy on the earlier year, one
    path, no smoothing. The constant sqrt(2) of the code is not proved, so this is never a release.
    """
    settings, n = project.settings, private_n(project)
    judge = _judge(project)
    records = bin_records(project.private.placed, project.response, settings.unit).records
    grid = coarse_grid(project.lattice, n, settings.quick)
    for epsilon in epsilons:
        best, found = np.inf, None
        for lengthscale in grid.lengthscales:
            kappa = judge.prior("exponential", lengthscale).kappa
            for ridge in grid.ridges:
                variance = variance_bound(n, ridge, kappa)
                scale = smallest_scale(
                    epsilon, settings.delta, ridge=ridge, variance=variance,
                    sensitivity=sensitivity_paper_code(n, ridge, variance),
                )  # fmt: skip
                if not np.isfinite(scale):
                    continue
                mean, sd = judge.holdout_moments("exponential", lengthscale, ridge)
                loss = judge.holdout_bce(mean, scale * sd)
                if loss < best:
                    best, found = loss, (lengthscale, ridge, scale)
        if found is None:
            continue
        lengthscale, ridge, scale = found
        prior = make_prior("exponential", project.lattice, lengthscale)
        paths = fit(prior, records, ridge).draw(scale, draws, entropy)
        sign = 1.0 if settings.direction == "above" else -1.0
        sets = np.asarray(sign * (paths - project.level) > 0.0)
        words = f"range {lengthscale / 1000.0:.2g} km, ridge {ridge:.3g}, scale {scale:.3g}, 1 path"
        yield epsilon, sets, words


def free_design(project: Project) -> Design:
    """The design of the unconstrained search on the reference data: smallest held-out cross-entropy."""
    settings, judge = project.settings, _judge(project)
    task = SearchTask(
        (judge,), judge, private_n(project), settings.epsilon, settings.delta, 1, settings.priors, (),
        quick=settings.quick,
    )  # fmt: skip
    return unconstrained_design(task, quiet).design


def _judge(project: Project) -> Evaluator:
    settings = project.settings
    return Evaluator(
        project.lattice, project.domain.cells, project.reference, project.response, settings.unit,
        settings.threshold, settings.direction, 1, shelf=Shelf(project.lattice),
    )  # fmt: skip
