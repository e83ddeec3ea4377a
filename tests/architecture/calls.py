"""Which function calls which, as far as the source text tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from tests.architecture.code import Code, Function

Types = frozenset[str]
NOTHING: Types = frozenset()


class Body:
    """One function's body: what its names hold, and whom it calls."""

    def __init__(self, code: Code, function: Function) -> None:
        self.code, self.function, self.module = code, function, function.module
        self.held: dict[str, Types] = {
            name: code.types(self.module, annotation) for name, annotation in function.parameters()
        }
        if function.owner:
            self.held["self"] = frozenset({function.owner})
        for node in sorted(ast.walk(function.node), key=lambda node: getattr(node, "lineno", 0)):
            self._learn(node)

    def _learn(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._hold(target, self.types(value))
            case ast.AnnAssign(target=target, annotation=annotation):
                self._hold(target, self.code.types(self.module, annotation))
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                self._hold(target, self.types(value))
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                self._hold(target, self.types(value))
            case ast.NamedExpr(target=target, value=value):
                self._hold(target, self.types(value))

    def _hold(self, target: ast.expr, types: Types) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.held[node.id] = self.held.get(node.id, NOTHING) | types

    def named(self, node: ast.expr) -> str | None:
        """The dotted name that an expression of plain names stands for."""
        if isinstance(node, ast.Name) and node.id not in self.held:
            return self.code.follow(self.module.names.get(node.id, f"{self.module.name}.{node.id}"))
        if isinstance(node, ast.Attribute):
            holder = self.named(node.value)
            return self.code.follow(f"{holder}.{node.attr}") if holder else None
        return None

    def types(self, node: ast.expr) -> Types:
        """Our classes that the value of an expression may be of."""
        match node:
            case ast.Name(id=name) if name in self.held:
                return self.held[name]
            case ast.Attribute(value=value, attr=attr):
                found = [self.code.field_types(kind, attr) for kind in self.types(value)]
                return NOTHING.union(*found)
            case ast.Call():
                return NOTHING.union(*(self._given_back(callee) for callee in self.callees(node)))
            case ast.IfExp(body=one, orelse=other):
                return self.types(one) | self.types(other)
            case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
                return NOTHING.union(*(self.types(each) for each in values))
            case ast.Subscript(value=value) | ast.Starred(value=value) | ast.Await(value=value):
                return self.types(value)
        return NOTHING

    def _given_back(self, callee: str) -> Types:
        if callee in self.code.classes:
            return frozenset({callee})
        called = self.code.functions[callee]
        if isinstance(called.node.returns, ast.Name) and called.node.returns.id == "Self" and called.owner:
            return frozenset({called.owner})
        return self.code.types(called.module, called.node.returns)

    def callees(self, call: ast.Call) -> set[str]:
        """Functions, methods and classes of ours that a call may reach."""
        name = self.named(call.func)
        if name in self.code.functions or name in self.code.classes:
            return {name} if name else set()
        if isinstance(call.func, ast.Attribute):
            return {
                method
                for kind in self.types(call.func.value)
                for method in self.code.methods(kind, call.func.attr)
            }
        return set()

    def calls(self) -> Iterator[tuple[int, str]]:
        """(line, dotted name) of every call of ours."""
        for node in ast.walk(self.function.node):
            if isinstance(node, ast.Call):
                for callee in sorted(self.callees(node)):
                    yield node.lineno, callee


@cache
def reachable(code: Code, start: str) -> dict[str, dict[str, int]]:
    """caller -> {callee: line of its first call} from one function on; making a plain value is no call."""
    graph: dict[str, dict[str, int]] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in graph:
            continue
        found = graph[name] = {}
        for line, callee in Body(code, code.functions[name]).calls():
            if callee in code.functions and callee != name:
                found.setdefault(callee, line)
        waiting.extend(found)
    return graph
