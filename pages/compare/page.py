"""Compare: mechanisms beside each other at equal budget, and a release beside today's practice."""

from __future__ import annotations

import streamlit as st

from dpgp_core.mechanisms.registry import mechanism_named
from geo.maps.linked import Pane
from geo.maps.painting import legend, paint_set
from hexcursion.comparing.run import EPSILONS, Comparison, comparable_under, csv_text, svg_text
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.search.exploration.simulated import simulated_release
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import TRIED_ON
from hexcursion.words import agreement_words, one_in
from pages.compare import chart, practice_panel
from pages.compare.view import MEASURES, compare_job, table
from pages.privacy.question.ask import threshold_words
from pages.shared import maps
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs, workspace
from pages.shared.session.workspace import Workspace

USUAL = (1.0, 2.0, 4.0)


def asked_settings(work: Workspace) -> ReleaseSettings | None:
    """The choices made so far, or what is missing of them."""
    try:
        return work.settings()
    except WorkflowError as error:
        st.info(
            f"{plain(error)} Comparing needs the data, the area and the threshold; nothing else.",
            icon=":material/info:",
        )
        return None


def show_map(work: Workspace, project: Project, found: Comparison, number: int) -> None:
    """One simulated release of the design behind a dot, beside the map it aims at."""
    row = found.rows[number]
    if row.result is None or row.best is None:
        return
    seen = simulated_release(project, row.result, row.best)
    what = threshold_words(work)
    private = project.reference_kind in ("reference data", "private selection")
    titles = (
        f"{row.title} at ε {row.epsilon:g}, agreement {agreement_words(seen.iou)}",
        "Reference map without privacy",
    )
    panes = [
        Pane(title, paint_set(cells, inside=what, outside=f"not {what}", title=title), private, word=word)
        for cells, title, word in (
            (seen.released, titles[0], "Simulated"),
            (seen.baseline, titles[1], "Reference map"),
        )
    ]
    drawn = paint_set(seen.released, inside=what, outside=f"not {what}", title="")
    maps.show(
        project.domain,
        panes,
        mode="beside",
        key=f"compare_map_{number}",
        alt=f"Of {seen.released.size:,} hexagons {int(seen.released.sum()):,} are {what} in the simulated "
        f"release, and {int(seen.baseline.sum()):,} in the reference map.",
        legend=legend(drawn, maps.theme()),
        height=320,
        layers=project.layers,
    )


def show_found(work: Workspace, project: Project, found: Comparison) -> None:
    """Banner, one block for each protection, recommendation, files."""
    if found.banner:
        st.warning(plain(found.banner), icon=":material/compare_arrows:")
    st.caption(
        f"{found.n:,} records, {found.cells:,} hexagons, δ {plain(one_in(found.delta))}, measured on "
        f"{plain(found.basis)}. Nothing was released or charged."
    )
    measure = st.segmented_control(
        "Compare by", list(MEASURES), format_func=lambda name: MEASURES[name].title, default="agreement",
        required=True, key="compare_measure",
    )  # fmt: skip
    for position, protects in enumerate(found.protections):
        st.header(f"Hiding {plain(protects)}", anchor=False)
        picked = chart.show(found, protects, measure or "agreement", f"compare_{position}_{measure}")
        st.caption("Click a dot to see its map.")
        if picked is not None:
            show_map(work, project, found, picked)
        for line in found.recommended(protects):
            st.markdown(f"* {plain(line)}")
        with st.expander("All figures", icon=":material/table_chart:"):
            st.dataframe(table(found, protects), hide_index=True)
    with st.container(horizontal=True):
        st.download_button(
            "CSV",
            csv_text(found),
            "comparison.csv",
            "text/csv",
            icon=":material/download:",
            key="compare_csv",
        )
        st.download_button(
            "SVG", svg_text(found), "comparison.svg", "image/svg+xml", icon=":material/image:",
            key="compare_svg",
        )  # fmt: skip


def mechanisms(work: Workspace) -> None:
    """What to compare, its progress, and what came out."""
    settings = asked_settings(work)
    if settings is None:
        return
    where = TRIED_ON["simulated" if settings.reference is None else "reference data"]
    st.markdown(
        "Each mechanism gets the best design that its own search finds, at each budget, for the same data, "
        "area, unit and slack as on the screen Privacy and utility. The figures come from simulated releases "
        f"**on {plain(where)}**; the private records are not looked at."
    )
    possible = comparable_under(settings)
    names = st.multiselect(
        "Mechanisms",
        possible,
        default=possible,
        format_func=lambda name: mechanism_named(name).title,
        key=f"compare_names_{work.mark}",
    )
    epsilons = st.pills(
        "Budgets ε", EPSILONS, selection_mode="multi", default=USUAL, format_func=lambda each: f"{each:g}",
        key=f"compare_epsilons_{work.mark}",
    )  # fmt: skip
    if not settings.places_public:
        st.caption(
            "Mechanisms that hide values only join once the screen Data says that the places are public."
        )
    if not names or not epsilons:
        st.info("Choose at least one mechanism and one budget.", icon=":material/info:")
        return
    asked, budgets = tuple(names), tuple(sorted(epsilons))
    about = (settings, " ".join(asked), " ".join(map(str, budgets)))
    done = side_jobs.follow(
        work, "compare", about, "Compare", "Cancel the comparison",
        lambda: compare_job(settings, asked, budgets),
    )  # fmt: skip
    if done is not None:
        project, found = done.result
        show_found(work, project, found)


def show(work: Workspace) -> None:
    """One of both comparisons; the one with today's practice first where there is a release to compare."""
    ways = {"mechanisms": "Mechanisms", "practice": "Today's practice"}
    way = st.segmented_control(
        "Compare", list(ways), format_func=ways.__getitem__, required=True, label_visibility="collapsed",
        default="mechanisms" if work.explored is None else "practice", key=f"compare_way_{work.mark}",
    )  # fmt: skip
    if way == "practice":
        practice_panel.show(work)
    else:
        mechanisms(work)


show(workspace.current())
