"""A search makes what its designs share in a world once, and answers as if each had been judged alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpgp_core.mechanisms import (
    noisy_cell_statistics,
    posterior_sampling,
    questions,
    spectral_statistics,
)
from dpgp_core.mechanisms.registry import MECHANISMS
from dpgp_core.posterior import ridge_family as cache
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.simulated import StandIns
from hexcursion.search.scenes import public_facts
from hexcursion.search.score import Batch, score_batch
from hexcursion.search.task import SearchTask, over, quick_agreement
from hexcursion.search.tuning import search_task
from tests.town import write_town

EPSILONS = 2.0, 10.0
FIELDS = 9
LONELY: dict[str, Any] = {"reference": None, "reference_public": False, "centre": 28.0, "clip": 15.0}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HEXCURSION_HOME", str(tmp_path))
    return load_project(write_town(tmp_path, n=600).settings(quick=False, resolution=7, **LONELY))


@pytest.fixture
def clipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SearchTask:
    """Reference data under several response scales, in place of simulated fields under one."""
    monkeypatch.setenv("HEXCURSION_HOME", str(tmp_path))
    task = search_task(load_project(write_town(tmp_path, n=600).settings(focus="threshold", resolution=7)))
    assert len(task.scenes) >= 2
    world = task.scenes[0].world
    return task.aiming_at(world.inside(np.linspace(-1.0, 1.0, world.facts.lattice.size)))


class Counted:
    """Counts the calls of a function, and makes them."""

    def __init__(self, holder: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls, made = 0, getattr(holder, name)

        def call(*given: Any, **named: Any) -> Any:
            self.calls += 1
            return made(*given, **named)

        monkeypatch.setattr(holder, name, call)


def batch_of(task: SearchTask, name: str, designs: int) -> Batch:
    grid = MECHANISMS[name].search.grid(task.facts, task.ask)[-designs:]
    return Batch(name, tuple((design, EPSILONS) for design in grid), tuple(range(len(task.scenes))))


def test_four_smoothings_at_two_budgets_share_the_paths_of_each_field(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = search_task(project)
    counted = Counted(posterior_sampling, "_smoothed_parts", monkeypatch)
    found = score_batch(task, batch_of(task, "posterior-sampling", 3))
    assert len(found) == 3 * len(EPSILONS) * 4
    assert counted.calls == 3 * FIELDS


def test_seven_cutoffs_share_the_readings_of_each_field(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = search_task(project)
    counted = Counted(spectral_statistics, "stated", monkeypatch)
    found = score_batch(task, batch_of(task, "spectral-statistics", 2))
    assert len(found) == 2 * len(EPSILONS) * 7
    assert counted.calls == 2 * len(EPSILONS) * FIELDS


@pytest.mark.parametrize("name", ["posterior-sampling", "noisy-cell-statistics", "spectral-statistics"])
def test_every_design_is_scored_as_if_it_were_alone(project: Project, name: str) -> None:
    task = search_task(project)
    scene = task.scenes[0]
    assert len(scene.worlds) == FIELDS
    for epsilon, scored in score_batch(task, batch_of(task, name, 2)):
        alone = over([quick_agreement(scored.design, world) for world in scene.worlds])
        assert scored.epsilon == epsilon
        assert (scored.utility.agreement, scored.utility.right) == (alone.iou, alone.right)


def test_answers_come_scene_by_scene_then_design_by_design_then_budget_by_budget(
    clipped: SearchTask,
) -> None:
    batch = batch_of(clipped, "posterior-sampling", 2)
    found = score_batch(clipped, batch)
    said = [(each.response.clip, each.design.ridge, epsilon) for epsilon, each in found]  # type: ignore[attr-defined]
    clips = [scene.response.clip for scene in clipped.scenes]
    # a ridge is priced and drawn as a whole multiple of 2^-20, rounded up
    ridges = [math.ceil(design.ridge * 2**20) / 2**20 for design, _ in batch.designs]  # type: ignore[attr-defined]
    assert list(dict.fromkeys(said)) == [
        (clip, ridge, epsilon) for clip in clips for ridge in ridges for epsilon in EPSILONS
    ]


def test_a_few_releases_of_many_cells_rank_designs(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    task, mechanism = search_task(project), MECHANISMS["noisy-cell-statistics"]
    world, size = task.scenes[0].world, task.facts.lattice.size
    design = mechanism.calibrate(mechanism.search.grid(task.facts, task.ask)[0], task.facts, task.budget)
    full = questions.simulate(design, world)
    assert len(full) == 4
    for cells, releases in ((size, 1), (size + 1, 2), (3 * size, 3), (100 * size, 4)):
        monkeypatch.setattr(noisy_cell_statistics, "QUICK_CELLS", cells)
        assert np.array_equal(questions.simulate(design, world, quick=True), full[:releases])


def test_fields_and_their_crowds_share_four_priors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEXCURSION_HOME", str(tmp_path))
    project = load_project(write_town(tmp_path, n=600).settings(quick=False, resolution=9, **LONELY))
    counted = Counted(cache, "make_prior", monkeypatch)
    task = search_task(project)
    assert len(task.scenes[0].worlds) == FIELDS
    assert counted.calls == 4
    facts = public_facts(project)
    for number in range(FIELDS):
        given = (project.settings, project.lattice, project.response, facts.n)
        own = StandIns(*given).draw(number)
        kept = StandIns(*given, prior_of=facts.prior).draw(number)
        assert np.array_equal(own.value, kept.value)
        assert np.array_equal(own.index, kept.index)
