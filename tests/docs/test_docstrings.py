"""Public docstrings are written in one style, which the reference is made from: numpy's sections."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.architecture.code import tree_of
from tests.architecture.test_rooms import plugged

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("dpgp_core", "geo", "data_loaders", "hexcursion", "studies", "pages")
LIBRARY = ("dpgp_core", "geo", "data_loaders", "hexcursion")
FILES = [*(path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))), *plugged()]
LISTED = re.compile(r"^(\w+(?:, \w+)*)(?: \([^)]*\))?(?:\s{2,}| : | -- ?)\S")
SECTION = re.compile(r"^(\w+)\n-{3,}$", re.M)
KNOWN = {
    "Parameters",
    "Returns",
    "Yields",
    "Raises",
    "Attributes",
    "Notes",
    "Examples",
    "References",
    "Warns",
}

ARRAY = re.compile(r"\b(Floats|Ints|Bools|NDArray|ArrayLike)\b")
AXIS = r"(?:[A-Z][A-Za-z0-9]*|[a-z]|\d+|\.\.\.)(?: ?[+*/-] ?\d+)?"
SHAPE = re.compile(rf"\({AXIS}(?:,(?: {AXIS})?)+\)|^\(\w[^()]*, |shape|\bscalar|any length|element|broadcast")

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cache
def documented(path: Path) -> list[tuple[Documented, str]]:
    """Functions, methods and classes with a docstring."""
    nodes = (node for node in ast.walk(tree_of(path)) if isinstance(node, Documented))
    return [(node, text) for node in nodes if (text := ast.get_docstring(node))]


def names_of(node: Documented) -> set[str]:
    """Parameters of a function, fields of a class."""
    if isinstance(node, ast.ClassDef):
        fields = (item.target for item in node.body if isinstance(item, ast.AnnAssign))
        return {target.id for target in fields if isinstance(target, ast.Name)}
    given = node.args
    return {each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def outside_sections(text: str) -> list[str]:
    """The lines before the first section."""
    found = SECTION.search(text)
    return (text[: found.start()] if found else text).splitlines()


def test_parameters_stand_in_a_section_of_their_own() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} {node.name}: {line.strip()}"
        for path in FILES
        for node, text in documented(path)
        for line in outside_sections(text)
        if (listed := LISTED.match(line)) and set(listed[1].split(", ")) & names_of(node)
    ]
    assert wrong == []


def test_sections_are_those_that_the_reference_knows() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} {node.name}: {title}"
        for path in FILES
        for node, text in documented(path)
        for title in SECTION.findall(text)
        if title not in KNOWN
    ]
    assert wrong == []


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
        if path.relative_to(ROOT).parts[0] in LIBRARY
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


def test_the_law_sees_what_it_forbids(tmp_path: Path) -> None:
    path = tmp_path / "old.py"
    path.write_text('def f(n, ridge):\n    """Do.\n\n    n      records\n    ridge  r > 0\n    """\n')
    ((node, text),) = documented(path)
    assert names_of(node) == {"n", "ridge"}
    assert [LISTED.match(line) is not None for line in outside_sections(text)] == [False, False, True, True]
    sectioned = "Do.\n\nParameters\n----------\nn\n    records\n"
    assert outside_sections(sectioned) == ["Do.", ""]
