"""The main path in the test harness: what each screen needs, says and keeps; one submit is one draw."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from hexcursion.ledger import open_ledger
from pages.release import release_panel
from pages.shared.glossary import TERMS, label, tip
from pages.shared.steps import (
    DATA,
    HELP,
    HEXAGONS,
    LEDGER,
    MAIN_PATH,
    PRIVACY,
    PUBLISH,
    RELEASE,
    SCREENS,
    VIEWER,
)
from tests.pages.conftest import OpenApp, press, texts
from tests.pages.data_steps import work_of


def address_of(app: AppTest) -> str:
    """The release that the address names."""
    value = app.query_params["release"]
    return value if isinstance(value, str) else value[0]


def at_hexagons(open_app: OpenApp, resolution: int = 6) -> AppTest:
    app = open_app(DATA.path)
    press(app, "Use the generated example")
    app.switch_page(HEXAGONS.path).run()
    app.slider[0].set_value(resolution).run()
    assert not app.exception
    return app


def at_release(open_app: OpenApp) -> AppTest:
    app = at_hexagons(open_app)
    work_of(app).choose(quick=True, priors=("car",), mechanisms=("posterior-sampling",))
    app.switch_page(PRIVACY.path).run()
    press(app, "Search for the best design")
    app.switch_page(RELEASE.path).run()
    assert not app.exception
    return app


def release_now(app: AppTest) -> AppTest:
    """Ask for the release, and answer the question."""
    return press(press(app, "Release …"), "Release now")


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.address)
def test_a_fresh_session_meets_words_and_no_traceback_everywhere(open_app: OpenApp, screen) -> None:
    app = open_app(screen.path)
    assert app.title[0].value == screen.title
    assert screen.question in texts(app)


@pytest.mark.parametrize(
    ("screen", "sentence"),
    [
        (RELEASE, "First finish the step Privacy and utility."),
        (PUBLISH, "Nothing is chosen: release a map, or open a finished release below."),
        (LEDGER, "There is no ledger yet"),
        (VIEWER, "Open a bundle file"),
        (PRIVACY, "First finish the step Data."),
    ],
)
def test_an_early_visitor_is_told_what_comes_first(open_app: OpenApp, screen, sentence: str) -> None:
    assert sentence in texts(open_app(screen.path))


def test_the_example_is_said_to_be_generated_on_every_step(open_app: OpenApp) -> None:
    app = open_app(DATA.path)
    assert "generated data" not in texts(app)
    press(app, "Use the generated example")
    for step in MAIN_PATH:
        app.switch_page(step.path).run()
        assert "generated data" in texts(app), step.title


def test_what_was_decided_stays_in_sight_and_is_not_lost_by_going_back(
    open_app: OpenApp,
) -> None:
    app = at_hexagons(open_app)
    decided = [element.value for element in app.sidebar.markdown]
    assert any("generated sales" in text for text in decided)
    assert any("resolution 6" in text for text in decided)
    app.switch_page(DATA.path).run()
    app.switch_page(HEXAGONS.path).run()
    assert app.slider[0].value == 6
    assert [element.value for element in app.sidebar.markdown] == decided


def test_drop_reasons_are_sentences(open_app: OpenApp) -> None:
    app = press(open_app(DATA.path), "Use the generated example")
    assert "dropped: other property type." in texts(app)
    assert "dropped: postcode blank or malformed." in texts(app)


def test_the_receipt_comes_first_and_one_submit_draws_once(
    open_app: OpenApp, jobs_at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = []
    real = release_panel.release
    monkeypatch.setattr(
        release_panel, "release", lambda *arguments: draws.append(real(*arguments)) or draws[-1]
    )
    app = at_release(open_app)
    said = texts(app)
    for topic in ("Unit of protection", "Tuning", "This release", "In words", "Group"):
        assert f"**{topic}**" in said
    for _ in range(3):  # a rerun is not a release
        app.run()
    assert draws == []
    press(app, "Release …")
    assert draws == []  # it is asked once more, and repeats what matters
    assert "expected agreement" in texts(app).lower()
    assert "drawn **once**" in texts(app)
    press(app, "Release now")
    assert len(draws) == 1
    release_id = draws[0].release.release_id
    assert address_of(app) == release_id
    for _ in range(3):
        app.run()
    app.switch_page(PUBLISH.path).run()
    app.switch_page(RELEASE.path).run()
    assert len(draws) == 1
    assert release_id in texts(app)
    ledger = open_ledger(create=False)
    assert ledger.charge_of(release_id) is not None
    assert ledger.verify() == []


@pytest.mark.parametrize("address", ["../../etc/passwd", "0" * 16, "x"])
def test_an_address_without_a_release_is_one_sentence(open_app: OpenApp, address: str) -> None:
    app = open_app()
    app.query_params["release"] = address
    app.switch_page(PUBLISH.path).run()
    assert not app.exception
    assert [error.value for error in app.error] == [
        "There is no release of this address on this machine: open its bundle file instead."
    ]


def test_changed_choices_ask_for_a_new_search(open_app: OpenApp, jobs_at_once: None) -> None:
    app = at_hexagons(open_app)
    work_of(app).choose(quick=True, priors=("car",), mechanisms=("posterior-sampling",))
    app.switch_page(PRIVACY.path).run()
    press(app, "Search for the best design")
    assert "The proposal" in texts(app)
    app.number_input[0].set_value(500_000.0).run()
    assert "The choices have changed since the last search." in texts(app)
    app.switch_page(RELEASE.path).run()
    assert "First finish the step Privacy and utility." in texts(app)


def test_every_term_has_a_word_and_a_sentence() -> None:
    for name, term in TERMS.items():
        assert term.word, name
        assert term.meaning.endswith("."), name
        assert term.meaning in tip(name)
        assert label(name)[0].isupper()


def test_help_explains_every_term(open_app: OpenApp) -> None:
    app = open_app(HELP.path)
    shown = " ".join(str(value) for table in app.table for value in table.value.to_numpy().ravel())
    assert all(term.word in shown and term.meaning in shown for term in TERMS.values())
