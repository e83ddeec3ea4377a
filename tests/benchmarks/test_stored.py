"""What benchmarks store: every command is documented, and its output says what made it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import FOLDER, MODULES
from studies.registry import RESULTS, STUDIES

README = (Path(__file__).resolve().parents[2] / "benchmarks" / "README.md").read_text(encoding="utf-8")
PRINTED = sorted(path.stem for path in RESULTS.glob("*.txt"))
BY_THE_CLOCK = {
    "clicks",
    "opening",
    "redraw",
}  # screens timed on the generated example: nothing is drawn at random


@pytest.mark.parametrize("name", [name for name in MODULES if name != "studies"])
def test_every_benchmark_is_documented(name: str) -> None:
    assert f"`python -m {MODULES[name]}" in README


def test_every_room_is_named_and_no_two_hold_one_name() -> None:
    """Results are stored by name alone: of two files of one name, one would take the place of the other's."""
    rooms = {"agreement", "neural", "prices", "scale", "screens", "speed"}
    files = [path for room in rooms for path in (FOLDER / room).glob("[a-z]*.py")]
    assert {path.stem for path in files} | {"studies"} == set(MODULES)
    assert len(files) + 1 == len(MODULES)
    assert all(f"**`{room}`**" in README for room in rooms)


@pytest.mark.parametrize("name", PRINTED)
def test_printed_output_is_stored_with_its_command_seed_and_time(name: str) -> None:
    assert name in MODULES
    lines = (RESULTS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"$ python -m {MODULES[name]}"
    assert len(lines) > 4
    assert name in BY_THE_CLOCK or any(line.startswith(("Seed ", "No random numbers")) for line in lines)
    assert lines[-1].startswith("The whole benchmark took ")


def test_what_the_documents_quote_is_stored() -> None:
    assert {"accountant", "bounds", "draws", "ledger", "loading", "peers", "search"} <= set(PRINTED)


@pytest.mark.parametrize("name", list(STUDIES))
def test_every_study_is_documented(name: str) -> None:
    assert f"`{STUDIES[name].command}`" in README
