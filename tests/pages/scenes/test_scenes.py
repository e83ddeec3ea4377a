"""Every screen in its states runs to its end, with few words and controls and no failure of the program."""

from __future__ import annotations

import re

import pytest

from tests.pages.scenes import scenes_plan, scenes_pressed, scenes_release  # noqa: F401 - they fill SCENES
from tests.pages.scenes.screen import Screen, page, recorded
from tests.pages.scenes.states import SCENES

WORDS, CONTROLS = 400, 20  # that are seen before anything is unfolded, without the frame's
OF_A_TABLE = 460, 27  # the same of the screen Data, which asks what the columns of a table are
FLAG = re.compile(r"(?<![\w-])--[a-z]")  # an option of the command line


@pytest.mark.parametrize("name", SCENES)
def test_a_screen_runs_to_its_end_and_shows_little(name: str) -> None:
    address = name.partition(": ")[0]
    screen = Screen()
    with recorded(screen) as patch:
        SCENES[name](screen, patch)
        page(address)
    assert screen.lines
    assert not [line for line in screen.lines if "exception(" in line or "Traceback" in line]
    assert not [line for line in screen.lines if FLAG.search(line)]
    words, controls = OF_A_TABLE if address == "data" else (WORDS, CONTROLS)
    assert len(screen.seen.words) <= words
    assert len(screen.seen.controls) <= controls


def test_what_is_folded_or_on_another_tab_is_not_counted() -> None:
    screen = Screen()
    screen.markdown("**Three** plain words")
    with screen.expander("More"):
        screen.markdown("many further words")
        screen.button("Hidden")
    first, second = screen.tabs(["One", "Two"])
    first.button("Go on")
    second.button("Elsewhere")
    screen.radio("Which?", ["this", "that"], label_visibility="collapsed")
    assert screen.seen.words == ["Three", "plain", "words", "More", "One", "Two", "Go", "on", "this", "that"]
    assert len(screen.seen.controls) == 4
