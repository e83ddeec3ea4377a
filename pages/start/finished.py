"""The finished example: the main job on generated data, drawn once per home and shown again afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pages.privacy.designs import load_and_tune
from pages.release.releasing import budget_state, plan, release
from pages.shared.computing.apart import apart
from pages.shared.computing.jobs import Job
from workflow.bundle.published.shelf import open_bundle, shelf
from workflow.project.example import example_settings
from workflow.project.load import Project
from workflow.search.tuning import Tuned

BUDGET = 10.0  # total epsilon of the invented data: room for a visitor's own tries


@dataclass(frozen=True)
class Finished:
    """The example as a curator would have it after the last step."""

    project: Project
    tuned: Tuned
    release_id: str
    budget: str


def example_job() -> Job[Finished]:
    """Make or reopen the finished example in the background."""
    return Job(_make)


def _make(report: Callable[[float, str], None]) -> Finished:
    report(0.0, "Making the invented city")
    settings = example_settings().with_changes(quick=True)
    project, tuned = apart(lambda fraction, text: report(0.85 * fraction, text), load_and_tune, settings)
    report(0.88, "Drawing the release, or finding the earlier one")
    known = _released(project, tuned)
    if known is None:
        known = release(project, tuned.choice, BUDGET).release.release_id
    return Finished(project, tuned, known, budget_state(plan(project, tuned.choice)).line)


def _released(project: Project, tuned: Tuned) -> str | None:
    """An earlier release of this very design on this installation's shelf."""
    design = tuned.choice.design.to_mapping()
    wanted = {
        "title": project.settings.title,
        "cells": project.domain.cells,
        "threshold": project.settings.threshold,
        "design": design,
    }
    for bundle in shelf():
        if bundle.title.startswith(project.settings.title):
            viewer = open_bundle(bundle.path)
            found = {
                "title": viewer.bundle.statement["release"]["title"],
                "cells": viewer.domain.cells,
                "threshold": viewer.bundle.threshold,
                "design": {
                    name: value for name, value in viewer.bundle.statement["design"].items() if name in design
                },
            }
            if found == wanted:
                return bundle.name
    return None
