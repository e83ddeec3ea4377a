"""The one error of this package."""

from __future__ import annotations

from hexcursion.errors import WorkflowError


class BundleError(WorkflowError):
    """A bundle that cannot be written or must not be trusted; the text is one sentence."""
