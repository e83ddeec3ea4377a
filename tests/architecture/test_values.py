"""Values are frozen: every dataclass of the core and of the workflow says so, but one that is being read."""

from __future__ import annotations

import ast

import pytest

from tests.architecture.code import tree_of
from tests.architecture.test_rooms import name_of, sources

MAY_CHANGE = {"_Running"}  # an account while the ledger's entries are read; it never leaves the book


def thawed(tree: ast.AST) -> list[str]:
    """Dataclasses without `frozen=True`."""
    found = []
    for node in ast.walk(tree):
        for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else []:
            said = ast.unparse(decorator)
            if said.startswith("dataclass") and "frozen=True" not in said and node.name not in MAY_CHANGE:
                found.append(node.name)
    return found


@pytest.mark.parametrize("room", ["dpgp_core", "workflow"])
def test_values_are_frozen(room: str) -> None:
    found = {name_of(path): thawed(tree_of(path)) for path in sources(room)}
    assert {name: kinds for name, kinds in found.items() if kinds} == {}


def test_a_value_that_can_be_changed_is_found() -> None:
    said = "@dataclass\nclass A: ...\n@dataclass()\nclass B: ...\n@dataclass(frozen=True)\nclass C: ..."
    assert thawed(ast.parse(said)) == ["A", "B"]
