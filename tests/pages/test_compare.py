"""The Compare page: what is missing, a comparison with banner and curves, its map and its files."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from hexcursion.comparing.attacks import OneMore
from pages.compare import view
from pages.shared.session import workspace
from pages.shared.steps import COMPARE
from tests.pages.conftest import OpenApp, press, texts
from tests.pages.test_path import at_hexagons
from tests.patience import HANG


def at_compare(open_app: OpenApp, **choices: Any) -> AppTest:
    app = at_hexagons(open_app, 6)
    work: workspace.Workspace = app.session_state[workspace.KEY]
    work.choose(quick=True, priors=("car",), prior_mean=False, **choices)
    app.switch_page(COMPARE.path).run()
    assert not app.exception
    return app


def compared(app: AppTest, names: list[str], epsilons: list[float]) -> AppTest:
    work: workspace.Workspace = app.session_state[workspace.KEY]
    app.multiselect(key=f"compare_names_{work.mark}").set_value(names)
    app.button_group(key=f"compare_epsilons_{work.mark}").set_value(epsilons).run()
    press(app, "Compare")
    job = app.session_state["planning"].jobs["compare"].job
    assert job is None or job.wait(HANG)
    app.run()
    assert not app.exception
    return app


def test_without_data_it_says_what_is_missing(open_app: OpenApp) -> None:
    app = open_app(COMPARE.path)
    assert "First finish the step Data." in texts(app)
    assert not app.button


@pytest.mark.slow
def test_different_protections_stand_under_a_banner_and_apart(open_app: OpenApp) -> None:
    app = at_compare(open_app, places_public=True)
    compared(app, ["noisy-cell-statistics", "bin-means"], [1.0, 4.0])
    said = texts(app)
    assert "one ranking for each protection and none across" in said
    titles = [each.value for each in app.header if str(each.value).startswith("Hiding")]
    assert titles == ["Hiding values and places", "Hiding values"]
    assert said.count("shows most records on their right side") == 4
    assert len(app.get("vega_lite_chart")) == 2
    assert {label.label for label in app.get("download_button")} >= {"CSV", "SVG"}


def test_values_only_mechanisms_wait_for_public_places(open_app: OpenApp) -> None:
    app = at_compare(open_app)
    names = app.multiselect[0]
    assert "Noisy cell statistics" in names.options
    assert "Bin means" not in names.options
    assert "join once the screen Data says that the places are public" in texts(app)


def test_every_measure_has_dots_and_rows_have_words(open_app: OpenApp) -> None:
    app = compared(at_compare(open_app), ["noisy-cell-statistics"], [2.0])
    _, found = app.session_state["planning"].jobs["compare"].result
    for measure in view.MEASURES:
        (dot,) = view.dots(found, "values and places", measure)
        assert dot["number"] == 0
        assert dot["epsilon"] == 2.0
        assert dot["low"] <= dot["value"] <= dot["high"]
        app.segmented_control(key="compare_measure").set_value(measure).run()
        assert not app.exception
    (line,) = view.figure_rows(found, "values and places")
    assert line["mechanism"] == "Noisy cell statistics"
    assert line["agreement"] == "1", "no release differs, so no spread is said"


def row(**changes: Any) -> Any:
    """A row of a comparison, as far as its words look at it."""
    made = SimpleNamespace(
        agreement=0.9, judged_iou=0.71, records=0.5, records_sd=0.03, area_error=0.126, bce=0.456
    )
    plain = {"title": "M", "epsilon": 1.5, "reason": "no design", "calibration": 0.0234, "lost": 0.255}
    plain |= {"limit": 0.1234, "seconds": 2.34, "protects": "values"}
    best = SimpleNamespace(utility=made, design="d")
    return SimpleNamespace(**{"best": best, **plain, **changes})


def test_a_row_is_said_in_percent_and_what_is_not_known_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "design_words", lambda design: f"design {design}")
    whole = view._line(row())
    assert list(whole.values()) == (
        ["M", "1.5", "0.5 ± 0.03", "0.71", "13 %", "0.46", "0.02", "26 %", "12 %", "2.3", "design d"]
    )
    unknown = view._line(row(limit=math.nan, lost=math.nan))
    assert (unknown["limit"], unknown["variance left"], unknown["BCE"]) == ("–", "–", "0.46")
    assert view._line(row(best=None)) == {"mechanism": "M", "ε": "1.5", "design": "no design"}


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0 %"),
        (0.001, "0.1 %"),
        (0.0099, "0.99 %"),
        (0.01, "1 %"),
        (0.014, "1 %"),
        (0.99, "99 %"),
        (0.995, "99.5 %"),
        (0.99999, "99.99 %"),
        (1.0, "100 %"),
    ],
)
def test_a_share_is_never_said_to_be_all_where_it_is_not(share: float, said: str) -> None:
    assert view._percent(share) == said


@pytest.mark.parametrize(
    ("share", "said"), [(0.1234, "13 %"), (0.989, "99 %"), (0.9901, "99.01 %"), (0.99999, "100 %")]
)
def test_a_bound_is_rounded_up(share: float, said: str) -> None:
    assert view._at_most(share) == said


def test_smoothed_tables_are_made_of_at_most_twenty_thousand_hexagons() -> None:
    rules = {name: (rule.kind, rule.least, rule.numbers) for name, rule in view.rules_of(5, 20_000).items()}
    counted = {
        "at least 5": ("minimum", 5, True),
        "at least 5, class only": ("minimum", 5, False),
    }
    assert rules == {
        **counted,
        "smoothed, at least 10": ("smoothed", 10.0, True),
        "smoothed, class only": ("smoothed", 10.0, False),
    }
    assert list(view.rules_of(5, 20_001)) == list(counted)


@pytest.mark.parametrize(
    ("unit", "relation", "protects", "said"),
    [
        ("cell", "add-or-remove", "values", "one with the hexagon’s whole record and one without"),
        ("point", "add-or-remove", "values", "one with the sale and one without"),
        ("point", "replace-one", "values", "one with the sale and one with any other value in its place"),
        (
            "point",
            "replace-one",
            "values and places",
            "one with the sale and one with any other instead, wherever it lies",
        ),
    ],
)
def test_the_two_releases_that_nobody_tells_apart_are_those_of_the_guarantee(
    unit: str, relation: str, protects: str, said: str
) -> None:
    guarantee = {"unit": unit, "relation": relation, "protects": protects, "unit_word": "sale"}
    assert view._both(guarantee) == said
    reader: Any = SimpleNamespace(bundle=SimpleNamespace(statement={"guarantee": guarantee}))
    assert view.record_word(reader) == ("record" if unit == "cell" else "sale")


@pytest.mark.parametrize(
    ("before", "after", "sides", "said"),
    [
        (
            (3, 5.0),
            (4, 5.5),
            (True, True),
            [
                "4 sales with a mean of 5.5 km, less 3 sales with a mean of 5 km: "
                "4 × 5.5 km − 3 × 5 km = 7 km, its value.",
                "The map of classes is the same with it.",
            ],
        ),
        (
            (3, 5.0),
            (4, 5.5),
            (False, True),
            [
                "4 sales with a mean of 5.5 km, less 3 sales with a mean of 5 km: "
                "4 × 5.5 km − 3 × 5 km = 7 km, its value.",
                "The map of classes changes with it.",
            ],
        ),
        (
            None,
            (4, 5.5),
            (None, True),
            [
                "Its hexagon is hidden without it; its value is 7 km.",
                "The map of classes changes with it.",
            ],
        ),
        (
            None,
            None,
            (None, None),
            [
                "Its hexagon is hidden: nothing learned; its value is 7 km.",
                "The map of classes is the same with it.",
            ],
        ),
    ],
)
def test_what_two_editions_say_of_one_record(
    before: tuple[int, float] | None, after: tuple[int, float] | None, sides: Any, said: list[str]
) -> None:
    assert view.record_sentences(OneMore(7.0, before, after, *sides), "km", "sale") == said


def test_a_line_of_the_table_is_a_share_of_a_rule_and_a_bound_of_the_release() -> None:
    rule = view.Line("at least 5", 0.25, 0.5, 0.6, 0.125, 0.002, 0.995)
    assert list(rule.cells().values()) == ["at least 5", "25 %", "0.5", "0.6", "12 %", "0.2 %", "99.5 %"]
    ours = view.Line("this release", 1.0, 0.7, 0.7, 0.0, None, 0.6123, bound=True)
    said = ["this release", "100 %", "0.7", "0.7", "0 %", "by noise", "at most 62 %"]
    assert list(ours.cells().values()) == said


def test_where_no_record_turns_a_class_nobody_is_said_to_be_identified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(view, "_apart", lambda guarantee: 0.58)
    guarantee = {"unit": "point", "unit_word": "sale", "relation": "exchange", "protects": "records"}
    viewer: Any = SimpleNamespace(bundle=SimpleNamespace(statement={"guarantee": guarantee}))
    ours = view.Line("this release", 1.0, 0.7, 0.7, 0.0, None, 0.6, bound=True)

    def classes(changed: float) -> str:
        tables = [view.Line(name, 0.2, 0.5, 0.6, 0.1, changed, 0.5) for name in ("at least 5", "class only")]
        return view.sentences_of(5, [*tables, ours], viewer)[1]

    assert "for 100 % of the sales it makes no difference whether they are in. But nobody" in classes(0.0)
    assert "For the others it does, they are identified with certainty, and nobody" in classes(0.05)


@pytest.mark.parametrize(("exposure", "said"), [(None, ""), (object(), "These records are counted")])
def test_todays_rules_are_compared_for_values_only(exposure: Any, said: str) -> None:
    project: Any = SimpleNamespace(exposure=exposure)
    assert (said in view.not_compared(project)) if said else view.not_compared(project) == ""


def test_a_table_is_painted_in_beyond_not_and_hidden() -> None:
    shown, inside = np.array([True, True, False]), np.array([True, False, False])
    table: Any = SimpleNamespace(shown=shown, inside=inside)
    painting = view.paint_table(table, "above 5", "T")
    assert painting.classes.tolist() == [0, 1, 2]
    labels = ["above 5", "not above 5", "hidden by the rule, or empty"]
    assert [(entry.label, entry.role) for entry in painting.entries] == [
        (label, role) for label, role in zip(labels, ("above", "below", "unsure"), strict=True)
    ]
    assert painting.notes == tuple(f"Released: {label}" for label in labels)
    assert painting.title == "T"


@pytest.mark.parametrize(
    ("mu", "neighbours", "exchange", "said"),
    [
        (1.0, "replace-one", None, "at least 5.5 times"),
        (1.0, "add-or-remove", None, "at least 2.7 times"),
        (1.0, "add-or-remove", 1.5, "at least 3.6 times"),
    ],
)
def test_an_interval_for_a_value_is_so_many_times_the_range(
    monkeypatch: pytest.MonkeyPatch, mu: float, neighbours: str, exchange: float | None, said: str
) -> None:
    """2 * 1.96 * sqrt(2) / mu is 5.54 at mu 1, half of it where an exchange is two steps."""
    cost = SimpleNamespace(gaussian_mu=mu, neighbours=neighbours, exchange_mu=exchange)
    monkeypatch.setattr(view, "stated_cost", lambda guarantee: cost)
    viewer: Any = SimpleNamespace(bundle=SimpleNamespace(statement={"guarantee": {}}))
    assert said in str(view.release_sentence(viewer))
    cost.gaussian_mu = None
    assert view.release_sentence(viewer) is None
