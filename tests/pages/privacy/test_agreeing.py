"""Screens, page and documents say the same figures of one release: odds, paths, budget, steps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.runtime.scriptrunner_utils.exceptions import StopException

from hexcursion.ledger import open_ledger
from pages.release import release_panel
from pages.shared.steps import MAIN_PATH, PRIVACY, PUBLISH, RELEASE
from tests.pages.conftest import OpenApp, insist, press, texts
from tests.pages.data_steps import work_of
from tests.pages.privacy_steps import searched

GUESS = re.compile(r"becomes at most (\d+:\d+)")
pytestmark = pytest.mark.usefixtures("jobs_at_once")


def test_one_release_has_one_guess_and_one_number_of_paths_on_every_screen(open_app: OpenApp) -> None:
    app = searched(open_app, paths=3)
    said = {PRIVACY: texts(app)}
    app.switch_page(RELEASE.path).run()
    if any(box.label.startswith("Release this map anyway") for box in app.checkbox):
        insist(app)
    said[RELEASE] = texts(app)
    press(press(app, "Release …"), "Release now")
    app.switch_page(PUBLISH.path).run()
    said[PUBLISH] = texts(app)
    explored = work_of(app).explored
    assert explored is not None
    statement = explored.viewer.bundle.statement
    guesses = {guess for words in said.values() for guess in GUESS.findall(words)}
    assert len(guesses) == 1, {screen.title: GUESS.findall(words) for screen, words in said.items()}
    assert GUESS.findall(said[PRIVACY]), "it is said before the release"
    assert GUESS.findall(statement["guarantee"]["in_words"]) == [guesses.pop()]
    assert statement["paths"]["count"] == statement["design"]["paths"] == 3
    assert "3 paths" in said[PRIVACY]
    assert not re.search(r"\b(1 path|L 1)\b", said[PRIVACY] + said[RELEASE])


def test_leaving_in_mid_release_loses_neither_the_budget_nor_the_release(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script is stopped right after the draw, as by the browser's Back."""
    real = release_panel.release

    def left(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        raise StopException

    app = searched(open_app)
    app.switch_page(RELEASE.path).run()
    monkeypatch.setattr(release_panel, "release", left)
    press(press(app, "Release …"), "Release now")
    assert len(open_ledger(create=False).committed()) == 1
    for screen in (PRIVACY, RELEASE):
        app.switch_page(screen.path).run()
        assert not app.exception
        assert "No budget is set" not in texts(app), screen.title
    monkeypatch.setattr(release_panel, "release", real)
    press(press(app, "Release …"), "Release now")
    assert "This release exists already. Nothing was drawn or charged again." in texts(app)
    assert len(open_ledger(create=False).committed()) == 1


@pytest.mark.parametrize("document", ["README.md", "docs/using.md"])
def test_documents_count_the_steps_of_the_app(root: Path, document: str) -> None:
    text = (root / document).read_text(encoding="utf-8")
    assert re.search(r"\bfive steps\b", text)
    assert len(MAIN_PATH) == 5
    if document != "README.md":
        assert re.findall(r"^\d\. \*\*(.+?)\.\*\*", text, re.M)[:5] == [step.title for step in MAIN_PATH]
