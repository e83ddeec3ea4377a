"""Errors a person reads, each one sentence that names the remedy, and how a long step says its progress."""

from __future__ import annotations

from collections.abc import Callable

from dpgp_core.errors import HexcursionError

__all__ = ["Cancelled", "HexcursionError", "Report", "WorkflowError"]


class WorkflowError(HexcursionError, ValueError):
    """Something in the settings or the data stops the work; the text says what to do about it."""


class Cancelled(HexcursionError, RuntimeError):
    """The person asked to stop; nothing was released."""


Report = Callable[[float, str], None]
"""Called with (fraction, text); may raise to cancel."""
