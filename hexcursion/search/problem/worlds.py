"""Worlds: reference data turned into what simulated releases are judged by."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np

from dpgp_core.excursion import Direction, excursion
from dpgp_core.linalg import Floats
from dpgp_core.mechanisms.design import Unit
from dpgp_core.mechanisms.spectral_design import FIXED_SPREAD
from dpgp_core.noise import SimulationEntropy
from dpgp_core.releasing import PublicFacts
from dpgp_core.simulation import World
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations, bin_records, cell_medians
from hexcursion.project.response import ResponseScale
from hexcursion.search.problem.task import Scene

HOLDOUT_SHARE = 4  # one cell in four is held out
SHUFFLING_SEED = 577215  # exchanges reference values only


def make_scene(
    facts: PublicFacts,
    cells: tuple[str, ...],
    reference: PlacedObservations,
    response: ResponseScale,
    *,
    unit: Unit,
    threshold: float,
    direction: Direction,
    prior_mean: Floats | None = None,
    belief: tuple[float, float] | None = None,
) -> Scene:
    """Make the world of some reference observations, never the private ones, under one response scale.

    A cell is held out by its name in `cells`, whatever the data. `threshold` is in the data's own unit;
    `prior_mean`, (N,) in response units, is subtracted from the records and added to every field. `belief` is
    mean and deviation of the field, response units, where known without looking at `reference`: those of the
    law that a simulated field was drawn from, of which one field says little.
    """
    offset = np.zeros(facts.lattice.size) if prior_mean is None else prior_mean
    level = float(response.forward(threshold))
    records = bin_records(reference, response, unit, prior_mean).records
    labelled, medians = cell_medians(reference)
    held = np.array([zlib.crc32(cell.encode()) % HOLDOUT_SHARE == 0 for cell in cells])
    test = held[labelled]
    if test.all() or not test.any():  # tiny domains: judge on the training cells themselves
        held_out, truth, keep = labelled, medians, np.ones(records.index.size, dtype=bool)
    else:
        held_out, truth = labelled[test], medians[test]
        keep = ~held[records.index]
    training = records.part(keep)
    labels = excursion(response.forward(truth), level, direction)
    field = response.forward(cell_medians(reference)[1]) - offset[labelled]
    middle = float(np.median(field))
    spread = max(1.4826 * float(np.median(np.abs(field - middle))), 1e-3)
    if belief is not None:
        middle, spread = belief
    world = World(
        facts, records, training, held_out, labels, level, direction, offset, middle=middle, spread=spread,
        mean_known=belief is None, seen_level=response.seen(level),
    )  # fmt: skip
    return Scene(response, world)


def shuffled(placed: PlacedObservations) -> PlacedObservations:
    """The same observations with their values exchanged among their places: nothing is left to be mapped."""
    order = np.argsort(SimulationEntropy(SHUFFLING_SEED).uniform(placed.value.size))
    return replace(placed, value=placed.value[order])


def project_scene(
    project: Project, facts: PublicFacts, placed: PlacedObservations, scale: ResponseScale,
    prior_mean: Floats | None = None,
) -> Scene:  # fmt: skip
    """Make the world of reference or simulated observations for a project's question.

    Raise `prior_mean` is (N,).
    """
    settings, wide = project.settings, project.response
    belief = ((wide.centre - scale.centre) / scale.clip, FIXED_SPREAD * wide.clip / scale.clip)
    return make_scene(
        facts, project.domain.cells, placed, scale, unit=settings.unit, threshold=settings.threshold,
        direction=settings.direction, prior_mean=prior_mean,
        belief=belief if project.simulated else None,
    )  # fmt: skip
