"""What a reader reads and takes: heading, facts, regions, areas of their own, downloads."""

from __future__ import annotations

import logging
from html import escape

import streamlit as st

from geo.context.surroundings import around
from geo.region import MAX_BYTES
from hexcursion import words
from hexcursion.bundle.again import holds_counts
from hexcursion.bundle.areas import BoroughTable, borough_table, table_csv
from hexcursion.bundle.density import Density
from hexcursion.bundle.page.facts import (
    added_title,
    answer,
    belief_of,
    heading_of,
    in_brief,
    largest_regions,
    place,
    three_facts,
    where,
)
from hexcursion.bundle.published.view import Viewer, question_words
from hexcursion.bundle.signature import operators_signers
from hexcursion.errors import WorkflowError
from pages.shared.plain_text import plain
from pages.shared.server.undocumented import UploadedFile
from pages.shared.session import side_jobs, workspace
from pages.shared.session.previews import area_shares, record_density
from pages.shared.subprocess_job import READER_SECONDS, in_background

_LOG = logging.getLogger(__name__)


def heading(viewer: Viewer, areas: BoroughTable | None) -> None:
    """The question as the page's heading, the curator's title, the answer, and what and where all this is."""
    statement = viewer.bundle.statement
    with st.container(key="reading", gap="xxsmall"):
        st.title(plain(heading_of(statement)), anchor=False)
        if subtitle := added_title(statement):
            with st.container(key="asked"):
                st.markdown(plain(subtitle))
        places, products = around(viewer.domain).places, viewer.bundle.published
        lies = (areas.lead if areas else "") or where(viewer.domain, products.classes == 0, places)
        st.markdown(plain(answer(products, lies)))
        with st.container(key="brief"):
            st.markdown(plain(in_brief(statement, products)))


def signed(viewer: Viewer) -> None:
    """Who signed the bundle, by the operator's own list of names; what the bundle says counts for nothing."""
    signature = viewer.bundle.signature
    try:
        signers = operators_signers()
    except WorkflowError:
        _LOG.exception("The list of signers cannot be used")
        st.caption(":material/warning: This viewer's list of known signers cannot be read: ask its operator.")
        return
    icon = "verified" if signers.knows(signature) else "gpp_maybe"
    st.caption(f":material/{icon}: {plain(signers.says(signature))}")


def facts(viewer: Viewer) -> None:
    """How sure, who is protected and how much, what it is not; the second with its picture."""
    statement = viewer.bundle.statement
    surest = belief_of(statement)
    with st.container(key="facts", gap="small"):
        three = three_facts(statement, viewer.bundle.published)
        for number, fact in enumerate(three):
            if number == 2 and not fact.warning:  # what the map is not is in the fold
                continue
            with st.container(key=f"fact-{number}", border=True, gap="xxsmall"):
                st.caption(plain(fact.about))
                icon = ":material/warning: " if fact.warning else ""
                st.header(f"{icon}{plain(fact.lead)}", anchor=False)
                if number == 1 and surest is not None:
                    st.html(belief_html(surest))
                if fact.warning:
                    st.markdown(plain(fact.text))
        with st.expander("More about this", icon=":material/info:"):
            places = around(viewer.domain).places
            st.markdown(plain(f"{words.covered(statement)} {place(viewer.domain, places)}"))
            for number, fact in enumerate(three):
                if not fact.warning:
                    lead = f"{fact.lead}. " if number == 2 else ""
                    st.markdown(f"**{plain(fact.about)}.** {plain(lead + fact.text)}")
            st.caption(plain(f"The title and the name of the value are {words.PUBLISHERS}."))
        signed(viewer)


def belief_html(surest: float) -> str:
    """Return a bar from impossible to certain, a guess before and after the release, of boxes: `st.html`
    drops SVG."""
    text = f"at most {escape(words.even_odds(surest))}"
    wide = min(50.0, 100.0 * surest - 50.0)
    return (
        f'<div class="belief" role="img" aria-label="50:50 before, {text} after">'
        f'<div class="track"><div class="before"></div><div class="after" style="width: {wide:.1f}%">'
        f"</div></div></div>"
    )


def largest(viewer: Viewer) -> None:
    """The largest regions of the first class, as a table."""
    products = viewer.bundle.published
    regions = largest_regions(viewer.domain, products.classes == 0, places=around(viewer.domain).places)
    if not regions:
        return
    side = f"{'likely ' if products.graded else ''}{words.side_words(products.direction)}"
    with st.expander(plain(f"Largest regions {side} the threshold"), icon=":material/format_list_numbered:"):
        st.container(key="largest").table(
            {
                "Where on the map": [plain(region.where) for region in regions],
                "Hexagons": [f"{region.cells:,}" for region in regions],
                "Area": [plain(region.size) for region in regions],
            },
            hide_index=True,
            border="horizontal",
        )


AREAS: side_jobs.SideJobName = "areas"
DENSITY: side_jobs.SideJobName = "density"
TABLED = "areas-of-the-map"
MEGABYTE = 1 << 20


