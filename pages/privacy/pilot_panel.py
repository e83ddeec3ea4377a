"""The pilot: asking how to tune without reference data, and paying for an accounted look, once."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.privacy.piloting import pilot_job, pilot_serves, pilot_words
from pages.shared.plain_text import plain
from pages.shared.session import aside
from pages.shared.session.workspace import Workspace
from workflow.project.load import Project
from workflow.settings.model import ReleaseSettings

NAME = "pilot"
KEEP: Any = {"persist_state": "session"}
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
WAYS = {
    "simulated": "On a simulated field (free)",
    "pilot": "On an accounted pilot (spends a share of ε)",
}


def chosen(work: Workspace) -> bool:
    """Whether a pilot is to stand in for reference data."""
    if work.choices.get("reference") is not None:
        return False
    standing = "pilot" if work.choices.get("pilot") else "simulated"
    return bool(st.session_state.get(f"way_{work.mark}", standing) == "pilot")


def ask(work: Workspace) -> None:
    """How the design is chosen where there are no reference data."""
    if work.choices.get("reference") is not None:
        work.choose(pilot=None)
        return
    st.header("How the design is chosen", anchor=False)
    standing = work.choices.get("pilot")
    way = st.radio(
        "Without reference data the search needs a stand-in",
        list(WAYS),
        index=1 if standing else 0,
        format_func=WAYS.__getitem__,
        captions=[
            "A field drawn by the computer, of the size of your data. It knows nothing of them, so the "
            "design may suit them badly.",
            "Noisy counts and sums of the private records, charged to the ledger and drawn once. The release "
            "gets what is left of ε.",
        ],
        key=f"way_{work.mark}",
        **KEEP,
    )
    if way == "simulated":
        work.choose(pilot=None)
        return
    share = st.select_slider(
        "Share of ε for the pilot",
        sorted({*SHARES, standing or SHARES[2]}),
        value=standing or SHARES[2],
        format_func=lambda value: f"{value:.0%}",
        key=f"share_{work.mark}",
        **KEEP,
    )
    work.choose(pilot=float(share))


def paid(work: Workspace, settings: ReleaseSettings) -> Project | None:
    """The project of a pilot that serves these settings; until there is one, the form that pays for it."""
    plan = aside.planning(work)
    if aside.running(work, NAME, None):
        return None
    kept = plan.asides.get(NAME)
    if kept is not None and kept.done:
        plan.piloted = kept.result
        del plan.asides[NAME]
    elif kept is not None and kept.note and aside.same(kept.about, (settings,)):
        st.error(plain(kept.note), icon=":material/error:")
    if plan.piloted is not None and pilot_serves(plan.piloted, settings):
        st.info(plain(pilot_words(plan.piloted)), icon=":material/receipt_long:")
        return plan.piloted
    if plan.piloted is not None:
        st.warning(
            f"{plain(pilot_words(plan.piloted))} But it was paid for with another unit, budget, area or "
            "scale: put these back to use it, or pay for another one.",
            icon=":material/update:",
        )
    _form(work, settings)
    return None


def _form(work: Workspace, settings: ReleaseSettings) -> None:
    with st.form("pilot", border=True):
        st.markdown(
            f"**The pilot** spends {settings.pilot:.0%} of ε {settings.epsilon:g} on a look at the private "
            "records: each hexagon's count and sum with noise. It is charged to the ledger first, drawn "
            "**once**, and cannot be undone or cancelled. The search then runs on what it shows, for free."
        )
        st.number_input(
            "Budget of these data: total ε of all releases, ever",
            min_value=settings.epsilon,
            value=max(settings.epsilon, 2.0),
            format="%.4g",
            help="Set only if these data have no budget yet. The ledger refuses whatever would exceed it.",
            key=f"pilot_total_{work.mark}",
        )
        st.form_submit_button(
            "Pay for the pilot",
            type="primary",
            icon=":material/shield_lock:",
            on_click=_pay,
            args=(work, settings),
        )


def _pay(work: Workspace, settings: ReleaseSettings) -> None:
    """Start the one draw; a second submit of the same form finds it under way or paid for."""
    plan = aside.planning(work)
    kept = plan.asides.get(NAME)
    if kept is not None and (kept.job is not None or kept.done):
        return
    if plan.piloted is not None and pilot_serves(plan.piloted, settings):
        return
    total = float(st.session_state[f"pilot_total_{work.mark}"])
    # It does not end with the session: what is charged is to be finished.
    plan.asides[NAME] = aside.Aside((settings,), pilot_job(settings, total, work.session))
