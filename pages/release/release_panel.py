"""Plan a release: its receipt, budget and form, and the second question that releases once."""

from __future__ import annotations

import logging

import streamlit as st

from dpgp_core.noise import random_name
from dpgp_core.numbers import upper
from hexcursion import words
from hexcursion.bundle.statement.promise import promise_words
from hexcursion.errors import HexcursionError, WorkflowError
from hexcursion.estimates.forecasts import expected_release
from hexcursion.ledger import RequestTaken
from hexcursion.ledger.errors import Unreleased
from hexcursion.ledger.sentences import alike_text, shared_text
from hexcursion.releasing.transaction import Plan
from hexcursion.search.atlas import foretold_words
from hexcursion.search.choice import records_sentence
from hexcursion.settings import field
from hexcursion.settings.names import ReferenceKind
from pages.release import checks
from pages.release.releasing import BudgetState, budget_state, count_together, plan, release, released_as
from pages.shared import panels
from pages.shared.glossary import tip
from pages.shared.plain_text import Markdown, plain
from pages.shared.released_view import receipt_lines
from pages.shared.server.access import curator_address
from pages.shared.session import side_jobs
from pages.shared.session.outcome import SearchOutcome
from pages.shared.session.workspace import Workspace
from pages.shared.steps import LEDGER, VIEWER


def show(work: Workspace, outcome: SearchOutcome) -> None:
    """The receipt to read, and the form to submit."""
    outcome = _looked(work, outcome)
    if checks.rows_dropped(work, outcome) or checks.stopped(work, outcome):
        return
    if outcome.atlas is None:
        checks.what_helps(work, outcome)
    try:
        planned = plan(outcome)
    except HexcursionError as error:
        st.error(plain(error), icon=":material/error:")
        return
    budget = budget_state(planned)
    work.budget_text = budget.line
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.header("What will be published", anchor=False)
        lines = [line for line in planned.receipt if budget.total is not None or line.topic != "Budget"]
        receipt_lines([(line.topic, line.text, line.warning) for line in lines])
    with right:
        st.header("The decision", anchor=False)
        _budget(budget)
        standing = planned.preview.standing
        if standing is not None and standing.shared:
            st.caption(f":material/lock: For you only: {plain(shared_text(standing))}")
        _alike(planned)
        _agreed(work, outcome, budget)
        _form(work, outcome, budget)
        if (text := expected_release(outcome.project)) is not None:
            st.caption(f":material/schedule: {plain(text)}")
        checks.show_checks(work, outcome, planned)
    if work.finished:
        panels.list_finished()


def _looked(work: Workspace, outcome: SearchOutcome) -> SearchOutcome:
    """Whether the curator chose by looking: it changes what the release says, not what it costs."""
    looked_for_certain = work.chosen_by_looking or checks.by_looking(work)
    if looked_for_certain:
        work.say_looked(True)
        st.session_state[f"looked_{work.mark}"] = True
        st.caption(
            ":material/lock: This is ticked because the map without privacy had been shown before the design "
            "was changed."
            if work.chosen_by_looking
            else ":material/lock: This is ticked because of your answers in the leak check."
        )
        outcome = work.outcome or outcome
    looked = st.checkbox(
        "I chose threshold, area or design by looking at the private data",
        value=outcome.project.settings.looked,
        disabled=looked_for_certain,
        help="What is chosen by looking reveals something of the data, and no ε here accounts for it. The "
        "published statement will then say NOT ACCOUNTED. Choosing from public knowledge or "
        "on reference data needs no tick.",
        key=f"looked_{work.mark}",
    )
    work.say_looked(bool(looked))
    return work.outcome or outcome


def _agreed(work: Workspace, outcome: SearchOutcome, budget: BudgetState) -> None:
    """Ask for a tick before a release breaks an earlier promise; the receipt then names that promise."""
    if budget.breaks:
        label = "Release anyway: what is published will say which earlier promise no longer holds"
        checks.accepts(work, outcome, "accept_weaker_promise", label, f"accept_weaker_{work.mark}")


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


