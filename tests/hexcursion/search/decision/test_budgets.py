"""The frontier of a quick mechanism, by which the design follows a moved budget; cutoffs and their areas."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpgp_core.mechanisms.design import SearchSpec
from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.choice import cutoff_words, given_choice
from hexcursion.search.results import at_budget, with_frontier
from hexcursion.search.scenes import cut
from hexcursion.search.task import Scored, Utility
from hexcursion.search.tuning import Tuned, tune
from tests.town import Town

SPECTRAL = ("spectral-statistics",)
BUDGETS = (0.5, 1.0, 3.0)


@pytest.fixture(scope="module")
def project(town: Town) -> Project:
    return load_project(town.settings(mechanisms=SPECTRAL, epsilon=1.0))


@pytest.fixture(scope="module")
def tuned(project: Project) -> Tuned:
    return tune(project, frontier=BUDGETS)


def mu_of(scored: Scored) -> float:
    assert isinstance(scored.design, SpectralStatisticsDesign)
    return scored.design.mu


def test_every_budget_of_the_frontier_has_a_design_of_its_own_noise(tuned: Tuned) -> None:
    points = {point.epsilon: point.scored for point in tuned.result.frontier}
    assert sorted(points) == [0.5, 1.0, 3.0]
    # The Gaussian mechanism's exact mu at delta 1e-5: 2/mu is the noise of a sum of values in [-1, 1].
    mus = [mu_of(points[epsilon]) for epsilon in BUDGETS]
    assert mus == pytest.approx([0.142211, 0.268051, 0.719117], rel=1e-5)
    agreements = [points[epsilon].utility.agreement for epsilon in BUDGETS]
    assert agreements[0] + 0.03 < agreements[2]
    assert all(scored.utility.bce > 0 for scored in points.values())


def test_at_the_asked_budget_the_chosen_design_stands_on_the_frontier(tuned: Tuned) -> None:
    point = at_budget(tuned, 1.0)
    assert point is not None
    assert point.scored.design == tuned.result.chosen.design
    assert point.scored.utility.agreement == tuned.result.chosen.utility.agreement


def test_a_budget_beside_is_searched_nearly_as_well_as_if_it_had_been_asked_for(
    project: Project, tuned: Tuned
) -> None:
    asked = replace(project, settings=project.settings.with_changes(epsilon=3.0))
    own = tune(asked, frontier=()).result.chosen.utility.agreement
    point = at_budget(tuned, 3.0)
    assert point is not None
    assert point.scored.utility.agreement > own - 0.03


def test_further_designs_are_shown_and_the_answers_own_remain(tuned: Tuned) -> None:
    own = at_budget(tuned, 1.0)
    other = at_budget(tuned, 3.0)
    assert own is not None
    assert other is not None
    answer = replace(tuned, result=replace(tuned.result, frontier=(own,)))
    wrong = replace(other, epsilon=1.0)
    wider = with_frontier(answer, (other, wrong))
    assert wider.result.frontier == (own, other)
    assert wider.result.chosen == tuned.result.chosen
    assert wider.choice == tuned.choice


def test_one_cutoff_is_kept_from_search_to_choice(project: Project) -> None:
    fixed = replace(project, settings=project.settings.with_changes(cutoff=0.4))
    found = tune(fixed, frontier=(0.5,))
    assert found.choice.design.cutoff == 0.4
    assert {point.scored.design.cutoff for point in found.result.frontier} == {0.4}
    by_hand = project.settings.with_changes(
        cutoff=0.3, epsilon=8.0, lengthscale=2000.0, ridge=20.0, mechanisms=("posterior-sampling",)
    )
    assert given_choice(replace(project, settings=by_hand)).design.cutoff == 0.3
    twice = [found.choice.design, replace(found.choice.design, cutoff=0.5)]
    assert [each.cutoff for each in cut(SearchSpec((), cutoff=0.4), twice)] == [0.4]
    assert [each.cutoff for each in cut(SearchSpec(()), twice)] == [0.4, 0.5]


def test_every_cutoff_is_judged_with_its_area_on_the_same_releases(tuned: Tuned) -> None:
    tried = tuned.result.cutoffs
    assert [each.design.cutoff for each in tried] == [0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2]
    own = next(each for each in tried if each.design == tuned.result.chosen.design)
    assert own.utility.agreement == tuned.result.chosen.utility.agreement
    assert own.utility.agreement == tuned.result.chosen.utility.agreement
    # A lower cutoff shows more, and of what it shows less is right.
    assert tried[0].utility.right > tried[-1].utility.right + 0.03


def test_a_cutoff_below_one_half_is_said_with_both_areas(tuned: Tuned) -> None:
    def scored(cutoff: float, agreement: float, area: float) -> Scored:
        chosen = tuned.result.chosen
        design = replace(chosen.design, cutoff=cutoff)
        return replace(chosen, design=design, utility=Utility(agreement, 0.0, area_error=area))

    half, low = scored(0.5, 0.82, 0.031), scored(0.35, 0.843, 0.09)
    result = replace(tuned.result, chosen=low, cutoffs=(half, low))
    assert cutoff_words(result) == (
        "A hexagon is inside from a probability of 0.35 on: the agreement (IoU, all hexagons) is then 0.84, "
        "the area off by 9 %. From one half on it would be 0.82, the area off by 3.1 %."
    )
    lost = replace(low, utility=Utility(0.66, 0.35, area_error=48.0))
    assert "the area uncertain by more than its own size." in cutoff_words(
        replace(result, chosen=lost, cutoffs=(half, lost))
    )
    assert cutoff_words(replace(result, chosen=half)) == ""
    assert cutoff_words(replace(result, cutoffs=())) == ""
    assert cutoff_words(replace(result, cutoffs=(half,))) == ""  # those of another design
    blind = replace(result, cutoffs=(replace(half, utility=replace(half.utility, area_error=math.nan)), low))
    assert cutoff_words(blind).endswith("From one half on it would be 0.82.")
