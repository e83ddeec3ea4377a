"""The search keeps the budget, can be cancelled, and never sees private values."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpgp_core.mechanisms.paths import path_guarantee
from dpgp_core.priors.registry import make_prior
from hexcursion.errors import Cancelled, WorkflowError
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.project.records import PlacedObservations
from hexcursion.record import Yardsticks
from hexcursion.releasing.release_guard import objections
from hexcursion.search.choice import expected_of, given_choice, proposal_words
from hexcursion.search.executors import Run
from hexcursion.search.public_map import PublicMap
from hexcursion.search.scenes import private_n
from hexcursion.search.tuning import Tuned, search_task, tune
from pages.shared.subprocess_job import Job
from tests.patience import HANG
from tests.town import Town


def test_the_chosen_design_costs_at_most_epsilon(project: Project, tuned: Tuned) -> None:
    design = tuned.choice.design
    prior = make_prior(design.prior, project.lattice, design.lengthscale)
    epsilon = path_guarantee(design, private_n(project), prior).epsilon(project.delta).epsilon
    assert 0.9 * project.settings.epsilon < epsilon <= project.settings.epsilon


def test_every_frontier_point_keeps_its_own_epsilon(project: Project, tuned: Tuned) -> None:
    assert len(tuned.result.frontier) >= 6
    for point in tuned.result.frontier:
        design = point.scored.design
        prior = make_prior(design.prior, project.lattice, design.lengthscale)
        assert (
            path_guarantee(design, private_n(project), prior).epsilon(project.delta).epsilon <= point.epsilon
        )


def test_the_search_reports_what_the_paper_reports(tuned: Tuned) -> None:
    free, chosen = tuned.result.unconstrained, tuned.result.chosen
    assert free.epsilon > chosen.epsilon
    assert 0 < chosen.utility.effective_dimension < free.utility.effective_dimension
    assert tuned.result.bce_increase > 0
    assert 0 < chosen.utility.holdout_iou < free.utility.holdout_iou <= 1
    assert 0 < tuned.result.iou_gap < 1
    assert 0.4 < chosen.utility.agreement <= 1.0
    assert tuned.free_agreement is not None
    assert 0.5 < tuned.free_agreement <= 1.0
    best = max(p.scored.utility.agreement for p in tuned.result.frontier if p.epsilon == 2.0)
    assert chosen.utility.agreement >= best


def test_more_budget_never_hurts_much(tuned: Tuned) -> None:
    """On shared draws the frontier rises with epsilon, up to the spread of the simulated releases."""
    for prior in {p.scored.design.prior for p in tuned.result.frontier}:
        points = [p for p in tuned.result.frontier if p.scored.design.prior == prior]
        first, last = points[0].scored.utility, points[-1].scored.utility
        assert last.agreement >= first.agreement - 2 * first.agreement_sd


def test_private_values_do_not_steer_the_search(project: Project, tuned: Tuned) -> None:
    placed = project.private.placed
    upside_down = PlacedObservations(placed.index, 60.0 - placed.value, placed.read, placed.outside)
    other = replace(project, private=replace(project.private, placed=upside_down))
    assert tune(other).choice.design == tuned.choice.design


def test_the_price_is_for_the_number_of_private_records(project: Project) -> None:
    placed = project.private.placed
    half = PlacedObservations(placed.index[:900], placed.value[:900], 900, 0)
    smaller = replace(project, private=replace(project.private, placed=half))
    assert search_task(smaller).n == private_n(smaller) == 900
    cells = replace(smaller, settings=project.settings.with_changes(unit="cell"))
    assert search_task(cells).n == np.unique(half.index).size


def test_an_infeasible_budget_names_the_smallest_feasible_epsilon(town: Town) -> None:
    settings = town.settings(epsilon=1e-7, delta=1e-12, unit="cell", priors=("car",))
    with pytest.raises(WorkflowError, match="smallest feasible epsilon on the grid is") as error:
        tune(load_project(settings))
    assert float(str(error.value).rstrip(".").split()[-1]) > 1e-7


def test_cancel_stops_the_search(project: Project) -> None:
    job = Job(lambda report: tune(project, Run(report)))
    job.cancel()
    assert job.wait(HANG)
    assert job.state.state == "cancelled"
    with pytest.raises(Cancelled):
        job.result()


def test_a_failing_job_raises_its_own_error() -> None:
    def fail(report: object) -> None:
        raise WorkflowError("no such file.")

    job = Job(fail)
    assert job.wait(HANG)
    assert job.state.state == "failed"
    with pytest.raises(WorkflowError, match="no such file"):
        job.result()


def test_given_lengthscale_and_ridge_skip_the_search(town: Town) -> None:
    project = load_project(town.settings(lengthscale=3000.0, ridge=20.0, priors=("exponential",)))
    choice = given_choice(project)
    assert choice.design.prior == "exponential"
    assert math.isfinite(choice.design.scale)
    assert choice.tuning.kind == "given"
    with pytest.raises(WorkflowError, match="raise the ridge"):
        given_choice(load_project(town.settings(lengthscale=3000.0, ridge=0.1, epsilon=0.01)))
    for impossible in ({"lengthscale": 1e9, "ridge": 5.0}, {"lengthscale": 3000.0, "ridge": 1e12}):
        with pytest.raises(WorkflowError):
            given_choice(load_project(town.settings(priors=("car",), **impossible)))
    noisy = town.settings(lengthscale=3000.0, ridge=2.0, mechanisms=("noisy-cell-statistics",))
    assert given_choice(load_project(noisy)).design.mechanism == "noisy-cell-statistics"


def test_noisy_cell_statistics_compete_when_asked(town: Town) -> None:
    project = load_project(
        town.settings(mechanisms=("posterior-sampling", "noisy-cell-statistics"), priors=("car",))
    )
    result = tune(project).result
    assert {p.scored.design.mechanism for p in result.frontier} == {
        "posterior-sampling",
        "noisy-cell-statistics",
    }


def test_a_public_prior_mean_is_the_reference_map(town: Town) -> None:
    project = load_project(town.settings(prior_mean=True))
    choice = tune(project).choice
    assert choice.public_map is not None
    values = choice.response.value(choice.public_map.mean)
    assert values.shape == (project.domain.size,)
    assert np.all((values > 5.0) & (values < 60.0))
    assert choice.response.clip < project.response.clip


def test_the_choice_is_the_same_without_a_frontier(hamlet: Project, hamlet_tuned: Tuned) -> None:
    """The command line shows no frontier, so it scores no design for one."""
    alone = tune(hamlet, frontier=())
    assert alone.choice.design == hamlet_tuned.choice.design
    assert alone.choice.expected == hamlet_tuned.choice.expected
    assert {point.epsilon for point in alone.result.frontier} == {2.0}
    assert alone.result.evaluated < 0.6 * hamlet_tuned.result.evaluated


def test_without_reference_a_simulated_field_tunes(town: Town) -> None:
    settings = town.settings(reference=None, reference_public=False, centre=30.0, clip=15.0, priors=("car",))
    tuned = tune(load_project(settings))
    assert tuned.choice.tuning.kind == "simulated"
    assert tuned.free_agreement is None


def test_a_prior_too_large_for_the_domain_is_left_out_and_said(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpgp_core.priors.dense.MAX_DENSE_CELLS", project.lattice.size - 1)
    settings = project.settings.with_changes(priors=("exponential", "car"), quick=True)
    tuned = tune(replace(project, settings=settings))
    assert {point.scored.design.prior for point in tuned.result.frontier} == {"car"}
    assert tuned.left_out == ("exponential",)
    assert any("left out the prior exponential" in remark for remark in tuned.remarks())
    alone = replace(project, settings=settings.with_changes(priors=("exponential",)))
    with pytest.raises(ValueError, match="takes at most"):
        tune(alone)


def test_remarks_say_when_a_release_adds_nothing(tuned: Tuned) -> None:
    chosen = tuned.result.chosen
    better = replace(tuned, free_agreement=chosen.utility.agreement - 0.1)
    worse = replace(tuned, free_agreement=chosen.utility.agreement + 0.1)
    assert not any("not expected to add" in remark for remark in better.remarks())
    assert any("not expected to add" in remark for remark in worse.remarks())
    assert worse.remarks()[-1] == ("This release is not expected to add to it; a public prior mean may.")
    mapped = replace(worse, choice=replace(worse.choice, public_map=PublicMap(np.zeros(2), "a literal")))
    assert mapped.remarks()[-1] == "This release is not expected to add to it."
    one_sided = replace(tuned, result=replace(tuned.result, baseline=np.zeros_like(tuned.result.baseline)))
    assert any("whole reference map lies outside" in remark for remark in one_sided.remarks())
    said = "The covariates are neither used nor published"
    assert not any(said in remark for remark in tuned.remarks())
    assert any(said in remark for remark in replace(tuned, unread=True).remarks())


def test_an_agreement_that_is_undefined_is_said_so_and_stops_a_release(tuned: Tuned) -> None:
    """On reference data with one side only the search still answers, but promises nothing."""
    utility = replace(tuned.result.chosen.utility, agreement=math.nan, area_error=math.nan)
    chosen = replace(tuned.result.chosen, utility=utility)
    result = replace(tuned.result, chosen=chosen)
    assert "it has nothing to show, as their map has one side only" in proposal_words(
        result, "simulated fields"
    )
    project = SimpleNamespace(
        reference_kind="reference data",
        simulated=False,
        public_n=500,
        settings=SimpleNamespace(relation="replace-one"),
        pilot=None,
    )
    expected = expected_of(project, chosen)  # type: ignore[arg-type]
    assert (expected.agreement, expected.area_error) == (None, None)
    assert objections(expected, Yardsticks(0.3)) == (
        "no agreement can be expected, as the map that it is tried on lies wholly on one side of the "
        "threshold: take a threshold nearer to usual values",
    )
    blind = replace(result.unconstrained, utility=replace(result.unconstrained.utility, holdout_iou=math.nan))
    assert math.isnan(replace(result, unconstrained=blind).iou_gap)


def test_a_map_of_one_side_has_no_standard_error_and_a_search_still_answers(town: Town) -> None:
    """No design agrees better than another there; the first of the best probabilities is taken."""
    project = load_project(town.settings(resolution=6, priors=("car",)))
    tuned = tune(project, frontier=())
    assert math.isnan(tuned.result.chosen.utility.agreement)
    assert tuned.result.chosen.utility.error == 0.0
    assert math.isfinite(tuned.result.chosen.utility.bce)
    assert tuned.choice.yardsticks is not None
    assert tuned.choice.yardsticks.gain is None
