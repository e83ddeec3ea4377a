"""The code as data: modules, classes and functions of the rooms, and which function calls which.

Calls are resolved from the source text alone: names by the imports that bring them, methods by annotations of
parameters, fields and return values. What an annotation does not tell is left out; an overridden method
stands for its overriding ones too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("app", "pages", "studies", "hexcursion", "dpgp_core", "geo", "data_loaders")
OUTSIDE = "studies/screens/"  # they measure the screens from outside, as tests do

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax of a file, read once for all laws that look at it; nobody may change it."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@dataclass
class Module:
    """One file: its dotted name, its syntax tree and what its names mean (`name -> dotted name`)."""

    name: str
    tree: ast.Module
    names: dict[str, str] = field(default_factory=dict)


@dataclass
class Class:
    """A class: the types of its fields and properties, and the dotted names of its bases."""

    name: str
    fields: dict[str, ast.expr] = field(default_factory=dict)
    bases: tuple[str, ...] = ()


@dataclass
class Function:
    """A function or method: where it stands and its syntax tree; `owner` is its class."""

    name: str
    module: Module
    node: AnyFunction
    owner: str | None = None

    def parameters(self) -> Iterator[tuple[str, ast.expr | None]]:
        """(name, annotation) of every parameter but `self`."""
        given = self.node.args
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs):
            if each.arg not in ("self", "cls"):
                yield each.arg, each.annotation


def absolute(module: str, package: bool, node: ast.ImportFrom) -> str:
    """The dotted name that an `import from` takes its names from."""
    if not node.level:
        return node.module or ""
    parts = module.split(".") if package else module.split(".")[:-1]
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


class Code:
    """All modules of some folders below a root, read once."""

    def __init__(self, root: Path = ROOT, rooms: tuple[str, ...] = ROOMS) -> None:
        self.modules: dict[str, Module] = {}
        self.classes: dict[str, Class] = {}
        self.functions: dict[str, Function] = {}
        for room in rooms:
            single = root / f"{room}.py"
            for path in [single] if single.is_file() else sorted((root / room).rglob("*.py")):
                if not path.relative_to(root).as_posix().startswith(OUTSIDE):
                    self._read(path, root)

    def _read(self, path: Path, root: Path) -> None:
        parts = path.relative_to(root).with_suffix("").parts
        package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if package else parts)
        module = Module(name, tree_of(path))
        self.modules[name] = module
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    module.names[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                source = absolute(name, package, node)
                for alias in node.names:
                    module.names[alias.asname or alias.name] = f"{source}.{alias.name}"
        for node in module.tree.body:
            if isinstance(node, AnyFunction):
                self._add(Function(f"{name}.{node.name}", module, node))
            elif isinstance(node, ast.ClassDef):
                self._read_class(module, node)

    def _add(self, function: Function) -> None:
        self.functions[function.name] = function
        function.module.names.setdefault(function.node.name, function.name)

    def _read_class(self, module: Module, node: ast.ClassDef) -> None:
        name = f"{module.name}.{node.name}"
        module.names.setdefault(node.name, name)
        kind = self.classes[name] = Class(name)
        kind.bases = tuple(base for each in node.bases for base in self._named(module, each))
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                kind.fields[item.target.id] = item.annotation
            elif isinstance(item, AnyFunction):
                method = Function(f"{name}.{item.name}", module, item, name)
                self.functions[method.name] = method
                decorators = {each.id for each in item.decorator_list if isinstance(each, ast.Name)}
                if decorators & {"property", "cached_property"} and item.returns is not None:
                    kind.fields[item.name] = item.returns

    @staticmethod
    def _named(module: Module, node: ast.expr) -> Iterator[str]:
        """Dotted names that an expression of names and attributes mentions."""
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                yield module.names.get(each.id, f"{module.name}.{each.id}")
            elif isinstance(each, ast.Constant) and isinstance(each.value, str):
                for word in each.value.replace("[", " ").replace("]", " ").replace(",", " ").split():
                    yield module.names.get(word, f"{module.name}.{word}")

    def follow(self, name: str) -> str:
        """The name under which something was defined, through packages that pass it on."""
        for _ in range(8):
            if name in self.classes or name in self.functions or name in self.modules:
                break
            holder, _, last = name.rpartition(".")
            module = self.modules.get(self.follow(holder)) if holder else None
            if module is None or module.names.get(last, name) == name:
                break
            name = module.names[last]
        return name

    def types(self, module: Module, annotation: ast.expr | None) -> frozenset[str]:
        """Our classes that an annotation mentions: a list of X counts as X."""
        if annotation is None:
            return frozenset()
        named = {self.follow(name) for name in self._named(module, annotation)}
        return frozenset(named & self.classes.keys())

    @cached_property
    def subclasses(self) -> dict[str, set[str]]:
        """Classes below each class, at any depth."""
        below: dict[str, set[str]] = {}
        for name in self.classes:
            for above in self.ancestors(name):
                below.setdefault(above, set()).add(name)
        return below

    def ancestors(self, name: str) -> tuple[str, ...]:
        """The classes above a class, nearest first."""
        above: list[str] = []
        waiting = [name]
        for kind in waiting:
            found = [self.follow(base) for base in self.classes[kind].bases]
            new = [base for base in found if base in self.classes and base not in waiting]
            above += new
            waiting += new
        return tuple(above)

    def methods(self, kind: str, method: str) -> set[str]:
        """What a method call on a value of a class may run: its own, an inherited or an overriding one."""
        own = next((f"{each}.{method}" for each in (kind, *self.ancestors(kind))
                    if f"{each}.{method}" in self.functions), None)  # fmt: skip
        below = {f"{each}.{method}" for each in self.subclasses.get(kind, ())} & self.functions.keys()
        return below | ({own} if own else set())

    def field_types(self, kind: str, name: str) -> frozenset[str]:
        """The classes of a field of a class."""
        for each in (kind, *self.ancestors(kind)):
            if name in self.classes[each].fields:
                holder = self.modules[each.rpartition(".")[0]]
                return self.types(holder, self.classes[each].fields[name])
        return frozenset()
