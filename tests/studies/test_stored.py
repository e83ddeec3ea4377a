"""What the studies store: every command is documented, and its output says what made it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from studies.__main__ import FOLDER, MODULES, ROOMS, results_of
from studies.registry import RESULTS, STUDIES

ROOT = Path(__file__).resolve().parents[2]
README = "".join(
    path.read_text(encoding="utf-8") for path in (FOLDER / "README.md", *ROOT.glob("plugins/*/README.md"))
)
PRINTED = sorted(
    path for folder in (RESULTS, *ROOT.glob("plugins/*/studies/results")) for path in folder.glob("*.txt")
)


@pytest.mark.parametrize("name", list(MODULES))
def test_every_command_is_documented(name: str) -> None:
    assert f"`python -m {MODULES[name]}" in README


def test_every_room_is_named_and_no_two_hold_one_name() -> None:
    """Results are stored by name alone: of two files of one name, one would take the place of the other's."""
    folders = [*(FOLDER / room for room in ROOMS), *ROOT.glob("plugins/*/studies")]
    files = [path for folder in folders for path in folder.glob("[a-z]*.py")]
    assert len(files) == len(MODULES) > 25
    assert set(MODULES) & set(STUDIES) == {"leaderboard"}
    assert all(f"**`{room}`**" in README for room in ROOMS)


@pytest.mark.parametrize("file", PRINTED, ids=lambda file: file.stem)
def test_printed_output_is_stored_with_its_command_seed_and_time(file: Path) -> None:
    name = file.stem
    assert results_of(name) == file
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"$ python -m {MODULES[name]}"
    assert len(lines) > 4
    assert any(line.startswith(("Seed ", "No random numbers")) for line in lines)
    assert lines[-1].startswith("The whole benchmark took ")


def test_every_command_that_the_documents_quote_exists() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    quoted = set(re.findall(r"`(?:python -m )?(studies\.[a-z_]+\.[a-z_0-9]+)", pages))
    assert len(quoted) > 20
    assert {name for name in quoted if not (ROOT / f"{name.replace('.', '/')}.py").is_file()} == set()


@pytest.mark.parametrize("name", list(STUDIES))
def test_every_study_is_documented(name: str) -> None:
    assert f"`{STUDIES[name].command}`" in README
