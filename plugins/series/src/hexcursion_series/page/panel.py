"""The viewer's tab Over time: releases of other periods, chosen or brought, and the page of all together."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence

import streamlit as st

from hexcursion.bundle.again import stored_sums
from hexcursion.bundle.layout import contents_of, zip_bytes_to
from hexcursion.bundle.published.bundle_store import stored_bundles
from hexcursion.bundle.published.series import refuse_unreadable
from hexcursion.bundle.untrusted import BundleError
from hexcursion.errors import Report, WorkflowError
from hexcursion_series.files import PAGE, series_files
from hexcursion_series.read import read_series_of
from pages.shared.plain_text import one_line, plain
from pages.shared.released_view import BROUGHT, LARGEST_MB, Opened
from pages.shared.session import workspace
from pages.shared.session.side_jobs import POLL_SECONDS
from pages.shared.subprocess_job import in_background

MOST_PERIODS = 11  # other periods
HELD_SERIES = "series-read"
HEIGHT = 1400  # pixels: map and facts; the frame scrolls to the rest


def ask_together(opened: Opened) -> None:
    """Ask for releases of other periods and show what all say; it is kept in this session alone."""
    own = opened.viewer.bundle.statement["release"]["id"]
    try:  # what would be refused with any other release is not offered
        stored_sums(opened.viewer.bundle)
        refuse_unreadable(opened.viewer.bundle)
    except WorkflowError as error:
        st.info(plain(error), icon=":material/info:")
        return
    known = [bundle for bundle in stored_bundles() if bundle.name != own]
    st.caption("Releases of the same area and question are read together: each map gets better, at no cost.")
    chosen = []
    if known:
        chosen = st.multiselect(
            "Published maps of other periods",
            known,
            format_func=lambda bundle: one_line(bundle.title),
            max_selections=MOST_PERIODS,
            placeholder="choose some",
            key="viewer_periods",
        )
    brought = st.file_uploader(
        "Or bundle files of other periods (.zip)" if known else "Bundle files of other periods (.zip)",
        "zip",
        accept_multiple_files=True,
        key="viewer_period_files",
        max_upload_size=LARGEST_MB,
    )
    if st.button("Read together", icon=":material/timeline:", disabled=not (chosen or brought)):
        st.session_state.pop(HELD_SERIES, None)
        own_zip = opened.whole() if opened.whole is not None else st.session_state[BROUGHT].getvalue()
        sources = [own_zip, *(each.zipped() for each in chosen), *(file.getvalue() for file in brought)]
        if len(sources) > MOST_PERIODS + 1:
            st.error(f"Choose at most {MOST_PERIODS} other periods.", icon=":material/error:")
            return
        try:
            with st.spinner("Reading all periods together"):
                refuse_others({file.name: file.getvalue() for file in brought})
                job = in_background(series_job)(sources)
                workspace.current().ends_with(job)
                line = st.empty()
                while not job.wait(POLL_SECONDS):
                    line.caption(plain(job.state.text))  # such as what it waits for
                line.empty()
                st.session_state[HELD_SERIES] = (own, *job.result())
        except WorkflowError as error:
            st.error(plain(error), icon=":material/error:")
    held = st.session_state.get(HELD_SERIES)
    if held is None or held[0] != own:
        return
    _, page, packed = held
    st.download_button(
        "The series: page, tables, layers, statement (ZIP)",
        packed,
        "series.zip",
        "application/zip",
        icon=":material/folder_zip:",
        on_click="ignore",
    )
    st.iframe(
        f"data:text/html;charset=utf-8;base64,{base64.b64encode(page).decode()}",
        height=HEIGHT,
        alt="The page of the series: a map with a slider of periods, small maps, a line for each area",
    )


def refuse_others(brought: Mapping[str, bytes]) -> None:
    """Raise `BundleError`, which names the file, for a brought one that is no bundle."""
    for name, content in brought.items():
        try:
            contents_of(content)
        except BundleError as error:
            raise BundleError(f"{name}: {error}") from error


def series_job(report: Report, sources: Sequence[bytes]) -> tuple[bytes, bytes]:
    """As `series_of`: for a subprocess in its turn, since anybody may ask for it in a viewer."""
    report(0.0, "")  # the screen says what is read
    return series_of(sources)


def series_of(sources: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the page of a series and all its files as a zip; a bundle that is there twice counts once.
    `BundleError` for bundles that cannot be read together."""
    once = {hashlib.sha256(source).digest(): source for source in sources}
    files = series_files(
        *read_series_of(list(once.values()), threshold=None, by=0.0, times=None, ledger=None)
    )
    packed = io.BytesIO()
    zip_bytes_to(packed, "series", files)
    return files[PAGE], packed.getvalue()
