"""One threshold asked without reference data: simulated worlds choose the fixed design's clip bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search import score
from hexcursion.search.scenes import public_facts
from hexcursion.search.task import SearchTask, Utility
from hexcursion.search.tuning import search_task, tune
from tests.town import Town


@pytest.fixture(scope="module")
def project(town: Town) -> Project:
    """Of one threshold at 30, a usual value of 25, and most values within 15 of it."""
    return load_project(
        town.settings(
            mechanisms=("spectral-statistics",), reference=None, reference_public=False, prior_mean=None,
            centre=25.0, clip=15.0, threshold=30.0, epsilon=1.0, focus="threshold", quick=True,
        )
    )  # fmt: skip


def task_of(project: Project, records: int, **changes: Any) -> SearchTask:
    settings = project.settings.with_changes(**changes)
    facts = replace(public_facts(project), n=records)
    return search_task(replace(project, settings=settings), facts=facts)


@pytest.mark.parametrize(
    ("records", "focus", "scales"),
    [
        (500, "threshold", [(25.0, 15.0), (30.0, 7.5), (30.0, 4.5)]),
        (499, "threshold", [(25.0, 15.0)]),
        (500, "all", [(25.0, 15.0)]),
    ],
)
def test_from_500_records_on_narrower_clip_bounds_are_tried_about_one_threshold(
    project: Project, records: int, focus: str, scales: list[tuple[float, float]]
) -> None:
    task = task_of(project, records, focus=focus)
    assert [(each.response.centre, each.response.clip) for each in task.scenes] == scales
    assert {len(each.worlds) for each in task.scenes} == {3}
    assert {len(each.controls) for each in task.scenes} == {3}


@pytest.mark.parametrize(
    ("shares", "chosen"),
    [
        ([0.7, 0.7, 0.7], 15.0),
        ([0.7, 0.71, 0.70], 7.5),
        ([0.7, 0.71, 0.72], 4.5),
        ([float("nan"), 0.1, 0.0], 7.5),
    ],
)
def test_the_scale_with_most_simulated_records_on_the_right_side_is_chosen(
    project: Project, monkeypatch: pytest.MonkeyPatch, shares: list[float], chosen: float
) -> None:
    task, left = task_of(project, 500), iter(shares)

    def judged(scene: Any, design: Any, found: Utility) -> Utility:
        assert scene.controls == ()
        return replace(found, records=next(left))

    monkeypatch.setattr(score, "judged_utility", judged)
    design = score.fixed_of(("spectral-statistics",), task.facts.lattice.spacing)
    assert design is not None
    assert score._best_scene(task, design).response.clip == chosen


def test_one_threshold_gets_a_choice_that_expects_no_less_than_all_of_them(project: Project) -> None:
    facts = replace(public_facts(project), n=2_000)
    usual = replace(project, settings=project.settings.with_changes(focus="all"))
    mine, others = (tune(each, frontier=(), facts=facts).choice for each in (project, usual))
    assert mine.expected is not None
    assert others.expected is not None
    assert (mine.expected.records or 0.0) >= (others.expected.records or 1.0)
    assert (others.response.centre, others.response.clip) == (25.0, 15.0)
    narrow = mine.response.clip < 15.0
    assert ("its clip bound was chosen in simulated worlds" in mine.tuning.detail) is narrow
    assert mine.expected.gain is not None
    assert mine.yardsticks is not None
    assert mine.yardsticks.mixed_records is not None  # its controls are in its own scale
