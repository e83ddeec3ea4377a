"""Viewer: opens a published bundle and nothing else; every threshold is free."""

from __future__ import annotations

import streamlit as st

from pages.parts import released_view
from pages.parts.bundles import ask_bundle, embedded_label
from pages.parts.receipt import receipt_lines
from workflow.desk import statement_text

viewer = ask_bundle()
if viewer is not None:
    statement = viewer.bundle.statement
    shown, protected, label, paper = st.tabs(["Map", "Protection and cost", "Label", "Attribution"])
    with shown:
        if statement["release"]["generated"]:
            st.badge("generated data", icon=":material/science:", color="violet")
        product, threshold, rounds, products = released_view.controls(viewer, "viewer", shareable=True)
        released_view.released_map(viewer, product, threshold, rounds, products, "viewer_map")
        released_view.sentences(viewer, products)
    with protected:
        released_view.statement_facts(viewer)
        receipt_lines((line["topic"], line["text"], line["warning"]) for line in statement["receipt"])
    with label:
        embedded_label(viewer)
    with paper:
        for text in statement["attribution"] or ["No attribution is asked for."]:
            st.markdown(text)
        st.download_button(
            "Download the statement (JSON)",
            statement_text(viewer),
            "statement.json",
            "application/json",
            icon=":material/download:",
        )
