"""Settling: making a design the one to release, with the choices and widgets that follow from it."""

from __future__ import annotations

import streamlit as st

from hexcursion.project.model import Project
from hexcursion.search.decision.choice import Choice
from hexcursion.search.decision.settle import settle_on, settle_on_typed
from hexcursion.search.problem.task import FrontierPoint, Scored
from pages.shared.session.workspace import Found, Workspace


def on_point(work: Workspace, found: Found, point: FrontierPoint) -> None:
    """Release a design of the search at its own epsilon."""
    project, choice = settle_on(found.project, found.tuned, point)
    _settle(work, found, project, choice, point.scored)


def on_typed(work: Workspace, found: Found, scored: Scored) -> None:
    """Release a typed design; it was checked to fit the budget, which stays as it is."""
    project, choice = settle_on_typed(found.project, found.tuned, scored)
    _settle(work, found, project, choice, scored)


def _settle(work: Workspace, found: Found, project: Project, choice: Choice, scored: Scored) -> None:
    work.found = Found(project, found.tuned, choice, scored)
    settings = project.settings
    work.choose(epsilon=settings.epsilon, paths=settings.paths)
    work.design_changed()
    # The widgets of these choices show them again, also those that stand on the screen in another mode only.
    for name in ("epsilon", "paths"):
        st.session_state[f"{name}_{work.mark}"] = getattr(settings, name)


def chosen(found: Found) -> Scored:
    """What is known of the design that is to be released."""
    return found.scored or found.tuned.result.chosen
