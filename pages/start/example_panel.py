"""The finished example: one click, and the released map beside its baseline."""

from __future__ import annotations

import streamlit as st

from pages.data.previews import look_at
from pages.release.releasing import curators_baseline
from pages.shared.computing.progress import show_progress
from pages.shared.plain_text import plain
from pages.shared.session import workspace
from pages.shared.session.workspace import Explored, Found, Workspace
from pages.shared.steps import RELEASE
from pages.start.finished import CHARGED, Finished, example_job
from workflow.errors import Cancelled, WorkflowError


def show(work: Workspace) -> None:
    """The button, the progress, or the way into the finished example."""
    job = work.example_job
    if job is None:
        st.button(
            "Open the finished example",
            icon=":material/play_arrow:",
            on_click=_begin,
            args=(work,),
            help="Generated sales of an invented city, searched and released beforehand: a map to explore, "
            "its account and the choices behind it. Nothing is drawn or charged when you open it.",
        )
        return
    if job.state.state == "running":
        show_progress(job, "Cancel")
        return
    work.example_job = None
    try:
        _take(job.result())
    except Cancelled:
        st.info("Cancelled.", icon=":material/cancel:")
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
    else:
        st.switch_page(RELEASE.path)


def _begin(work: Workspace) -> None:
    work.example_job = example_job()
    work.ends_with(work.example_job)


def _take(finished: Finished) -> None:
    """Make the finished example this session's workspace."""
    fresh = workspace.start_over()
    settings = finished.project.settings
    fresh.adopt(settings)
    fresh.private = look_at(settings.data)
    fresh.reference = look_at(settings.reference, spread=True) if settings.reference is not None else None
    fresh.domain, fresh.layers = finished.project.domain, finished.project.layers
    fresh.found = Found(finished.project, finished.tuned, finished.tuned.choice)
    baseline = curators_baseline(finished.project, finished.tuned)
    fresh.explored = Explored(finished.viewer, baseline)
    fresh.release_id, fresh.budget_text = finished.viewer.bundle.statement["release"]["id"], CHARGED
