"""Every screen in its states runs to its end, shows something and reports no failure of the program."""

from __future__ import annotations

import pytest

from tests.pages.scenes import scenes_plan, scenes_pressed, scenes_release  # noqa: F401 - they fill SCENES
from tests.pages.scenes.screen import Screen, page, recorded
from tests.pages.scenes.states import SCENES


@pytest.mark.parametrize("name", SCENES)
def test_a_screen_runs_to_its_end_and_shows_something(name: str) -> None:
    address = name.partition(": ")[0]
    screen = Screen()
    with recorded(screen) as patch:
        SCENES[name](screen, patch)
        page(screen, address)
    assert screen.lines
    assert not [line for line in screen.lines if "exception(" in line or "Traceback" in line]
