"""One tree of errors: what core and hexcursion refuse has one root, and so one sentence on every surface."""

from __future__ import annotations

import ast

from dpgp_core.errors import CoreError, HexcursionError, InvalidValue, NumericalFailure, PriorError
from hexcursion.errors import Cancelled, WorkflowError
from tests.architecture.code import tree_of
from tests.architecture.test_rooms import name_of, sources

BARE = {"Exception", "ValueError", "ArithmeticError", "RuntimeError"}


def test_core_and_workflow_raise_nothing_outside_of_the_tree() -> None:
    raised = [
        f"{name_of(path)}:{node.lineno}: {node.exc.func.id}"
        for path in (*sources("dpgp_core"), *sources("hexcursion"))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and isinstance(node.exc.func, ast.Name)
        and node.exc.func.id in BARE
    ]
    assert raised == []


def test_the_tree_has_one_root() -> None:
    for kind in (CoreError, InvalidValue, PriorError, NumericalFailure, WorkflowError, Cancelled):
        assert issubclass(kind, HexcursionError)
    assert issubclass(PriorError, ValueError)
    assert issubclass(NumericalFailure, ArithmeticError)
