"""The bench judges as the search did, prices as a release does, and varies one parameter at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest

from dpgp_core.accounting.composition import Cost
from dpgp_core.mechanisms.paths import path_guarantee
from dpgp_core.priors.registry import make_prior
from hexcursion.errors import Cancelled, WorkflowError
from hexcursion.ledger import open_ledger
from hexcursion.project.load import load_project
from hexcursion.project.model import Pilot, Project
from hexcursion.releasing.transaction import plan_release
from hexcursion.search.bench import Bench, Variation, coverage_of, sweep
from hexcursion.search.choice import stated, typed_choice
from hexcursion.search.scenes import private_n
from hexcursion.search.task import Scored
from hexcursion.search.tuning import Tuned, tune
from tests.town import Town


@pytest.fixture(scope="module")
def bench(project: Project, tuned: Tuned) -> Bench:
    return Bench(project, tuned.result)


@pytest.fixture(scope="module")
def variations(bench: Bench, tuned: Tuned) -> dict[str, Variation]:
    found = sweep(bench, tuned.result.chosen)
    assert [each.parameter.name for each in found] == ["lengthscale", "ridge", "scale", "paths"]
    return {each.parameter.name: each for each in found}


@pytest.fixture(scope="module")
def statistics(town: Town) -> tuple[Project, Tuned]:
    project = load_project(town.settings(mechanisms=("noisy-cell-statistics",), priors=("car",)))
    return project, tune(project)


def at_current(variation: Variation):
    found = [point for point in variation.points if point.value == variation.current]
    assert len(found) == 1
    return found[0]


def test_the_searchs_own_designs_are_scored_as_it_scored_them(bench: Bench, tuned: Tuned) -> None:
    for point in tuned.result.frontier:
        again = bench.score(point.scored.design, point.scored.response)
        assert again.design == point.scored.design
        assert again.epsilon == pytest.approx(point.epsilon, rel=1e-6)
        assert again.utility.agreement == pytest.approx(point.scored.utility.agreement, abs=1e-9)
        assert again.utility.bce == pytest.approx(point.scored.utility.bce, rel=1e-9)


def test_with_a_public_prior_mean_too(town: Town) -> None:
    project = load_project(town.settings(prior_mean=True, priors=("car",)))
    tuned = tune(project)
    again = Bench(project, tuned.result).score(tuned.choice.design, tuned.choice.response)
    assert again.utility.agreement == pytest.approx(tuned.result.chosen.utility.agreement, abs=1e-9)


def test_every_price_is_what_a_release_would_be_charged(bench: Bench, variations, tuned: Tuned) -> None:
    scored, settings = tuned.result.chosen, bench.project.settings
    for point in variations["ridge"].points:
        design, epsilon = bench.price(replace(scored.design, ridge=point.value))
        assert epsilon == point.epsilon
        if math.isfinite(epsilon) and epsilon <= settings.epsilon:
            prior = make_prior(design.prior, bench.project.lattice, design.lengthscale)
            cost = (
                path_guarantee(design, private_n(bench.project), prior).epsilon(bench.project.delta).epsilon
            )
            assert epsilon == pytest.approx(cost, rel=1e-12)
            found = Scored(design, scored.response, epsilon, scored.utility)
            plan = plan_release(
                bench.project, typed_choice(bench.project, tuned.result, found), open_ledger()
            )
            assert plan.privacy.epsilon == pytest.approx(epsilon, rel=1e-12)


def test_one_parameter_moves_and_the_current_value_is_the_searchs(variations, tuned: Tuned) -> None:
    chosen = tuned.result.chosen
    for name in ("lengthscale", "ridge", "scale"):
        here = at_current(variations[name])
        assert here.epsilon == pytest.approx(chosen.epsilon, rel=1e-6)
        assert here.records == pytest.approx(chosen.utility.records, abs=1e-9)
        assert here.agreement == pytest.approx(chosen.utility.judged_iou, abs=1e-9)
        assert len(variations[name].points) == 7
    for variation in variations.values():
        values = [point.value for point in variation.points]
        assert values == sorted(set(values))


def test_epsilon_falls_with_ridge_and_scale_and_rises_with_paths(variations) -> None:
    for name, sign in (("ridge", -1), ("scale", -1), ("paths", 1)):
        costs = [point.epsilon for point in variations[name].points]
        assert all(sign * one <= sign * other for one, other in pairwise(costs)), name
        assert costs[0] != costs[-1]


def test_no_finite_bound_stays_infinite(bench: Bench, tuned: Tuned) -> None:
    """A tiny ridge lets one record move the map without limit: that is said, not dropped and not 0."""
    design = replace(tuned.result.chosen.design, ridge=1e-4, scale=0.5, noise_scale=0.0)
    scored = replace(tuned.result.chosen, design=design)
    found = {each.parameter.name: each for each in sweep(bench, scored)}
    points = found["ridge"].points
    assert len(points) == 7
    assert all(point.epsilon == math.inf for point in points)
    assert all(0.0 <= point.agreement <= 1.0 for point in points)
    assert all(0.0 <= point.records <= 1.0 for point in points)


def test_more_paths_for_noisy_statistics_are_free_and_their_noise_is_not(statistics) -> None:
    project, tuned = statistics
    variations = sweep(Bench(project, tuned.result), tuned.result.chosen)
    found = {each.parameter.name: each for each in variations}
    for free in ("lengthscale", "ridge", "scale", "paths"):
        assert len({point.epsilon for point in found[free].points}) == 1
    assert found["statistic_noise"].current == tuned.choice.design.statistic_noise
    costs = [point.epsilon for point in found["statistic_noise"].points]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 3 * costs[-1]


def test_a_pilot_is_inside_every_price(bench: Bench, project: Project, tuned: Tuned) -> None:
    piloted = replace(project, pilot=Pilot(Cost.gaussian(0.2), 0.6, "1:x"))
    chosen = tuned.result.chosen
    dearer = Bench(piloted, tuned.result).price(chosen.design)[1]
    assert dearer > bench.price(chosen.design)[1]


def test_a_run_is_stopped_by_its_report(bench: Bench, tuned: Tuned) -> None:
    seen: list[float] = []

    def stop(fraction: float, text: str) -> None:
        seen.append(fraction)
        if len(seen) == 3:
            raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        sweep(bench, tuned.result.chosen, stop)
    assert len(seen) == 3


def test_a_foreign_response_scale_is_refused(bench: Bench, tuned: Tuned) -> None:
    with pytest.raises(ValueError, match="response scale"):
        bench.scene(replace(tuned.choice.response, clip=123.0))


def test_a_typed_design_states_how_it_was_tuned(project: Project, tuned: Tuned) -> None:
    scored = tuned.result.chosen
    choice = typed_choice(project, tuned.result, scored)
    assert choice.tuning.kind == "public reference data"
    assert "typed in" in choice.tuning.detail
    looked = replace(project, settings=project.settings.with_changes(looked=True))
    marked = stated(looked, choice)
    assert marked.tuning.kind == "not accounted"
    assert stated(looked, marked) == marked
    assert stated(project, choice) == choice


@pytest.mark.parametrize("epsilon", [2.0000001, math.inf, math.nan])
def test_a_typed_design_beyond_the_budget_is_refused(project: Project, tuned: Tuned, epsilon: float) -> None:
    with pytest.raises(WorkflowError, match="raise its ridge"):
        typed_choice(project, tuned.result, replace(tuned.result.chosen, epsilon=epsilon))


@pytest.mark.parametrize("direction", ["above", "below"])
def test_coverage_of_a_map_without_noise_is_perfect(town: Town, direction: str) -> None:
    """With next to no scale every path is the posterior mean; under the baseline's own design it is right."""
    project = load_project(town.settings(direction=direction, priors=("car",)))
    tuned = tune(project)
    free = tuned.result.unconstrained
    exact = replace(free.design, scale=1e-9, paths=10)
    found = coverage_of(Bench(project, tuned.result), replace(free, design=exact), releases=5)
    assert found.confidence == 0.9
    assert found.coverage.inner.value == found.coverage.outer.value == 1.0
    assert found.coverage.told == found.coverage.told_right == 1.0
    assert found.coverage.simulations == 5
    wild = replace(exact, scale=50.0)
    worse = coverage_of(Bench(project, tuned.result), replace(free, design=wild), releases=5)
    assert worse.coverage.told_right < 1.0 or worse.coverage.told < 0.1


def test_coverage_of_noisy_statistics_and_of_one_path(statistics) -> None:
    project, tuned = statistics
    bench, seen = Bench(project, tuned.result), []
    found = coverage_of(bench, tuned.result.chosen, lambda f, text: seen.append(f), releases=3)
    assert 0.5 < found.coverage.told_right <= 1.0
    assert len(seen) == 3
    assert tuned.choice.design.mechanism == "noisy-cell-statistics"
    one = replace(tuned.result.chosen, design=replace(tuned.choice.design, paths=1))
    with pytest.raises(ValueError, match="two paths"):
        coverage_of(bench, one)
