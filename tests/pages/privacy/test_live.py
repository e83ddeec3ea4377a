"""The panel follows the budget's slider; questions relative to limits or to the public map; the cutoff."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpgp_core.mechanisms.spectral_design import SpectralStatisticsDesign
from hexcursion.project.load import load_project
from hexcursion.search.tuning import tune
from hexcursion.settings import ReleaseSettings
from hexcursion.words import ratio_words
from pages.privacy import designs, frontier, search_panel, trials
from pages.privacy.designs import search_job
from pages.privacy.numbers import slack_of
from pages.shared.session import workspace
from pages.shared.session.outcome import SearchOutcome
from pages.shared.subprocess_job import Job
from tests.pages.conftest import finished, press, texts
from tests.pages.data_steps import work_of
from tests.pages.privacy_steps import OpenApp, at_privacy, key_of

SPECTRAL = {"mechanisms": ("spectral-statistics",), "prior_mean": False, "delta": 1e-5}


@pytest.fixture(autouse=True)
def searches(monkeypatch: pytest.MonkeyPatch) -> list[ReleaseSettings]:
    """Searches are over when the screen asks for them; their settings, in order."""
    asked: list[ReleaseSettings] = []

    def made(settings: ReleaseSettings, *more: Any) -> Job[Any]:
        asked.append(settings)
        return finished(search_job)(settings, *more)

    monkeypatch.setattr(search_panel, "search_job", made)
    return asked


def found_of(app: AppTest) -> SearchOutcome:
    found = work_of(app).outcome
    assert found is not None
    return found


def mu_of(app: AppTest) -> float:
    design = found_of(app).choice.design
    assert isinstance(design, SpectralStatisticsDesign)
    return design.mu


def told(app: AppTest) -> str:
    """What the screen says of the design to release."""
    lines = texts(app).replace("\\", "").splitlines()
    return next(line for line in lines if line.startswith("**The design to release:**"))


def slide(app: AppTest, epsilon: float) -> AppTest:
    app.select_slider(key=key_of(app, "epsilon")).set_value(epsilon).run()
    assert not app.exception
    return app


def test_a_moved_slider_searches_at_the_new_budget_as_the_command_line_does(
    open_app: OpenApp, searches: list[ReleaseSettings]
) -> None:
    app = press(at_privacy(open_app, epsilon=1.0, **SPECTRAL), "Search for the best design")
    assert mu_of(app) == pytest.approx(0.268051, rel=1e-5)  # delta 1e-5
    slide(app, 3.0)
    assert [settings.epsilon for settings in searches] == [1.0, 3.0]
    found = found_of(app)
    assert ratio_words(found.tuned.result.chosen.utility.judged_iou) in told(app)
    alone = tune(found.project, frontier=())
    assert found.choice.design == alone.choice.design
    assert [point.epsilon for point in found.tuned.result.frontier] == [3.0]


def test_the_curve_follows_the_proposal_and_changes_nothing_of_it(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, searches: list[ReleaseSettings]
) -> None:
    monkeypatch.setattr(frontier, "lines_of", designs.lines_of)
    monkeypatch.setattr(frontier, "curve_job", finished(designs.curve_job))
    app = press(at_privacy(open_app, epsilon=1.0, **SPECTRAL), "Search for the best design")
    found = found_of(app)
    assert [point.epsilon for point in found.tuned.result.frontier] == [0.25, 0.5, 1.0, 2.0, 4.0, 10.0]
    assert found.choice.design == tune(found.project, frontier=()).choice.design
    slide(app, 2.0)
    found = found_of(app)
    assert [point.epsilon for point in found.tuned.result.frontier] == [0.25, 0.5, 1.0, 2.0, 4.0, 10.0]
    assert found.choice.design == tune(found.project, frontier=()).choice.design
    assert len(searches) == 2


def test_what_is_asked_for_when_the_curve_has_just_grown_is_answered(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The button is drawn above the curve, which brings further designs in the same run of the screen."""
    monkeypatch.setattr(frontier, "curve_job", finished(designs.curve_job))
    monkeypatch.setattr(frontier, "solve_job", finished(trials.solve_job))
    app = press(at_privacy(open_app, epsilon=1.0, **SPECTRAL), "Search for the best design")
    app.segmented_control(key=key_of(app, "goal")).set_value("agreement").run()
    monkeypatch.setattr(frontier, "lines_of", designs.lines_of)
    app.slider(key=key_of(app, "wanted")).set_value(0.5).run()
    assert len(found_of(app).tuned.result.frontier) == 6
    press(app, "Find the smallest ε for 0.50")
    assert "reaches it" in texts(app)


def test_the_side_bar_and_the_steps_know_of_a_design_as_soon_as_the_screen_does(open_app: OpenApp) -> None:
    """They are drawn first: what was found below them has to draw them again."""

    def decided() -> list[str]:
        return [line.value for line in app.sidebar.markdown if line.value.startswith("**Privacy")]

    app = press(at_privacy(open_app, epsilon=1.0, **SPECTRAL), "Search for the best design")
    assert decided() == ["**Privacy and utility**  \none sale, ε 1, δ 1 in 100,000"]
    slide(app, 0.5)
    assert decided() == ["**Privacy and utility**  \none sale, ε 0.5, δ 1 in 100,000"]


