"""The widgets of the step Privacy: their options, first values, limits, and what a choice sets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pages.privacy import ask, numbers, path_panels, question_view
from pages.shared.session.workspace import Workspace
from tests.pages.recorded import Recorded


@pytest.fixture
def goal(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What a search is to reach: nothing at first."""
    held = SimpleNamespace(wanted=None)
    monkeypatch.setattr(ask, "planning", lambda work: held)
    return held


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch, goal: SimpleNamespace) -> Recorded:
    recorded = Recorded()
    for module in (ask, numbers, path_panels):
        monkeypatch.setattr(module, "st", recorded)
    monkeypatch.setattr(ask.pilot_panel, "chosen", lambda work: False)
    return recorded


def work(**choices: Any) -> Workspace:
    return Workspace(choices={"threshold": 50.0, **choices})


def test_a_record_or_a_hexagon_is_protected(screen: Recorded) -> None:
    of = work()
    ask._unit(of)
    assert screen.said("header", "radio") == ["Who is protected", "Unit of protection"]
    assert screen.shown("Unit of protection") == ["Each record", "Each hexagon's median"]
    asked = screen.asked("Unit of protection")
    assert (asked["index"], asked["label_visibility"]) == (0, "collapsed")
    assert asked["captions"] == [
        "ε limits what the map tells about one record.",
        "One median per hexagon is used.",
    ]
    assert of.choices["unit"] == "point"
    kept = work(unit="cell")
    screen.calls.clear()
    ask._unit(kept)
    assert screen.asked("Unit of protection")["index"] == 1
    assert kept.choices["unit"] == "cell"


@pytest.mark.parametrize("values", ["yes-no", "count"])
def test_answers_and_counts_have_records_alone(screen: Recorded, values: str) -> None:
    of = work(values=values, unit="cell")
    ask._unit(of)
    assert screen.shown("Unit of protection") == ["Each record"]
    assert len(screen.asked("Unit of protection")["captions"]) == 1
    assert of.choices["unit"] == "point"


@pytest.mark.parametrize(("most", "said"), [(1, 0), (None, 0), (2, 1), (1_200, 1)])
def test_an_owner_of_several_rows_is_told_what_that_means(
    screen: Recorded, most: int | None, said: int
) -> None:
    ask._unit(work(owner="sensor_id", records_per_owner=most))
    captions = screen.said("caption")
    assert len(captions) == said
    assert all(text.startswith(f"Up to {most:,} readings of one sensor are used") for text in captions)
    screen.calls.clear()
    ask._unit(work(records_per_owner=most))
    assert screen.said("caption") == []


def test_the_number_of_records_is_public_unless_it_is_kept_private(screen: Recorded) -> None:
    of = work()
    ask.ask_number(of)
    assert screen.said("checkbox", "number_input") == ["Keep the number of records private, too"]
    assert (of.choices["relation"], of.choices["records_about"]) == ("replace-one", None)
    hidden = work(relation="add-or-remove", records_about=70, unit="cell")
    screen.calls.clear()
    ask.ask_number(hidden)
    assert screen.asked("Keep the number of non-empty hexagons private, too")["value"] is True
    asked = screen.asked("About how many non-empty hexagons, by public knowledge")
    assert (asked["_"], asked["value"]) == ((1, 100_000_000), 70)
    assert (hidden.choices["relation"], hidden.choices["records_about"]) == ("add-or-remove", 70)


def test_public_places_show_how_many_there_are(screen: Recorded) -> None:
    of = work(relation="add-or-remove", places_public=True)
    ask.ask_number(of)
    asked = screen.asked("Keep the number of records private, too")
    assert (asked["disabled"], asked["value"]) == (True, False)
    assert of.choices["relation"] == "replace-one"


def test_a_budget_is_chosen_among_usual_ones_and_the_one_that_stands(
    screen: Recorded, goal: SimpleNamespace
) -> None:
    goal.wanted = 0.7
    screen.answers["What is given"] = "budget"
    of = work(epsilon=1.5)
    ask._strength(of)
    asked = screen.asked("Privacy budget ε")
    assert asked["_"] == ([0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0],)
    assert (asked["value"], asked["format_func"](0.25)) == (1.5, "0.25")
    assert screen.asked("What is given")["default"] == "agreement", "as it stood before"
    assert of.choices["epsilon"] == 1.5
    assert goal.wanted is None


