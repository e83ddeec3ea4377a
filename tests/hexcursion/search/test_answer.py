"""The answer of a search: its words, its losses and what is settled on, each written down; and as a text."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpgp_core.accounting.composition import Cost
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Pilot, Project
from hexcursion.record import Tuning
from hexcursion.search.choice import (
    context_words,
    cutoff_words,
    edge_words,
    expected_of,
    proposal_words,
    start_words,
    stated,
    tuning_of,
)
from hexcursion.search.public_map import last_year
from hexcursion.search.results import (
    as_searched,
    question_of,
    settle_on,
    settle_on_typed,
    text_of,
    tuned_from,
)
from hexcursion.search.scenes import ask_of, private_n, public_facts
from hexcursion.search.task import FrontierPoint, Scored, SearchResult, Utility
from hexcursion.search.tuning import Tuned, tune


def scored(tuned: Tuned, agreement: float, **figures: float) -> Scored:
    return replace(tuned.result.chosen, utility=Utility(agreement, 0.05, **figures))


@pytest.fixture
def result(hamlet_tuned: Tuned) -> SearchResult:
    """At a clip bound of 21.4567 it ranks by 0.8349 and shows 83 of 100 records right; another mechanism 71
    at its budget. Over all hexagons all agree otherwise than over judged ones."""
    chosen = scored(
        hamlet_tuned, 0.8349, judged_iou=0.7155, records=0.8312, area_error=0.031, right=0.9319, bce=0.25
    )
    chosen = replace(chosen, response=replace(chosen.response, clip=21.4567))
    other = SimpleNamespace(mechanism="noisy-cell-statistics", cutoff=0.5)
    beside: Any = [replace(chosen, design=other, utility=Utility(each, 0.0, records=each))
                        for each in (0.5, 0.7099, 0.99)]  # fmt: skip
    points = tuple(
        FrontierPoint(epsilon, each)
        for epsilon, each in zip((2.0, 2.0, 2.0, 8.0), (chosen, *beside), strict=True)
    )
    return replace(hamlet_tuned.result, chosen=chosen, frontier=points, on_edge=(), cutoffs=())


def test_the_proposal_says_what_is_reached_and_what_the_best_of_the_others_is(result: SearchResult) -> None:
    assert proposal_words(result, "the reference data") == (
        "Proposed: Posterior sampling with a clip bound of 21.5: on the reference data it shows 83 of 100 "
        "records on their right side; Noisy cell statistics shows 71 of 100 records on their right side at "
        "its best."
    )
    alone = replace(result, frontier=result.frontier[:1])
    assert proposal_words(alone, "simulated fields").endswith(
        ": on simulated fields it shows 83 of 100 records on their right side."
    )
    by_bce = replace(alone, objective="bce")
    assert proposal_words(by_bce, "simulated fields").endswith("it has a cross-entropy of 0.250.")


def test_what_stands_beside_the_agreement_is_said_where_it_is_known(result: SearchResult) -> None:
    one = replace(result, baseline=np.arange(16) < 3)
    assert context_words(one) == (
        "In judged hexagons its area is off by 3.1 %, 93 % of the hexagons that it shows are right."
    )
    blank = replace(one, chosen=replace(one.chosen, utility=Utility(0.8, 0.1)))
    assert context_words(blank) == ""


def test_what_lies_on_an_edge_and_which_start_is_better_are_said(result: SearchResult) -> None:
    assert edge_words(result) == ()
    edge = replace(result, on_edge=(("ridge", "largest"), ("clip bound", "smallest")))
    assert edge_words(edge) == (
        "At the end of what was tried: ridge (largest) and clip bound (smallest). Beyond it another design "
        "may do a little better; vary it by hand to see.",
    )
    mapped = replace(result, chosen=replace(result.chosen, utility=Utility(0.9, 0.1, records=0.9)))
    assert start_words(result, mapped) == (
        "Starting from the public map, the best release shows 90 of 100 records on their right side; without "
        "it, the best shows 83 of 100 records on their right side. The better of the two is proposed."
    )
    assert cutoff_words(result) == ""


def test_a_map_of_one_colour_is_averaged_over_the_fields_that_have_two(result: SearchResult) -> None:
    quarter = replace(result, baseline=np.arange(16) < 4)
    assert quarter.one_colour == 0.25
    assert replace(quarter, further=(0.75, 0.0, 1.0)).one_colour == 0.5
    assert replace(quarter, baseline=np.ones(16, dtype=bool), further=(0.5,)).one_colour == 0.5
    assert replace(quarter, baseline=np.zeros(16, dtype=bool)).one_colour == 0.0


def test_losses_and_gaps(result: SearchResult) -> None:
    assert (result.loss, replace(result, objective="bce").loss) == (-0.8349, 0.25)
    assert result.loss_of(Utility(math.nan, 0.0)) == 0.0
    free = replace(result.unconstrained, utility=Utility(1.0, 0.0, holdout_iou=0.8, bce=0.2))
    held = replace(result.chosen, utility=Utility(0.8, 0.0, holdout_iou=0.6, bce=0.25))
    made = replace(result, unconstrained=free, chosen=held)
    assert (made.bce_increase, made.iou_gap) == pytest.approx((0.25, 0.25))


def test_what_is_expected_is_said_where_it_is_a_number(hamlet: Project, result: SearchResult) -> None:
    found = expected_of(hamlet, result.chosen)
    assert (found.agreement, found.area_error, found.right) == (0.7155, 0.031, 0.9319)
    assert found.basis == "public reference data"
    blank = expected_of(hamlet, replace(result.chosen, utility=Utility(math.nan, 0.0, judged_iou=0.4)))
    assert (blank.agreement, blank.area_error, blank.right) == (None, None, None)


def test_a_dot_is_released_at_its_own_epsilon_with_the_paths_of_the_search(
    hamlet: Project, hamlet_tuned: Tuned
) -> None:
    """The number of paths and the budget were changed on the screen meanwhile."""
    later = replace(hamlet, settings=hamlet.settings.with_changes(paths=7, epsilon=3.0))
    assert as_searched(later, hamlet_tuned).settings.paths == 1
    point = hamlet_tuned.result.frontier[0]
    assert point.epsilon not in (2.0, 3.0)
    settled, choice = settle_on(later, hamlet_tuned, point)
    assert (settled.settings.epsilon, settled.settings.paths) == (point.epsilon, 1)
    assert (choice.design, choice.response) == (point.scored.design, point.scored.response)
    known = hamlet_tuned.choice.yardsticks
    assert known is not None
    own = replace(
        known, gain=point.scored.utility.gain, colour_records=point.scored.utility.colour_records,
        mixed_records=point.scored.utility.mixed_records,
    )  # fmt: skip
    assert choice.yardsticks == own, "the design's own"
    assert choice.expected == expected_of(hamlet, point.scored)
    typed = replace(point.scored, design=replace(point.scored.design, paths=5))
    settled, choice = settle_on_typed(later, hamlet_tuned, typed)
    assert (settled.settings.epsilon, settled.settings.paths) == (3.0, 5)
    assert choice.tuning.detail == "typed in by the curator and judged there"
    assert choice.yardsticks == own


def test_a_look_at_the_private_data_is_stated_from_then_on(hamlet: Project, hamlet_tuned: Tuned) -> None:
    looked = replace(hamlet, settings=hamlet.settings.with_changes(looked=True))
    assert tuning_of(hamlet, "given", "by hand") == Tuning("given", "by hand")
    assert tuning_of(looked, "given", "by hand") == Tuning("not accounted", "Otherwise: given, by hand.")
    once = stated(looked, replace(hamlet_tuned.choice, tuning=Tuning("given", "by hand")))
    assert once.tuning.detail == "Otherwise: given, by hand."
    assert stated(looked, once) is once
    assert stated(hamlet, hamlet_tuned.choice).tuning == hamlet_tuned.choice.tuning


def test_a_search_is_read_back_from_its_text_to_the_last_digit(hamlet: Project, hamlet_tuned: Tuned) -> None:
    text = text_of(hamlet, hamlet_tuned)
    back = tuned_from(hamlet, text)
    assert text_of(hamlet, back) == text
    assert repr(back) == repr(hamlet_tuned)
    assert text.startswith('{\n "format": 1,\n "question": "')


def test_a_text_that_answers_another_question_or_none_is_refused(
    hamlet: Project, hamlet_tuned: Tuned
) -> None:
    text = text_of(hamlet, hamlet_tuned)
    placed, settings = hamlet.private.placed, hamlet.settings
    fewer = replace(placed, index=placed.index[:-1], value=placed.value[:-1])
    moved = replace(hamlet.reference, value=hamlet.reference.value + 1e-9)
    others = (
        replace(hamlet, settings=settings.with_changes(epsilon=2.5)),
        replace(hamlet, private=replace(hamlet.private, placed=fewer)),
        replace(hamlet, reference=moved),
        replace(hamlet, domain=replace(hamlet.domain, cells=hamlet.domain.cells[1:])),
    )
    assert len({question_of(each) for each in (hamlet, *others)}) == 5
    for other in others:
        with pytest.raises(WorkflowError, match=r"^The stored search answers another question: search for"):
            tuned_from(other, text)
    elsewhere = settings.with_changes(data=replace(settings.data, path="elsewhere.csv"))
    assert question_of(replace(hamlet, settings=elsewhere)) == question_of(hamlet), "files are no question"
    with pytest.raises(WorkflowError, match="answers another question"):
        tuned_from(hamlet, text.replace('"format": 1', '"format": 2'))
    for damaged in ("", "[]", "{}", text.replace('"design"', '"sign"'), text.replace('"ridge"', '"fridge"')):
        with pytest.raises(WorkflowError, match=r"^The stored search is damaged: search for the design anew"):
            tuned_from(hamlet, damaged)


def test_public_facts_and_what_is_asked_come_from_the_settings(hamlet: Project) -> None:
    def asked(**changes: object) -> Project:
        return replace(hamlet, settings=hamlet.settings.with_changes(**changes))

    facts = public_facts(hamlet)
    assert (facts.n, facts.relation, facts.places_public, facts.single) == (2659, "replace-one", False, False)
    cells = public_facts(asked(unit="cell"))
    assert (cells.n, cells.single) == (16, True)
    hidden = asked(relation="add-or-remove", mechanisms=("spectral-statistics",), records_about=2000)
    assert private_n(hidden) == public_facts(hidden).n == 2000
    beside = replace(hidden, pilot=Pilot(Cost.gaussian(0.2), 0.85, "1:x"))
    assert private_n(beside) == hamlet.reference.index.size != 2000, "beside a pilot: what it shows"
    assert beside.public_n == 2000, "delta is fixed before it"
    fewer = replace(hidden.private, placed=hidden.private.placed.part(np.arange(2659) < 700))
    assert question_of(replace(hidden, private=fewer)) == question_of(hidden)
    public = replace(hamlet, private=fewer)
    assert question_of(public) != question_of(hamlet)
    assert public_facts(asked(places_public=True)).places_public
    ask = ask_of(asked(paths=7, quick=False, cutoff=0.4))
    assert (ask.priors, ask.paths, ask.quick, ask.cutoff) == (("car",), 7, False, 0.4)


@pytest.mark.parametrize(
    ("early", "late", "last"), [(9, 1, 2017), (91, 9, None), (1, 9, 2017), (9, 91, None), (0, 5, None)]
)
def test_a_last_year_needs_a_tenth_of_the_readings_and_leaves_a_tenth(
    hamlet: Project, early: int, late: int, last: int | None
) -> None:
    years = np.repeat([2016, 2017], [early, late])
    placed = replace(hamlet.reference, year=years)
    assert last_year(placed) == last
    assert last_year(replace(placed, year=years[:0])) is None


def test_what_is_given_by_hand_is_not_searched(hamlet: Project) -> None:
    given = hamlet.settings.with_changes(lengthscale=2_000.0, ridge=3.0)
    said = r"^Lengthscale and ridge are given: use `given_choice`, there is nothing to search\.$"
    with pytest.raises(WorkflowError, match=said):
        tune(replace(hamlet, settings=given))
