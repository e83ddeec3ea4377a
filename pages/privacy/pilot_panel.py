"""A pilot: asking how to tune without reference data, and paying for it, once."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from hexcursion.project.model import Project
from hexcursion.search.score import fixed_of
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import DEFAULT_MECHANISMS
from pages.privacy.designs import pilot_job, pilot_serves, pilot_words
from pages.privacy.question import ONE_SCALE
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.workspace import Workspace

NAME: side_jobs.SideJobName = "pilot"
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
WAYS = {
    "simulated": "By a search on simulated fields (free)",
    "pilot": "By a search on an accounted pilot (spends a share of ε)",
}
CAPTIONS = {
    "simulated": "Fields drawn by the computer, of the size of your data. They know nothing of them, so the "
    "design may suit them badly.",
    "pilot": "A look at the private records, charged once. The release gets the rest of ε.",
}
BUYS = {"sums": "Noisy sums of all hexagons", "choice": "A private choice of the field"}
BUYS_CAPTIONS = {
    "sums": "Counts and sums of the private records with noise. The search runs on what they show.",
    "choice": "Range, spread and scatter of the field, one of eighteen laws, by the exponential mechanism. "
    "The search runs on a field drawn by that law.",
}
LOOK = {
    "sums": "each hexagon's count and sum with noise. It is charged to the ledger first, drawn **once**, and "
    "cannot be undone or cancelled. The search then runs on what it shows, for free.",
    "choice": "which law of a field they fit. It is charged to the ledger first, drawn **once**, and cannot "
    "be undone or cancelled. The search then runs on a field drawn by that law, for free.",
}
FIXED_WAYS = {**WAYS, "simulated": "One fixed design for all data (free)"}
FIXED_CAPTIONS = {
    **CAPTIONS,
    "simulated": "Nothing is searched.",
}
LOOKS = {
    1: ("In one look", "Everything is released once."),
    2: (
        "In two looks",
        "A first release, with 30 % of the precision that the budget buys, shows where to look a second "
        "time, more closely. One charge, and the same ε for both. Errors were smaller by a fifth to a third "
        "where it was measured, most of all where the centre was guessed wrong.",
    ),
}


def chosen(work: Workspace) -> bool:
    """Whether an accounted look replaces reference data."""
    if _settled(work):
        return False
    return bool(st.session_state.get(f"way_{work.mark}", _standing(work)) == "pilot")


def _settled(work: Workspace) -> bool:
    """Whether nothing is asked: there are reference data, or counts or answers, of one fixed design."""
    return work.choices.get("reference") is not None or work.choices.get("values") in ONE_SCALE


def _standing(work: Workspace) -> str:
    """The way that the choices so far mean."""
    return "pilot" if work.choices.get("pilot") else "simulated"


def ask(work: Workspace) -> None:
    """How the design is chosen where there are no reference data."""
    if _settled(work):
        work.choose(pilot=None, pilot_by="sums", looks=1)
        return
    st.header("How the design is chosen", anchor=False)
    chosen_before = work.choices.get("mechanisms", DEFAULT_MECHANISMS)
    names = st.session_state.get(f"mechanisms_{work.mark}", chosen_before)  # its widget is further down
    fixed = fixed_of(names) is not None
    way = st.radio(
        "How the design is chosen",
        list(WAYS),
        index=list(WAYS).index(_standing(work)),
        format_func=FIXED_WAYS.__getitem__ if fixed else WAYS.__getitem__,
        captions=[FIXED_CAPTIONS[way] if fixed else CAPTIONS[way] for way in WAYS],
        help="Where it was measured, the fixed design gave better maps than a search on fields drawn by the "
        "computer.",
        label_visibility="collapsed",  # the header above says it
        **work.keyed("way"),
    )
    if way == "simulated":
        work.choose(pilot=None, pilot_by="sums")
        return
    share_before = work.choices.get("pilot") or SHARES[2]
    share = st.select_slider(
        "Share of ε for the pilot",
        sorted({*SHARES, share_before}),
        value=share_before,
        format_func=lambda value: f"{value:.0%}",
        **work.keyed("share"),
    )
    buys = st.radio(
        "What it buys",
        list(BUYS),
        index=list(BUYS).index(work.choices.get("pilot_by", "sums")),
        format_func=BUYS.__getitem__,
        captions=[BUYS_CAPTIONS[option] for option in BUYS],
        **work.keyed("buys"),
    )
    work.choose(pilot=float(share), pilot_by=buys, looks=1)


def ask_looks(work: Workspace, mechanisms: Sequence[str]) -> int:
    """In how many looks the fixed design spends the budget: 1 unless two can be taken and are chosen."""
    if _settled(work) or work.choices.get("pilot"):
        return 1
    choices = work.choices
    two_possible = fixed_of(mechanisms, looks=2) != fixed_of(mechanisms)
    amounts = choices.get("values", "amount") == "amount" and choices.get("unit", "point") == "point"
    if not (two_possible and amounts) or choices.get("lengthscale") is not None:
        return 1
    return st.radio(
        "How the budget is spent",
        list(LOOKS),
        index=list(LOOKS).index(choices.get("looks", 1)),
        format_func=lambda looks: LOOKS[looks][0],
        captions=[caption for _, caption in LOOKS.values()],
        **work.keyed("looks"),
    )


def paid(work: Workspace, settings: ReleaseSettings) -> Project | None:
    """The project of a pilot that serves these settings; until there is one, the form that pays for it."""
    plan = side_jobs.planning(work)
    if side_jobs.running(work, NAME, None):
        return None
    job = plan.jobs.get(NAME)
    if job is not None and job.done:
        plan.piloted = job.result
        del plan.jobs[NAME]
    elif job is not None and job.note and side_jobs.same(job.about, (settings,)):
        st.error(plain(job.note), icon=":material/error:")
        if "accept_dropped" in job.note:
            st.button(
                "Leave these rows out",
                on_click=lambda: work.choose(accept_dropped=True),
                icon=":material/check:",
            )
    if plan.piloted is not None and pilot_serves(plan.piloted, settings):
        st.info(plain(pilot_words(plan.piloted)), icon=":material/receipt_long:")
        return plan.piloted
    if plan.piloted is not None:
        total = plan.piloted.settings.epsilon
        why = (
            f"the total of ε {total:g} that it is part of was fixed before it was drawn: an ε chosen after "
            f"the look would not be what the statement says. Put ε {total:g} back"
            if pilot_serves(plan.piloted, settings.with_changes(epsilon=total))
            else "it was paid for with another unit, budget, area or scale: put these back"
        )
        st.warning(
            f"{plain(pilot_words(plan.piloted))} But {plain(why)} to use it, or pay for another one.",
            icon=":material/update:",
        )
    _form(work, settings)
    return None


def _form(work: Workspace, settings: ReleaseSettings) -> None:
    with st.form("pilot", border=True):
        st.markdown(
            f"**The pilot** spends {settings.pilot:.0%} of ε {settings.epsilon:g} on a look at the private "
            f"records: {LOOK[settings.pilot_by]}"
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
    plan = side_jobs.planning(work)
    job = plan.jobs.get(NAME)
    if job is not None and (job.job is not None or job.done):
        return
    if plan.piloted is not None and pilot_serves(plan.piloted, settings):
        return
    total = float(st.session_state[f"pilot_total_{work.mark}"])
    # It does not end with the session: a charged pilot must finish.
    plan.jobs[NAME] = side_jobs.SideJob((settings,), pilot_job(settings, total, work.session))
