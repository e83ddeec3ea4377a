"""Compare mechanisms at equal budget, and a release with today's practice."""

from __future__ import annotations

import streamlit as st

from dpgp_core.mechanisms.design import Protects
from dpgp_core.mechanisms.registry import mechanism_named
from geo.maps.linked import Pane
from geo.maps.painting import legend, paint_baseline
from hexcursion.bundle.published.view import Viewer
from hexcursion.comparing.attacks import one_more
from hexcursion.comparing.practice import Records
from hexcursion.comparing.run import EPSILONS, Comparison, comparable_under, csv_text, svg_text
from hexcursion.errors import WorkflowError
from hexcursion.project.model import Project
from hexcursion.search.bench import simulated_release
from hexcursion.settings.model import ReleaseSettings
from hexcursion.settings.names import TRIED_ON
from hexcursion.words import one_in, quantity, side_words
from pages.compare import view
from pages.compare.view import EDITIONS, LEAST, MEASURES, WORDS
from pages.privacy.design_panels import show_release_beside
from pages.privacy.frontier import clicked, epsilon_layers, limit_lines
from pages.privacy.trials import of_100
from pages.release.releasing import baseline_at
from pages.shared import maps
from pages.shared.charts import alt
from pages.shared.plain_text import Markdown, plain
from pages.shared.released_view import paint
from pages.shared.session import side_jobs, workspace
from pages.shared.session.outcome import Explored, SearchOutcome
from pages.shared.session.workspace import Workspace
from pages.shared.steps import DATA, RELEASE, TOUR


def show_practice(work: Workspace) -> None:
    """The maps, the table, one record more, and editions a year; only after a release."""
    outcome, explored = work.outcome, work.explored
    if outcome is None or explored is None:
        st.info(
            "This screen shows the private records as today's rules would publish them: it tells as "
            "much as the map without privacy, so it opens after a release, on the screen "
            f"{RELEASE.title}. The screen {TOUR.title} shows it for published sales.",
            icon=":material/lock:",
        )
        return
    if text := view.not_compared(outcome.project):
        st.info(plain(text), icon=":material/info:")
        return
    work.saw_baseline()
    viewer = explored.viewer
    st.markdown(
        "What today's rules would publish of the same records. **Only you see this**: it is made from "
        "the private records, and no bundle, link or log holds any of it."
    )
    least_count = int(
        st.segmented_control(
            "Hide hexagons with fewer records than",
            LEAST,
            default=5,
            required=True,
            key="practice_least",
        )
    )
    practice = _practice(outcome, explored, least_count)
    _maps(explored, practice)
    st.dataframe([line.cells() for line in practice.lines], hide_index=True)
    with st.expander("What the columns mean", icon=":material/help:"):
        st.caption(COLUMNS)
    first, *further = view.sentences_of(least_count, practice.lines, viewer)
    st.markdown(f"**{plain(first)}**")
    with st.expander("What this means", icon=":material/info:"):
        for sentence in further:
            st.markdown(f"* {plain(sentence)}")
    left, right = st.columns(2, gap="large")
    with left:
        _one_record_more(practice.records, least_count, viewer)
    with right:
        _editions(practice.records, least_count, viewer)


COLUMNS: Markdown = (
    "*Shown*: hexagons that are not blank. *Agreement*: intersection over union with the map "
    "without privacy, as published, where blank hexagons count as outside; *filled*: as a careful "
    "reader fills them. *Exact value*: records whose value follows from tables without and with "
    "them, their hexagon known. *Changes*: records without which the map would be another one. *Was "
    "it in?*: how often somebody who knows all other records tells which of two tables holds it, or "
    "which of two releases like this one; guessing gives 50 %."
)


def _practice(outcome: SearchOutcome, explored: Explored, least_count: int) -> view.Practice:
    """What the rules give, made once for a release in this session; nothing of it is shared."""
    practice = explored.practice.get(least_count)
    if not isinstance(practice, view.Practice) or practice.project is not outcome.project:
        truth = baseline_at(outcome.project, explored.baseline, explored.viewer.bundle.threshold)
        practice = explored.practice[least_count] = view.Practice.of(
            outcome, explored.viewer, least_count, truth
        )
    return practice


