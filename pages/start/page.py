"""Start: what this is for, a finished example in one click, and the two other ways in."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.shared.steps import DATA, HELP, TOUR, VIEWER
from pages.start import example_panel

STATIC = Path(__file__).resolve().parents[2] / "static"

left, right = st.columns([3, 2], gap="large")
with left:
    st.markdown(
        "A single sale price or sensor reading may be private. Yet everybody may want to know **where such "
        "values exceed a threshold**. Hexcursion draws that region on a grid of hexagons with "
        "**differential privacy**: a **proved** limit on what the map tells about any single record. It says "
        "what this costs in accuracy, and keeps account of every release."
    )
    if st.button("Take the two-minute tour", type="primary", icon=TOUR.icon):
        st.switch_page(TOUR.path)
    example_panel.show()
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
