"""Reference data that are more than the private ones: as many of them play these, so what is told holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpgp_core.excursion import excursion, iou
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations
from hexcursion.search.bench import simulated_release
from hexcursion.search.public_map import (
    as_many,
    free_map_agreement,
    reference_mean,
    two_parts,
)
from hexcursion.search.tuning import Tuned, search_task, tune


def with_private(project: Project, n: int, **changes: object) -> Project:
    """The project with its first n private records."""
    placed = project.private.placed
    few = PlacedObservations(placed.index[:n], placed.value[:n], n, 0)
    settings = project.settings.with_changes(**changes)
    return replace(project, private=replace(project.private, placed=few), settings=settings)


def test_as_many_play_the_private_records_as_there_are(project: Project) -> None:
    whole = project.reference
    few = as_many(with_private(project, 300), whole)
    assert few.index.size == few.read == 300
    pairs = set(zip(whole.index.tolist(), whole.value.tolist(), strict=True))
    assert set(zip(few.index.tolist(), few.value.tolist(), strict=True)) <= pairs
    assert np.array_equal(as_many(with_private(project, 300), whole).index, few.index), "the same every time"


def test_a_quarter_more_is_no_more(project: Project) -> None:
    whole, small = project.reference, with_private(project, 400)
    within, beyond = (whole.part(np.arange(whole.index.size) < size) for size in (500, 501))
    assert as_many(small, within) is within
    assert as_many(small, beyond).index.size == 400


def test_of_cell_records_whole_cells_are_drawn(project: Project) -> None:
    small = with_private(project, 60, unit="cell")
    few, whole = as_many(small, project.reference), project.reference
    cells = np.unique(few.index)
    assert cells.size == np.unique(small.private.placed.index).size
    assert few.index.size == np.isin(whole.index, cells).sum()


def test_a_number_that_is_not_public_is_not_used(project: Project) -> None:
    told = {"relation": "add-or-remove", "mechanisms": ("spectral-statistics",)}
    hidden = with_private(project, 300, **told, records_about=project.reference.index.size)
    assert as_many(hidden, project.reference) is project.reference
    assert as_many(with_private(project, 300, **told, records_about=450), project.reference).index.size == 450
    simulated = replace(with_private(project, 300), reference_kind="simulated")
    assert as_many(simulated, project.reference) is project.reference


def test_the_search_judges_as_many_records_and_keeps_the_model_of_all(project: Project) -> None:
    small = with_private(project, 300)
    task = search_task(small)
    assert {scene.world.records.n for scene in task.scenes} == {300}
    assert task.baseline_scene.world.records.n == 300
    assert task.unconstrained is not None
    assert search_task(project).baseline_scene.world.records.n == project.reference.index.size
    both = search_task(replace(small, settings=small.settings.with_changes(prior_mean=True)))
    assert {scene.world.records.n for scene in both.scenes} == {300}, "as many as there are private ones"
    assert both.unconstrained is not None
    assert both.unconstrained.design == task.unconstrained.design


def test_fewer_private_records_are_told_less(project: Project, tuned: Tuned) -> None:
    small = with_private(project, 300)
    found = tune(small, frontier=())
    assert found.result.chosen.utility.agreement < tuned.result.chosen.utility.agreement
    assert found.choice.tuning.detail.endswith(", on as many reference records as there are private ones")
    assert "as many" not in tuned.choice.tuning.detail
    shown = simulated_release(small, found.result, found.result.chosen)
    assert shown.right == pytest.approx(found.result.chosen.utility.records, abs=0.1)


def test_the_free_map_is_compared_with_a_map_of_as_many_records(project: Project, tuned: Tuned) -> None:
    model, small = tuned.result.model, with_private(project, 300)
    public, private = two_parts(project.reference)
    few = as_many(small, private)
    assert few.index.size == 300
    maps = [
        excursion(reference_mean(small, part, model, small.response), small.level, "above")
        for part in (public, few)
    ]
    assert free_map_agreement(small, model) == pytest.approx(iou(*maps))
    assert free_map_agreement(small, model) != free_map_agreement(project, model)
