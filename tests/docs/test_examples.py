"""Examples in docstrings and in the documentation run, and give what they say."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
ROOMS = ("dpgp_core", "geo", "data_loaders", "hexcursion")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def with_examples(folder: Path, pattern: str) -> list[Path]:
    return [path for path in sorted(folder.rglob(pattern)) if ">>> " in path.read_text(encoding="utf-8")]


MODULES = tuple(
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for room in ROOMS
    for path in with_examples(ROOT / room, "*.py")
)
PAGES = tuple(path.relative_to(DOCS).as_posix() for path in with_examples(DOCS, "*.md"))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page: str) -> None:
    found = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert found.attempted > 0
    assert found.failed == 0


def test_the_page_of_the_library_begins_with_a_release_in_ten_lines() -> None:
    text = (DOCS / "library.md").read_text(encoding="utf-8")
    first = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert first
    calls = [line for line in first[1].splitlines() if line.startswith(">>> ")]
    assert len(calls) <= 10
    assert sum("release(" in line for line in calls) == 1
    assert "library.md" in PAGES