def _maps(explored: Explored, practice: view.Practice) -> None:
    """No privacy, the rules, and the release: one camera, one colour scale."""
    viewer = explored.viewer
    what = f"{side_words(viewer.direction)} {quantity(viewer.bundle.threshold, viewer.unit)}"
    published = viewer.bundle.published
    free = paint_baseline(practice.truth, what, empty=published.empty)
    panes, paintings = [Pane("Without privacy", free, private=True, word="Without privacy")], []
    parts = [f"Without privacy: {int((practice.truth & published.judged).sum()):,} hexagons {what}"]
    tables = {name.capitalize(): table for name, table in practice.tables.items() if table.count is not None}
    for name, table in tables.items():
        title = f"{name}: {100.0 * float(table.shown.mean()):.0f} % shown"
        paintings.append(view.paint_table(table, what, title))
        panes.append(Pane(title, paintings[-1], private=True, word=name))
        parts.append(f"{name}: {int(table.inside.sum()):,} hexagons {what}")
    released = paint(viewer, published, "classes", viewer.bundle.threshold, 0)
    panes.append(Pane("Released: may be published", released))
    maps.show(
        viewer.domain,
        panes,
        mode="beside",
        key="practice_maps",
        alt=f"{'; '.join(parts)}, of {practice.records.size:,}.",
        legends={
            f"{next(iter(tables))} (the others in the same colours)": legend(paintings[0], maps.theme()),
            "Released": legend(released, maps.theme()),
        },
        layers=viewer.bundle.layers,
    )


def _one_record_more(records: Records, least_count: int, viewer: Viewer) -> None:
    """The arithmetic of two editions for one record that is drawn at random, and of two releases."""
    word = view.record_word(viewer)
    st.header("One record more", anchor=False)
    key = f"practice_record_{viewer.bundle.statement['release']['id']}"
    if st.button(f"Take a {plain(word)} at random", icon=":material/casino:", key="practice_draw"):
        st.session_state[key] = view.random_record(records)
    if key not in st.session_state:
        st.caption("Two editions of the table, without and with one record, and what they say of it.")
        return
    for sentence in view.record_sentences(
        one_more(records, least_count, st.session_state[key]), viewer.unit, word
    ):
        st.markdown(f"* {plain(sentence)}")
    if text := view.release_sentence(viewer):
        st.markdown(f"* {plain(text)}")


def _editions(records: Records, least_count: int, viewer: Viewer) -> None:
    """A growing table renewed through the year, and the cost of as many releases together."""
    st.header("Editions a year", anchor=False)
    often = st.select_slider(
        "The map is published",
        EDITIONS,
        value=4,
        format_func=WORDS.__getitem__,
        key="practice_editions",
    )
    for sentence in view.edition_sentences(records, least_count, often, viewer):
        st.markdown(f"* {plain(sentence)}")


def show_chart(comparison: Comparison, protects: Protects, measure: view.MeasureName, key: str) -> int | None:
    """Draw one protection's curves; the number of the row whose dot was clicked, or None."""
    rows = view.dots(comparison, protects, measure)
    if not rows:
        st.caption("No mechanism has this figure here.")
        return None
    title = MEASURES[measure].title
    tooltips = [
        alt.Tooltip("mechanism:N", title="mechanism"),
        alt.Tooltip("epsilon:Q", title="budget ε", format=".3~g"),
        alt.Tooltip("value:Q", title=title, format=".3f"),
        alt.Tooltip("design:N", title="parameters"),
    ]
    height = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False))
    legend = alt.Legend(orient="top", columns=2, labelLimit=260)
    layers = epsilon_layers(rows, "mechanism", height, alt.Y("low:Q", title=title), legend, tooltips)
    if measure == "lost":
        layers += limit_lines(rows, alt.Y("limit:Q", title=title))
    text = f"{title} against the privacy budget: one curve for each mechanism that hides {protects}."
    return clicked(layers, key, text)


USUAL = (1.0, 2.0, 4.0)
LIMIT = (
    "In fields drawn from the model of the map without privacy, or of the drift from a public map, where "
    "records are. The thin line is a proved limit: no mechanism that protects a record as well as Gaussian "
    "noise of this ε and δ can leave less. Mechanisms with another kind of noise are not shown here."
)


