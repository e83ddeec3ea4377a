"""Trials for a screen: typed designs, the solved epsilon after one, views that hide nothing infinite."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpgp_core.errors import DesignError
from dpgp_core.mechanisms.design import Design
from dpgp_core.mechanisms.noisy_cell_statistics import NoisyCellStatisticsDesign
from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from hexcursion.errors import WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.project.model import Project
from hexcursion.releasing.transaction import plan_release
from hexcursion.search.limit import Loss
from hexcursion.search.results import settle_on, settle_on_typed
from hexcursion.search.tuning import Tuned
from pages.privacy.designs import line_of
from pages.privacy.trials import (
    best_reached,
    cost,
    cost_scale,
    entries_of,
    families_of,
    loss_dots,
    loss_sentence,
    smoothings,
    solve_job,
    start_of,
    sweep_job,
    typed_design,
    typed_job,
    unit_of,
    variation_words,
    varied_rows,
)
from tests.patience import HANG


def done(job):
    assert job.wait(HANG)
    return job.result()


def test_a_design_typed_from_another_costs_and_achieves_about_the_same(
    project: Project, tuned: Tuned
) -> None:
    chosen = tuned.result.chosen
    assert chosen.design.noise_scale == 0.0
    again = done(typed_job(project, tuned, chosen, retyped(chosen.design)))
    assert again.epsilon == pytest.approx(chosen.epsilon, rel=0.05)
    assert again.utility.agreement == pytest.approx(chosen.utility.agreement, abs=0.03)
    # a form shows three digits, and what is typed is rounded up to a multiple of 2^-20
    assert retyped(again.design).rounded_up().ridge == again.design.ridge


def retyped(design: Design, **changes: float) -> Design:
    """The design as a form gives it back, some of its numbers typed anew."""
    values = {entry.name: entry.value for entry in entries_of(design)}
    return typed_design(design, values | changes, design.smoothing)


def test_a_form_asks_for_the_numbers_of_the_mechanism() -> None:
    noisy = NoisyCellStatisticsDesign("car", 3000.0, 1.5, 0.25, 7.5, paths=100)
    entries = {entry.name: entry for entry in entries_of(noisy)}
    assert list(entries) == ["lengthscale", "ridge", "statistic_noise", "scale", "paths"]
    assert (entries["lengthscale"].value, entries["lengthscale"].unit) == (3.0, "km")
    assert (entries["statistic_noise"].value, entries["paths"].whole) == (7.5, True)
    assert retyped(noisy) == noisy
    assert smoothings(noisy) == (0,)
    sampled = PosteriorSamplingDesign("car", 3000.0, 1.5, 0.25)
    assert smoothings(sampled) == (0, 2, 6, 15)
    assert retyped(sampled, lengthscale=2.0, paths=4.0) == replace(sampled, lengthscale=2000.0, paths=4)


@pytest.mark.parametrize("wrong", [{"scale": 0.0}, {"ridge": math.nan}, {"lengthscale": 0.0}, {"paths": 0.0}])
def test_an_impossible_design_is_one_sentence(tuned: Tuned, wrong: dict[str, float]) -> None:
    with pytest.raises(DesignError, match=f"the {next(iter(wrong))} must be a positive number"):
        retyped(tuned.choice.design, **wrong)


def test_a_design_that_no_prior_can_bear_is_one_sentence(project: Project, tuned: Tuned) -> None:
    with pytest.raises(WorkflowError, match="This design is impossible: "):
        done(typed_job(project, tuned, tuned.result.chosen, retyped(tuned.choice.design, lengthscale=1e9)))


def test_after_a_typed_design_the_searchs_own_keep_their_number_of_paths(
    project: Project, tuned: Tuned
) -> None:
    typed = retyped(tuned.choice.design, paths=4, ridge=4 * tuned.choice.design.ridge)
    scored = done(typed_job(project, tuned, tuned.result.chosen, typed))
    settled, choice = settle_on_typed(project, tuned, scored)
    assert settled.settings.paths == choice.design.paths == 4
    wanted = tuned.result.chosen.utility.judged_iou - 0.05
    point = done(solve_job(settled, tuned, wanted))
    assert point == done(solve_job(project, tuned, wanted))
    back, choice = settle_on(settled, tuned, point)
    assert back.settings.paths == choice.design.paths == project.settings.paths
    plan = plan_release(back, choice, open_ledger())
    assert plan.privacy.epsilon <= point.epsilon * (1 + 1e-9)


def test_a_view_keeps_infinite_costs_apart(project: Project, tuned: Tuned) -> None:
    design = replace(tuned.choice.design, ridge=1e-4, scale=0.5, noise_scale=0.0)
    variations = done(sweep_job(project, tuned, replace(tuned.result.chosen, design=design)))
    by_name = {each.parameter.name: each for each in variations}
    ridge = by_name["ridge"]
    assert all(
        row["epsilon"] is None and row["unbounded"] and row["said"] == "no finite bound"
        for row in varied_rows(ridge)
    )
    assert "no finite bound to no finite bound" in variation_words(ridge)
    (low, high), ticks = cost_scale(variations)
    assert 0 < low < high
    assert all(low <= tick <= high for tick in ticks)
    assert [row["here"] for row in varied_rows(by_name["lengthscale"])].count(True) == 1
    assert unit_of(by_name["lengthscale"].parameter) == ("km", 1000.0)


def test_costs_are_rounded_upwards() -> None:
    assert cost(1.00001) == "ε 1.01"
    assert cost(math.inf) == "no finite bound"


def test_the_best_reached_is_the_cheapest_of_the_best(project: Project, tuned: Tuned) -> None:
    best = best_reached(tuned)
    for point in tuned.result.frontier:
        assert point.scored.utility.judged_iou <= best.scored.utility.judged_iou
        if point.scored.utility.judged_iou == best.scored.utility.judged_iou:
            assert point.epsilon >= best.epsilon
    assert set(families_of(tuned)) == {("posterior-sampling", name) for name in project.priors}
    start = start_of(tuned, tuned.result.chosen, ("posterior-sampling", "exponential"))
    assert start.prior == "exponential"  # type: ignore[attr-defined]


def test_what_a_budget_loses_is_said_beside_the_limit_which_is_rounded_down(tuned: Tuned) -> None:
    design = tuned.result.chosen.design
    found = (Loss(0, 1.0, design, 0.3472, 0.012, 0.1188), Loss(3, 1.0, design, 0.2961, 0.02, 0.1188))
    assert loss_sentence(found, 1.0) == (
        "At ε 1 the best design leaves 30 % of the field's variance unknown where records are (give or take "
        "2 %), and no mechanism as private can leave less than 11 %."
    )
    assert loss_sentence(found, 2.0) == ""
    first = loss_dots(found)[0]
    assert (first["number"], first["family"]) == (0, "Posterior paths")
    other = replace(design, prior="matern32")
    assert line_of(design, [design, other]) == "Posterior paths, neighbour graph (CAR)"
    assert [round(first[name], 2) for name in ("low", "lost", "high", "limit")] == [
        33.52,
        34.72,
        35.92,
        11.88,
    ]
