"""Errors a person reads: one clear sentence that names the remedy."""

from __future__ import annotations


class WorkflowError(ValueError):
    """Something in the settings or the data stops the work; the text says what to do about it."""


class Cancelled(RuntimeError):
    """The person asked to stop; nothing was released."""