def asked_settings(work: Workspace) -> ReleaseSettings | None:
    """The choices so far, or the missing ones."""
    try:
        return work.settings()
    except WorkflowError as error:
        st.info(
            f"{plain(error)} Comparing needs the data, the area and the threshold; nothing else.",
            icon=":material/info:",
        )
        return None


def show_map(work: Workspace, project: Project, comparison: Comparison, number: int) -> None:
    """One simulated release of the design behind a dot, and the map it aims at."""
    row = comparison.rows[number]
    if row.result is None or row.best is None:
        return
    simulation = simulated_release(project, row.result, row.best)
    title = f"{row.title} at ε {row.epsilon:g}: {of_100(simulation.right)} records on their right side"
    show_release_beside(
        work, project, simulation, (title, "Reference map without privacy"), f"compare_map_{number}"
    )


def show_found(work: Workspace, project: Project, comparison: Comparison) -> None:
    """Banner, one block for each protection, recommendation, files."""
    if comparison.banner:
        st.warning(plain(comparison.banner), icon=":material/compare_arrows:")
    st.caption(
        f"{comparison.n:,} records, {comparison.cells:,} hexagons, δ {plain(one_in(comparison.delta))}, "
        f"measured on {plain(comparison.basis)}. Nothing was released or charged."
    )
    measure = st.segmented_control(
        "Compare by",
        list(MEASURES),
        format_func=lambda name: MEASURES[name].title,
        default="records",
        required=True,
        key="compare_measure",
    )
    for position, protects in enumerate(comparison.protections):
        st.header(f"Hiding {plain(protects)}", anchor=False)
        picked = show_chart(comparison, protects, measure or "records", f"compare_{position}_{measure}")
        st.caption("Click a dot to see its map.")
        if measure == "lost":
            st.caption(LIMIT)
        if picked is not None:
            show_map(work, project, comparison, picked)
        for line in comparison.recommended(protects):
            st.markdown(f"* {plain(line)}")
        with st.expander("All figures", icon=":material/table_chart:"):
            st.dataframe(view.figure_rows(comparison, protects), hide_index=True)
    with st.container(horizontal=True):
        st.download_button(
            "CSV",
            csv_text(comparison),
            "comparison.csv",
            "text/csv",
            icon=":material/download:",
            key="compare_csv",
        )
        st.download_button(
            "SVG",
            svg_text(comparison),
            "comparison.svg",
            "image/svg+xml",
            icon=":material/image:",
            key="compare_svg",
        )


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
        "Budgets ε",
        EPSILONS,
        selection_mode="multi",
        default=USUAL,
        format_func=lambda value: f"{value:g}",
        key=f"compare_epsilons_{work.mark}",
    )
    if not settings.places_public:
        st.caption(
            "Mechanisms that hide values only join once the screen Data says that the places are public."
        )
    if not names or not epsilons:
        st.info("Choose at least one mechanism and one budget.", icon=":material/info:")
        return
    mechanism_names, budgets = tuple(names), tuple(sorted(epsilons))
    about = (settings, " ".join(mechanism_names), " ".join(map(str, budgets)))
    side = side_jobs.follow(
        work,
        "compare",
        about,
        "Compare",
        "Cancel the comparison",
        lambda: view.compare_job(settings, mechanism_names, budgets),
    )
    if side is not None:
        project, comparison = side.result
        show_found(work, project, comparison)


def show(work: Workspace) -> None:
    """One of both comparisons; the one with today's practice first where there is a release to compare."""
    if work.columns:
        st.info(
            f"Comparing takes one column, and these choices have {len(work.columns)}: read the data with one "
            f"of them alone, on the screen {DATA.title}, to compare its map.",
            icon=":material/info:",
        )
        return
    ways = {"mechanisms": "Mechanisms", "practice": "Today's practice"}
    way = st.segmented_control(
        "Compare",
        list(ways),
        format_func=ways.__getitem__,
        required=True,
        label_visibility="collapsed",
        default="mechanisms" if work.explored is None else "practice",
        key=f"compare_way_{work.mark}",
    )
    if way == "practice":
        show_practice(work)
    else:
        mechanisms(work)


show(workspace.current())