def _form(work: Workspace, outcome: SearchOutcome, budget: BudgetState) -> None:
    with st.form("release", border=True, enter_to_submit=False):
        title = st.text_input(
            "Title of the release", value=outcome.project.settings.title, placeholder="what a reader will see"
        )
        scope = outcome.project.settings.scope
        words = (
            ("population", "What the values were taken of", scope.population, "existing leasehold flats"),
            ("period", "When they were taken", scope.period, "2018"),
            ("source", "Who gave them", scope.source, "as the data's licence asks"),
        )
        with st.expander("What readers should know of the data", icon=":material/notes:"):
            scope_words = {
                name: st.text_input(
                    plain(question), value=value, placeholder=example, help=plain(field(name).help)
                )
                for name, question, value, example in words
            }
        total: float | None = None
        if budget.total is None:
            total = st.number_input(
                "Budget of these data: total ε of all releases, ever",
                min_value=budget.asked,
                value=max(budget.asked, outcome.project.settings.budget or 2.0),
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
            work.restate(title=title.strip(), **{name: text.strip() for name, text in scope_words.items()})
        except WorkflowError as error:  # too long, or not to be shown
            st.error(plain(error), icon=":material/error:")
        else:
            begin_question(work, total)
    show_question(work, budget)


_LOG = logging.getLogger(__name__)


ASKED = "release-asked"


def begin_question(work: Workspace, total: float | None) -> None:
    """Ask from now on, until it is answered. `total` is the budget to set with a first release."""
    panels.begin_question(ASKED, (work.session, work.outcome, total))


def show_question(work: Workspace, budget: BudgetState) -> None:
    """The open question about this very plan."""
    session, outcome, total = panels.question_about(ASKED) or (None, None, None)
    if isinstance(outcome, SearchOutcome) and session == work.session and outcome is work.outcome:
        heading: Markdown = "Release this map?" if outcome.atlas is None else "Release these maps?"
        panels.ask_twice(ASKED, heading, _question, work, outcome, budget, total)


def _question(work: Workspace, outcome: SearchOutcome, budget: BudgetState, total: float | None) -> None:
    """Its cost, the rest of the budget, how good it is expected to be; and the button that does it."""
    settings = outcome.project.settings
    st.markdown(f"**{plain(settings.title or ('The map' if outcome.atlas is None else 'The maps'))}**")
    left = budget.left if total is None else words.remaining(total - budget.asked)
    first, second = st.columns(2)
    first.metric("It costs ε", plain(upper(budget.asked, 3)))
    second.metric("Then left ε", plain(left))
    expected = outcome.choice.expected
    if outcome.atlas is not None:
        project, choice = outcome.atlas
        rule, *forecasts = foretold_words(choice, project.settings.names)
        st.markdown("\n".join(f"- {plain(line)}" for line in forecasts))
        st.caption(plain(rule))
    elif outcome.few:
        st.markdown(f"**{plain(outcome.few)}**.")
    elif expected is None:
        st.markdown("How good the map will be is **not known**: its design was given by hand.")
    else:
        figures = {"orange": expected.orange, "finds": expected.finds}
        promise = "" if expected.finds is None else promise_words(figures, settings.direction)
        sentence = " ".join(filter(None, [records_sentence(expected, outcome.choice.yardsticks), promise]))
        st.markdown(
            f"**{plain(sentence)}** Expected, from releases simulated on {plain(_basis(expected.basis))}."
            if sentence
            else "How right the map will be is **not known**: the map that it was tried on has one side only."
        )
    subject = "The map is" if outcome.atlas is None else "The maps are"
    st.markdown(f"{subject} drawn **once**. What is published cannot be taken back, and ε stays spent.")
    token = work.session
    if panels.answered(ASKED, token):
        release_once(work, outcome, total, token)


def release_once(work: Workspace, outcome: SearchOutcome, total: float | None, token: str) -> None:
    """Release once, unless an earlier click did; then show what there is.

    `token` is the session's when the question was asked: a click that waited while another failed has no
    question."""
    with work.releasing:
        if work.release_id is None and work.session == token:
            with side_jobs.note_release(token) as request:
                _release(work, outcome, total, request)
    if work.release_id is not None:
        panels.end_question(ASKED)
        work.budget_text = budget_state(plan(outcome)).line
        st.rerun()


def _release(work: Workspace, outcome: SearchOutcome, total: float | None, request: side_jobs.Asked) -> None:
    work.budget_text = None  # the charge outdates it, also where a person leaves before this is over
    try:
        with st.spinner("Charging the ledger, drawing, writing the bundle"):
            # Nothing between the draw and its memory may start the script again.
            published = release(outcome, total, work.session)
            work.release_id = request.release_id = published.release.release_id
    except RequestTaken as taken:
        request.release_id = released_as(taken.entry, outcome.project.settings.ledger)
        _exists(request.release_id, taken.entry)
    except WorkflowError as error:
        request.text = str(error)
        if isinstance(error, Unreleased):  # trying again is a new request, and costs again
            work.session = random_name()
        st.error(plain(error), icon=":material/error:")
    except Exception:
        _LOG.exception("a release did not complete")
        st.error(
            "The release did not complete. If it was charged, the charge stands until a person voids it on "
            "the Ledger screen; the server's log says what happened.",
            icon=":material/error:",
        )


def _exists(name: str | None, entry: int) -> None:
    """The ledger knows this request: nothing was charged again."""
    if name is None:
        st.info(
            f"This release was asked for before, as entry {entry:d} of the ledger: it is under way, or broke "
            "off. Nothing was charged again.",
            icon=":material/receipt_long:",
        )
        st.page_link(LEDGER.path, label="See the ledger", icon=LEDGER.icon)
        return
    st.info(
        "This release exists already. Nothing was drawn or charged again.", icon=":material/check_circle:"
    )
    st.page_link(VIEWER.path, label="Open it", icon=VIEWER.icon, query_params={"release": name})


def _basis(basis: ReferenceKind) -> str:
    return {"simulated": "simulated fields", "private selection": "what was paid for beforehand"}.get(
        basis, f"the {basis}"
    )
