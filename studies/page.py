"""Studies: the evidence, with stored figures, quick runs, and the audit of the design at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from geo.colours import colour
from geo.maps.layers import boundaries_deck, boundaries_legend, cells_deck
from geo.maps.painting import LegendEntry
from hexcursion.estimates.forecasts import expected_study
from pages.shared import maps
from pages.shared.charts import alt, spec_of
from pages.shared.plain_text import Markdown, plain
from pages.shared.session import side_jobs, workspace
from pages.shared.subprocess_job import Job, in_subprocess
from studies.london.paper_map import PaperMap, map_svg, paper_maps
from studies.registry import STUDIES, Study, audit_quickly, run_quickly
from studies.reporting.figures import COLOURS, DARK_COLOURS, Figure, points, svg
from studies.reporting.findings import finding
from studies.reporting.tables import StudyResult, StudyTable, load_result

PLOT = 240  # pixels of a plot's height without its legend
TICKS = 7  # of an axis, about
MAP_WIDTH, MAP_HEIGHT = 400, 380  # pixels: about half of the page
DOT, MANY = 45, 150  # square pixels of a point, and the number of points from which they are smaller
FIRST_FIGURES = 1  # shown before anything is unfolded
LONGEST_TABLE = 60  # rows shown on the screen; the CSV holds all


def chart(figure: Figure, result: StudyResult) -> Any:
    """The figure in Altair, or None where the result has nothing for it."""
    figure_points = points(figure, result)
    if not figure_points:
        return None
    rows = [{"x": point.x, "y": point.y, "series": point.series} for point in figure_points]
    x_title, y_title = figure.titles
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X(
            "x:Q",
            title=x_title,
            scale=alt.Scale(type="log" if figure.log_x else "linear", zero=False, nice=not figure.log_x),
            axis=alt.Axis(tickCount=TICKS),
        ),
        y=alt.Y(
            "y:Q",
            title=y_title,
            scale=alt.Scale(type="log" if figure.log_y else "linear", zero=False),
            axis=alt.Axis(tickCount=TICKS),
        ),
        color=alt.Color(
            "series:N",
            title=None,
            sort=None,
            scale=alt.Scale(range=list(DARK_COLOURS if maps.theme() == "dark" else COLOURS)),
            legend=alt.Legend(orient="bottom", columns=1, labelLimit=560, symbolType="stroke"),
        ),
        tooltip=[
            alt.Tooltip("series:N", title="series"),
            alt.Tooltip("x:Q", title=x_title, format=".4~g"),
            alt.Tooltip("y:Q", title=y_title, format=".4~g"),
        ],
    )
    dash = alt.StrokeDash("series:N", title=None, sort=None, legend=None)
    return (
        base.mark_line().encode(strokeDash=dash)
        + base.mark_point(filled=True, size=DOT if len(figure_points) < MANY else DOT / 4)
    ).properties(height=PLOT, autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))


def show_result(result: StudyResult, key: str) -> None:
    """Notes, figures, and tables with their downloads."""
    if result.notes:
        with st.expander("What to know before judging these figures", icon=":material/info:"):
            st.markdown("\n".join(f"* {plain(note)}" for note in result.notes))
    show_maps(result, key)
    figures = [figure for figure in STUDIES[result.study].figures if points(figure, result)]
    first, further = figures[:FIRST_FIGURES], figures[FIRST_FIGURES:]
    show_figures(first, result, key)
    if further:
        with st.expander(f"{len(further)} further figures", icon=":material/show_chart:"):
            show_figures(further, result, key)
    if result.tables:
        names = [table.name for table in result.tables]
        titles = {table.name: table.title for table in result.tables}
        selected = st.selectbox(
            "Table", names, index=None, format_func=titles.__getitem__,
            placeholder="choose one", key=f"{key}_{result.study}_table",
        )  # fmt: skip
        for table in result.tables:
            if table.name == selected:
                show_table(table, result, key)


def show_figures(figures: Sequence[Figure], result: StudyResult, key: str) -> None:
    """Figures in two columns, each with its finding and its SVG."""
    columns = st.columns(2) if len(figures) > 1 else [st.container()]
    for number, figure in enumerate(figures):
        with columns[number % len(columns)], st.container(border=True):
            st.markdown(f"**{plain(figure.title)}**")
            st.markdown(plain(finding(figure, result)))
            st.vega_lite_chart(spec_of(chart(figure, result)), key=f"{key}_{figure.name}", alt=figure.title)
            st.download_button(
                "SVG",
                svg(figure, points(figure, result)),
                f"{result.study}-{figure.name}.svg",
                "image/svg+xml",
                icon=":material/image:",
                key=f"{key}_{figure.name}_svg",
            )


def paper_deck(paper_map: PaperMap) -> Any:
    """The domain's hexagons as ground, and the boundary lines over them."""
    look = maps.look(MAP_HEIGHT, MAP_WIDTH)
    deck = cells_deck(paper_map.domain, **look)
    lines = boundaries_deck(paper_map.domain, paper_map.paths, paper_map.baseline, **look)
    # The hexagons show where the domain ends: an outline would look like one more boundary.
    deck.layers = [layer for layer in (*deck.layers, *lines.layers) if not layer.id.startswith("region")]
    return deck


