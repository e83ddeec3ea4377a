"""Start: what this is for, a finished example in one click, and the two other ways in."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from hexcursion.errors import WorkflowError
from pages.shared.panels import explain_ways
from pages.shared.plain_text import plain
from pages.shared.session import workspace
from pages.shared.session.outcome import Explored, SearchOutcome
from pages.shared.shipped import shelved
from pages.shared.steps import DATA, HELP, TOUR, VIEWER
from pages.start.finished import Finished, finished_example

STATIC = Path(__file__).resolve().parents[2] / "static"
CHARGED = "Made beforehand, and charged to no account here."


def open_example() -> None:
    """The button, and what it opens."""
    if not st.button(
        "Open the finished example",
        icon=":material/play_arrow:",
        help="House sales of Lucas County, Ohio, searched and released beforehand: the map as a "
        "reader sees it, and the choices behind it. Opening it draws and charges nothing.",
    ):
        return
    try:
        with st.spinner("Opening the finished example"):
            take(finished_example())
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
    else:
        st.switch_page(VIEWER.path, query_params={"release": shelved().name})


def take(finished: Finished) -> None:
    """Make the finished example this session's workspace."""
    fresh = workspace.start_over()
    fresh.adopt(finished.project.settings)
    fresh.private, fresh.reference = finished.private, finished.reference
    fresh.domain, fresh.layers = finished.project.domain, finished.project.layers
    fresh.outcome = SearchOutcome(finished.project, finished.tuned, finished.tuned.choice)
    fresh.explored = Explored(finished.viewer, finished.baseline)
    fresh.release_id, fresh.budget_text = finished.viewer.bundle.statement["release"]["id"], CHARGED


left, right = st.columns([3, 2], gap="large")
with left:
    st.markdown(
        "Single prices or readings may be private. Hexcursion shows **where such values exceed a "
        "threshold** with **differential privacy**: a **proved** limit on what the map tells about any "
        "single record."
    )
    with st.expander("Two ways to draw", icon=":material/gesture:"):
        explain_ways()
    if st.button("Take the two-minute tour", type="primary", icon=TOUR.icon):
        st.switch_page(TOUR.path)
    open_example()
with right:
    before, after = st.columns(2)
    before.image(
        STATIC / "help-data.svg",
        caption="Before: private values, each at its place",
        width="stretch",
        alt="Dots on the hexagons of a city; one of them is ringed as somebody's own.",
    )
    after.image(
        STATIC / "help-region.svg",
        caption="After: a public map, with a proved limit on what it tells",
        width="stretch",
        alt="Hexagons of a city; those above the threshold form a region in orange.",
    )

first, second, third = st.columns(3, gap="large")
with first.container(border=True):
    st.markdown("**Your own data**")
    st.markdown("A table of places and values (CSV, Excel, GeoJSON, GeoPackage), or Price Paid sales.")
    st.page_link(DATA.path, label="Begin with the data", icon=DATA.icon)
with second.container(border=True):
    st.markdown("**A published bundle**")
    st.markdown("Open a map that somebody published, and read it at any threshold.")
    st.page_link(VIEWER.path, label="Open the viewer", icon=VIEWER.icon)
with third.container(border=True):
    st.markdown("**The idea**")
    st.markdown("Three pictures, the guarantee in plain words, and every symbol with its name.")
    st.page_link(HELP.path, label="How this works", icon=HELP.icon)
