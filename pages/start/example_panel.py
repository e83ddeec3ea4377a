"""The finished example: one click, and the released map beside its baseline."""

from __future__ import annotations

import streamlit as st

from hexcursion.errors import WorkflowError
from pages.shared.plain_text import plain
from pages.shared.session import workspace
from pages.shared.session.workspace import Explored, Found
from pages.shared.steps import RELEASE
from pages.start.finished import CHARGED, Finished, finished_example


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
