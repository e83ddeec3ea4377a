"""Plain words on the screens: no riddles, instructions under the titles, a glossary that can be read."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from pages.shared.glossary import GLOSSARY, TERMS
from pages.shared.steps import PAGES as SCREENS_BY_ADDRESS
from tests.architecture.test_rooms import STUDIES_PAGE, plugged, sources

PAGES = [*sources("pages"), STUDIES_PAGE, *plugged("page")]
RIDDLES = (
    "rehears", "rounds", "the building", "your eyes", "curator's eyes", "do you want to say", "the receipt",
    "free map", "joint-sharp", "joint-bound", "judge ", "the baseline", "what may be said",
)  # fmt: skip


def shown(path: Path) -> list[str]:
    """Every text of a module that is no docstring: what a screen may show."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
    ]
    return [re.sub(r"\s+", " ", text) for text in texts if " " in text]


def riddles(texts: list[str]) -> list[str]:
    return [f"{word!r} in {text!r}" for text in texts for word in RIDDLES if word in text.lower()]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: "/".join(path.parts[-2:]))
def test_no_screen_speaks_in_riddles(path: Path) -> None:
    assert riddles(shown(path)) == []


def test_a_riddle_would_be_found(tmp_path: Path) -> None:
    module = tmp_path / "page.py"
    module.write_text(
        '"""The receipt, rehearsed."""\nst.caption("Rehearse the sets, "\n    "for your eyes only")\n'
    )
    assert len(riddles(shown(module))) == 2


@pytest.mark.parametrize("screen", SCREENS_BY_ADDRESS.values(), ids=lambda screen: screen.address)
def test_under_a_title_stands_an_instruction(screen) -> None:
    assert "?" not in screen.question
    assert screen.question.endswith(".")
    assert len(screen.question) <= 100


def test_the_glossary_is_short_and_each_term_is_one_sentence() -> None:
    assert len(GLOSSARY) <= 15
    for name in GLOSSARY:
        meaning = TERMS[name].meaning
        assert meaning.endswith(".")
        assert ". " not in meaning, name
        assert len(meaning) <= 180, name
