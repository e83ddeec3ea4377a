"""Start: what this is for, a finished example in one click, and the two other ways in."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.parts import example_panel, workspace
from pages.parts.steps import DATA, HELP, VIEWER

STATIC = Path(__file__).resolve().parents[2] / "static"
work = workspace.current()

left, right = st.columns([3, 2], gap="large")
with left:
    st.markdown(
        "Sales prices, sensor readings and the like are private, one by one. Yet everybody may want to know "
        "**where they exceed a threshold**. Hexcursion draws that region on a grid of hexagons with a "
        "**proved** guarantee for every single record, says what the guarantee costs in accuracy, and "
        "keeps account of every release."
    )
    example_panel.show(work)
with right:
    st.image(
        STATIC / "help-region.svg",
        width="stretch",
        alt="Hexagons of a city; those above the threshold form a region in orange.",
    )

first, second, third = st.columns(3, gap="large")
with first.container(border=True):
    st.markdown("**Your own data**")
    st.markdown("Price Paid sales with a postcode lookup, or a table of sensors with coordinates.")
    st.page_link(DATA.path, label="Begin with the data", icon=DATA.icon)
with second.container(border=True):
    st.markdown("**A published bundle**")
    st.markdown("Open what somebody else released: the map, its cost, and its free threshold.")
    st.page_link(VIEWER.path, label="Open the viewer", icon=VIEWER.icon)
with third.container(border=True):
    st.markdown("**The idea**")
    st.markdown("Three pictures, the guarantee in plain words, and every symbol with its name.")
    st.page_link(HELP.path, label="How this works", icon=HELP.icon)
