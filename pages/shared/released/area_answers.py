"""Areas of a reader's own: how much of each lies beyond the threshold, read off the opened bundle."""

from __future__ import annotations

import streamlit as st

from pages.shared.plain_text import plain
from workflow import words
from workflow.bundle.page.boroughs import BoroughTable, borough_table
from workflow.bundle.published.areas import answers_from, question_words
from workflow.bundle.published.view import Viewer
from workflow.cli.areas import table_csv
from workflow.errors import WorkflowError


def areas_of(viewer: Viewer) -> BoroughTable | None:
    """The areas that the bundle itself carries, at the published threshold; None where it has none."""
    bundle = viewer.bundle
    return borough_table(
        viewer.domain,
        bundle.layers,
        bundle.published,
        bundle.field,
        bundle.paths if bundle.draws is None else bundle.draws,
        viewer.level(None),
    )


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
        )
        if upload is None:
            return
        try:
            _, answers = answers_from(viewer, upload.getvalue(), threshold=threshold)
        except WorkflowError as error:
            st.error(plain(error), icon=":material/error:")
            return
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
