"""Simulated releases on a screen: one beside the map it aims at, and how often the sets of many are right."""

from __future__ import annotations

import streamlit as st

from geo.maps.linked import Pane
from geo.maps.painting import legend, paint_set
from hexcursion.search.exploration.simulated import SimulatedRelease, simulated_release
from hexcursion.search.problem.task import Scored
from hexcursion.words import agreement_words, design_words
from pages.privacy.designs.designs import family
from pages.privacy.question.ask import threshold_words
from pages.privacy.trials.trials import coverage_job, coverage_sentences, covers
from pages.shared import maps
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs
from pages.shared.session.side_jobs import planning, same
from pages.shared.session.workspace import Found, Workspace

KEPT = 4


def show(work: Workspace, found: Found, scored: Scored, key: str) -> None:
    """The drawn map and the one it aims at, both of the reference data."""
    seen = _simulated(work, found, scored)
    private = found.project.reference_kind in ("reference data", "private selection")
    what = threshold_words(work)
    st.markdown(f"**{plain(family(scored.design))}**: {plain(design_words(scored.design))}.")
    panes = [
        Pane(title, paint_set(cells, inside=what, outside=f"not {what}", title=title), private, word=word)
        for cells, title, word in (
            (seen.released, f"Simulated release, agreement {agreement_words(seen.iou)}", "Simulated"),
            (seen.baseline, "Without privacy", "Reference map"),
        )
    ]
    count, aim = int(seen.released.sum()), int(seen.baseline.sum())
    drawn = paint_set(seen.released, inside=what, outside=f"not {what}", title="")
    maps.show(
        found.project.domain,
        panes,
        mode="beside",
        key=key,
        alt=f"Of {seen.released.size:,} hexagons {count:,} are {what} in the simulated release, and {aim:,} "
        "in the reference map without privacy.",
        legend=legend(drawn, maps.theme()),
        height=320,
        layers=found.project.layers,
    )


def _simulated(work: Workspace, found: Found, scored: Scored) -> SimulatedRelease:
    """Drawn once per design: the screen is redrawn far more often than the design changes."""
    kept = planning(work).simulated
    about = (scored.design, found.tuned)
    for earlier, seen in kept:
        if same(earlier, about):
            return seen
    seen = simulated_release(found.project, found.tuned.result, scored)
    kept.append((about, seen))
    del kept[:-KEPT]
    return seen


def show_coverage(work: Workspace, found: Found, scored: Scored) -> None:
    """Button, progress, then what the simulated releases say."""
    if not covers(scored.design):
        st.caption(
            "One path is one possible map: it cannot say what is surely inside. With two paths or more this "
            "shows how often the inner and the outer region are right."
        )
        return
    st.caption(
        "Several paths divide the map into surely inside, surely outside and cannot tell. How often is that "
        f"right? Releases of {plain(found.project.tried_on)} are simulated and compared with their map "
        "without privacy. That map has errors of its own, which no simulation shows."
    )
    answer = side_jobs.follow(
        work,
        "coverage",
        (scored.design, found.tuned),
        "Simulate releases",
        "Cancel the simulation",
        lambda: coverage_job(found.project, found.tuned, scored),
    )
    if answer is not None:
        for sentence in coverage_sentences(answer.result):
            st.markdown(plain(sentence))
