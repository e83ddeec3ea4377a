"""Viewer: a published map as a page for readers; opens bundles and nothing else, every threshold is free."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpgp_core.errors import PluginError
from hexcursion.bundle.again import NOT_COMPUTED
from hexcursion.bundle.published.readings import READINGS, of_each
from hexcursion.bundle.statement.receipt_check import publishers_own
from hexcursion.words import PUBLISHERS
from pages.shared import atlas_view, released_view
from pages.shared.plain_text import plain
from pages.shared.released_view import anything_chosen, ask_bundle, downloads, embedded_label, receipt_lines
from pages.shared.server import access
from pages.shared.shipped import is_shipped, shelved
from pages.shared.steps import VIEWER
from pages.tour.house import offer_todays_rule
from pages.viewer import reading
from pages.viewer.others import others_beside
from pages.viewer.reading import areas_of, ask_areas, ask_density, own_areas

top = st.container()
with st.sidebar if anything_chosen() else st.container():  # in plain sight as long as there is nothing else
    opened = ask_bundle()
if opened is None:
    with top:
        st.title(VIEWER.title, anchor=False)
        st.caption(VIEWER.question)
        st.info(
            "Open a bundle file: whoever published the map gives it away as one.",
            icon=":material/folder_open:",
        )
        st.page_link(
            VIEWER.path,
            label="Look at an example: house sales of Lucas County",
            icon=":material/map:",
            query_params={"release": shelved().name},
        )
elif isinstance(opened, str):
    st.title(VIEWER.title, anchor=False)
    st.error(plain(opened), icon=":material/error:")
else:
    viewer = atlas_view.ask_layer(opened.viewer, "viewer", shareable=True)
    opened = replace(opened, viewer=viewer)
    statement = viewer.bundle.statement
    areas = areas_of(viewer)
    reading.heading(viewer, areas)
    left, right = st.columns([5, 3], gap="medium")
    with right:
        reading.facts(viewer)
        if is_shipped(statement["release"]["id"]):
            offer_todays_rule()
    shown = left.container()
    asked = released_view.controls(viewer, "viewer", shareable=True)
    with shown:
        released_view.released_map(viewer, asked, "viewer_map")
    added, damaged = of_each(lambda reading: reading)
    if access.may_curate():
        for refusal in damaged:
            st.error(plain(refusal), icon=":material/error:")
    words, *together, files, protected, label, paper = st.tabs(
        [
            "In words",
            *(plain(each.tab) for each in added),
            "Downloads",
            "Protection and cost",
            "Label",
            "Attribution",
        ]
    )
    with words:
        released_view.sentences(viewer, asked.products)
        reading.largest(viewer)
        own_areas(viewer, areas)
        ask_areas(viewer, asked.threshold, "viewer")
        ask_density(viewer)
        if viewer.atlas is not None:
            with st.expander("All maps of this release, side by side", icon=":material/grid_view:"):
                atlas_view.side_by_side(viewer, "viewer_all")
        others_beside(viewer, asked.product, asked.threshold, asked.rounds)
    for tab, each in zip(together, added, strict=True):
        with tab:
            try:
                READINGS.use(each.name, lambda reading: reading.show(opened))
            except PluginError as error:
                st.error(plain(error), icon=":material/error:")
    with files:
        downloads(opened)
    with protected:
        released_view.statement_facts(viewer)
        own = {number for number, line in enumerate(statement["receipt"]) if publishers_own(line, statement)}
        st.caption(plain(f"Lines marked * hold {PUBLISHERS}. {NOT_COMPUTED}"))
        receipt_lines(
            [
                (line["topic"], f"{line['text']} *" if number in own else line["text"], line["warning"])
                for number, line in enumerate(statement["receipt"])
            ]
        )
    with label:
        of_all = viewer.atlas is not None and st.toggle("Of all maps together", key="viewer_whole_label")
        embedded_label(viewer, of_release=of_all)
    with paper:
        st.caption(plain(f"Credits are {PUBLISHERS}."))
        for text in statement["attribution"] or ["No attribution is asked for."]:
            st.text(text)
