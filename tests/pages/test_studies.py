"""The Studies page: stored figures with their command, a quick run with cancel, the analyst's own audit."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.session import side_jobs
from studies import registry
from studies.london.paper_map import paper_maps
from studies.registry import RESULTS, STUDIES
from studies.reporting.tables import StudyResult, load_result
from tests.pages.conftest import press, texts
from tests.patience import HANG

PAGE = "studies/page.py"


RECORDED = {"membership", "audit", "leaderboard", "london"}
"""`tests/pages/scenes` runs their screens."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in STUDIES if name not in RECORDED])
def test_each_study_shows_its_stored_figures_and_the_command(
    open_app: Callable[..., AppTest], name: str
) -> None:
    app = open_app(PAGE)
    app.segmented_control(key="study").set_value(name).run()
    assert not app.exception
    assert STUDIES[name].question in texts(app)
    stored = [load_result(STUDIES[name].folder / file) for file in STUDIES[name].stored]
    if any(stored):
        commands = [code.value for code in app.code]
        assert any(
            command in (STUDIES[name].command, "python -m studies.agreement.london_real")
            for command in commands
        )
        words = texts(app).replace("\\", "")
        for result in stored:
            assert result is not None
            assert words.count(result.facts()) == 1  # above the figures: how all of them were made
            for note in result.notes:
                assert note in words
        assert not app.dataframe
        table = next(box for box in app.selectbox if box.label == "Table")
        table.set_value(next(result for result in stored if result).tables[0].name).run()
        assert app.dataframe
    else:
        assert STUDIES[name].command in texts(app)


@pytest.mark.slow
def test_london_draws_figure_4_with_the_hexagon_map(open_app: Callable[..., AppTest]) -> None:
    """For the real and the generated sales: by this program and by the published recipe, hexagons below, a
    line without privacy and one for each of three paths above, and nothing of any outline."""
    app = open_app(PAGE)
    app.segmented_control(key="study").set_value("london").run()
    charts = [json.loads(chart.proto.json) for chart in app.get("deck_gl_json_chart")]
    assert len(charts) == 4
    for chart in charts:
        names = [layer["id"] for layer in chart["layers"]]
        assert names[0] == "cells"
        assert names[1].startswith("baseline")
        assert names[2:] == ["path-0", "path-1", "path-2"]
        assert all(layer["data"] for layer in chart["layers"])
        assert chart["layers"][0]["@@type"] == "H3HexagonLayer"
    stored = load_result(RESULTS / "london-real.json")
    assert stored is not None
    for drawn in paper_maps(stored):
        assert drawn.title in texts(app)
        assert drawn.words in texts(app)


def test_a_quick_run_can_be_cancelled_and_its_result_is_shown(
    open_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = load_result(RESULTS / "membership.json")
    assert stored is not None
    go_on = threading.Event()

    def waiting(report: Callable[[float, str], None]) -> StudyResult:
        while not go_on.wait(0.01):
            report(0.4, "Waiting")
        return stored

    app = open_app(PAGE)
    study = registry.STUDIES["membership"]
    monkeypatch.setitem(registry.STUDIES, "membership", type(study)(**{**vars(study), "quick": waiting}))
    press(app, "Run the study")
    assert "Cancel the study" in [button.label for button in app.button]
    job = app.session_state[side_jobs.KEY].jobs["study"].job
    press(app, "Cancel the study")
    assert job.wait(HANG)
    app.run()
    assert "Cancelled." in texts(app)
    go_on.set()
    press(app, "Run the study")
    if (job := app.session_state[side_jobs.KEY].jobs["study"].job) is not None:
        assert job.wait(HANG)
    app.run()
    assert not app.exception
    assert app.session_state[side_jobs.KEY].jobs["study"].result is stored
