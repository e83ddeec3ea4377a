"""The search on a screen: start, progress, cancel, and what was found."""

from __future__ import annotations

import streamlit as st

from geo.layers import excursion_deck, legend, paint_set
from pages.parts import frontier, maps
from pages.parts.ask import threshold_words
from pages.parts.glossary import TERMS, tip
from pages.parts.progress import show_progress
from pages.parts.workspace import Found, Workspace
from workflow import words
from workflow.desk import describe, family, rehearse, report_rows, search_job, settle_on
from workflow.errors import WorkflowError
from workflow.jobs import Job
from workflow.project import Project
from workflow.scored import FrontierPoint, Scored
from workflow.settings import ReleaseSettings
from workflow.tuning import Tuned


def show(work: Workspace, settings: ReleaseSettings) -> None:
    """The panel in whatever state the search is."""
    job = work.job
    if job is not None and job.state.state == "running":
        show_progress(job, "Cancel the search")
        return
    if job is not None:
        work.job = None
        _collect(work, job)
    if work.found is not None and work.fits():
        _found(work, work.found)
        return
    if work.found is not None:
        st.info("The choices have changed since the last search.", icon=":material/update:")
    st.markdown(
        "The search tries priors, ranges, ridges and smoothings **on the reference data**, and solves for "
        "the least spread that meets the budget. The private records are not looked at."
    )
    st.button(
        "Search for the best design",
        type="primary",
        icon=":material/search:",
        on_click=_start,
        args=(work, settings),
    )


def _start(work: Workspace, settings: ReleaseSettings) -> None:
    work.found = None
    work.job = search_job(settings)
    work.ends_with(work.job)


def _collect(work: Workspace, job: Job[tuple[Project, Tuned]]) -> None:
    """Take the result of a finished job, or say why there is none."""
    if job.state.state == "cancelled":
        st.info("The search was cancelled. Nothing was released.", icon=":material/cancel:")
        return
    try:
        project, tuned = job.result()
    except (WorkflowError, ValueError) as error:
        st.error(str(error), icon=":material/error:")
    else:
        work.found = Found(project, tuned, tuned.choice)


def _found(work: Workspace, found: Found) -> None:
    st.subheader("What the budget can buy", anchor=False)
    where = "a simulated field" if found.project.reference_kind == "simulated" else "the reference data"
    st.caption(f"Measured on {where}; {found.tuned.result.evaluated:,} designs were scored.")
    _report(found)
    picked = frontier.show(found, f"frontier_{work.mark}") or _wanted(work, found)
    if picked is not None and picked.scored.design != found.choice.design:
        st.button(
            f"Use this design at ε {picked.epsilon:g}",
            icon=":material/check:",
            on_click=_settle,
            args=(work, found, picked),
            help="It becomes the design to release.",
        )
    _rehearsal(work, found, picked.scored if picked is not None else _chosen(found))


def _wanted(work: Workspace, found: Found) -> FrontierPoint | None:
    """The cheapest design that reaches a wanted agreement, where a person asks for one."""
    if not st.toggle(
        "Start from the agreement you need",
        help="Instead of choosing a budget: the smallest one on the chart that reaches this agreement.",
        key=f"solve_{work.mark}",
    ):
        return None
    wanted = st.slider("Agreement needed (IoU)", 0.3, 0.98, 0.8, 0.01, key=f"wanted_{work.mark}")
    point = found.tuned.result.smallest_epsilon_for(float(wanted))
    if point is None:
        st.caption(f"No design on the chart reaches {wanted:.2f}: accept less, or try other choices.")
        return None
    settings = found.project.settings
    st.caption(
        f"ε {point.epsilon:g} is the smallest budget on the chart that reaches {wanted:.2f}. "
        + words.epsilon_sentence(point.epsilon, settings.delta, settings.unit_word)
    )
    return point


def _settle(work: Workspace, found: Found, point: FrontierPoint) -> None:
    project, choice = settle_on(found.project, found.tuned, point)
    work.found = Found(project, found.tuned, choice)
    work.choose(epsilon=project.settings.epsilon)
    st.session_state[f"epsilon_{work.mark}"] = project.settings.epsilon


def _chosen(found: Found) -> Scored:
    """The scored design that is to be released: a dot, or the search's own choice."""
    same = [
        point.scored for point in found.tuned.result.frontier if point.scored.design == found.choice.design
    ]
    return same[0] if same else found.tuned.result.chosen


def _report(found: Found) -> None:
    rows = report_rows(found.tuned)
    st.table(
        {
            "": [f"{TERMS[row.term].word.capitalize()} {TERMS[row.term].symbol}".strip() for row in rows],
            "without privacy": [row.free for row in rows],
            "at this budget": [row.private for row in rows],
        },
        hide_index=True,
        border="horizontal",
    )
    with st.popover("What do these words mean?", type="tertiary", icon=":material/help:"):
        for row in rows:
            st.markdown(tip(row.term))


def _rehearsal(work: Workspace, found: Found, scored: Scored) -> None:
    """What one release of the design looks like on reference data, beside the map it aims at."""
    seen = rehearse(found.project, found.tuned, scored)
    private = found.project.reference_kind == "reference data"
    what = threshold_words(work)
    st.markdown(f"**{family(scored.design)}**: {describe(scored.design)}.")
    columns = st.columns(2)
    for column, cells, key, title in (
        (columns[0], seen.released, "rehearsal", f"Rehearsed release, agreement {seen.iou:.2f}"),
        (columns[1], seen.baseline, "aim", "The reference map without privacy"),
    ):
        with column:
            st.markdown(title)
            painting = paint_set(cells, inside=what, outside=f"not {what}", title=title)
            maps.show(
                excursion_deck(found.project.domain, painting, **maps.look(300, 270)),
                key=key,
                alt=f"{title}: {int(cells.sum()):,} of {cells.size:,} hexagons are {what}.",
                legend=legend(painting, maps.theme()),
                private=private,
                height=300,
            )
