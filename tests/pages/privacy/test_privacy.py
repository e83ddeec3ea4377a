"""Privacy and utility in the test harness: solving, varying, typing a design, odds, remarks, looked."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from hexcursion.ledger import open_ledger
from hexcursion.search.tuning import Tuned
from pages.privacy import frontier, search_panel
from pages.privacy.question_view import attack_odds
from pages.shared.session import side_jobs
from pages.shared.steps import HEXAGONS, PRIVACY, RELEASE
from pages.shared.subprocess_job import Job
from tests.pages.conftest import press, texts
from tests.pages.data_steps import work_of
from tests.pages.privacy_steps import OpenApp, at_privacy, key_of, searched
from tests.pages.test_path import release_now
from tests.patience import HANG

pytestmark = pytest.mark.usefixtures("jobs_at_once")


def want(app: AppTest, agreement: float) -> AppTest:
    app.segmented_control(key=key_of(app, "goal")).set_value("agreement").run()
    app.slider(key=key_of(app, "wanted")).set_value(agreement).run()
    assert not app.exception
    return app


def reachable(app: AppTest) -> float:
    found = work_of(app).outcome
    assert found is not None
    return round(found.tuned.result.chosen.utility.judged_iou - 0.02, 2)


@pytest.mark.slow
def test_the_wanted_agreement_is_solved_after_the_search_and_settled_with_one_click(
    open_app: OpenApp,
) -> None:
    app = searched(open_app)
    goal = reachable(app)
    app.number_input(key=key_of(app, "threshold")).set_value(440_000.0).run()
    want(app, goal)
    press(app, "Search for the smallest budget")
    app.run()
    solved = app.session_state[side_jobs.KEY].jobs["solve"].result
    assert solved is not None
    assert solved.scored.utility.judged_iou >= goal
    assert f"ε {solved.epsilon:g}" in texts(app)
    press(app, f"Use ε {solved.epsilon:g}")
    found = work_of(app).outcome
    assert found is not None
    assert found.choice.design == solved.scored.design
    assert found.project.settings.epsilon == solved.epsilon
    assert work_of(app).fits()
    assert "This is the design to release." in texts(app)
    app.segmented_control(key=key_of(app, "goal")).set_value("budget").run()
    assert app.select_slider(key=key_of(app, "epsilon")).value == solved.epsilon
    assert work_of(app).fits()
    assert "What will be published" in texts(app.switch_page(RELEASE.path).run())


@pytest.mark.slow
def test_an_agreement_out_of_reach_names_the_remedy(open_app: OpenApp) -> None:
    app = want(searched(open_app, 7, prior_mean=False), 0.99)
    press(app, "Find the smallest ε for 0.99")
    said = [str(warning.value) for warning in app.warning]
    assert len(said) == 1, texts(app)
    assert said[0].startswith("No design reaches 0.99, even at ε 20.")
    assert "accept less" in said[0]


@pytest.mark.slow
def test_another_wanted_agreement_outdates_the_answer_visibly(open_app: OpenApp) -> None:
    app = searched(open_app)
    goal = reachable(app)
    press(want(app, goal), f"Find the smallest ε for {goal:.2f}")
    assert "reaches it" in texts(app)
    want(app, goal - 0.1)
    assert "reaches it" not in texts(app)
    assert "belongs to another design or other choices" in texts(app)


@pytest.mark.slow
def test_each_number_is_varied_and_kept_when_one_goes_away_and_comes_back(open_app: OpenApp) -> None:
    app = searched(open_app)
    before = len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))
    press(app, "Show what each number does")
    charts = len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))
    assert charts == before + 8
    for word in ("Range of the prior", "Ridge", "Scale", "Paths"):
        assert f"**{word}" in texts(app)
    result = app.session_state[side_jobs.KEY].jobs["sweep"].result
    app.switch_page(RELEASE.path).run()
    app.switch_page(PRIVACY.path).run()
    assert app.session_state[side_jobs.KEY].jobs["sweep"].result is result
    assert "Show what each number does" not in [button.label for button in app.button]


def typed(app: AppTest, **values: Any) -> AppTest:
    for name, value in values.items():
        app.number_input(key=key_of(app, f"own_{name}")).set_value(value)
    return press(app, "Try this design")


@pytest.mark.slow
def test_a_typed_design_within_the_budget_is_released_as_typed(open_app: OpenApp) -> None:
    app = searched(open_app, epsilon=10.0)
    found = work_of(app).outcome
    assert found is not None
    ridge = float(f"{2 * found.choice.design.ridge:.3g}")
    typed(app, ridge=ridge, paths=2)
    press(app, "Use this design")
    found = work_of(app).outcome
    assert found is not None
    assert found.choice.design.ridge == ridge
    assert found.choice.design.paths == found.project.settings.paths == 2
    assert work_of(app).fits()
    said = texts(app.switch_page(RELEASE.path).run())
    assert "typed in by the curator and judged there" in said
    assert "2 paths" in said
    assert {entry.kind for entry in open_ledger().entries()} == {"genesis"}  # nothing was charged


def test_a_typed_design_beyond_the_budget_cannot_be_used(open_app: OpenApp) -> None:
    app = typed(searched(open_app, prior_mean=False), ridge=0.001)
    said = " ".join(str(warning.value) for warning in app.warning)
    assert "It does not fit ε 1: raise its ridge or scale" in said
    assert "no finite bound" in texts(app)
    assert "Use this design" not in [button.label for button in app.button]


def test_a_scale_of_nothing_is_one_sentence(open_app: OpenApp) -> None:
    app = typed(searched(open_app), scale=0.0)
    assert "This design is impossible: the scale must be a positive number" in texts(app)


@pytest.mark.slow
def test_several_paths_are_simulated_and_one_path_is_told_why_not(open_app: OpenApp) -> None:
    app = searched(open_app)
    assert "One path is one possible map" in texts(app)
    app.number_input(key=key_of(app, "paths")).set_value(10).run()
    press(app, "Search for the best design")
    press(app, "Simulate releases")
    assert "of those calls agree with the map without privacy" in texts(app)
    assert "of 40 simulated releases" in texts(app)


def test_the_attackers_odds_follow_the_budget(open_app: OpenApp) -> None:
    app = at_privacy(open_app)
    tables = [str(table.value.to_numpy()).replace("\\", "") for table in app.table]
    assert any(attack_odds(1.0, 1e-5).guesses in table for table in tables)
    app.select_slider(key=key_of(app, "epsilon")).set_value(0.1).run()
    tables = [str(table.value.to_numpy()).replace("\\", "") for table in app.table]
    assert any(attack_odds(0.1, 1e-5).guesses in table for table in tables)
    assert not app.warning  # nothing warns of a small epsilon


def test_what_the_search_remarks_stands_on_the_screen(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tuned, "remarks", lambda self: ("Mind the gap.",))
    assert "Mind the gap." in texts(searched(open_app))


@pytest.mark.slow
def test_who_chose_by_looking_says_so_and_the_receipt_too(open_app: OpenApp) -> None:
    app = searched(open_app).switch_page(RELEASE.path).run()
    assert "NOT ACCOUNTED" not in texts(app)
    app.checkbox(key=key_of(app, "looked")).set_value(True).run()
    assert "NOT ACCOUNTED" in texts(app)
    assert work_of(app).settings().looked
    app.checkbox(key=key_of(app, "looked")).set_value(False).run()
    assert "NOT ACCOUNTED" not in texts(app)
    app.checkbox(key=key_of(app, "looked")).set_value(True).run()
    release_now(app)
    charge = next(entry for entry in open_ledger(create=False).entries() if entry.kind == "reserve")
    assert "not accounted" in str(charge)


@pytest.mark.slow
def test_a_cancel_leaves_at_once_even_where_the_computation_has_not_heard_of_it(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = Event()
    jobs: list[Job[None]] = []

    def deaf(*_: Any) -> Job[None]:
        jobs.append(Job(lambda report: over.wait(HANG) and None))
        return jobs[-1]

    app = want(searched(open_app), 0.8)
    for module, name, begin, stop, said in (
        (frontier, "solve_job", "Find the smallest ε for 0.80", "Cancel the solving", "Cancelled."),
        (
            search_panel,
            "search_job",
            "Search for the smallest budget",
            "Cancel the search",
            "The search was cancelled. Nothing was released.",
        ),
    ):
        monkeypatch.setattr(module, name, deaf)
        if module is search_panel:
            app.number_input(key=key_of(app, "threshold")).set_value(440_000.0).run()
        press(app, begin)
        assert begin not in [button.label for button in app.button]
        press(app, stop)
        app.run()
        assert jobs[-1].state.state == "running"
        assert said in " ".join(str(each.value) for each in app.info)
        assert begin in [button.label for button in app.button]
    over.set()
    assert all(job.wait(HANG) for job in jobs)


def test_a_design_fixed_by_a_settings_file_is_said_and_can_be_left_out(open_app: OpenApp) -> None:
    app = at_privacy(open_app, lengthscale=3000.0, ridge=2.5)
    assert "fix the design by hand, with ridge 2.5" in " ".join(str(each.value) for each in app.info)
    press(app, "Leave it out")
    press(app, "Search for the best design")
    assert "The proposal" in texts(app)


def test_a_large_slack_needs_a_second_yes_and_promises_no_belief(open_app: OpenApp) -> None:
    app = at_privacy(open_app)
    assert "this slack allows a whole record to be published" not in texts(app)
    assert not [box for box in app.checkbox if box.label == "Use this slack anyway"]
    app.selectbox(key=key_of(app, "delta")).select_index(1).run()  # 1 in 10,000, of 11,963 sales
    assert "this slack allows a whole record to be published" in texts(app)
    box = next(box for box in app.checkbox if box.label == "Use this slack anyway")
    assert work_of(app).choices["accept_large_delta"] is False
    box.check().run()
    assert work_of(app).choices["accept_large_delta"] is True


def test_the_usual_slack_and_cutoff_are_still_named_after_coming_back(open_app: OpenApp) -> None:
    app = at_privacy(open_app)
    for _ in range(2):
        for start in ("delta_", "cutoff_"):
            box = next(each for each in app.selectbox if str(each.key).startswith(start))
            assert box.value == "usual", start
        app.switch_page(HEXAGONS.path).run()
        app.switch_page(PRIVACY.path).run()
    work = work_of(app)
    assert (work.choices["delta"], work.choices["cutoff"]) == (None, None)


def test_a_private_number_of_records_is_asked_for_and_can_be_public_again(open_app: OpenApp) -> None:
    """Without a guess the screen says what is missing; the second yes goes by the guess, not by the data."""
    app = at_privacy(open_app, mechanisms=("spectral-statistics",), delta=1e-4)
    assert "records_about" not in work_of(app).choices or work_of(app).choices["records_about"] is None
    app.checkbox(key=key_of(app, "number_private")).check().run()
    work = work_of(app)
    assert (work.choices["relation"], work.choices["records_about"], work.records) == (
        "add-or-remove",
        None,
        None,
    )
    assert any("the number of records is private" in info.value for info in app.info)
    app.number_input(key=key_of(app, "records_about")).set_value(20_000).run()
    assert work_of(app).settings().records_about == work_of(app).records == 20_000
    assert any("even publishing a whole record" in warning.value for warning in app.warning), "20,000 at 1e-4"
    app.number_input(key=key_of(app, "records_about")).set_value(9_000).run()
    assert not any("even publishing a whole record" in warning.value for warning in app.warning)
    app.checkbox(key=key_of(app, "number_private")).uncheck().run()
    work = work_of(app)
    assert (work.choices["relation"], work.choices["records_about"]) == ("replace-one", None)
    assert work.private is not None
    assert work.records == work.private.size


def test_only_what_the_chosen_mechanisms_read_is_asked(open_app: OpenApp) -> None:
    """What was typed while it was read is dropped with the question."""
    app = at_privacy(open_app)
    app.number_input(key=key_of(app, "paths")).set_value(5).run()
    assert work_of(app).settings().paths == 5
    app.multiselect(key=key_of(app, "mechanisms")).set_value(["spectral-statistics"]).run()
    assert not app.exception
    assert key_of(app, "paths") not in [each.key for each in app.number_input]
    assert work_of(app).settings().paths == 1
    app.multiselect(key=key_of(app, "mechanisms")).set_value(["posterior-sampling"]).run()
    assert key_of(app, "paths") in [each.key for each in app.number_input]
