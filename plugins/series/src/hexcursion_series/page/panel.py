"""The viewer's tabs Over time and Other holders: releases, chosen or brought, and the page of all."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from hexcursion.bundle.again import stored_sums
from hexcursion.bundle.layout import contents_of, zip_bytes_to
from hexcursion.bundle.published.bundle_store import stored_bundles
from hexcursion.bundle.published.series import refuse_unreadable
from hexcursion.bundle.read import Bundle
from hexcursion.bundle.untrusted import BundleError
from hexcursion.errors import Report, WorkflowError
from hexcursion_series.files import PAGE, series_files
from hexcursion_series.holder_files import PAGE as HOLDERS_PAGE
from hexcursion_series.holder_files import holder_files
from hexcursion_series.holders import read_holders, refuse_unaddable
from hexcursion_series.read import read_series_of
from pages.shared.plain_text import one_line, plain
from pages.shared.released_view import BROUGHT, LARGEST_MB, Opened
from pages.shared.session import workspace
from pages.shared.session.side_jobs import POLL_SECONDS
from pages.shared.subprocess_job import READER_SECONDS, in_background

MOST_OTHERS = 11  # bundles beside the opened one
HEIGHT = 1400  # pixels: map and facts; the frame scrolls to the rest


@dataclass(frozen=True)
class Tab:
    """A tab of the viewer that reads further bundles together with the opened one."""

    name: str  # of the downloaded file, and of the tab's widgets
    caption: str
    others: str  # what the further bundles are of: "other periods"
    reading: str  # while they are read
    icon: str
    alt: str  # what the page shows
    refuse: Callable[[Bundle], None]  # raises `BundleError` for an opened bundle that is of no use
    job: Callable[..., tuple[bytes, bytes]]  # of a report and the bundles: the page and all files


def ask_together(opened: Opened, tab: Tab | None = None) -> None:
    """Ask for further releases and show what all say. The answer is kept in this session alone."""
    tab = tab or PERIODS
    held_name, own = f"{tab.name}-read", opened.viewer.bundle.statement["release"]["id"]
    try:  # what would be refused with any other release is not offered
        stored_sums(opened.viewer.bundle)
        tab.refuse(opened.viewer.bundle)
    except WorkflowError as error:
        st.info(plain(error), icon=":material/info:")
        return
    known = [bundle for bundle in stored_bundles() if bundle.name != own]
    st.caption(plain(tab.caption))
    chosen = []
    if known:
        chosen = st.multiselect(
            plain(f"Published maps of {tab.others}"),
            known,
            format_func=lambda bundle: one_line(bundle.title),
            max_selections=MOST_OTHERS,
            placeholder="choose some",
            key=f"viewer_{tab.name}",
        )
    files = f"undle files of {tab.others} (.zip)"
    brought = st.file_uploader(
        plain(f"Or b{files}" if known else f"B{files}"),
        "zip",
        accept_multiple_files=True,
        key=f"viewer_{tab.name}_files",
        max_upload_size=LARGEST_MB,
    )
    pressed = st.button(
        "Read together", icon=tab.icon, disabled=not (chosen or brought), key=f"viewer_{tab.name}_read"
    )
    if pressed:
        st.session_state.pop(held_name, None)
        own_zip = opened.whole() if opened.whole is not None else st.session_state[BROUGHT].getvalue()
        sources = [own_zip, *(each.zipped() for each in chosen), *(file.getvalue() for file in brought)]
        if len(sources) > MOST_OTHERS + 1:
            st.error(plain(f"Choose at most {MOST_OTHERS} bundles of {tab.others}."), icon=":material/error:")
            return
        try:
            with st.spinner(plain(tab.reading)):
                refuse_others({file.name: file.getvalue() for file in brought})
                job = in_background(tab.job, cpu_seconds=READER_SECONDS)(sources)
                workspace.current().ends_with(job)
                line = st.empty()
                while not job.wait(POLL_SECONDS):
                    line.caption(plain(job.state.text))  # such as what it waits for
                line.empty()
                st.session_state[held_name] = (own, *job.result())
        except WorkflowError as error:
            st.error(plain(error), icon=":material/error:")
    held = st.session_state.get(held_name)
    if held is None or held[0] != own:
        return
    _, page, packed = held
    st.download_button(
        "Page, tables, layers and statement (ZIP)",
        packed,
        f"{tab.name}.zip",
        "application/zip",
        icon=":material/folder_zip:",
        on_click="ignore",
        key=f"viewer_{tab.name}_zip",
    )
    st.iframe(
        f"data:text/html;charset=utf-8;base64,{base64.b64encode(page).decode()}",
        height=HEIGHT,
        alt=tab.alt,
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
    files = series_files(*read_series_of(_once(sources), threshold=None, by=0.0, times=None, ledger=None))
    return files[PAGE], _packed("series", files)


def holders_job(report: Report, sources: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the page of several holders and all its files as a zip, in a subprocess as `series_job`."""
    report(0.0, "")
    files = holder_files(read_holders(_once(sources)))
    return files[HOLDERS_PAGE], _packed("together", files)


def _once(sources: Sequence[bytes]) -> list[bytes]:
    """Bundles without those that are there twice."""
    return list({hashlib.sha256(source).digest(): source for source in sources}.values())


def _packed(name: str, files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    zip_bytes_to(packed, name, files)
    return packed.getvalue()


PERIODS = Tab(
    "series",
    "Releases of the same area and question are read together: each map gets better, at no cost.",
    "other periods",
    "Reading all periods together",
    ":material/timeline:",
    "The page of the series: a map with a slider of periods, small maps, a line for each area",
    refuse_unreadable,
    series_job,
)
HOLDERS = Tab(
    "together",
    "Bundles that several holders made with one design file add up to one map, at no cost.",
    "other holders",
    "Adding the bundles of all holders",
    ":material/join:",
    "The page of all holders: one map, and who protects which records",
    refuse_unaddable,
    holders_job,
)
