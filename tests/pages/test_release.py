"""The release screen: one release however often it is clicked, and a stop before poor maps."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dpgp_core.accounting.composition import Cost
from dpgp_core.errors import InvalidValue
from geo import to_lonlat
from hexcursion.bundle import read_bundle
from hexcursion.bundle.published.bundle_store import stored_bundles
from hexcursion.ledger import Charge, open_ledger
from hexcursion.ledger.errors import Unreleased
from hexcursion.project import model
from hexcursion.project.model import Project
from hexcursion.search.tuning import Tuned
from pages.release import release_panel, result_panel
from pages.release.releasing import budget_state, plan, release
from pages.release.result_panel import agreement_figures
from pages.shared.session import side_jobs
from pages.shared.session.outcome import SearchOutcome
from pages.shared.session.workspace import Workspace
from pages.shared.steps import DATA, PRIVACY, PUBLISH, RELEASE
from pages.start.finished import finished_example
from tests.pages.conftest import OpenApp, insist, press, texts
from tests.pages.data_steps import errors, work_of
from tests.pages.recorded import Recorded
from tests.pages.test_path import at_release, release_now
from tests.patience import HANG


def test_an_expected_agreement_is_rounded_as_the_sentences_below_round_it() -> None:
    assert agreement_figures(0.7399, 0.8161) == (
        "Agreement at the published threshold: expected beforehand 0.73, stated by the release itself 0.82; "
        "the true agreement stands above."
    )
    assert agreement_figures(None, 0.5) == (
        "Agreement at the published threshold: stated by the release itself 0.50; "
        "the true agreement stands above."
    )
    assert agreement_figures(None, 0.5, ", between 0.33 and 0.70 with a chance of 80 %") == (
        "Agreement at the published threshold: stated by the release itself 0.50, between 0.33 and 0.70 with "
        "a chance of 80 %; the true agreement stands above."
    )
    assert agreement_figures(None, None) == ""


def test_what_a_release_states_of_its_map_stands_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    viewer, screen = finished_example().viewer, Recorded()
    monkeypatch.setattr(result_panel, "st", screen)
    result_panel._show_agreement_figures(viewer)
    (said,) = screen.said("caption")
    stated = viewer.bundle.statement["told"]["map"]["agreement"]
    assert f"stated by the release itself {stated:.2f}" in said.replace("\\", "")


class Seen:
    """A lock that says when somebody has come to it."""

    def __init__(self, number: int) -> None:
        self._lock, self._left, self.all = threading.Lock(), number, threading.Event()

    def __enter__(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.all.set()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@pytest.mark.parametrize("fails", [False, True])
def test_two_clicks_at_once_are_one_release_also_where_the_first_one_fails(
    monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    work, calls, lock = Workspace(), [], Seen(2)
    work.releasing = lock  # type: ignore[assignment]

    def release(*arguments: Any) -> Any:
        calls.append(arguments)
        assert lock.all.wait(HANG)  # both clicks are there before the first one is done
        if fails:
            raise Unreleased(3, "The release broke off after it was charged.")
        return SimpleNamespace(release=SimpleNamespace(release_id="0123456789abcdef"))

    monkeypatch.setattr(release_panel, "release", release)
    monkeypatch.setattr(release_panel, "plan", lambda *_: None)
    monkeypatch.setattr(release_panel, "budget_state", lambda _: SimpleNamespace(line="spent"))
    found, token = SimpleNamespace(project=None, choice=None), work.session
    clicks = [
        threading.Thread(target=release_panel.release_once, args=(work, found, None, token)) for _ in range(2)
    ]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join(HANG)
        assert not click.is_alive()
    assert len(calls) == 1
    assert work.release_id == (None if fails else "0123456789abcdef")
    assert (work.session == token) is not fails  # what broke off is not tried again by itself


def test_after_a_reload_the_session_finds_its_release_and_says_how_far_it_is(open_app: OpenApp) -> None:
    app = open_app(DATA.path)
    work_of(app).lost, work_of(app).before = True, "token-of-before"
    assert "that you asked for" not in texts(app.run())
    with side_jobs.note_release("somebody-elses"):
        assert "that you asked for" not in texts(app.run())
    with side_jobs.note_release("token-of-before") as asked:
        assert "The release that you asked for is under way" in texts(app.run())
        asked.release_id = "0123456789abcdef"
    said = texts(app.run())
    assert "The release that you asked for is done." in said
    assert "under way" not in said
    with pytest.raises(KeyError), side_jobs.note_release("token-of-before"):
        raise KeyError("broken")
    assert "The release that you asked for did not complete" in texts(app.run())
    with side_jobs.note_release("token-of-before") as asked:
        asked.text = "The budget does not allow it."
    assert errors(app.run()) == ["The budget does not allow it."]
    press(app, "Use the generated example")
    assert "that you asked for" not in texts(app)


def test_only_so_many_releases_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_jobs, "MOST_ASKED", 2)
    for token in ("one", "two", "three"):
        with side_jobs.note_release(token):
            pass
    assert side_jobs.release_asked("one") is None
    assert side_jobs.release_asked("two") is not None


@pytest.mark.slow
def test_the_same_plan_once_more_is_the_release_that_exists(open_app: OpenApp, jobs_at_once: None) -> None:
    app = release_now(at_release(open_app))
    before = open_ledger(create=False).entries()
    assert app.query_params["release"] == work_of(app).release_id
    press(app, "Plan another release of these data")
    assert "release" not in app.query_params  # loaded anew it would show that one, and no word of what begins
    assert "Finished releases" in texts(app)  # with a way back
    assert work_of(app).missing_for(PUBLISH) is None
    release_now(app)
    assert "This release exists already. Nothing was drawn or charged again." in texts(app)
    assert not app.error
    assert open_ledger(create=False).entries() == before
    assert len(stored_bundles()) == 1
    assert "Finished releases" in texts(open_app(RELEASE.path))  # also for who lost the page meanwhile


def poor(app: AppTest, gain: float) -> AppTest:
    """The same design, as if it were expected to gain so little over one colour."""
    work = work_of(app)
    assert work.outcome is not None
    assert work.outcome.choice.expected is not None
    expected = replace(work.outcome.choice.expected, gain=gain)
    work.outcome = replace(work.outcome, choice=replace(work.outcome.choice, expected=expected))
    return app.run()


def test_a_poor_map_is_stopped_until_somebody_chooses_it(open_app: OpenApp, jobs_at_once: None) -> None:
    app = poor(at_release(open_app), -0.31)
    assert "would show as many records or more on their right side" in texts(app)
    labels = [button.label for button in app.button]
    assert "Release …" not in labels
    assert "Coarser hexagons" in labels
    assert "Larger budget, ε 2" in labels
    assert "agreement 0.62 expected; not stopped" in texts(app)
    assert "Nothing has been drawn or charged." in texts(app)
    insist(app)
    assert work_of(app).choices["accept_low_agreement"] is True
    assert "Nothing has been drawn or charged." not in texts(app)
    assert "**Low agreement**" in texts(app)
    release_now(app)
    statement = read_bundle(stored_bundles()[0].path).statement
    assert any(
        line["topic"] == "Low agreement" and "right side" in line["text"] for line in statement["receipt"]
    )


def test_many_rows_left_out_are_a_question_before_anything_else(
    open_app: OpenApp, jobs_at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = at_release(open_app)
    monkeypatch.setattr(model, "MOST_DROPPED", 0.05)
    assert "Release …" in [button.label for button in app.run().button]
    found = work_of(app).outcome
    assert found is not None
    private = found.project.private
    few = replace(private.report, kept=0, dropped=(("value missing", private.report.rows_read),), filtered=0)
    work_of(app).outcome = replace(
        found, project=replace(found.project, private=replace(private, report=few))
    )
    app.run()
    assert f"{private.report.rows_read:,} value missing" in texts(app)
    assert "Release …" not in [button.label for button in app.button]
    app.checkbox(key=f"accept_dropped_{work_of(app).mark}").check().run()
    assert work_of(app).choices["accept_dropped"] is True
    assert "Release …" in [button.label for button in app.button]


@pytest.mark.slow
def test_a_remedy_changes_one_choice_and_searches_again(open_app: OpenApp, jobs_at_once: None) -> None:
    app = poor(at_release(open_app), -0.31)
    press(app, "Larger budget, ε 2")
    work = work_of(app)
    assert work.choices["epsilon"] == 2.0
    assert work.outcome is not None
    assert work.outcome.project.settings.epsilon == 2.0
    assert work.outcome.project.settings.accept_low_agreement is False
    app.switch_page(RELEASE.path).run()
    assert "Release …" in [button.label for button in app.button]


@pytest.mark.slow
def test_coarser_hexagons_are_one_click(open_app: OpenApp, jobs_at_once: None) -> None:
    app = poor(at_release(open_app), -0.31)
    cells = work_of(app).domain.size  # type: ignore[union-attr]
    press(app, "Coarser hexagons")
    work = work_of(app)
    assert work.choices["resolution"] == 5
    assert work.domain is not None
    assert work.domain.size < cells / 4
    assert work.outcome is not None
    assert work.outcome.project.domain.size == work.domain.size


def test_the_check_asks_and_takes_no_answer_for_granted(open_app: OpenApp, jobs_at_once: None) -> None:
    app = at_release(open_app)
    assert "_warning_ · 4 questions above without an answer: what is not stated" in texts(app)
    mark = work_of(app).mark
    for name, answer in (
        ("selection", "public"),
        ("threshold", "public"),
        ("draws", "once"),
        ("n_handling", "public by nature"),
    ):
        assert app.selectbox(key=f"answer_{name}_{mark}").value is None
        app.selectbox(key=f"answer_{name}_{mark}").set_value(answer).run()
    assert "without an answer" not in texts(app)
    app.selectbox(key=f"answer_draws_{mark}").set_value("until one looks right").run()
    assert ":red[:material/warning: leak]" in texts(app)
    assert work_of(app).settings().looked is False
    app.selectbox(key=f"answer_threshold_{mark}").set_value("private data").run()
    looked = app.checkbox(key=f"looked_{mark}")
    assert looked.value
    assert looked.disabled
    assert work_of(app).settings().looked
    assert "NOT ACCOUNTED" in texts(app)


def test_a_plan_that_the_mathematics_refuse_is_one_sentence(
    open_app: OpenApp, jobs_at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(found: SearchOutcome) -> None:
        raise InvalidValue("no response is finite.")

    app = at_release(open_app)
    monkeypatch.setattr(release_panel, "plan", refuse)
    app.run()
    assert errors(app) == ["no response is finite."]


def test_a_title_that_is_too_long_is_one_sentence_and_nothing_is_asked(
    open_app: OpenApp, jobs_at_once: None
) -> None:
    app = at_release(open_app)
    (title,) = [each for each in app.text_input if each.label == "Title of the release"]
    before = work_of(app).settings()
    title.set_value("x" * 201)
    press(app, "Release …")
    assert "title must be a text of at most 200 characters" in texts(app)
    assert "Release this map?" not in texts(app)
    assert work_of(app).settings() == before
    assert not [button for button in app.button if button.label == "Release now"]
    said = (("Title of the release", "Mosses"), ("What the values were taken of", "mosses "))
    for label, text in (*said, ("When they were taken", "2015")):
        next(each for each in app.text_input if each.label == label).set_value(text)
    press(app, "Release …")
    now = work_of(app).settings()
    assert (now.title, now.population, now.period) == ("Mosses", "mosses", "2015")


@pytest.mark.slow
def test_looked_is_ticked_once_the_baseline_was_shown_and_the_design_changed(
    open_app: OpenApp, jobs_at_once: None
) -> None:
    app = release_now(at_release(open_app))
    press(app, "Plan another release of these data")
    mark = work_of(app).mark
    assert not app.checkbox(key=f"looked_{mark}").value  # the design is still that of before
    app.switch_page(PRIVACY.path).run()
    app.number_input(key=f"threshold_{mark}").set_value(440_000.0).run()
    press(app, "Search for the best design")
    app.switch_page(RELEASE.path).run()
    assert app.checkbox(key=f"looked_{mark}").value
    assert app.checkbox(key=f"looked_{mark}").disabled
    assert "the map without privacy had been shown before the design was changed" in texts(app)
    assert "NOT ACCOUNTED" in texts(app)


def test_the_budget_of_a_settings_file_is_a_proposal_that_the_form_may_change(
    hamlet: Project, hamlet_tuned: Tuned
) -> None:
    """It used to set the budget twice, and the second time was a raise that nobody had given a reason for."""
    wished = replace(hamlet, settings=hamlet.settings.with_changes(budget=1000.0))
    assert budget_state(plan(SearchOutcome(wished, hamlet_tuned, hamlet_tuned.choice))).total is None
    release(SearchOutcome(wished, hamlet_tuned, hamlet_tuned.choice), 50.0)
    stands = budget_state(plan(SearchOutcome(wished, hamlet_tuned, hamlet_tuned.choice)))
    assert (stands.total, stands.before) == ("50", "2")
    assert [entry.kind for entry in open_ledger().entries()].count("budget") == 1


def test_breaking_an_earlier_promise_needs_a_tick_of_its_own(open_app: OpenApp, jobs_at_once: None) -> None:
    """A release that hid whether a record is there came first; this one states the number of records."""
    app = at_release(open_app)
    found = work_of(app).outcome
    assert found is not None
    ledger = open_ledger()  # before the plan, whose records are named by its key
    planned = plan(found)
    cost = Cost.gaussian(0.1).among("add-or-remove")
    earlier = replace(planned.charge, cost=cost, facts={})
    ledger.set_budget(earlier.dataset, earlier.unit, 9.0, found.project.delta)
    ledger.reserve(earlier)
    app.run()
    (refused,) = [error.value for error in app.error]
    assert "which 1 earlier release of the same records promised to hide" in refused
    assert next(button for button in app.button if button.label == "Release …").disabled
    tick = next(box for box in app.checkbox if box.label.startswith("Release anyway: what is published"))
    tick.check().run()
    assert not next(button for button in app.button if button.label == "Release …").disabled
    release_now(app)
    receipt = read_bundle(stored_bundles()[0].path).statement["receipt"]
    assert any("also hides whether a record is there at all" in line["text"] for line in receipt)


def test_alike_data_are_shown_to_the_curator_and_one_click_counts_them(
    open_app: OpenApp, jobs_at_once: None
) -> None:
    """Another value at the same places was charged before, without names and times."""
    app = at_release(open_app)
    found = work_of(app).outcome
    assert found is not None
    rows = found.project.private.observations
    ledger, where = open_ledger(), to_lonlat(rows.x, rows.y, rows.crs)
    keys = ledger.record_keys(*where, 1000 + 7 * rows.value)
    charge = Charge("ab" * 32, "point", Cost.gaussian(0.1), {"title": "Rents"}, keys)
    ledger.set_budget(charge.dataset, "point", 9.0, 1e-5)
    number = ledger.reserve(charge).number
    app.run()
    (warning,) = [each.value for each in app.warning if "no record was recognised" in each.value]
    assert "Rents" in warning
    assert "Only you see this; it is not published." in warning
    press(app, f"Count together with entry {number}")
    assert not app.exception
    assert not [each for each in app.warning if "no record was recognised" in each.value]
    assert open_ledger().entries()[-1].kind == "link"
    assert open_ledger().entries()[-1].facts["joined"] is True
