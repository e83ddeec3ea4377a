"""Before the button: the receipt of a planned release, its budget, and the form that asks for it."""

from __future__ import annotations

import streamlit as st

from hexcursion.errors import WorkflowError
from hexcursion.estimates.words import expected_release
from hexcursion.ledger.sentences import alike_text, shared_text
from hexcursion.releasing.transaction import Plan
from hexcursion.settings import field
from pages.release import check_panel, confirm, stop_panel
from pages.release.releasing import BudgetState, budget_state, count_together, plan
from pages.shared import panels
from pages.shared.glossary import tip
from pages.shared.plain_text import plain
from pages.shared.released_view import receipt_lines
from pages.shared.server.access import curator_address
from pages.shared.session.workspace import Found, Workspace


def show(work: Workspace, found: Found) -> None:
    """The receipt to read, and the form to submit."""
    found = _looked(work, found)
    if stop_panel.stopped(work, found):
        return
    stop_panel.what_helps(work, found)
    try:
        planned = plan(found.project, found.choice)
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
        return
    budget = budget_state(planned)
    work.budget_text = budget.line
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.header("What will be published", anchor=False)
        st.caption("These facts are published with the map. Nothing has been drawn or charged yet.")
        known = [line for line in planned.receipt if budget.total is not None or line.topic != "Budget"]
        receipt_lines([(line.topic, line.text, line.warning) for line in known])
    with right:
        st.header("The decision", anchor=False)
        _budget(budget)
        standing = planned.preview.standing
        if standing is not None and standing.shared:
            st.caption(f":material/lock: For you only: {plain(shared_text(standing))}")
        _alike(planned)
        if (said := expected_release(found.project)) is not None:
            st.caption(f":material/schedule: {plain(said)}")
        _agreed(work, found, budget)
        _form(work, found, budget)
        check_panel.show(work, found, planned)
    if work.finished:
        panels.list_finished()


def _looked(work: Workspace, found: Found) -> Found:
    """Whether the curator chose by looking: it changes what the release says, not what it costs."""
    known = work.chosen_by_looking or check_panel.by_looking(work)
    if known:
        work.say_looked(True)
        st.session_state[f"looked_{work.mark}"] = True
        st.caption(
            ":material/lock: This is ticked because the map without privacy had been shown before the design "
            "was changed."
            if work.chosen_by_looking
            else ":material/lock: This is ticked because of your answers in the leak check."
        )
        found = work.found or found
    looked = st.checkbox(
        "I chose the threshold, the area or the design after looking at the private data",
        value=found.project.settings.looked,
        disabled=known,
        help="What is chosen by looking reveals something of the data, and no ε here accounts for it. The "
        "published statement will then say NOT ACCOUNTED. Choosing from public knowledge or "
        "on reference data needs no tick.",
        key=f"looked_{work.mark}",
    )
    work.say_looked(bool(looked))
    return work.found or found


def _agreed(work: Workspace, found: Found, budget: BudgetState) -> None:
    """Ask for a tick before a release breaks an earlier promise; the receipt then names that promise."""
    if not budget.breaks:
        return
    accepted = found.project.settings.accept_weaker_promise
    agreed = st.checkbox(
        "Release even so: what is published will say which earlier promise no longer holds",
        value=accepted,
        key=f"accept_weaker_{work.mark}",
    )
    if agreed != accepted:
        work.accept_weaker_promise(bool(agreed))
        st.rerun()


def _budget(budget: BudgetState) -> None:
    first, second, third = st.columns(3)
    first.metric("Spent ε", plain(budget.before), help=tip("ledger"))
    second.metric("After this ε", plain(budget.after))
    if budget.total is not None:
        third.metric("Then left ε", plain(budget.left))
    if not budget.fits:
        st.error(
            plain(budget.refused)
            or f"This release does not fit the budget of ε {plain(budget.total)}: choose a design that "
            "costs less.",
            icon=":material/block:",
        )


def _alike(planned: Plan) -> None:
    """Earlier releases that may be of the same records: for the curator's eyes, and one click counts them."""
    for alike in planned.preview.alike:
        st.warning(
            f"{plain(alike_text(alike))} Only you see this; it is not published.",
            icon=":material/content_copy:",
        )
        label = f"Count together with entry {alike.entry:d}"
        if st.button(label, key=f"join_{alike.entry}", icon=":material/merge:"):
            try:
                count_together(planned, alike, curator_address())
            except WorkflowError as error:
                st.error(plain(error), icon=":material/error:")
            else:
                st.rerun()


def _form(work: Workspace, found: Found, budget: BudgetState) -> None:
    with st.form("release", border=True, enter_to_submit=False):
        title = st.text_input(
            "Title of the release", value=found.project.settings.title, placeholder="what a reader will see"
        )
        known = found.project.settings.scope
        words = (
            ("population", "Of what the values are", known.population, "existing leasehold flats"),
            ("period", "When they were taken", known.period, "2018"),
            ("source", "Who gave them", known.source, "as the data's licence asks"),
        )
        said = {
            name: st.text_input(plain(asked), value=given, placeholder=example, help=plain(field(name).help))
            for name, asked, given, example in words
        }
        total: float | None = None
        if budget.total is None:
            total = st.number_input(
                "Budget of these data: total ε of all releases, ever",
                min_value=budget.asked,
                value=max(budget.asked, found.project.settings.budget or 2.0),
                format="%.4g",
                help="The ledger will refuse any later release that would exceed it.",
            )
        submitted = st.form_submit_button(
            "Release …",
            type="primary",
            icon=":material/shield_lock:",
            disabled=not budget.fits,
            help="You are asked once more before anything is drawn or charged.",
        )
    if submitted and work.release_id is None:
        try:
            work.retitle(title=title, **said)
        except WorkflowError as error:  # too long, or not to be shown
            st.error(plain(error), icon=":material/error:")
        else:
            confirm.begin(work, total)
    confirm.show(work, budget)
