"""What plugins bring for the laws of all mechanisms: designs and literal numbers of their own mechanisms.

A plugin lays them into `plugins/NAME/tests/mechanisms.py`, one table for each law; without it the laws hold
of the house's mechanisms alone.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
_BROUGHT = [
    import_module(f"plugins.{path.parents[1].name}.tests.mechanisms")
    for path in sorted(ROOT.glob("plugins/*/tests/mechanisms.py"))
]


def table(name: str) -> dict[str, Any]:
    """All plugins' entries of one table by mechanism."""
    return {key: value for module in _BROUGHT for key, value in getattr(module, name).items()}


def rows(name: str) -> list[tuple[Any, ...]]:
    """All plugins' rows of one table."""
    return [row for module in _BROUGHT for row in getattr(module, name)]
