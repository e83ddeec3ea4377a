"""From a wanted agreement to the smallest epsilon: the answer, its limits, and settling on it."""

from __future__ import annotations

import streamlit as st

from hexcursion import words
from hexcursion.search.problem.facts import private_n
from hexcursion.search.problem.task import FrontierPoint
from pages.privacy.designs import settling
from pages.privacy.trials.trials import achieved_words, best_reached, cost, most_epsilon, solve_job
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.workspace import Found, Workspace

NAME: side_jobs.SideJobName = "solve"


def begin(work: Workspace, found: Found, wanted: float) -> None:
    """Start solving for a wanted agreement."""
    side_jobs.start(work, NAME, (wanted, found.tuned), solve_job(found.project, found.tuned, wanted))


def show(work: Workspace, found: Found, wanted: float) -> FrontierPoint | None:
    """Progress, then the answer; the point it names while it is not yet settled on."""
    with st.container(border=True, key="solved"):
        st.markdown(f"**The smallest budget for an agreement of {wanted:.2f}**")
        answer = side_jobs.follow(
            work,
            NAME,
            (wanted, found.tuned),
            f"Find the smallest ε for {wanted:.2f}",
            "Cancel the solving",
            lambda: solve_job(found.project, found.tuned, wanted),
        )
        if answer is None:
            return None
        point: FrontierPoint | None = answer.result
        if point is None:
            _out_of_reach(found, wanted)
            return None
        return _reached(work, found, point)


def _reached(work: Workspace, found: Found, point: FrontierPoint) -> FrontierPoint | None:
    project, settings = found.project, found.project.settings
    said = words.epsilon_sentence(
        point.epsilon, project.delta, settings.unit_word, settings.relation, private_n(project)
    )
    st.markdown(
        f":primary[**ε {point.epsilon:g}**] reaches it: {plain(achieved_words(point.scored))}. {plain(said)}"
    )
    st.caption(
        "About 2 % less does not reach it with this design. Expected over simulated releases on "
        f"{plain(project.tried_on)}: the private map may agree more or less. A design that is nowhere "
        "the best on the chart might need a little less still."
    )
    if point.scored.design == settling.chosen(found).design:
        st.caption(":material/check: This is the design to release.")
        return None
    st.button(
        f"Use ε {point.epsilon:g}",
        type="primary",
        icon=":material/check:",
        key=f"solved_use_{work.mark}",
        on_click=settling.on_point,
        args=(work, found, point),
        help="It becomes the design to release.",
    )
    st.caption(f"Until you use it, the design to release stays the one at ε {settings.epsilon:g}.")
    return point


def _out_of_reach(found: Found, wanted: float) -> None:
    best = best_reached(found.tuned)
    st.warning(
        f"No design reaches {wanted:.2f}, even at ε {most_epsilon():g}. The best on the chart reaches "
        f"{plain(words.ratio_words(best.scored.utility.agreement))} at {plain(cost(best.epsilon))}: "
        "accept less, take coarser hexagons, or start from a public reference map.",
        icon=":material/block:",
    )
