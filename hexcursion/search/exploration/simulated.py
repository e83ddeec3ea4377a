"""One simulated release: what a release of a design looks like on reference data, at no cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpgp_core.excursion import iou
from dpgp_core.mechanisms.registry import mechanism_of
from dpgp_core.noise import SimulationEntropy
from dpgp_core.releasing import draw_release
from hexcursion.project.model import Project
from hexcursion.search.problem.facts import public_facts
from hexcursion.search.problem.predicted import starting_point
from hexcursion.search.problem.public_map import answered, as_many
from hexcursion.search.problem.task import Scored, SearchResult
from hexcursion.search.problem.worlds import make_scene

SEED = 161803  # drawn on reference data only


@dataclass(frozen=True, eq=False)
class SimulatedRelease:
    """A design drawn once on the reference data."""

    released: NDArray[np.bool_]  # (N,) the drawn set
    baseline: NDArray[np.bool_]  # (N,) the set without privacy
    iou: float  # their intersection over union


def simulated_release(project: Project, result: SearchResult, scored: Scored) -> SimulatedRelease:
    """Draw a design once on the reference data, from a fixed seed.

    See `starting_point` for a public prior mean.
    """
    project = answered(project, result)
    settings, design, offset = project.settings, scored.design, None
    facts = public_facts(project)
    if settings.prior_mean:
        field, _, (placed, *_) = starting_point(project, result.model)
        offset, facts = field.at(project.lattice.domain_centres), replace(facts, field=field)
    else:
        placed = as_many(project, project.reference)
    world = make_scene(
        facts, project.domain.cells, placed, scored.response, unit=settings.unit,
        threshold=settings.threshold, direction=settings.direction, prior_mean=offset,
    ).world  # fmt: skip
    prepared = mechanism_of(design).prepare(design, facts, world.records)
    released = world.published(draw_release(prepared, SimulationEntropy(SEED), simulation=True), design)
    return SimulatedRelease(released, result.baseline, iou(released, result.baseline))
