"""What a curator has to say twice: promises so weak that nobody should make them by accident."""

from __future__ import annotations

from dpgp_core.numbers import significant
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.settings.defaults import usual_delta
from hexcursion.words import plural


def refuse_large_delta(project: Project) -> None:
    """Raise `WorkflowError` for a delta of at least 1/n that was not agreed to explicitly.

    At such a delta a release that publishes one record chosen at random would keep the promise.
    """
    n, delta = project.public_n, project.delta
    if n * delta >= 1.0 and not project.settings.accept_large_delta:
        raise WorkflowError(
            f"delta {significant(delta, 3)} is at least one in the number of records, {plural(n, 'record')}, "
            "so even publishing a whole record would keep the promise: choose delta "
            f"{usual_delta(n):g} or less, or set `accept_large_delta` to release all the same."
        )
