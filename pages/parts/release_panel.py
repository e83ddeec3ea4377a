"""Before the button: the receipt of a planned release, its budget, and the form that draws it once."""

from __future__ import annotations

import logging

import streamlit as st

from pages.parts.glossary import tip
from pages.parts.receipt import receipt_lines
from pages.parts.workspace import Found, Workspace
from workflow import words
from workflow.desk import BudgetState, budget_state, plan, release
from workflow.errors import WorkflowError
from workflow.lint import LEAK, lint, plan_from_settings
from workflow.release import Plan

_LOG = logging.getLogger(__name__)


def show(work: Workspace, found: Found) -> None:
    """The receipt to read, and the form to submit."""
    found = _looked(work, found)
    try:
        planned = plan(found.project, found.choice)
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
        _form(work, found, budget)
        _findings(found, planned)


def _looked(work: Workspace, found: Found) -> Found:
    """Whether the curator chose by looking: it changes what the release says, not what it costs."""
    looked = st.checkbox(
        "I chose the threshold, the area or the design after looking at the private data",
        value=found.project.settings.looked,
        help="What is chosen by looking reveals something of the data, and no ε here accounts for it. The "
        "receipt, the label and the statement will then say NOT ACCOUNTED. Choosing from public knowledge or "
        "on reference data needs no tick.",
        key=f"looked_{work.mark}",
    )
    work.say_looked(bool(looked))
    return work.found or found


def _findings(found: Found, planned: Plan) -> None:
    """What the leak lint says about this plan: what leaks, to whom, and the remedy."""
    findings = lint(
        plan_from_settings(found.project.settings, n=planned.privacy.n, tuning=planned.choice.tuning.kind)
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


def _form(work: Workspace, found: Found, budget: BudgetState) -> None:
    with st.form("release", border=True):
        title = st.text_input(
            "Title of the release", value=found.project.settings.title, placeholder="what a reader will see"
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
        work.retitle(title)
        _release(work, total)


def _release(work: Workspace, total: float | None) -> None:
    """The one draw of this plan; a second submit of the same form finds it done."""
    if work.found is None:
        return
    try:
        with st.spinner("Charging the ledger, drawing, writing the bundle"):
            # Nothing that could start the script anew may stand between the draw and its memory.
            work.release_id = release(work.found.project, work.found.choice, total).release.release_id
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
    work.budget_text = budget_state(plan(work.found.project, work.found.choice)).line
    st.rerun()
