"""Your own design: typed numbers, what they cost and achieve, and the button that makes them the design."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpgp_core.errors import DesignError
from dpgp_core.mechanisms.design import Design
from hexcursion import words
from hexcursion.search.problem.facts import private_n
from hexcursion.search.problem.task import Scored, family_of
from pages.privacy.designs import settling
from pages.privacy.trials import simulated_panel
from pages.privacy.trials.trials import (
    Entry,
    achieved_words,
    cost,
    entries_of,
    families_of,
    smoothings,
    start_of,
    typed_design,
    typed_job,
)
from pages.shared.glossary import label, tip
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.workspace import Found, Workspace

NAME: side_jobs.SideJobName = "typed"


def show(work: Workspace, found: Found, scored: Scored) -> None:
    """The form, then progress, then what the typed design is worth."""
    st.caption(
        "Type any design: it is priced by the proved bound, and its release is simulated on the reference "
        "data. Nothing of the private records is looked at, so trying costs nothing."
    )
    typed = _form(work, found, scored)
    if typed is not None:
        side_jobs.start(
            work,
            NAME,
            (typed, scored.response, found.tuned),
            typed_job(found.project, found.tuned, scored, typed),
        )
    if side_jobs.running(work, NAME, "Cancel the trial"):
        return
    kept = side_jobs.planning(work).jobs.get(NAME)
    if kept is None:
        return
    about = kept.about if kept.about[2] is found.tuned else (found.tuned,)
    answer = side_jobs.found(work, NAME, about)
    if answer is not None:
        _worth(work, found, answer.result)


def _form(work: Workspace, found: Found, scored: Scored) -> Design | None:
    families = families_of(found.tuned)
    pairs, mark = list(families), work.mark
    own = family_of(scored.design)
    chosen = st.selectbox(
        "Mechanism and prior",
        pairs,
        index=pairs.index(own) if own in pairs else 0,
        format_func=families.__getitem__,
        key=f"own_family_{mark}",
    )
    near = start_of(found.tuned, scored, chosen)
    entries, offered = entries_of(near), smoothings(near)
    with st.form("own_design", border=False, enter_to_submit=False):
        columns = st.columns(len(entries) + (1 if len(offered) > 1 else 0), vertical_alignment="bottom")
        values = {
            entry.name: _number(
                column, entry, f"own_{entry.name}_{mark if chosen == own else (*chosen, mark)}"
            )
            for column, entry in zip(columns, entries, strict=False)
        }
        rounds = near.smoothing
        if len(offered) > 1:
            rounds = columns[-1].selectbox(
                "Smoothing (times)", offered, index=offered.index(near.smoothing),
                help="Averages each hexagon with its neighbours after the draw. It costs nothing.",
                key=f"own_smoothing_{mark}",
            )  # fmt: skip
        submitted = st.form_submit_button("Try this design", icon=":material/science:")
    if not submitted:
        return None
    try:
        return typed_design(near, values, int(rounds))
    except DesignError as error:
        st.error(f"This design is impossible: {plain(error)}", icon=":material/block:")
        return None


def _number(column: Any, entry: Entry, key: str) -> float:
    title = f"{label(entry.term)} ({entry.unit})" if entry.unit else label(entry.term)
    if entry.whole:
        return float(
            column.number_input(plain(title), 1, 1000, int(entry.value), help=tip(entry.term), key=key)
        )
    return float(
        column.number_input(
            plain(title), min_value=0.0, value=entry.value, format="%g", help=tip(entry.term), key=key
        )
    )


def _worth(work: Workspace, found: Found, scored: Scored) -> None:
    settings = found.project.settings
    st.markdown(f"**{plain(cost(scored.epsilon))}** · agreement {plain(achieved_words(scored))}")
    if scored.epsilon > settings.epsilon:
        st.warning(
            f"It does not fit ε {settings.epsilon:g}: raise its ridge or scale, take fewer paths, or raise "
            "the budget and search again.",
            icon=":material/block:",
        )
    elif scored.design == found.choice.design:
        st.caption(":material/check: This is the design to release.")
    else:
        st.button(
            "Use this design",
            type="primary",
            icon=":material/check:",
            key=f"own_use_{work.mark}",
            on_click=settling.on_typed,
            args=(work, found, scored),
            help="It becomes the design to release. The statement will say that you typed it in and tried it "
            f"on {plain(found.project.tried_on)}.",
        )
        project = found.project
        said = words.epsilon_sentence(
            scored.epsilon, project.delta, settings.unit_word, settings.relation, private_n(project)
        )
        st.caption(plain(said))
    simulated_panel.show(work, found, scored, "own")
