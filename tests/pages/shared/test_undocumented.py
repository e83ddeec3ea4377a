"""What Streamlit does not document is used in one module, with the version that it was tried with."""

from __future__ import annotations

import ast
from importlib.metadata import version
from pathlib import Path

from pages.shared.server.undocumented import TRIED_WITH

ROOT = Path(__file__).parents[3]
DOCUMENTED = {
    "streamlit",
    "streamlit.components",
    "streamlit.errors",
    "streamlit.starlette",
    "streamlit.testing",
}
"""Modules whose names the documentation of Streamlit gives, with those below them."""


def undocumented(path: Path) -> set[str]:
    """The modules of Streamlit that a file imports beyond the documented ones."""
    names, text = set(), path.read_text(encoding="utf-8")
    if "streamlit." not in text:
        return names
    for node in ast.walk(ast.parse(text)):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
        names |= {name for name in modules if name.startswith("streamlit.")}
    return {name for name in names if ".".join(name.split(".")[:2]) not in DOCUMENTED}


def test_one_module_alone_imports_what_streamlit_does_not_document() -> None:
    folders = [ROOT / name for name in ("pages", "hexcursion", "studies", "frontend")]
    folders += ROOT.glob("plugins/*/src")
    files = [ROOT / "app.py", *(path for folder in folders for path in folder.rglob("*.py"))]
    assert len(files) > 100
    users = {path.name: undocumented(path) for path in files if undocumented(path)}
    assert set(users) == {"undocumented.py"}
    assert len(users["undocumented.py"]) == 9


def test_the_pinned_streamlit_is_the_one_that_was_tried() -> None:
    """A newer Streamlit first passes the tests of the server; then this version is raised."""
    assert version("streamlit") == TRIED_WITH
