"""Areas of a reader's own: how much of each lies beyond the threshold, read off the opened bundle."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from geo.domains.areas import Areas
from geo.region import MAX_BYTES
from hexcursion import words
from hexcursion.bundle.areas import AreaAnswer, BoroughTable, borough_table
from hexcursion.bundle.published.view import Viewer, answers_from, area_answers, question_words
from hexcursion.cli.bundles import table_csv
from hexcursion.errors import Report
from pages.shared.jobs import Job
from pages.shared.plain_text import plain
from pages.shared.session import side_jobs, workspace
from pages.shared.subprocess_job import in_subprocess

NAME: side_jobs.SideJobName = "areas"
TABLED = "areas-of-the-map"
MEGABYTE = 1 << 20


def areas_of(viewer: Viewer) -> BoroughTable | None:
    """The areas that the bundle itself carries, at the published threshold; None where it has none.

    They are laid over the hexagons once a session.
    """
    held = st.session_state.get(TABLED)
    if held is None or held[0] is not viewer:
        bundle = viewer.bundle
        table = borough_table(
            viewer.domain,
            bundle.layers,
            bundle.published,
            bundle.field,
            bundle.paths if bundle.draws is None else bundle.draws,
            viewer.level(None),
        )
        held = st.session_state[TABLED] = (viewer, table)
    known: BoroughTable | None = held[1]
    return known


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
        kept = _answered(viewer, threshold, upload)
        if kept is None:
            return
        if not kept.done:
            st.error(plain(kept.note), icon=":material/error:")
            if kept.note == side_jobs.CANCELLED:
                st.button("Compute the shares", key=f"{key}_areas_again", on_click=_forget)
            return
        answers = kept.result[1]
        st.text(question_words(viewer, answers, threshold))
        rows = [answer.row() for answer in answers]
        st.dataframe(rows, hide_index=True, key=f"{key}_areas_table")
        st.download_button(
            "Download the table (CSV)",
            table_csv(answers),
            "areas.csv",
            "text/csv",
            icon=":material/download:",
            key=f"{key}_areas_csv",
        )


def _answered(viewer: Viewer, threshold: float, upload: UploadedFile) -> side_jobs.SideJob | None:
    """What was computed for this file and threshold, in a process of its own; None while it is under way.

    The areas of a file are laid over the hexagons once: another threshold reads other shares off them.
    """
    work, about = workspace.current(), (viewer, str(upload.file_id), threshold)
    kept = side_jobs.planning(work).jobs.get(NAME)
    if kept is None or not side_jobs.same(kept.about, about):
        known = kept is not None and kept.done and side_jobs.same(kept.about[:2], about[:2])
        source = kept.result[0] if kept is not None and known else upload.getvalue()
        job = Job(lambda report: in_subprocess(report, answers_apart, viewer, source, threshold))
        side_jobs.start(work, NAME, about, job)
    return None if side_jobs.running(work, NAME, "Cancel") else side_jobs.planning(work).jobs.get(NAME)


def answers_apart(
    report: Report, viewer: Viewer, source: bytes | Areas, threshold: float
) -> tuple[Areas, list[AreaAnswer]]:
    """The areas of a file, or those read before, and an answer for each: for a process of its own."""
    if isinstance(source, Areas):
        return source, area_answers(viewer, source, threshold=threshold)
    return answers_from(viewer, source, threshold=threshold, progress=report)


def _forget() -> None:
    side_jobs.planning(workspace.current()).jobs.pop(NAME, None)
