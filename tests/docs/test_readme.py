"""The README is short, and what it shows in Python runs in a notebook."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hexcursion.bundle import read_bundle
from hexcursion.ledger import open_ledger

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "example.ipynb"
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_has_at_most_seven_hundred_words_one_picture_and_two_commands() -> None:
    assert 400 < len(TEXT.split()) <= 700
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", TEXT)
    assert (ROOT / picture).is_file()
    assert re.findall(r"^    make (\w+)", TEXT, re.M) == ["run", "test"]


def shown(cell: dict[str, Any], names: dict[str, Any]) -> Any:
    """Run a cell without Jupyter, and give the value of its last line, which a notebook shows."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "example.ipynb", "exec"), names)
    return last and eval(compile(ast.Expression(last.value), "example.ipynb", "eval"), names)


def test_its_eight_lines_release_a_map_in_the_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    cells = [cell for cell in cells if cell["cell_type"] == "code"]
    lines = [line for cell in cells for line in "".join(cell["source"]).splitlines()]
    assert [line for line in lines if line != "released"] == code.splitlines()
    assert len(lines) == 9
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    values = [shown(cell, names) for cell in cells]
    assert [entry.kind for entry in open_ledger(create=False).entries()].count("commit") == 1
    printed = capsys.readouterr().out
    assert "probability" in printed
    assert "A 50:50 guess about one reading becomes at most 56:44." in printed
    assert read_bundle(tmp_path / "toledo.zip").statement["guarantee"]["epsilon"] <= 1.0
    (picture,) = [value._repr_html_() for value in values if hasattr(value, "_repr_html_")]
    assert picture.startswith("<figure><img alt=")
    assert "ε 1 at δ 1 in 100,000, for each " in picture


def test_the_figures_of_the_example_are_the_stored_ones() -> None:
    """Agreements are rounded down, as on the screens."""
    story = json.loads((ROOT / "static" / "tour" / "tour.json").read_text(encoding="utf-8"))
    said = {name: f".{int(100 * value)}" for name, value in story["measured"].items()}
    assert said.keys() == {"public", "released", "table", "filled", "smoothed"}
    words = " ".join(TEXT.split())
    assert f"it agreed {said['released']} with the example's map of 1998" in words
    assert f"the public one of 1993 agreed {said['public']};" in words
    practice = " ".join((ROOT / "docs" / "practice.md").read_text(encoding="utf-8").split())
    assert f"agrees {said['public']}, a table of at least 5 {said['table']} as published" in practice
    assert f"and {said['filled']} filled, the smoothed one {said['smoothed']}," in practice
    assert f"at epsilon 1 that ships {said['released']} (" in practice
