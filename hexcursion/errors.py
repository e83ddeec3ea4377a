"""Errors a person reads: one clear sentence that names the remedy."""

from __future__ import annotations

from dpgp_core.errors import HexcursionError


class WorkflowError(HexcursionError, ValueError):
    """Something in the settings or the data stops the work; the text says what to do about it."""


class Cancelled(HexcursionError, RuntimeError):
    """The person asked to stop; nothing was released."""
