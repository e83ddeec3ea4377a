"""The second question: a dialog that repeats the protection and releases the trip once."""

from __future__ import annotations

import streamlit as st

from dpgp_core.numbers import upper
from hexcursion.words import plural
from hexcursion_traces.page.work import TraceWork
from hexcursion_traces.plan import TracePlan
from hexcursion_traces.statement import rounded_down, worst_interval
from pages.shared import panels
from pages.shared.plain_text import plain

KEY = "trace-asked"


def begin(work: TraceWork) -> None:
    """Ask from now on, until the answer or another plan."""
    panels.begin_question(KEY, work.session)


def show(work: TraceWork) -> None:
    """Show the question if it is open and about this plan."""
    if work.plan is not None and panels.question_about(KEY) == work.session:
        panels.ask_twice(KEY, "Release this trip?", _ask, work, work.plan)


def _ask(work: TraceWork, plan: TracePlan) -> None:
    secrets, records = plural(len(plan.secrets), "secret"), plural(plan.trace.size, "record")
    st.markdown(
        f"**{plain(secrets)} in {plain(records)}**, μ at most {plain(upper(plan.worst.certificate.mu, 4))}. "
        "This is not differential privacy."
    )
    first, second = st.columns(2)
    first.metric("Adversary's 68 % interval", f"≥ {rounded_down(worst_interval(plan)):g} m")
    second.metric("Noise per axis", f"{plan.root_mean_square:,.1f} m")
    st.markdown(
        "The trip is drawn **once**, and written into the ledger first. A publication cannot be taken "
        "back, and these records cannot be released a second time."
    )
    if panels.answered(KEY, work.session):
        with st.spinner("Charging the ledger, drawing"):
            work.release()
        panels.end_question(KEY)
        st.rerun()
