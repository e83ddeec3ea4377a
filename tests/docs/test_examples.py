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


def test_the_library_needs_fourteen_lines_from_a_bounding_box_to_a_private_draw() -> None:
    text = (DOCS / "library.md").read_text(encoding="utf-8")
    assert text.startswith("# From a bounding box to a private draw in 14 lines\n")
    first = re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert first
    lines = first[1].strip().splitlines()
    assert len(lines) == 14
    assert all(line.startswith(">>> ") for line in lines)
    assert "library.md" in PAGES
