"""One tree of errors: whatever a room refuses has one root, and so one sentence on every surface."""

from __future__ import annotations

import ast
import builtins
from importlib import import_module

from data_loaders import DataError
from dpgp_core.errors import HexcursionError, NumericalFailure, PriorError
from geo.errors import DomainError
from hexcursion.errors import Cancelled
from hexcursion.ledger.errors import Unreleased
from tests.architecture.code import tree_of
from tests.architecture.test_rooms import ROOMS, name_of, sources

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


def errors_of(*rooms: str) -> set[type[BaseException]]:
    """The classes of errors that a room defines, but for signals that stay within a module (`_Name`)."""
    named = {
        (name_of(path)[:-3].replace("/", "."), node.name): {ast.unparse(base) for base in node.bases}
        for path in sources(*rooms)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }
    known = {name for name, kind in vars(builtins).items() if isinstance(kind, type) and _fails(kind)}
    known |= {kind.__name__ for kind in _subclasses(HexcursionError)}
    while more := {name for (_, name), bases in named.items() if bases & known} - known:
        known |= more
    return {getattr(import_module(room), name) for room, name in named if name in known}


def _fails(kind: type) -> bool:
    return issubclass(kind, BaseException) and not issubclass(kind, Warning)


def _subclasses(kind: type) -> set[type]:
    return {kind}.union(*map(_subclasses, kind.__subclasses__()))


def test_the_tree_has_one_root() -> None:
    kinds = errors_of(*(room for room in ROOMS if room != "studies"))
    assert {Cancelled, DataError, DomainError, NumericalFailure, PriorError, Unreleased} <= kinds
    assert [kind for kind in kinds if not issubclass(kind, HexcursionError)] == []
    assert issubclass(PriorError, ValueError)
    assert issubclass(NumericalFailure, ArithmeticError)
