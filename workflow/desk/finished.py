"""The finished example: the main job on generated data, drawn once per home and shown again afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from workflow.desk.example import example_settings
from workflow.desk.releasing import budget_state, plan, release
from workflow.desk.shelf import open_bundle, shelf
from workflow.jobs import Job
from workflow.project import Project, load_project
from workflow.tuning import Tuned, tune
from workflow.viewer import Viewer

BUDGET = 10.0  # total epsilon of the invented data: room for a visitor's own tries


@dataclass(frozen=True)
class Finished:
    """The example as a curator would have it after the last step."""

    project: Project
    tuned: Tuned
    release_id: str
    viewer: Viewer
    budget: str


def example_job() -> Job[Finished]:
    """Make or reopen the finished example in the background."""
    return Job(_make)


def _make(report: Callable[[float, str], None]) -> Finished:
    report(0.0, "Making the invented city")
    settings = example_settings().with_changes(quick=True)
    project = load_project(settings, lambda fraction, text: report(0.1 * fraction, text))
    tuned = tune(project, lambda fraction, text: report(0.1 + 0.75 * fraction, text))
    report(0.88, "Looking for the release")
    known = _released(project, tuned)
    if known is None:
        report(0.9, "Drawing the release")
        done = release(project, tuned.choice, BUDGET)
        known = (done.release.release_id, open_bundle(done.archive))
    report(0.97, "Opening the bundle")
    return Finished(project, tuned, *known, budget_state(plan(project, tuned.choice)).line)


def _released(project: Project, tuned: Tuned) -> tuple[str, Viewer] | None:
    """An earlier release of this very design on this installation's shelf."""
    wanted = {
        "title": project.settings.title,
        "cells": project.domain.cells,
        "threshold": project.settings.threshold,
        "design": asdict(tuned.choice.design),
    }
    for bundle in shelf():
        if bundle.title.startswith(project.settings.title):
            viewer = open_bundle(bundle.path)
            found = {
                "title": viewer.bundle.statement["release"]["title"],
                "cells": viewer.domain.cells,
                "threshold": viewer.bundle.threshold,
                "design": dict(viewer.bundle.statement["design"]),
            }
            if found == wanted:
                return bundle.name, viewer
    return None