def test_an_agreement_is_asked_for_between_three_and_99_in_a_hundred(
    screen: Recorded, goal: SimpleNamespace
) -> None:
    screen.answers["What is given"] = "agreement"
    ask._strength(work())
    assert screen.shown("What is given") == ["Set the budget ε", "Set the agreement"]
    assert screen.asked("Agreement needed (IoU)")["_"] == (0.3, 0.99, 0.8, 0.01)
    assert goal.wanted == 0.8
    assert "smallest ε" in screen.said("caption")[0]
    assert "Privacy budget ε" not in screen.said("select_slider")


def test_a_pilot_needs_a_budget(screen: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask.pilot_panel, "chosen", lambda work: True)
    ask._strength(work())
    assert screen.said("segmented_control") == []
    assert screen.said("select_slider") == ["Privacy budget ε"]


def test_what_epsilon_means_is_said_and_shown_as_odds(screen: Recorded) -> None:
    ask.show_attack(work())
    assert screen.said("expander") == ["What an attacker can do"]
    assert "up to 2.72 times more likely, apart from a slack of 1 in 100,000" in screen.said("caption")[0]
    assert screen.said("markdown") == ["**At ε 1 an attacker who is after one record**"]
    (table,) = screen.said("table")
    assert table["at most"] == ["2\\.72 times", "74:26", "56:44", "2\\.72 %", "27\\.2 %"]
    assert table["An attacker"][3:] == [
        f"detects the record, with {share} % false alarms" for share in (1, 10)
    ]
    ((_, (drawn,), _),) = [call for call in screen.calls if call[0] == "vega_lite_chart"]
    assert (drawn["height"], drawn["width"]) == (240, 320)
    guessing, bound = drawn["layer"]
    assert guessing["data"]["values"] == [{"x": 0, "y": 0}, {"x": 1, "y": 1}]
    assert guessing["mark"]["strokeDash"] == [4, 4]
    assert bound["encoding"]["x"]["scale"] == bound["encoding"]["y"]["scale"] == {"domain": [0, 1]}
    assert bound["encoding"]["y"]["axis"]["values"] == [0, 0.5, 1]
    assert bound["data"]["values"][-1] == {"alarms": 1.0, "detections": 1.0}


def test_a_slack_is_the_usual_one_or_one_of_a_list(screen: Recorded) -> None:
    of = work()
    numbers.ask_slack_and_paths(of)
    asked = screen.asked("Slack δ")
    assert asked["_"] == (["usual", 1e-4, 1e-5, 1e-6, 1e-7, 1e-8],)
    assert asked["index"] == 0
    assert screen.shown("Slack δ")[:2] == ["the usual one", "1 in 10,000"]
    assert of.choices["delta"] is None
    screen.calls.clear()
    own = work(delta=3e-6)
    numbers.ask_slack_and_paths(own)
    asked = screen.asked("Slack δ")
    assert asked["_"] == (["usual", 1e-4, 1e-5, 3e-6, 1e-6, 1e-7, 1e-8],)
    assert (asked["index"], own.choices["delta"]) == (3, 3e-6)


def test_paths_are_asked_for_where_something_reads_them(screen: Recorded) -> None:
    of = work(mechanisms=("posterior-sampling",), paths=7)
    ask._more(of)
    assert screen.said("number_input") == [], "of paths alone it is asked where they are chosen"
    path_panels.ask_drawn(of)
    (label,) = screen.said("number_input")
    assert (screen.asked(label)["_"], screen.asked(label)["value"]) == ((1, 1000), 7)
    assert of.choices["paths"] == 7
    screen.calls.clear()
    ask._more(work(paths=7, reference="r.csv"))
    assert screen.said("number_input") == [label]
    screen.calls.clear()
    numbers.ask_slack_and_paths(work(mechanisms=("spectral-statistics",)), paths=False)
    assert screen.said("number_input") == []


@pytest.mark.parametrize(
    ("records", "delta", "warned"), [(100, 0.01, True), (99, 0.01, False), (10**6, None, False)]
)
def test_a_slack_of_one_in_the_number_of_records_needs_a_second_yes(
    screen: Recorded, monkeypatch: pytest.MonkeyPatch, records: int, delta: float | None, warned: bool
) -> None:
    monkeypatch.setattr(Workspace, "records", property(lambda self: records))
    of = work(accept_large_delta=True)
    numbers._large_slack(of, delta)
    assert screen.said("warning", "checkbox") == (
        [
            "With this slack even publishing a whole record would keep the promise: choose a smaller one.",
            "Use this slack anyway",
        ]
        if warned
        else []
    )
    assert of.choices["accept_large_delta"] is warned


