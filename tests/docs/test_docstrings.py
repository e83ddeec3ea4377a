"""Public docstrings of the libraries say the shapes of their arrays; the linter checks their form."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.architecture.code import tree_of

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ("dpgp_core", "geo", "data_loaders", "hexcursion")
FILES = [path for room in LIBRARY for path in sorted((ROOT / room).rglob("*.py"))]
ARRAY = re.compile(r"\b(Floats|Ints|Bools|NDArray|ArrayLike)\b")
AXIS = r"(?:[A-Z][A-Za-z0-9]*|[a-z]|\d+|\.\.\.)(?: ?[+*/-] ?\d+)?"
SHAPE = re.compile(rf"\({AXIS}(?:,(?: {AXIS})?)+\)|^\(\w[^()]*, |shape|\bscalar|any length|element|broadcast")

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def inherited() -> set[str]:
    """Methods of a mechanism whose shapes its base states for all of them."""
    base = ROOT / "dpgp_core" / "mechanisms" / "base.py"
    return {name for name, text in with_arrays(base) if SHAPE.search(text)}


def with_arrays(path: Path) -> list[tuple[str, str]]:
    """Public functions and classes of arrays: the name, and the text that is to say their shapes."""
    found = []
    for node in ast.walk(tree_of(path)):
        if not isinstance(node, Documented) or node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            said = [ast.unparse(item.annotation) for item in node.body if isinstance(item, ast.AnnAssign)]
            text = ast.get_source_segment(path.read_text(encoding="utf-8"), node) or ""
        else:
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            hints = [*(each.annotation for each in given), node.returns]
            said, text = [ast.unparse(hint) for hint in hints if hint], ast.get_docstring(node) or ""
        if text and any(ARRAY.search(each) for each in said):
            found.append((node.name, text))
    return found


def test_arrays_have_their_shapes_in_words() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} {name}"
        for path in FILES
        for name, text in with_arrays(path)
        if not (SHAPE.search(text) or ("mechanisms" in path.parts and name in inherited()))
    ]
    assert wrong == []


def test_the_law_of_shapes_sees_what_it_forbids(tmp_path: Path) -> None:
    path = tmp_path / "old.py"
    path.write_text(
        'def f(x: Floats) -> Ints:\n    """Do."""\n'
        'def g(x: Floats) -> float:\n    """Do with (N,) values."""\n'
        'def h(x: int) -> float:\n    """Do."""\n'
        'class K:\n    """Hold."""\n\n    x: Floats\n'
    )
    assert [name for name, text in with_arrays(path) if not SHAPE.search(text)] == ["f", "K"]
