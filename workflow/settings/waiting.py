"""Choices that are checked but not carried out yet: they are refused, because silence would be a promise."""

from __future__ import annotations

from workflow.errors import WorkflowError
from workflow.settings.model import ReleaseSettings


def refuse_waiting(settings: ReleaseSettings) -> None:
    """Raise `WorkflowError` for the first choice that this version knows but cannot carry out."""
    waiting = {"cutoff": settings.cutoff is not None}
    for name, asked in waiting.items():
        if asked:
            raise WorkflowError(f"`{name}` is known but not carried out in this version: leave it out.")
