"""Privacy and utility in the test harness: solving, varying, typing a design, odds, remarks, looked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.hexagons.places import domain_of
from pages.privacy import coverage_panel, own_design, pilot_panel, search_panel, solve_panel, vary_panel
from pages.privacy.designs import search_job
from pages.privacy.odds import attack_odds
from pages.privacy.pilot_panel import WAYS
from pages.privacy.piloting import pilot_job
from pages.privacy.trials import coverage_job, solve_job, sweep_job, typed_job
from pages.shared.computing.jobs import Job
from pages.shared.session import aside, workspace
from pages.shared.steps import DATA, PRIVACY, RELEASE
from tests.pages.conftest import insist, press, texts
from tests.pages.data_steps import kind, upload
from tests.pages.test_path import at_hexagons, release_now
from tests.patience import HANG
from workflow.ledger import open_ledger
from workflow.search.tuning import Tuned

OpenApp = Callable[..., AppTest]


def finished(make: Callable[..., Any]) -> Callable[..., Any]:
    """The same job, but over when the screen asks for it."""

    def made(*arguments: Any) -> Any:
        job = make(*arguments)
        assert job.wait(HANG)
        return job

    return made


@pytest.fixture(autouse=True)
def _jobs_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module, name, make in (
        (search_panel, "search_job", search_job),
        (solve_panel, "solve_job", solve_job),
        (vary_panel, "sweep_job", sweep_job),
        (own_design, "typed_job", typed_job),
        (coverage_panel, "coverage_job", coverage_job),
    ):
        monkeypatch.setattr(module, name, finished(make))
    return


def work_of(app: AppTest) -> workspace.Workspace:
    work: workspace.Workspace = app.session_state[workspace.KEY]
    return work


def key_of(app: AppTest, name: str) -> str:
    return f"{name}_{work_of(app).mark}"


def at_privacy(open_app: OpenApp, resolution: int = 6, **choices: Any) -> AppTest:
    app = at_hexagons(open_app, resolution)
    # One mechanism and one prior: these tests are about the screen, and the free map is not always beaten.
    plain = {"quick": True, "priors": ("car",), "mechanisms": ("posterior-sampling",)}
    work_of(app).choose(**{**plain, **choices})
    app.switch_page(PRIVACY.path).run()
    assert not app.exception
    return app


def searched(open_app: OpenApp, resolution: int = 6, **choices: Any) -> AppTest:
    return press(at_privacy(open_app, resolution, **choices), "Search for the best design")


def release_all_the_same(app: AppTest) -> AppTest:
    """On so few hexagons the map of the year before is as good: the release is stopped unless one insists."""
    return insist(app.switch_page(RELEASE.path).run())


def want(app: AppTest, agreement: float) -> AppTest:
    app.segmented_control(key=key_of(app, "goal")).set_value("agreement").run()
    app.slider(key=key_of(app, "wanted")).set_value(agreement).run()
    assert not app.exception
    return app


def reachable(app: AppTest) -> float:
    found = work_of(app).found
    assert found is not None
    return round(found.tuned.result.chosen.utility.agreement - 0.02, 2)


def test_the_wanted_agreement_is_solved_after_the_search_and_settled_with_one_click(
    open_app: OpenApp,
) -> None:
    app = searched(open_app)
    goal = reachable(app)
    app.number_input(key=key_of(app, "threshold")).set_value(440_000.0).run()
    want(app, goal)
    press(app, "Search for the smallest budget")
    app.run()
    solved = app.session_state[aside.KEY].asides["solve"].result
    assert solved is not None
    assert solved.scored.utility.agreement >= goal
    assert f"ε {solved.epsilon:g}" in texts(app)
    press(app, f"Use ε {solved.epsilon:g}")
    found = work_of(app).found
    assert found is not None
    assert found.choice.design == solved.scored.design
    assert found.project.settings.epsilon == solved.epsilon
    assert work_of(app).fits()
    assert "This is the design to release." in texts(app)
    app.segmented_control(key=key_of(app, "goal")).set_value("budget").run()
    assert app.select_slider(key=key_of(app, "epsilon")).value == solved.epsilon
    assert work_of(app).fits()
    app.switch_page(RELEASE.path).run()
    insist(app)
    assert "What will be published" in texts(app)


def test_an_agreement_out_of_reach_names_the_remedy(open_app: OpenApp) -> None:
    app = want(searched(open_app, 7, prior_mean=False), 0.99)
    press(app, "Find the smallest ε for 0.99")
    said = [str(warning.value) for warning in app.warning]
    assert len(said) == 1, texts(app)
    assert said[0].startswith("No design reaches 0.99, even at ε 20.")
    assert "accept less" in said[0]


def test_another_wanted_agreement_outdates_the_answer_visibly(open_app: OpenApp) -> None:
    app = searched(open_app)
    goal = reachable(app)
    press(want(app, goal), f"Find the smallest ε for {goal:.2f}")
    assert "reaches it" in texts(app)
    want(app, goal - 0.1)
    assert "reaches it" not in texts(app)
    assert "belongs to another design or other choices" in texts(app)


def test_each_number_is_varied_and_kept_when_one_goes_away_and_comes_back(open_app: OpenApp) -> None:
    app = searched(open_app)
    before = len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))
    press(app, "Show what each number does")
    charts = len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))
    assert charts == before + 8
    for word in ("Range of the prior", "Ridge", "Scale", "Paths"):
        assert f"**{word}" in texts(app)
    result = app.session_state[aside.KEY].asides["sweep"].result
    app.switch_page(RELEASE.path).run()
    app.switch_page(PRIVACY.path).run()
    assert app.session_state[aside.KEY].asides["sweep"].result is result
    assert "Show what each number does" not in [button.label for button in app.button]


def typed(app: AppTest, **values: Any) -> AppTest:
    for name, value in values.items():
        app.number_input(key=key_of(app, f"own_{name}")).set_value(value)
    return press(app, "Try this design")


def test_a_typed_design_within_the_budget_is_released_as_typed(open_app: OpenApp) -> None:
    app = searched(open_app)
    found = work_of(app).found
    assert found is not None
    ridge = float(f"{2 * found.choice.design.ridge:.3g}")
    typed(app, ridge=ridge, paths=2)
    press(app, "Use this design")
    found = work_of(app).found
    assert found is not None
    assert found.choice.design.ridge == ridge
    assert found.choice.design.paths == found.project.settings.paths == 2
    assert work_of(app).fits()
    said = texts(release_all_the_same(app))
    assert "typed in by the curator and judged there" in said
    assert "2 paths" in said
    assert {entry.kind for entry in open_ledger().entries()} == {"genesis"}  # nothing was charged


def test_a_typed_design_beyond_the_budget_cannot_be_used(open_app: OpenApp) -> None:
    app = typed(searched(open_app), ridge=0.001)
    said = " ".join(str(warning.value) for warning in app.warning)
    assert "It does not fit ε 1: raise its ridge or scale" in said
    assert "no finite bound" in texts(app)
    assert "Use this design" not in [button.label for button in app.button]


def test_a_scale_of_nothing_is_one_sentence(open_app: OpenApp) -> None:
    app = typed(searched(open_app), scale=0.0)
    assert "This design is impossible: the scale must be a positive number" in texts(app)


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


def test_who_chose_by_looking_says_so_and_the_receipt_too(open_app: OpenApp) -> None:
    app = release_all_the_same(searched(open_app))
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


SENSORS = "lon,lat,no2 (ug/m3)\n" + "".join(
    f"{2.0 + 0.01 * (i % 40)},{54.6 + 0.01 * (i // 40)},{20 + (i % 40) / 2}\n" for i in range(1600)
)
BOX = (2.0, 54.6, 2.4, 55.0)


def without_reference(open_app: OpenApp) -> AppTest:
    """Sensors alone, their box and their public scale."""
    app = upload(kind(open_app(DATA.path), "sensors"), "sensors_private", "town.csv", SENSORS.encode())
    press(app, "Read the data")
    work = work_of(app)
    work.choose(
        bbox=BOX, region=None, resolution=6, threshold=30.0, centre=30.0, clip=12.0, epsilon=3.0, quick=True,
        priors=("car",), mechanisms=("posterior-sampling",),
    )  # fmt: skip
    work.asked_domain, work.domain = (None, BOX, 6), domain_of(None, BOX, 6)
    app.switch_page(PRIVACY.path).run()
    assert not app.exception
    return app


def charges(kinds: str = "draw") -> int:
    return sum(entry.kind == kinds for entry in open_ledger().entries())


def test_without_reference_data_a_simulated_field_is_free(open_app: OpenApp) -> None:
    app = press(without_reference(open_app), "Search for the best design")
    assert "Measured on a simulated field" in texts(app)
    assert charges() == 0


def test_a_pilot_is_paid_for_once_and_the_search_goes_on_from_it(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pilot_panel, "pilot_job", finished(pilot_job))
    app = without_reference(open_app)
    app.radio(key=key_of(app, "way")).set_value("pilot").run()
    for _ in range(3):  # a redraw pays for nothing
        app.run()
    assert charges() == 0
    assert "Search for the best design" not in [button.label for button in app.button]
    press(app, "Pay for the pilot")
    assert charges() == 1
    assert "A pilot was paid for: ε 0.9" in " ".join(str(each.value) for each in app.info)
    press(app, "Search for the best design")
    assert "Measured on what the pilot showed" in texts(app)
    table = next(table.value for table in app.table if "the design to release" in table.value.columns)
    assert table["the design to release"].iloc[0] == "3"  # the pilot's share is in it
    app.number_input(key=key_of(app, "threshold")).set_value(28.0).run()
    press(app, "Search for the best design")  # another threshold reads the same pilot
    assert charges() == 1
    app.switch_page(RELEASE.path).run()
    assert "private selection" in texts(app)
    release_now(app)
    account = open_ledger(create=False).accounts()[0]
    assert len(account.charged) == 2
    assert account.spent <= 3.0 * (1 + 1e-9)


def test_a_range_is_chosen_privately_where_places_are_public_and_the_search_goes_on_from_it(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pilot_panel, "pilot_job", finished(pilot_job))
    app = without_reference(open_app)
    assert list(app.radio(key=key_of(app, "way")).options) == [WAYS["simulated"], WAYS["pilot"]]
    work_of(app).choose(places_public=True, mechanisms=("functional",))
    app.run()
    app.radio(key=key_of(app, "way")).set_value("range_choice").run()
    assert charges() == 0
    assert "spends 30% of ε 3 on choosing one of a few ranges" in texts(app)
    work_of(app).choose(places_public=False)
    app.run()  # whoever takes that back on the step Data finds the free way again
    assert not app.exception
    assert work_of(app).choices.get("range_choice") is None
    work_of(app).choose(places_public=True)
    app.run()
    app.radio(key=key_of(app, "way")).set_value("range_choice").run()
    press(app, "Pay for the choice")
    assert charges() == 1
    said = " ".join(str(each.value) for each in app.info)
    assert "A private choice of range" in said
    assert "was paid for: ε 0.9" in said
    press(app, "Search for the best design")
    assert "Measured on simulated fields of the chosen range" in texts(app)
    app.switch_page(RELEASE.path).run()
    release_now(app)
    account = open_ledger(create=False).accounts()[0]
    assert len(account.charged) == 2
    assert account.spent <= 3.0 * (1 + 1e-9)


def test_a_pilot_of_another_budget_is_said_not_to_fit(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pilot_panel, "pilot_job", finished(pilot_job))
    app = without_reference(open_app)
    app.radio(key=key_of(app, "way")).set_value("pilot").run()
    press(app, "Pay for the pilot")
    app.select_slider(key=key_of(app, "epsilon")).set_value(1.0).run()
    said = " ".join(str(warning.value) for warning in app.warning)
    assert "put these back to use it, or pay for another one" in said
    app.number_input(key=key_of(app, "pilot_total")).set_value(5.0).run()
    app.select_slider(key=key_of(app, "epsilon")).set_value(3.0).run()
    assert "Search for the best design" in [button.label for button in app.button]
    assert charges() == 1


def test_a_pilot_beyond_the_budget_is_refused_in_words_and_draws_nothing(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pilot_panel, "pilot_job", finished(pilot_job))
    app = without_reference(open_app)
    app.radio(key=key_of(app, "way")).set_value("pilot").run()
    press(app, "Pay for the pilot")
    app.select_slider(key=key_of(app, "epsilon")).set_value(10.0).run()
    press(app, "Pay for the pilot")  # the budget stands at 3, of which the first pilot took its share
    assert "does not fit the point budget of epsilon 3" in " ".join(str(each.value) for each in app.error)
    assert charges() == 1
    app.select_slider(key=key_of(app, "epsilon")).set_value(5.0).run()
    assert not app.error  # it was about other choices


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
        (solve_panel, "solve_job", "Find the smallest ε for 0.80", "Cancel the solving", "Cancelled."),
        (search_panel, "search_job", "Search for the smallest budget", "Cancel the search",
         "The search was cancelled. Nothing was released."),
    ):  # fmt: skip
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
    assert "What the budget can buy" in texts(app)


def test_a_large_slack_needs_a_second_yes_and_promises_no_belief(open_app: OpenApp) -> None:
    """From one in the number of records on, what an attacker can become sure of is a matter of luck."""
    app = at_privacy(open_app)
    assert "can become at most 73.2 % sure of it" in texts(app)
    assert not [box for box in app.checkbox if box.label == "Use it all the same"]
    app.selectbox(key=key_of(app, "delta")).select_index(1).run()  # 1 in 10,000, of 11,963 sales
    assert "sure of it" not in texts(app)
    assert "this slack allows a whole record to be published" in texts(app)
    box = next(box for box in app.checkbox if box.label == "Use it all the same")
    assert work_of(app).choices["accept_large_delta"] is False
    box.check().run()
    assert work_of(app).choices["accept_large_delta"] is True
