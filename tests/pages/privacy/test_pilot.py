"""A curator without reference data: a free simulated field, a paid pilot."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from hexcursion.ledger import open_ledger
from pages.shared.steps import RELEASE
from tests.pages.conftest import press, texts
from tests.pages.data_steps import work_of
from tests.pages.privacy_steps import OpenApp, charges, key_of, without_reference
from tests.pages.test_path import release_now

pytestmark = pytest.mark.usefixtures("jobs_at_once")


def release_within_three(app: AppTest) -> None:
    """Release: beside what was paid for before it is a second charge, and both together cost at most ε 3."""
    release_now(app)
    account = open_ledger(create=False).accounts()[0]
    assert len(account.charged) == 2
    assert account.spent <= 3.0 * (1 + 1e-9)


def with_pilot(open_app: OpenApp) -> AppTest:
    """Sensors alone, after a pilot of the budget 3 was paid for."""
    app = without_reference(open_app)
    app.radio(key=key_of(app, "way")).set_value("pilot").run()
    return press(app, "Pay for the pilot")


def test_without_reference_data_a_simulated_field_is_free(open_app: OpenApp) -> None:
    app = press(without_reference(open_app), "Search for the best design")
    assert "Measured on simulated fields" in texts(app)
    assert charges() == 0


def test_without_reference_data_the_usual_mechanisms_take_one_fixed_design(open_app: OpenApp) -> None:
    app = without_reference(open_app)
    chosen = app.multiselect(key=key_of(app, "mechanisms"))
    chosen.set_value(["posterior-sampling", "spectral-statistics"]).run()
    assert app.radio(key=key_of(app, "way")).label == "How the design is chosen"
    assert next(iter(app.radio(key=key_of(app, "way")).options)) == "One fixed design for all data (free)"
    assert "Search for the best design" not in [button.label for button in app.button]
    assert work_of(app).choices["looks"] == 1
    app.radio(key=key_of(app, "looks")).set_value(2).run()
    assert work_of(app).settings().looks == 2
    app.radio(key=key_of(app, "way")).set_value("pilot").run()
    assert work_of(app).settings().looks == 1
    app.radio(key=key_of(app, "way")).set_value("simulated").run()
    press(app, "See what the fixed design may reach")
    assert "Measured on simulated fields; one fixed design, nothing was searched." in texts(app)
    assert "in judged hexagons, is " in texts(app)
    assert charges() == 0
    app.switch_page(RELEASE.path).run()
    assert "fixed: no reference data, so one design for all such data; nothing was searched" in texts(app)


def test_a_pilot_is_not_offered_where_it_would_be_refused(open_app: OpenApp) -> None:
    app = without_reference(open_app)
    app.radio(key=key_of(app, "way")).set_value("pilot").run()
    app.selectbox(key=key_of(app, "against")).set_value("answers").run()
    assert "How the design is chosen" not in texts(app)
    assert "without `pilot`" not in texts(app)
    assert work_of(app).choices["pilot"] is None


@pytest.mark.slow
def test_a_pilot_is_paid_for_once_and_the_search_goes_on_from_it(open_app: OpenApp) -> None:
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
    release_within_three(app)


@pytest.mark.slow
def test_a_private_choice_is_paid_for_and_says_what_it_chose(open_app: OpenApp) -> None:
    app = without_reference(open_app)
    app.radio(key=key_of(app, "way")).set_value("pilot").run()
    app.radio(key=key_of(app, "buys")).set_value("choice").run()
    assert work_of(app).settings().pilot_by == "choice"
    assert "which law of a field they fit. It is charged to the ledger first" in texts(app)
    press(app, "Pay for the pilot")
    assert charges() == 1
    assert "It chose a field with a range of" in " ".join(str(each.value) for each in app.info)
    press(app, "Search for the best design")
    app.switch_page(RELEASE.path).run()
    release_within_three(app)


@pytest.mark.slow
def test_a_pilot_of_another_budget_is_said_not_to_fit(open_app: OpenApp) -> None:
    app = with_pilot(open_app)
    app.select_slider(key=key_of(app, "epsilon")).set_value(1.0).run()
    said = " ".join(str(warning.value) for warning in app.warning)
    assert "the total of ε 3 that it is part of was fixed before it was drawn" in said
    assert "Put ε 3 back to use it, or pay for another one" in said
    app.number_input(key=key_of(app, "pilot_total")).set_value(5.0).run()
    app.select_slider(key=key_of(app, "epsilon")).set_value(3.0).run()
    assert "Search for the best design" in [button.label for button in app.button]
    assert charges() == 1


@pytest.mark.slow
def test_a_pilot_beyond_the_budget_is_refused_in_words_and_draws_nothing(open_app: OpenApp) -> None:
    app = with_pilot(open_app)
    app.select_slider(key=key_of(app, "epsilon")).set_value(10.0).run()
    press(app, "Pay for the pilot")  # the budget stands at 3, of which the first pilot took its share
    assert "does not fit the point budget of epsilon 3" in " ".join(str(each.value) for each in app.error)
    assert charges() == 1
    app.select_slider(key=key_of(app, "epsilon")).set_value(5.0).run()
    assert not app.error  # it was about other choices
