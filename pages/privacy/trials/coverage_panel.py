"""How sure the sets are: inner and outer regions of simulated releases, in words."""

from __future__ import annotations

import streamlit as st

from hexcursion.search.problem.task import Scored
from pages.privacy.trials.trials import coverage_job, coverage_sentences, covers
from pages.shared.plain_text import plain
from pages.shared.session import aside
from pages.shared.session.workspace import Found, Workspace


def show(work: Workspace, found: Found, scored: Scored) -> None:
    """Button, progress, then what the simulated releases say."""
    if not covers(scored.design):
        st.caption(
            "One path is one possible map: it cannot say what is surely inside. With two paths or more this "
            "shows how often the inner and the outer region are right."
        )
        return
    st.caption(
        "Several paths divide the map into surely inside, surely outside and cannot tell. How often is that "
        f"right? Releases of {plain(found.project.tried_on)} are simulated and compared with their map "
        "without privacy. That map has errors of its own, which no simulation shows."
    )
    answer = aside.follow(
        work,
        "coverage",
        (scored.design, found.tuned),
        "Simulate releases",
        "Cancel the simulation",
        lambda: coverage_job(found.project, found.tuned, scored),
    )
    if answer is not None:
        for sentence in coverage_sentences(answer.result):
            st.markdown(plain(sentence))
