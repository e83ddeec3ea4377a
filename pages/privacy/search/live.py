"""A moved budget: the design follows it at once where the search has looked at that budget already."""

from __future__ import annotations

from dataclasses import replace

from hexcursion.errors import WorkflowError
from hexcursion.search.decision.settle import at_budget, moved_to
from pages.shared.session.workspace import Found, Workspace


def follow(work: Workspace, found: Found) -> bool:
    """Settle on the best design at the budget as it stands now, if nothing else was changed since.

    A poor map is accepted when it is seen: what was accepted at another budget is not carried over.
    Beside an accounted look nothing follows: what is stated of both together was fixed before it was drawn.
    """
    try:
        asked = work.settings()
    except WorkflowError:
        return False
    before = found.project.settings
    same = before.with_changes(epsilon=asked.epsilon, accept_low_agreement=asked.accept_low_agreement)
    point = at_budget(found.tuned, asked.epsilon)
    if asked != same or point is None or found.project.pilot is not None:
        return False
    project, tuned = moved_to(found.project, found.tuned, point)
    if project.settings.paths != asked.paths:  # a typed design with another number of paths was settled on
        return False
    settings = project.settings.with_changes(accept_low_agreement=False)
    work.found = Found(replace(project, settings=settings), tuned, tuned.choice)
    work.choose(accept_low_agreement=False)
    work.design_changed()
    return True