def test_more_choices_begin_with_what_is_usual(screen: Recorded) -> None:
    of = work()
    ask._more(of)
    assert screen.said("expander") == ["More choices"]
    cutoff = screen.asked("A hexagon is inside from a probability of")
    assert cutoff["_"] == (["usual", 0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2],)
    assert cutoff["index"] == 0
    assert screen.shown("A hexagon is inside from a probability of")[:3] == ["what agrees best", "0.9", "0.8"]
    assert screen.asked("Quick search on a coarser grid")["value"] is False
    usual = ("posterior-sampling", "noisy-cell-statistics", "spectral-statistics")
    assert of.choices["mechanisms"] == usual
    assert (of.choices["prior_mean"], of.choices["cutoff"], of.choices["quick"]) == (False, None, False)
    screen.calls.clear()
    own = work(cutoff=0.33, quick=True)
    ask._more(own)
    assert (own.choices["cutoff"], own.choices["quick"]) == (0.33, True)


@pytest.mark.parametrize(
    ("choices", "index", "disabled", "chosen"),
    [
        ({}, 2, True, False),
        ({"reference_public": True}, 0, False, None),
        ({"reference_public": True, "prior_mean": True}, 1, False, True),
        ({"reference_public": True, "prior_mean": False}, 2, False, False),
        ({"reference_public": True, "prior_mean": True, "change": True}, 2, True, False),
        ({"prior_mean": True}, 2, True, False),
    ],
)
def test_a_release_may_start_from_a_public_map(
    screen: Recorded, choices: dict[str, Any], index: int, disabled: bool, chosen: bool | None
) -> None:
    assert ask._start(work(**choices)) is chosen
    asked = screen.asked("Start from the public reference map?")
    assert (asked["index"], asked["disabled"]) == (index, disabled)
    assert screen.shown("Start from the public reference map?") == [
        "Try both and take the better",
        "Yes",
        "No",
    ]


def test_what_is_best_is_asked_where_designs_are_searched(screen: Recorded) -> None:
    of = work(mechanisms=("posterior-sampling",), reference="r.csv", objective="bce")
    ask._searched(of)
    asked = screen.asked("What is best?")
    assert asked["_"] == (["iou", "bce"],)
    assert (asked["index"], of.choices["objective"], of.choices["priors"]) == (1, "bce", None)


@pytest.mark.parametrize(
    ("choices", "disabled", "chosen"),
    [
        ({}, False, "all"),
        ({"focus": "threshold"}, False, "threshold"),
        ({"focus": "threshold", "looks": 2}, True, "all"),
    ],
)
def test_without_reference_data_one_threshold_may_be_all_that_matters(
    screen: Recorded, choices: dict[str, Any], disabled: bool, chosen: str
) -> None:
    of = work(mechanisms=("spectral-statistics",), **choices)
    ask._searched(of)
    assert screen.said("checkbox") == ["Only this threshold matters"]
    assert screen.asked("Only this threshold matters")["disabled"] is disabled
    assert of.choices["focus"] == chosen
    assert "focus" in ask._idle(work(mechanisms=("spectral-statistics",), values="yes-no"))
    screen.calls.clear()
    ask._searched(work(mechanisms=("spectral-statistics",), reference="r.csv"))
    assert screen.said("checkbox") == []


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"value_unit": "ug/l"}, "above 50 ug/l"),
        ({"value_unit": "ug/l", "direction": "below"}, "at most 50 ug/l"),
        ({"values": "yes-no", "value_unit": "ug/l"}, "above 50 %"),
        ({"values": "count", "population_file": "p.csv"}, "above 50 times the average"),
        ({"change": True}, "above 50, relative to the public map"),
        ({"limits": "l.csv", "direction": "below"}, "at most 50, relative to the limits by zone"),
    ],
)
def test_the_question_in_a_maps_words(choices: dict[str, Any], said: str) -> None:
    assert question_view.threshold_words(work(**choices)) == said
