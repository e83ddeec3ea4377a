"""Accounted looks at the private records before a search: a pilot, or a private choice of the range."""

from __future__ import annotations

from hexcursion.ledger import Ledger
from hexcursion.project.model import Project
from hexcursion.search.looks.pilot import pilot_warning, run_pilot
from hexcursion.search.looks.range_choice import choice_warning, run_range_choice


def paid_look(project: Project, ledger: Ledger, session: str = "") -> Project:
    """Charge and draw once the look that the settings ask for, and return the project after it.

    Raise `WorkflowError` before any charge (see `run_pilot`, `run_range_choice`), `Unreleased` after it.
    """
    if project.settings.range_choice is not None:
        return run_range_choice(project, ledger, session)
    return run_pilot(project, ledger, session)


def look_warning(project: Project) -> str:
    """Why that look would show next to nothing, or ""."""
    return choice_warning(project) or pilot_warning(project)
