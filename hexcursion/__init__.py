"""Private excursion maps of point data: `release`, `plan`, `publish`, `open_bundle`, `compare`.

Every refusal is a `WorkflowError`, one sentence that names the remedy.

Importing this package imports nothing else: the command line fixes the number of BLAS threads before numpy
is. What it offers is imported when it is first asked for. Nothing here imports Streamlit.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any

_OFFERED = {
    "AskedPath": "hexcursion.door.released",
    "BudgetExceeded": "hexcursion.ledger.errors",
    "BundleError": "hexcursion.bundle",
    "Cancelled": "hexcursion.errors",
    "Comparison": "hexcursion.comparing.run",
    "CuratorWarning": "hexcursion.door.library",
    "HexcursionError": "hexcursion.errors",
    "LowAgreement": "hexcursion.releasing.release_guard",
    "NoBudget": "hexcursion.ledger.errors",
    "Planned": "hexcursion.door.pipeline",
    "Released": "hexcursion.door.released",
    "ReleasedAtlas": "hexcursion.door.released_atlas",
    "RequestTaken": "hexcursion.ledger.errors",
    "RowsDropped": "hexcursion.project.model",
    "Unreleased": "hexcursion.ledger.errors",
    "WorkflowError": "hexcursion.errors",
    "compare": "hexcursion.door.library",
    "open_atlas": "hexcursion.door.released_atlas",
    "open_bundle": "hexcursion.door.released",
    "plan": "hexcursion.door.library",
    "publish": "hexcursion.door.library",
    "release": "hexcursion.door.library",
}

__all__ = [
    "AskedPath",
    "BudgetExceeded",
    "BundleError",
    "Cancelled",
    "Comparison",
    "CuratorWarning",
    "HexcursionError",
    "LowAgreement",
    "NoBudget",
    "Planned",
    "Released",
    "ReleasedAtlas",
    "RequestTaken",
    "RowsDropped",
    "Unreleased",
    "WorkflowError",
    "__version__",
    "compare",
    "open_atlas",
    "open_bundle",
    "plan",
    "publish",
    "release",
    "settings",
]


NEEDS_POSIX = (
    "Hexcursion locks its ledger and keeps its keys secret by the rules of Linux and macOS: on Windows "
    "run it in WSL 2, or in the container of deploy/Containerfile."
)


def can_run() -> bool:
    """Whether this system has the locks that the ledger needs: Windows has others."""
    return find_spec("fcntl") is not None


def __getattr__(name: str) -> Any:
    if name in _OFFERED:
        if not can_run():
            raise ImportError(NEEDS_POSIX)
        return getattr(import_module(_OFFERED[name]), name)
    if name == "settings":
        return import_module("hexcursion.settings")
    if name == "__version__":
        return import_module("hexcursion.version").VERSION
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:
        readings = import_module("hexcursion.bundle.published.readings").READINGS
        if name in readings:  # of an installed package
            return readings[name].read
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *entry_points(group="hexcursion.readings").names})
