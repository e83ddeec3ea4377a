"""The finished example: one click, and the released map beside its baseline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import streamlit as st

from hexcursion.bundle.published.view import Viewer
from hexcursion.errors import WorkflowError
from hexcursion.project.baseline import Baseline, fit_baseline
from hexcursion.project.example import county_settings
from hexcursion.project.load import load_project
from hexcursion.project.model import Project
from hexcursion.search.decision.stored import tuned_from
from hexcursion.search.decision.tuning import Tuned
from pages.shared.plain_text import plain
from pages.shared.session import workspace
from pages.shared.session.previews import Preview, look_at
from pages.shared.session.workspace import Explored, Found
from pages.shared.shipped import FILES, shipped
from pages.shared.steps import RELEASE

SEARCH = FILES / "search.json"
CHARGED = "Made beforehand, and charged to no account here."


@dataclass(frozen=True)
class Finished:
    """The example as a curator would have it after the last step; its "private" year was published too."""

    project: Project
    tuned: Tuned
    viewer: Viewer
    private: Preview
    reference: Preview
    baseline: Baseline


@lru_cache(maxsize=1)
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
        baseline=fit_baseline(project, tuned.result.model),
    )


def show() -> None:
    """The button, and what it opens."""
    if not st.button(
        "Open the finished example",
        icon=":material/play_arrow:",
        help="House sales of Lucas County, Ohio, searched and released beforehand: a map to explore beside "
        "the one without privacy, and the choices behind it. Opening it draws and charges nothing.",
    ):
        return
    try:
        with st.spinner("Opening the finished example"):
            _take(finished_example())
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
    else:
        st.switch_page(RELEASE.path)


def _take(finished: Finished) -> None:
    """Make the finished example this session's workspace."""
    fresh = workspace.start_over()
    fresh.adopt(finished.project.settings)
    fresh.private, fresh.reference = finished.private, finished.reference
    fresh.domain, fresh.layers = finished.project.domain, finished.project.layers
    fresh.found = Found(finished.project, finished.tuned, finished.tuned.choice)
    fresh.explored = Explored(finished.viewer, finished.baseline)
    fresh.release_id, fresh.budget_text = finished.viewer.bundle.statement["release"]["id"], CHARGED
