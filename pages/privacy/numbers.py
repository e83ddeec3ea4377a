"""Ask for slack, paths and cutoff: numbers that have a usual value."""

from __future__ import annotations

import streamlit as st

from hexcursion import words
from hexcursion.settings.names import USUAL_DELTA
from pages.privacy import path_panels
from pages.shared.glossary import label, tip
from pages.shared.session.workspace import Workspace

USUAL = "usual"  # a list that keeps its choice would show a kept None as if nothing were chosen
CUTOFFS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25, 0.2)
SLACKS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def _offered(usual: tuple[float, ...], number: float | None) -> list[str | float]:
    """Numbers of a list, the largest first, below the usual one; a given one among them."""
    return [USUAL, *sorted({*usual} if number is None else {*usual, float(number)}, reverse=True)]


def ask_slack_and_paths(work: Workspace, paths: bool = True) -> None:
    slack = work.choices.get("delta")
    slacks = _offered(SLACKS, slack)
    first, second = st.columns([3, 2])
    answer = first.selectbox(
        label("delta"),
        slacks,
        index=0 if slack is None else slacks.index(slack),
        format_func=_slack_words,
        help=tip("delta"),
        **work.keyed("delta"),
    )
    if paths:
        path_panels.ask_number(work, second)
    delta = None if answer == USUAL else float(answer)
    work.choose(delta=delta)
    _large_slack(work, delta)


def _large_slack(work: Workspace, delta: float | None) -> None:
    """A slack of one in the number of records or more promises little: it needs a second, explicit yes."""
    if delta is None or (work.records or 0) * delta < 1.0:
        work.choose(accept_large_delta=False)
        return
    st.warning(
        "With this slack even publishing a whole record would keep the promise: choose a smaller one.",
        icon=":material/warning:",
    )
    agreed = st.checkbox(
        "Use this slack anyway",
        value=bool(work.choices.get("accept_large_delta")),
        key=f"large_delta_{work.mark}",
    )
    work.choose(accept_large_delta=bool(agreed))


def slack_of(work: Workspace) -> float:
    """The slack as chosen; the usual one is that of the searched records, and before a search its largest."""
    delta = work.choices.get("delta")
    if delta:
        return float(delta)
    return USUAL_DELTA if work.outcome is None else work.outcome.project.delta


def _slack_words(delta: float | str) -> str:
    """The usual slack is settled with the number of records, which this screen need not know yet."""
    return "the usual one" if delta == USUAL else words.one_in(float(delta))


def ask_cutoff(work: Workspace) -> None:
    current = work.choices.get("cutoff")
    cutoffs = _offered(CUTOFFS, current)
    cutoff = st.selectbox(
        "A hexagon is inside from a probability of",
        cutoffs,
        index=0 if current is None else cutoffs.index(current),
        format_func=lambda value: "what agrees best" if value == USUAL else f"{value:g}",
        help="Of the release's own probabilities, or of the share of its paths. Choosing it costs no "
        "privacy: lower ones show more hexagons, and the figures of a search say what each does to the "
        "area.",
        **work.keyed("cutoff"),
    )
    work.choose(cutoff=None if cutoff == USUAL else float(cutoff))
