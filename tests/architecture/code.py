"""The code as data: the modules of the rooms and their syntax."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("app", "pages", "studies", "hexcursion", "dpgp_core", "geo", "data_loaders")
OUTSIDE = "studies/screens/"  # they measure the screens from outside, as tests do


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax of a file, read once for all laws that look at it; nobody may change it."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@dataclass
class Module:
    """One file: its dotted name and its syntax tree."""

    name: str
    tree: ast.Module


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
        for room in rooms:
            single = root / f"{room}.py"
            for path in [single] if single.is_file() else sorted((root / room).rglob("*.py")):
                if not path.relative_to(root).as_posix().startswith(OUTSIDE):
                    parts = path.relative_to(root).with_suffix("").parts
                    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                    self.modules[name] = Module(name, tree_of(path))
