"""The Compare page: what is missing, a comparison with banner and curves, its map and its files."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.compare import view
from pages.shared.session import workspace
from pages.shared.steps import COMPARE
from tests.pages.conftest import OpenApp, press, texts
from tests.pages.test_path import at_hexagons
from tests.patience import HANG


@pytest.fixture(autouse=True)
def _here_and_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "workers", lambda: 1)


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
    assert said.count("reaches the best expected agreement") == 4
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
