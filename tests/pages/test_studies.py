"""The Studies page: stored figures with their command, a quick run with cancel, the analyst's own audit."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import press, texts
from workflow.jobs import Job
from workflow.studies import RESULTS, STUDIES, StudyResult, load_result, registry

PAGE = "pages/evidence/studies.py"


@pytest.mark.parametrize("name", list(STUDIES))
def test_each_study_shows_its_stored_figures_and_the_command(
    open_app: Callable[..., AppTest], name: str
) -> None:
    app = open_app(PAGE)
    app.segmented_control(key="study").set_value(name).run()
    assert not app.exception
    assert STUDIES[name].question in texts(app)
    stored = [load_result(RESULTS / file) for file in STUDIES[name].stored]
    if any(stored):
        commands = [code.value for code in app.code]
        assert any(command in (STUDIES[name].command, "python -m benchmarks.london") for command in commands)
        facts = next(result for result in stored if result is not None).facts()
        assert facts in texts(app)
        assert app.dataframe
    else:
        assert STUDIES[name].command in texts(app)


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
    job: Job[StudyResult] = app.session_state["study_membership_job"]
    press(app, "Cancel the study")
    assert job.wait(30.0)
    app.run()
    assert "The run was cancelled." in texts(app)
    go_on.set()
    press(app, "Run the study")
    if "study_membership_job" in app.session_state:
        assert app.session_state["study_membership_job"].wait(30.0)
    app.run()
    assert not app.exception
    assert "study_membership_result" in app.session_state
