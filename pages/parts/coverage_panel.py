"""How sure the sets are: inner and outer regions rehearsed on reference data, in words."""

from __future__ import annotations

import streamlit as st

from pages.parts import aside
from pages.parts.workspace import Found, Workspace
from workflow.desk import coverage_job, coverage_sentences, covers
from workflow.scored import Scored


def show(work: Workspace, found: Found, scored: Scored) -> None:
    """Button, progress, then what the rehearsals say."""
    if not covers(scored.design):
        st.caption(
            "One path is one possible map: it cannot say what is surely inside. With two paths or more this "
            "shows how often the inner and the outer region are right."
        )
        return
    st.caption(
        "Several paths divide the map into surely inside, surely outside and cannot tell. How often is that "
        "right? The design is rehearsed again and again on the reference data and compared with their map "
        "without privacy. That map has errors of its own, which no rehearsal shows."
    )
    answer = aside.follow(
        work,
        "coverage",
        (scored.design, found.tuned),
        "Rehearse the sets",
        "Cancel the rehearsals",
        lambda: coverage_job(found.project, found.tuned, scored),
    )
    if answer is not None:
        for sentence in coverage_sentences(answer.result):
            st.markdown(sentence)
