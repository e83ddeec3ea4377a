"""The finished example: the state of a session after the last step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hexcursion.bundle.published.view import Viewer
from hexcursion.project.baseline import Baseline, curators_map
from hexcursion.project.example import county_settings
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.results import tuned_from
from hexcursion.search.tuning import Tuned
from pages.shared.session.previews import Preview, look_at
from pages.shared.shipped import SEARCH, shipped


@dataclass(frozen=True)
class Finished:
    """The example as a curator would have it after the last step; its "private" year was published too."""

    project: Project
    tuned: Tuned
    viewer: Viewer
    private: Preview
    reference: Preview
    baseline: Baseline


@cache
def finished_example() -> Finished:
    """The example, read once and then kept: its sales are published, so all sessions may share it."""
    settings = county_settings()
    project = load_project(settings)
    assert settings.reference is not None
    tuned = tuned_from(project, SEARCH.read_text(encoding="utf-8"))
    return Finished(
        project=project,
        tuned=tuned,
        viewer=shipped(),
        private=look_at(settings.data, settings.value_unit),
        reference=look_at(settings.reference, settings.value_unit, spread=True),
        baseline=curators_map(project, tuned.result.model, tuned.choice.cut),
    )
