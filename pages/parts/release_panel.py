"""Before the button: the receipt of a planned release, its budget, and the form that draws it once."""

from __future__ import annotations

import logging

import streamlit as st

from pages.parts.glossary import tip
from pages.parts.receipt import receipt_lines
from pages.parts.workspace import Workspace
from workflow import words
from workflow.desk import BudgetState, budget_state, curators_baseline, open_bundle, plan, release
from workflow.errors import WorkflowError
from workflow.lint import LEAK, lint, plan_from_settings
from workflow.release import Plan

_LOG = logging.getLogger(__name__)


def show(work: Workspace) -> None:
    """The receipt to read, and the form to submit."""
    if work.project is None or work.choice is None:
        return
    try:
        planned = plan(work.project, work.choice)
    except WorkflowError as error:
        st.error(str(error), icon=":material/error:")
        return
    budget = budget_state(planned)
    work.budget_text = budget.line
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.subheader("The receipt", anchor=False)
        st.caption("This is what the release will say about itself. Nothing has been drawn or charged yet.")
        known = [line for line in planned.receipt if budget.total is not None or line.topic != "Budget"]
        receipt_lines((line.topic, line.text, line.warning) for line in known)
    with right:
        st.subheader("The decision", anchor=False)
        _budget(budget)
        _form(work, planned, budget)
        _findings(work, planned)


def _findings(work: Workspace, planned: Plan) -> None:
    """What the leak lint says about this plan: what leaks, to whom, and the remedy."""
    findings = lint(
        plan_from_settings(work.project.settings, n=planned.privacy.n, tuning=work.choice.tuning.kind)
    )
    worst = [finding for finding in findings if finding.severity == LEAK]
    with st.expander(
        f"Leak check: {words.plural(len(findings), 'finding')}" if findings else "Leak check: nothing found",
        icon=":material/troubleshoot:",
        expanded=bool(worst),
    ):
        st.caption("What the plan gives away beside its mechanism, to whom, and what to do about it.")
        for finding in findings:
            sign = ":red[:material/warning: leak]" if finding.severity == LEAK else f"_{finding.severity}_"
            st.markdown(
                f"{sign} · {finding.leaks}  \nSeen by {finding.to_whom}. **Remedy:** {finding.remedy}"
            )


def _budget(budget: BudgetState) -> None:
    first, second, third = st.columns(3)
    first.metric("Spent ε", budget.before, help=tip("ledger"))
    second.metric("After this ε", budget.after)
    third.metric("Then left ε", budget.left)
    if not budget.fits:
        st.error(
            f"This release does not fit the budget of ε {budget.total}: choose a design that costs less.",
            icon=":material/block:",
        )


def _form(work: Workspace, planned: Plan, budget: BudgetState) -> None:
    with st.form("release", border=True):
        title = st.text_input(
            "Title of the release", value=work.project.settings.title, placeholder="what a reader will see"
        )
        total: float | None = None
        if budget.total is None:
            total = st.number_input(
                "Budget of these data: total ε of all releases, ever",
                min_value=budget.asked,
                value=max(budget.asked, 2.0),
                format="%.4g",
                help="The ledger will refuse any later release that would exceed it.",
            )
        st.markdown(
            "Submitting draws the private paths **once**, from the operating system's randomness, charges "
            "the ledger and writes the bundle. It cannot be undone: what is known cannot be made unknown."
        )
        submitted = st.form_submit_button(
            "Release", type="primary", icon=":material/shield_lock:", disabled=not budget.fits
        )
    if submitted and work.release_id is None:
        _release(work, title, total)


def _release(work: Workspace, title: str, total: float | None) -> None:
    """The one draw of this plan; a second submit of the same form finds it done."""
    try:
        with st.spinner("Charging the ledger, drawing, writing the bundle"):
            work.retitle(title)
            done = release(work.project, work.choice, total)
            work.release_id = done.release.release_id
    except WorkflowError as error:
        st.error(str(error), icon=":material/error:")
        return
    except Exception:
        _LOG.exception("a release did not complete")
        st.error(
            "The release did not complete. If it was charged, the charge stands until a person voids it on "
            "the Ledger screen; the server's log says what happened.",
            icon=":material/error:",
        )
        return
    work.viewer = open_bundle(done.archive)
    work.baseline = curators_baseline(work.project, work.tuned) if work.tuned is not None else None
    work.budget_text = budget_state(plan(work.project, work.choice)).line
    st.query_params["release"] = done.release.release_id
    st.rerun()
