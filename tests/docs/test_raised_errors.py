"""The docstring of a public function names the errors of the program that the function raises itself.

An override without words of its own says what it overrides; a private module's functions are not public.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.code import tree_of
from tests.architecture.test_rooms import plugged

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("dpgp_core", "geo", "data_loaders", "hexcursion", "studies", "pages")
FILES = [
    *(path for room in ROOMS for path in sorted((ROOT / room).rglob("[!_]*.py"))),
    *(path for path in plugged() if not path.name.startswith("_")),
]
FOREIGN = {"CRSError"}  # a library's own, raised where it is caught


def public_functions(body: list[ast.stmt], where: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods that may be called from elsewhere."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if isinstance(node, ast.ClassDef):
                methods = public_functions(node.body, f"{where}{node.name}.")
                yield from (each for each in methods if not node.bases or ast.get_docstring(each[1]))
            else:
                yield f"{where}{node.name}", node


def raised(function: ast.FunctionDef) -> set[str]:
    """Names of the program's own errors that a function raises itself, those of inner functions left out."""
    found, waiting = set(), list[ast.AST](function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            name = ast.unparse(node.exc.func).rpartition(".")[2]
            if name[:1].isupper() and name not in FOREIGN and not hasattr(builtins, name):
                found.add(name)
    return found


def told(text: str) -> set[str]:
    """The words of a docstring, the errors that it names among them."""
    return set(re.findall(r"\w+", text))


def untold(path: Path) -> list[str]:
    """Public functions of a file with the errors that their docstrings do not name."""
    return [
        f"{path.name} {name}: {', '.join(sorted(missing))}"
        for name, node in public_functions(tree_of(path).body)
        if (missing := raised(node) - told(ast.get_docstring(node) or ""))
    ]


def test_public_functions_name_the_errors_they_raise() -> None:
    assert [line for path in FILES for line in untold(path)] == []


def test_the_law_sees_what_it_forbids(tmp_path: Path) -> None:
    path = tmp_path / "new.py"
    path.write_text(
        "def silent():\n"
        '    """Do."""\n'
        '    raise BundleError("no")\n'
        "def other():\n"
        '    """Do.\n\n    Raises\n    ------\n    WorkflowError\n        Always.\n    """\n'
        '    raise BundleError("no")\n'
        "def section():\n"
        '    """Do.\n\n    Raises\n    ------\n    BundleError, LedgerError\n        Always.\n    """\n'
        '    raise errors.BundleError("no")\n'
        "def line():\n"
        '    """Raise BundleError always."""\n'
        '    raise BundleError("no")\n'
        "def builtin():\n"
        '    """Do."""\n'
        '    raise ValueError("no")\n'
        "class Kind:\n"
        "    def _inner(self):\n"
        '        raise BundleError("no")\n'
        "    def method(self):\n"
        '        raise BundleError("no")\n'
    )
    assert untold(path) == [
        "new.py silent: BundleError",
        "new.py other: BundleError",
        "new.py Kind.method: BundleError",
    ]
