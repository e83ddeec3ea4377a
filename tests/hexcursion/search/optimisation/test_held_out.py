"""The held-out test really holds out: labels and records of the held-out cells do not meet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpgp_core.mechanisms import questions
from dpgp_core.mechanisms.design import Design
from dpgp_core.simulation import World
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations
from hexcursion.search.score import free_held_out_iou
from hexcursion.search.tuning import Tuned, search_task, tune
from tests.town import Town


def private_held_out_iou(world: World, design: Design) -> float:
    return world.held_out_iou(questions.simulate_held_out(design, world))


def test_the_fit_knows_nothing_of_the_held_out_cells(project: Project, tuned: Tuned) -> None:
    """Records of held-out cells moved within their cell's side of the threshold must change no score."""
    world = search_task(project).baseline_scene.world
    reference = project.reference
    held = np.isin(reference.index, world.held_out)
    assert held.any()
    assert not np.isin(world.training.index, world.held_out).any()
    threshold = project.settings.threshold
    value = np.where(held, threshold + 5.0 * (reference.value - threshold), reference.value)
    moved = PlacedObservations(reference.index, value, reference.read, reference.outside)
    other = search_task(replace(project, reference=moved)).baseline_scene.world
    np.testing.assert_array_equal(world.labels, other.labels)
    model = tuned.result.model
    assert free_held_out_iou(world, model) == free_held_out_iou(other, model)
    for design in (tuned.result.unconstrained.design, tuned.choice.design):
        assert private_held_out_iou(world, design) == private_held_out_iou(other, design)


def test_more_noise_agrees_less(project: Project, tuned: Tuned) -> None:
    world, design = search_task(project).baseline_scene.world, tuned.choice.design
    loud = replace(design, scale=10.0 * design.scale + 1.0)
    assert private_held_out_iou(world, loud) < private_held_out_iou(world, design)


def test_noisy_cell_statistics_have_a_held_out_score(town: Town) -> None:
    project = load_project(town.settings(mechanisms=("noisy-cell-statistics",), priors=("car",)))
    assert 0.2 < tune(project).result.chosen.utility.holdout_iou <= 1.0