def test_another_question_is_not_answered_by_the_same_search(
    open_app: OpenApp, searches: list[ReleaseSettings]
) -> None:
    app = press(at_privacy(open_app, epsilon=1.0, **SPECTRAL), "Search for the best design")
    app.selectbox(key=key_of(app, "direction")).set_value("below").run()
    assert "The choices have changed since the last search." in texts(app)
    slide(app, 3.0)
    assert not work_of(app).fits()
    assert len(searches) == 1


def test_what_was_accepted_at_one_budget_is_asked_again_at_another(open_app: OpenApp) -> None:
    app = press(at_privacy(open_app, epsilon=1.0, **SPECTRAL), "Search for the best design")
    work_of(app).restate(accept_low_agreement=True)
    slide(app, 0.5)
    assert not work_of(app).settings().accept_low_agreement
    assert not found_of(app).project.settings.accept_low_agreement
    assert found_of(app).project.settings.epsilon == 0.5


def test_a_cutoff_is_chosen_on_the_screen_and_kept(open_app: OpenApp) -> None:
    app = at_privacy(open_app, epsilon=1.0, **SPECTRAL)
    assert work_of(app).settings().cutoff is None
    app.selectbox(key=key_of(app, "cutoff")).set_value(0.4).run()
    press(app, "Search for the best design")
    assert found_of(app).choice.design.cutoff == 0.4
    table = next(each.value for each in app.table if "area off by" in each.value.columns)
    assert "0.4 (the design)" in [str(entry).replace("\\", "") for entry in table["inside from"]]
    assert all(str(entry).endswith("%") for entry in table["area off by"])


def limits_of(app: AppTest, factor: float = 1.0, missing: int = 0) -> bytes:
    domain = work_of(app).domain
    assert domain is not None
    rows = [f"{cell},{factor * (400_000 + number)}" for number, cell in enumerate(domain.cells[missing:])]
    return "\n".join(["h3,value", *rows]).encode()


def compared(app: AppTest, word: str) -> AppTest:
    app.selectbox(key=key_of(app, "against")).set_value(word).run()
    assert not app.exception
    return app


def given(app: AppTest, data: bytes) -> AppTest:
    app.file_uploader(key="limits_upload").set_value(("limits.csv", data, "text/csv")).run()
    assert not app.exception
    return app


def test_limits_by_zone_make_the_threshold_relative(open_app: OpenApp) -> None:
    app = compared(at_privacy(open_app, **SPECTRAL), "limits")
    assert "Upload the limits first" in texts(app)
    assert "The threshold is missing: give it under The question." in texts(app)
    given(app, limits_of(app))
    number = app.number_input(key=key_of(app, "threshold_limits"))
    assert (number.label, number.value) == ("the threshold (times the limit there)", 1.0)
    number.set_value(1.1).run()
    assert "A hexagon is inside where its value is above 1.1 times the limit of its zone." in texts(app)
    settings = work_of(app).settings()
    assert (settings.threshold, settings.change) == (1.1, False)
    relative = load_project(settings).relative
    assert relative is not None
    assert relative.field[:2].tolist() == [400_000.0, 400_001.0]
    press(app, "Search for the best design")
    assert found_of(app).project.settings.limits == settings.limits
    compared(app, "value")
    assert work_of(app).choices["limits"] is None


def test_limits_that_leave_hexagons_out_are_one_sentence(open_app: OpenApp) -> None:
    app = compared(at_privacy(open_app, **SPECTRAL), "limits")
    given(app, limits_of(app, missing=1))
    assert "The limits cannot be used: 1 of" in texts(app)
    assert work_of(app).choices["limits"] is None


def test_change_is_asked_against_the_public_map(open_app: OpenApp) -> None:
    app = compared(at_privacy(open_app, mechanisms=("spectral-statistics",), prior_mean=True), "change")
    number = app.number_input(key=key_of(app, "threshold_change"))
    assert (number.label, number.value) == ("the threshold (times the public map)", 1.0)
    number.set_value(1.05).run()
    assert "above 1.05 times what the public map says" in texts(app)
    settings = work_of(app).settings()
    assert (settings.change, settings.threshold, settings.prior_mean) == (True, 1.05, False)
    press(app, "Search for the best design")
    assert found_of(app).project.settings.change


def test_change_is_not_offered_where_the_reference_is_not_published(open_app: OpenApp) -> None:
    app = at_privacy(open_app, **SPECTRAL)
    work_of(app).choose(reference_public=False, public_counts=None, change=True)
    app.run()
    assert app.selectbox(key=key_of(app, "against")).options == [
        "One value for the whole map",
        "Limits that differ by zone, from a file",
    ]
    assert work_of(app).choices["change"] is False


def test_the_usual_slack_is_that_of_the_searched_records() -> None:
    work = workspace.Workspace()
    assert slack_of(work) == 1e-5
    work.outcome = SimpleNamespace(project=SimpleNamespace(delta=1e-6))  # type: ignore[assignment]
    assert slack_of(work) == 1e-6
    work.choices["delta"] = 1e-8
    assert slack_of(work) == 1e-8
