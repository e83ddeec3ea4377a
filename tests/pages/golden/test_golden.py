"""Every screen in its states, as it was found right: a changed label, default, limit or chart is noticed.

After a change that is meant: `RECORD=1 python -m pytest tests/pages/golden -n 0`, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.pages.golden import scenes_plan, scenes_release  # noqa: F401 - they fill SCENES
from tests.pages.golden.screen import Screen, hash_of, page, recorded
from tests.pages.golden.states import SCENES

FOLDER = Path(__file__).resolve().parent
SHORT = 48  # characters of a line that stood there before


def sections(address: str) -> dict[str, list[str]]:
    """The lines in a screen's record, by its states; a line that stood there before is named by a hash."""
    path = FOLDER / f"{address}.txt"
    found: dict[str, list[str]] = {}
    known: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        if line.startswith("# "):
            lines = found[line[2:]] = []
        elif line.startswith("= "):
            lines.append(known[line.split(" ")[1]])
        elif line:
            lines.append(line)
            known[hash_of(line)] = line
    return found


def keep(address: str, state: str, shown: list[str]) -> None:
    """Write one state over what stood there; states that are gone go."""
    held = {**sections(address), state: shown}
    mine = [name.partition(": ")[2] for name in SCENES if name.startswith(f"{address}: ")]
    written: list[str] = []
    for name in (name for name in mine if name in held):
        written += ["", f"# {name}"]
        for line in held[name]:
            before = len(line) > SHORT and line in written
            written.append(f"= {hash_of(line)} {line[:SHORT]}" if before else line)
    (FOLDER / f"{address}.txt").write_text("\n".join(written[1:]) + "\n", encoding="utf-8")


@pytest.mark.parametrize("name", SCENES)
def test_a_screen_says_asks_and_draws_what_it_did(name: str) -> None:
    address, _, state = name.partition(": ")
    screen = Screen()
    with recorded(screen) as patch:
        SCENES[name](screen, patch)
        page(screen, address)
    if "RECORD" in os.environ:
        keep(address, state, screen.lines)
    assert screen.lines == sections(address)[state]


def test_no_state_is_kept_that_no_scene_shows() -> None:
    kept = {f"{path.stem}: {state}" for path in FOLDER.glob("*.txt") for state in sections(path.stem)}
    assert kept == set(SCENES)