def show_maps(result: StudyResult, key: str) -> None:
    """The paper's figure 4: the boundary without privacy and one line per private path, with its SVG."""
    shown_maps = paper_maps(result)
    columns = st.columns(2) if len(shown_maps) > 1 else [st.container()]
    for number, paper_map in enumerate(shown_maps):
        with columns[number % len(columns)], st.container(border=True):
            st.markdown(f"**{plain(paper_map.title)}**")
            theme = maps.theme()
            legend = (
                LegendEntry("without privacy", colour("baseline", theme)),
                *boundaries_legend(len(paper_map.paths), baseline=False, theme=theme),
            )
            maps.show_deck(
                paper_deck(paper_map),
                key=f"{key}_{paper_map.table}_deck",
                alt=paper_map.words,
                legend=legend,
                height=MAP_HEIGHT,
            )
            st.caption(plain(paper_map.words))
            st.download_button(
                "SVG",
                map_svg(paper_map),
                f"{result.study}-{paper_map.table}.svg",
                "image/svg+xml",
                icon=":material/image:",
                key=f"{key}_{paper_map.table}_svg",
            )


def show_table(table: StudyTable, result: StudyResult, key: str) -> None:
    """One table and its CSV."""
    short = len(table.rows) <= LONGEST_TABLE
    with st.container(border=True):
        rows = table.records()[:LONGEST_TABLE]
        texts = [
            {name: "no finite bound" if cell is None else str(cell) for name, cell in row.items()}
            for row in rows
        ]
        st.dataframe(texts, hide_index=True)
        if not short:
            st.caption(f"The first {LONGEST_TABLE} of {len(table.rows):,} rows; the CSV holds all.")
        st.caption(plain(result.facts()))
        st.download_button(
            "CSV",
            table.csv(),
            f"{result.study}-{table.name}.csv",
            "text/csv",
            icon=":material/download:",
            key=f"{key}_{table.name}_csv",
        )


def run_here(
    slot: side_jobs.SideJobName, label: Markdown, cancel: Markdown, work: Any, *arguments: Any
) -> None:
    """A button, then progress with cancel, then the result; the job lives in this session."""
    finished = side_jobs.follow(
        workspace.current(),
        slot,
        arguments,
        label,
        cancel,
        lambda: Job(lambda report: in_subprocess(report, work, *arguments)),
    )
    if finished is None:
        return
    if slot == "own_audit" and any(
        row[table.columns.index("alarm")] == "alarm" for table in finished.result.tables for row in table.rows
    ):
        st.error(
            "The attack proves more leakage than the guarantee admits: do not release, and report it.",
            icon=":material/report:",
        )
    show_result(finished.result, slot)


def show_stored(study: Study) -> None:
    """The full figures as they were measured, and the command that measures them again."""
    results = [(name, load_result(study.folder / name)) for name in study.stored]
    if not any(result for _, result in results):
        st.info(
            f"No full figures are stored yet. Make them with {plain(study.command)}.",
            icon=":material/terminal:",
        )
        return
    for name, result in results:
        if result is not None:
            if len(study.stored) > 1:
                st.header("Real sales" if "real" in name else "Generated sales", anchor=False, divider="gray")
            with st.expander("How these figures were made", icon=":material/terminal:"):
                st.caption(f"{plain(result.facts())} Made by this command:")
                st.code(
                    "python -m studies.agreement.london_real" if "real" in name else study.command,
                    language=None,
                )
            show_result(result, f"stored_{name}")


chosen = st.segmented_control(
    "Study",
    list(STUDIES),
    format_func=lambda name: STUDIES[name].title,
    default="membership",
    key="study",
    required=True,
)
study = STUDIES[chosen or "membership"]
st.markdown(f"{plain(study.question)}  \n*{plain(study.source)}*")
if study.name == "audit":
    st.caption("A check, not a guarantee: no alarm proves nothing, an alarm proves a mistake.")
    found = workspace.current().outcome
    if found is not None:
        with st.container(border=True):
            st.markdown("**Your design**, attacked on simulated neighbours in your domain")
            run_here(
                "own_audit",
                "Audit your design",
                "Cancel the audit",
                audit_quickly,
                found.project,
                found.choice,
            )
stored, here = st.tabs(["Stored figures, full size", "Run it here, reduced size"])
with here:  # before the stored figures, which take their time: a click is answered at once
    st.caption("Under a minute on an idle machine, with fewer repetitions; simulated data only.")
    if (said := expected_study(study.name)) is not None:
        st.caption(f":material/schedule: {plain(said)}")
    run_here("study", "Run the study", "Cancel the study", run_quickly, study.name)
with stored:
    show_stored(study)
