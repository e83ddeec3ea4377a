"""Values are frozen: every dataclass of the core and of the program says so, but one that is being read.

And one that holds arrays is not compared field by field, as `==` of two arrays is no truth value: comparing
works for the very same arrays and raises for equal ones. Such classes say `eq=False`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

import pytest

from tests.architecture.code import tree_of
from tests.architecture.test_rooms import name_of, plugged, sources

MAY_CHANGE = {"_Running"}  # an account while the ledger's entries are read; it never leaves the book

ROOMS = ("dpgp_core", "hexcursion", "geo", "data_loaders", "studies", "pages")


def thawed(tree: ast.AST) -> list[str]:
    """Dataclasses without `frozen=True`."""
    found = []
    for node in ast.walk(tree):
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else []:
            said = ast.unparse(decorator)
            if said.startswith("dataclass") and "frozen=True" not in said and node.name not in MAY_CHANGE:
                found.append(node.name)
    return found


@pytest.mark.parametrize("room", ["dpgp_core", "hexcursion"])
def test_values_are_frozen(room: str) -> None:
    found = {name_of(path): thawed(tree_of(path)) for path in (*sources(room), *plugged("mathematics"))}
    assert {name: kinds for name, kinds in found.items() if kinds} == {}


def test_a_value_that_can_be_changed_is_found() -> None:
    said = "@dataclass\nclass A: ...\n@dataclass()\nclass B: ...\n@dataclass(frozen=True)\nclass C: ..."
    assert thawed(ast.parse(said)) == ["A", "B"]


def compared(tree: ast.Module, aliases: frozenset[str] = frozenset()) -> list[str]:
    """Dataclasses with an array among their fields and without `eq=False`; `aliases` are names of arrays."""
    named = dict(assigned(tree))
    words = {"NDArray", "ndarray"} | {name for name in aliases if named.get(name, True)}
    words |= {name for name, arrays in named.items() if arrays}
    found = []
    for node in ast.walk(tree):
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else []:
            said = ast.unparse(decorator)
            holds = any(is_array(field, words) for field in node.body)
            if said.startswith("dataclass") and "eq=False" not in said and holds:
                found.append(node.name)
    return found


def assigned(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Names that a module gives at its top, and whether the name is one of arrays."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, ast.unparse(node.value).startswith("NDArray[")


def is_array(field: ast.stmt, words: Collection[str]) -> bool:
    """A field that is an array, holds some or may be one; a function of arrays is none."""
    kind = ast.unparse(field.annotation) if isinstance(field, ast.AnnAssign) else ""
    return not kind.startswith("Callable[") and not set(re.findall(r"\w+", kind)).isdisjoint(words)


@pytest.fixture(scope="module")
def aliases() -> frozenset[str]:
    """The names that annotations of arrays go by, anywhere in the house."""
    trees = (tree_of(path) for room in ROOMS for path in sources(room))
    return frozenset(name for tree in trees for name, arrays in assigned(tree) if arrays)


@pytest.mark.parametrize("room", ROOMS)
def test_what_holds_arrays_is_not_compared_field_by_field(room: str, aliases: frozenset[str]) -> None:
    assert {"Floats", "Bools"} <= aliases
    found = {name_of(path): compared(tree_of(path), aliases) for path in (*sources(room), *plugged())}
    assert {name: kinds for name, kinds in found.items() if kinds} == {}


def test_a_value_that_compares_its_arrays_is_found() -> None:
    said = (
        "Mine = NDArray[np.int64]\nWords = Literal['a']\n"
        "@dataclass(frozen=True)\nclass A:\n    x: Floats | None\n"
        "@dataclass(frozen=True)\nclass B:\n    x: tuple[NDArray[np.bool_], ...]\n"
        "@dataclass(frozen=True, eq=False)\nclass C:\n    x: Floats\n"
        "@dataclass(frozen=True)\nclass D:\n    x: Callable[[float], Floats]\n    y: Words\n"
        "@dataclass(frozen=True)\nclass E:\n    x: Mine\n"
    )
    assert compared(ast.parse(said), frozenset({"Floats", "Words"})) == ["A", "B", "E"]
