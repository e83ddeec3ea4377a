"""Trials for a screen: typed designs, the solved epsilon after one, views that hide nothing infinite."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpgp_core.design import NOISY_CELL_STATISTICS, POSTERIOR_SAMPLING
from workflow.desk import (
    TypedDesign,
    around_job,
    best_reached,
    cost,
    cost_scale,
    settle_on,
    settle_on_typed,
    solve_job,
    typed_families,
    typed_job,
    typed_like,
)
from workflow.desk.trials import design_of
from workflow.errors import WorkflowError
from workflow.ledger import open_ledger
from workflow.project import Project
from workflow.release import plan_release
from workflow.tuning import Tuned


def done(job):
    assert job.wait(120)
    return job.result()


def test_a_design_typed_from_another_costs_and_achieves_about_the_same(
    project: Project, tuned: Tuned
) -> None:
    chosen = tuned.result.chosen
    assert chosen.design.noise_scale == 0.0
    again = done(typed_job(project, tuned, chosen, typed_like(chosen.design)))
    assert again.epsilon == pytest.approx(chosen.epsilon, rel=0.05)
    assert again.utility.agreement == pytest.approx(chosen.utility.agreement, abs=0.03)
    assert design_of(typed_like(again.design)).ridge == again.design.ridge


def test_noisy_statistics_are_typed_by_their_noise() -> None:
    typed = TypedDesign(NOISY_CELL_STATISTICS, "car", 3.0, 1.5, 7.5, 100, 6, 0.25)
    design = design_of(typed)
    assert (design.statistic_noise, design.scale, design.lengthscale) == (7.5, 0.25, 3000.0)
    assert design.smoothing == 0  # the mechanism's judges know none
    assert typed_like(design) == replace(typed, smoothing=0)


@pytest.mark.parametrize("wrong", [{"scale": 0.0}, {"ridge": math.nan}, {"kilometres": 0.0}, {"paths": 0}])
def test_an_impossible_design_is_one_sentence(
    project: Project, tuned: Tuned, wrong: dict[str, float]
) -> None:
    typed = replace(typed_like(tuned.choice.design), **wrong)
    with pytest.raises(WorkflowError, match="This design is impossible: "):
        done(typed_job(project, tuned, tuned.result.chosen, typed))


def test_after_a_typed_design_the_searchs_own_keep_their_number_of_paths(
    project: Project, tuned: Tuned
) -> None:
    typed = replace(typed_like(tuned.choice.design), paths=4, ridge=4 * tuned.choice.design.ridge)
    scored = done(typed_job(project, tuned, tuned.result.chosen, typed))
    settled, choice = settle_on_typed(project, tuned, scored)
    assert settled.settings.paths == choice.design.paths == 4
    wanted = tuned.result.chosen.utility.agreement - 0.05
    point = done(solve_job(settled, tuned, wanted))
    assert point == done(solve_job(project, tuned, wanted))
    back, choice = settle_on(settled, tuned, point)
    assert back.settings.paths == choice.design.paths == project.settings.paths
    plan = plan_release(back, choice, open_ledger())
    assert plan.privacy.epsilon <= point.epsilon * (1 + 1e-9)


def test_a_view_keeps_infinite_costs_apart(project: Project, tuned: Tuned) -> None:
    design = replace(tuned.choice.design, ridge=1e-4, scale=0.5, noise_scale=0.0)
    views = done(around_job(project, tuned, replace(tuned.result.chosen, design=design)))
    by_name = {view.parameter: view for view in views}
    ridge = by_name["ridge"]
    assert all(point.epsilon is None and point.said == "no finite bound" for point in ridge.points)
    assert "no finite bound to no finite bound" in ridge.words
    (low, high), ticks = cost_scale(views)
    assert 0 < low < high
    assert all(low <= tick <= high for tick in ticks)
    assert [point.current for point in by_name["lengthscale"].points].count(True) == 1
    assert by_name["lengthscale"].unit == "km"


def test_costs_are_rounded_upwards() -> None:
    assert cost(1.00001) == "ε 1.01"
    assert cost(math.inf) == "no finite bound"


def test_the_best_reached_is_the_cheapest_of_the_best(project: Project, tuned: Tuned) -> None:
    best = best_reached(tuned)
    for point in tuned.result.frontier:
        assert point.scored.utility.agreement <= best.scored.utility.agreement
        if point.scored.utility.agreement == best.scored.utility.agreement:
            assert point.epsilon >= best.epsilon
    assert set(typed_families(project)) == {(POSTERIOR_SAMPLING, name) for name in project.settings.priors}
