"""The held-out test really holds out: labels and records of the held-out cells do not meet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.workflow.town import Town
from workflow.held_out import free_held_out_iou, private_held_out_iou
from workflow.project import Project, load_project
from workflow.records import PlacedObservations
from workflow.tuning import Tuned, search_task, tune


def test_the_fit_knows_nothing_of_the_held_out_cells(project: Project, tuned: Tuned) -> None:
    """Records of held-out cells moved within their cell's side of the threshold must change no score."""
    judge = search_task(project).judges[0]
    reference = project.reference
    held = np.isin(reference.index, judge.held_out)
    assert held.any()
    assert not np.isin(judge.training.index, judge.held_out).any()
    threshold = project.settings.threshold
    value = np.where(held, threshold + 5.0 * (reference.value - threshold), reference.value)
    moved = PlacedObservations(reference.index, value, reference.read, reference.outside)
    other = search_task(replace(project, reference=moved)).judges[0]
    np.testing.assert_array_equal(judge.labels, other.labels)
    for design in (tuned.result.unconstrained.design, tuned.choice.design):
        assert free_held_out_iou(judge, design) == free_held_out_iou(other, design)
        assert private_held_out_iou(judge, design) == private_held_out_iou(other, design)


def test_more_noise_agrees_less(project: Project, tuned: Tuned) -> None:
    judge, design = search_task(project).judges[0], tuned.choice.design
    loud = replace(design, scale=10.0 * design.scale + 1.0)
    assert private_held_out_iou(judge, loud) < private_held_out_iou(judge, design)


def test_noisy_cell_statistics_have_a_held_out_score(town: Town) -> None:
    project = load_project(town.settings(mechanisms=("noisy-cell-statistics",), priors=("car",)))
    assert 0.2 < tune(project).result.chosen.utility.holdout_iou <= 1.0
