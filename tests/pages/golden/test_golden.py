"""Every screen in its states, as it was found right: a changed label, default, limit or chart is noticed.

After a change that is meant: `RECORD=1 python -m pytest tests/pages/golden -n 0`, then read the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.golden import scenes_plan, scenes_pressed, scenes_release  # noqa: F401 - they fill SCENES
from tests.pages.golden.screen import Screen, page, recorded
from tests.pages.golden.states import SCENES
from tests.records import agrees, recorded_lines

FOLDER = Path(__file__).resolve().parent


@pytest.mark.parametrize("name", SCENES)
def test_a_screen_says_asks_and_draws_what_it_did(name: str) -> None:
    address, _, state = name.partition(": ")
    screen = Screen()
    with recorded(screen) as patch:
        SCENES[name](screen, patch)
        page(screen, address)
    mine = [each.partition(": ")[2] for each in SCENES if each.startswith(f"{address}: ")]
    agrees(FOLDER / f"{address}.txt", mine, state, screen.lines)


def test_no_state_is_kept_that_no_scene_shows() -> None:
    kept = {f"{path.stem}: {state}" for path in FOLDER.glob("*.txt") for state in recorded_lines(path)}
    assert kept == set(SCENES)
