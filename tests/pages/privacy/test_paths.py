"""Posterior paths on the screen Privacy and utility: chosen, drawn, their noise, a rival, a remedy."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpgp_core.mechanisms.paths import PosteriorSamplingDesign
from hexcursion.search.bench import SEVERAL
from pages.privacy import path_panels
from pages.shared import maps
from pages.shared.glossary import PATHS, STATISTICS
from tests.pages.conftest import OpenApp, press, texts
from tests.pages.data_steps import work_of
from tests.pages.privacy_steps import at_privacy, charges, key_of, searched

pytestmark = pytest.mark.usefixtures("jobs_at_once")


@pytest.fixture(autouse=True)
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The titles of the panes and the lines of the legend of every map, the latest last."""
    seen: list[list[str]] = []

    def show(domain: Any, panes: Any, *, legend: Any = (), **_: Any) -> None:
        seen.append([*(pane.title for pane in panes), *(entry.label for entry in legend)])

    monkeypatch.setattr(maps, "show", show)
    return seen


def chosen_of(app: AppTest) -> PosteriorSamplingDesign:
    found = work_of(app).outcome
    assert found is not None
    design = found.choice.design
    assert isinstance(design, PosteriorSamplingDesign)
    return design


def test_the_way_a_map_is_drawn_is_one_choice_and_the_list_of_mechanisms_follows(open_app: OpenApp) -> None:
    app = at_privacy(open_app)
    way, listed = (key_of(app, name) for name in ("drawn", "mechanisms"))
    assert app.selectbox(key=way).value == "posterior-sampling"
    assert app.selectbox(key=way).options == [
        "Whichever agrees better",
        "Spectral statistics",
        "Posterior paths",
    ]
    app.selectbox(key=way).select("spectral-statistics").run()
    assert app.multiselect(key=listed).value == ["spectral-statistics"]
    assert work_of(app).settings().mechanisms == ("spectral-statistics",)
    app.multiselect(key=listed).set_value(["posterior-sampling", "spectral-statistics"]).run()
    assert (app.selectbox(key=way).value, len(app.selectbox(key=way).options)) == ("other", 4)
    app.selectbox(key=way).select("posterior-sampling").run()
    assert work_of(app).settings().mechanisms == ("posterior-sampling",)
    assert not app.exception


def test_paths_are_drawn_before_a_release_one_several_and_as_votes(
    open_app: OpenApp, drawn: list[list[str]]
) -> None:
    app = searched(open_app)
    assert re.fullmatch(r"One path, simulated: \d\d of 100 records on their right side", drawn[-1][0])
    assert PATHS in texts(app)
    shown = key_of(app, "paths_shown")
    app.selectbox(key=shown).select("several").run()
    assert drawn[-1][0] == "5 paths that could be drawn; one is released"
    assert drawn[-1][2:] == [f"path {k}" for k in range(1, 6)]
    app.selectbox(key=shown).select("votes").run()
    assert drawn[-1][0] == "Share of 5 paths that could be drawn; one is released"
    assert drawn[-1][2:] == [f"{k} of 5" for k in range(6)]
    kept = app.session_state["planning"].simulated[0][1]
    assert kept.paths.shape == (SEVERAL, kept.released.size)
    np.testing.assert_array_equal(kept.paths[0], kept.released)
    assert len(np.unique(kept.paths, axis=0)) > 1, "they are draws of their own"
    assert charges() == 0


def test_prior_noise_is_a_slider_that_says_what_it_costs_and_can_be_used(open_app: OpenApp) -> None:
    app = searched(open_app)
    before = chosen_of(app)
    own = f"{round(10 * before.noise_share) / 10:g}"
    share = 0.7
    app.select_slider(key=key_of(app, f"noise_share_{own}")).set_value(share).run()
    assert not app.exception
    assert re.search(r"With 70 % prior noise: \d\d of 100 records expected on their right side", texts(app))
    press(app, "Use this prior noise")
    after = chosen_of(app)
    assert after.noise_share == pytest.approx(share, abs=0.01)
    assert after.scale < before.scale, "the record's own noise shrinks"
    assert work_of(app).settings().epsilon == 1.0
    assert charges() == 0


def test_spectral_statistics_are_one_click_away_at_the_same_budget(
    open_app: OpenApp, drawn: list[list[str]]
) -> None:
    app = searched(open_app)
    press(app, "Side by side with spectral statistics at ε 1")
    both = "Both at ε 1, each drawn once in simulation. Expected records on their right side: posterior "
    assert re.search(rf"{both}paths \d\d of 100, spectral statistics \d\d of 100\.", texts(app))
    [(first, second, *_)] = [titles for titles in drawn if titles[0].startswith("Posterior paths")][-1:]
    assert re.fullmatch(r"Posterior paths: \d\d of 100 records on their right side", first)
    assert re.fullmatch(r"Spectral statistics: \d\d of 100 records on their right side", second)
    assert charges() == 0


def test_a_stopped_map_is_told_the_least_budget_that_would_do(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = searched(open_app)
    found = work_of(app).outcome
    assert found is not None
    assert path_panels.needed(found) == "", "nothing stops it"
    (first, *_) = found.tuned.result.frontier
    points = tuple(replace(first, epsilon=epsilon) for epsilon in (1.0, 2.0, 3.0, 5.0))
    result = replace(found.tuned.result, frontier=points)
    stopped = replace(found, tuned=replace(found.tuned, result=result))
    monkeypatch.setattr(type(found), "against", property(lambda self: ("it is poor",)))
    for enough, said in (
        (3.0, "What would be needed: Posterior paths: ε 3."),
        (9.0, "Not even ε 5 would do: take coarser hexagons, or more records."),
    ):
        monkeypatch.setattr(path_panels, "_stopped", lambda found, point, e=enough: point.epsilon < e)
        assert path_panels.needed(stopped) == said


def test_two_sentences_each_say_what_is_published() -> None:
    for words in (PATHS, STATISTICS):
        assert words.count(". ") == 1
        assert words.endswith(".")