def areas_of(viewer: Viewer) -> BoroughTable | None:
    """Return the bundle's own areas at the published threshold, laid over the hexagons once a session; None
    without any."""
    cached = st.session_state.get(TABLED)
    if cached is None or cached[0] is not viewer:
        bundle = viewer.bundle
        table = borough_table(viewer.domain, bundle.layers, bundle.published, bundle.values)
        cached = st.session_state[TABLED] = (viewer, table)
    areas: BoroughTable | None = cached[1]
    return areas


def own_areas(viewer: Viewer, table: BoroughTable | None) -> None:
    """These areas as a table, where there are any."""
    if table is None:
        return
    bundle = viewer.bundle
    value = words.quantity(bundle.threshold, viewer.unit)
    side = words.side_words(viewer.direction)
    st.header(f"Areas: share {plain(side)} {plain(value)}", anchor=False)
    st.markdown(plain(table.note))
    st.table(
        {
            "Area": [plain(row[0]) for row in table.rows],
            "Share": [plain(row[1]) for row in table.rows],
            "Interval": [plain(row[2]) for row in table.rows],
            "Covered by hexagons": [plain(row[3]) for row in table.rows],
        },
        hide_index=True,
        border="horizontal",
    )


def ask_areas(viewer: Viewer, threshold: float, key: str) -> None:
    """A closed panel that takes a GeoJSON file of areas and shows one line for each."""
    with st.expander("Shares of areas", icon=":material/pie_chart:"):
        upload = st.file_uploader(
            "Areas (GeoJSON with polygons, such as boroughs)",
            ("geojson", "json"),
            help="For each area: the share beyond the threshold, with an interval that holds it with 90 % "
            "confidence, given the release. It is read off the released bundle alone and costs nothing.",
            key=f"{key}_areas",
            max_upload_size=MAX_BYTES // MEGABYTE,
        )
        if upload is None:
            return
        side = _answered(viewer, threshold, upload)
        if side is None:
            return
        if not side.done:
            st.error(plain(side.note), icon=":material/error:")
            if side.note == side_jobs.CANCELLED:
                st.button("Compute the shares", key=f"{key}_areas_again", on_click=_forget_areas)
            return
        answers = side.result[1]
        st.text(question_words(viewer, answers, threshold))
        rows = [answer.row() for answer in answers]
        st.dataframe(rows, hide_index=True, key=f"{key}_areas_table")
        st.download_button(
            "Download the table (CSV)",
            table_csv(rows),
            "areas.csv",
            "text/csv",
            icon=":material/download:",
            key=f"{key}_areas_csv",
        )


def ask_density(viewer: Viewer) -> None:
    """A closed panel that asks released counts where there are many records."""
    bundle = viewer.bundle
    if not holds_counts(bundle):
        return
    many = words.plural(2, bundle.statement["guarantee"]["unit_word"])[2:]
    with st.expander(plain(f"Where there are many {many}"), icon=":material/grain:"):
        above = st.number_input(
            plain(f"More {many} per square kilometre than"),
            min_value=0.0,
            value=None,
            key="viewer_density",
            help="From the noisy counts that the release has paid for: any number costs nothing.",
        )
        if not above:
            return
        work, about = workspace.current(), (viewer, float(above))
        side = side_jobs.planning(work).jobs.get(DENSITY)
        if side is None or not side_jobs.same(side.about, about):
            job = in_background(record_density, cpu_seconds=READER_SECONDS)(bundle, float(above))
            side_jobs.start(work, DENSITY, about, job)
        if side_jobs.running(work, DENSITY, "Cancel"):
            return
        side = side_jobs.planning(work).jobs[DENSITY]
        if not side.done:
            st.error(plain(side.note), icon=":material/error:")
            return
        density: Density = side.result
        st.markdown(plain(density.sentence))
        st.download_button(
            "Download the table (CSV)",
            table_csv(density.rows()),
            "density.csv",
            "text/csv",
            icon=":material/download:",
            key="viewer_density_csv",
        )


def _answered(viewer: Viewer, threshold: float, upload: UploadedFile) -> side_jobs.SideJob | None:
    """Return the result for this file and threshold, computed in a subprocess; None while it is under way. A
    file's areas are laid over the hexagons once: another threshold reads other shares off them."""
    work, about = workspace.current(), (viewer, str(upload.file_id), threshold)
    side = side_jobs.planning(work).jobs.get(AREAS)
    if side is None or not side_jobs.same(side.about, about):
        same_areas = side is not None and side.done and side_jobs.same(side.about[:2], about[:2])
        source = side.result[0] if side is not None and same_areas else upload.getvalue()
        job = in_background(area_shares, cpu_seconds=READER_SECONDS)(viewer, source, threshold)
        side_jobs.start(work, AREAS, about, job)
    return None if side_jobs.running(work, AREAS, "Cancel") else side_jobs.planning(work).jobs.get(AREAS)


def _forget_areas() -> None:
    side_jobs.planning(workspace.current()).jobs.pop(AREAS, None)
