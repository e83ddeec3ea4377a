"""The second question: a dialog that repeats cost, budget and expected agreement, and releases once."""

from __future__ import annotations

import logging

import streamlit as st

from dpgp_core.numbers import upper
from hexcursion import words
from hexcursion.errors import WorkflowError
from hexcursion.ledger import RequestTaken
from hexcursion.ledger.unreleased import Unreleased
from hexcursion.settings.names import ReferenceKind
from pages.privacy.designs.utility import expected_words
from pages.release.releasing import BudgetState, budget_state, plan, release, released_as
from pages.shared import panels
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.workspace import Found, Workspace, new_session
from pages.shared.steps import LEDGER, VIEWER

_LOG = logging.getLogger(__name__)


KEY = "release-asked"


def begin(work: Workspace, total: float | None) -> None:
    """Ask from now on, until it is answered. `total` is the budget to set with a first release."""
    panels.begin_question(KEY, (work.session, work.found, total))


def show(work: Workspace, budget: BudgetState) -> None:
    """The question, while it stands: about this very plan."""
    session, found, total = panels.question_about(KEY) or (None, None, None)
    if isinstance(found, Found) and session == work.session and found is work.found:
        panels.ask_twice(KEY, "Release this map?", _ask, work, found, budget, total)


def _ask(work: Workspace, found: Found, budget: BudgetState, total: float | None) -> None:
    """What it costs, what is left then, how good it is expected to be; and the button that does it."""
    settings = found.project.settings
    st.markdown(f"**{plain(settings.title or 'The map')}**")
    left = budget.left if total is None else words.remaining(total - budget.asked)
    first, second = st.columns(2)
    first.metric("It costs ε", plain(upper(budget.asked, 3)))
    second.metric("Then left ε", plain(left))
    expected = found.choice.expected
    if expected is None:
        st.markdown("How good the map will be is **not known**: its design was given by hand.")
    else:
        said = expected_words(expected.agreement, expected.area_error, expected.right)
        if expected.low is not None and expected.high is not None:
            said += f"; {words.range_words(expected.low, expected.high, little=expected.little)}"
        st.markdown(
            f"**{plain(said[0].upper() + said[1:])}**, as measured on {plain(_basis(expected.basis))}."
        )
    st.markdown("The map is drawn **once**. What is published cannot be taken back, and ε stays spent.")
    token = work.session
    if panels.answered(KEY, token):
        release_once(work, found, total, token)


def release_once(work: Workspace, found: Found, total: float | None, token: str) -> None:
    """Release what was asked for, unless an earlier click did; then show what there is.

    Parameters
    ----------
    token
        the session's token when the question was asked: a click that waited while another one failed belongs
        to a question that stands no more
    """
    with work.releasing:
        if work.release_id is None and work.session == token:
            with side_jobs.note_release(token) as asked:
                _release(work, found, total, asked)
    if work.release_id is not None:
        panels.end_question(KEY)
        work.budget_text = budget_state(plan(found.project, found.choice)).line
        st.rerun()


def _release(work: Workspace, found: Found, total: float | None, asked: side_jobs.Asked) -> None:
    try:
        with st.spinner("Charging the ledger, drawing, writing the bundle"):
            # Nothing that could start the script anew may stand between the draw and its memory.
            published = release(found.project, found.choice, total, work.session)
            work.release_id = asked.release_id = published.release.release_id
    except RequestTaken as taken:
        asked.release_id = released_as(taken.entry, found.project.settings.ledger)
        _exists(asked.release_id, taken.entry)
    except WorkflowError as error:
        asked.text = str(error)
        if isinstance(error, Unreleased):  # trying again is a request of its own, and costs again
            work.session = new_session()
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
