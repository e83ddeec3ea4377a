"""The syntax of the house's files, for the laws that read it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax of a file, read once for all laws that look at it; nobody may change it."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
