"""Plain words on the screens: no riddles, instructions under the titles, a glossary that can be read."""

from __future__ import annotations

import ast
import re
import zipfile
from pathlib import Path

import pytest

from pages.shared.glossary import GLOSSARY, TERMS
from pages.shared.shipped import BUNDLE
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


HELD = {
    "how often it is right": r"Orange is right about 9\d times in 100\.",
    "what is found": r"It shows about \d in (10|4) of the places that are above\.",
    "change": r"the price rose by about 20 % since 1993; that is not chance\.",
    "guess": r"A 50:50 guess about one sale becomes at most 56:44\.",
    "classes": r"\d+ it cannot tell",
}
GONE = (
    "are truly above it", "had nothing changed", "times as high", "expected agreement is", "times n it is",
    "even odds and sees",
    "whichever single record is exchanged",
    "at most at most",
)  # fmt: skip


@pytest.fixture(scope="module")
def page_words() -> str:
    """What stands on the page of the shipped example, without its script."""
    with zipfile.ZipFile(BUNDLE) as archive:
        [name] = [one for one in archive.namelist() if one.endswith("/map.html")]
        text = archive.read(name).decode()
    bare = re.sub(r"<(script|style)[^>]*>.*?</\1>|<[^>]+>", " ", text, flags=re.DOTALL)
    return re.sub(r"\s+", " ", bare)


@pytest.mark.parametrize("sentence", HELD.values(), ids=HELD)
def test_the_page_of_a_map_says_it_in_plain_words(page_words: str, sentence: str) -> None:
    assert re.search(sentence, page_words), sentence


@pytest.mark.parametrize("sentence", GONE)
def test_no_screen_and_no_page_says_it_the_old_way(page_words: str, sentence: str) -> None:
    assert sentence not in page_words
    assert [path.name for path in PAGES if any(sentence in text for text in shown(path))] == []
