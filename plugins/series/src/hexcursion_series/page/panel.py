"""The viewer's tabs Over time and Other holders: published or uploaded releases and their page."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from hexcursion.bundle.again import stored_sums
from hexcursion.bundle.layout import IS_ATLAS, contents_of, zip_bytes_to
from hexcursion.bundle.published.bundle_store import StoredBundle, stored_bundles
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
from pages.shared.server.undocumented import UploadedFile
from pages.shared.session import workspace
from pages.shared.session.side_jobs import POLL_SECONDS
from pages.shared.subprocess_job import READER_SECONDS, in_background

MOST_OTHERS = 11  # bundles in addition to the opened one
HEIGHT = 1400  # pixels: map and facts; the frame scrolls to the rest


@dataclass(frozen=True)
class Tab:
    """A tab of the viewer that reads further bundles together with the opened one."""

    name: str  # of the downloaded file, and of the tab's widgets
    caption: str
    others: str  # the contents of the further bundles: "other periods"
    reading: str  # text of the spinner while they are read
    icon: str
    alt: str  # description of the page
    refuse: Callable[[Bundle], None]  # raises `BundleError` for an unsuitable opened bundle
    job: Callable[
        ..., tuple[bytes, bytes]
    ]  # from a report and the bundles to the page and the zip of all files


def ask_together(opened: Opened, tab: Tab | None = None) -> None:
    """Ask for further releases and show all of them together. The page stays in this session."""
    tab = tab or PERIODS
    if opened.viewer.atlas is not None:
        st.info(plain(IS_ATLAS), icon=":material/info:")
        return
    try:  # an opened bundle that suits no other release gets no question
        stored_sums(opened.viewer.bundle)
        tab.refuse(opened.viewer.bundle)
    except WorkflowError as error:
        st.info(plain(error), icon=":material/info:")
        return
    result_name, identity = f"{tab.name}-read", opened.viewer.bundle.statement["release"]["id"]
    published, uploads = _ask_sources(tab, identity)
    pressed = st.button(
        "Read together", icon=tab.icon, disabled=not (published or uploads), key=f"viewer_{tab.name}_read"
    )
    if pressed:
        st.session_state.pop(result_name, None)
        if len(published) + len(uploads) > MOST_OTHERS:
            st.error(plain(f"Choose at most {MOST_OTHERS} bundles of {tab.others}."), icon=":material/error:")
            return
        try:
            with st.spinner(plain(tab.reading)):
                st.session_state[result_name] = (identity, *_read(tab, opened, published, uploads))
        except WorkflowError as error:
            st.error(plain(error), icon=":material/error:")
    result = st.session_state.get(result_name)
    if result is not None and result[0] == identity:
        _show(tab, *result[1:])


def _ask_sources(tab: Tab, identity: str) -> tuple[list[StoredBundle], list[UploadedFile]]:
    """Ask for published maps other than the release `identity`, and for files."""
    offers = [bundle for bundle in stored_bundles() if bundle.name != identity]
    st.caption(plain(tab.caption))
    published: list[StoredBundle] = []
    if offers:
        published = st.multiselect(
            plain(f"Published maps of {tab.others}"),
            offers,
            format_func=lambda bundle: one_line(bundle.title),
            max_selections=MOST_OTHERS,
            placeholder="choose some",
            key=f"viewer_{tab.name}",
        )
    label = f"undle files of {tab.others} (.zip)"
    uploads = st.file_uploader(
        plain(f"Or b{label}" if offers else f"B{label}"),
        "zip",
        accept_multiple_files=True,
        key=f"viewer_{tab.name}_files",
        max_upload_size=LARGEST_MB,
    )
    return published, uploads


def _read(
    tab: Tab,
    opened: Opened,
    published: Sequence[StoredBundle],
    uploads: Sequence[UploadedFile],
) -> tuple[bytes, bytes]:
    """Read the opened and the further bundles in a subprocess; return the page and the zip."""
    first = opened.whole() if opened.whole is not None else st.session_state[BROUGHT].getvalue()
    refuse_others({file.name: file.getvalue() for file in uploads})
    bundles = [
        first,
        *(bundle.zipped() for bundle in published),
        *(file.getvalue() for file in uploads),
    ]
    job = in_background(tab.job, cpu_seconds=READER_SECONDS)(bundles)
    workspace.current().ends_with(job)
    line = st.empty()
    while not job.wait(POLL_SECONDS):
        line.caption(plain(job.state.text))  # for instance that the job waits for its turn
    line.empty()
    return job.result()


def _show(tab: Tab, page: bytes, archive: bytes) -> None:
    """Show the page, and offer it with all its files."""
    st.download_button(
        "Page, tables, layers and statement (ZIP)",
        archive,
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


def refuse_others(files: Mapping[str, bytes]) -> None:
    """Raise `BundleError`, which names the file, for an upload that is no bundle."""
    for name, content in files.items():
        try:
            contents_of(content)
        except BundleError as error:
            raise BundleError(f"{name}: {error}") from error


def series_job(report: Report, sources: Sequence[bytes]) -> tuple[bytes, bytes]:
    """As `series_of`, for a subprocess in a queue, since any reader of the viewer may ask for
    it."""
    report(0.0, "")  # the screen has a text already
    return series_of(sources)


def series_of(sources: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the page of a series and all its files as a zip; a repeated bundle counts once.

    Raise `BundleError` for bundles that cannot be read together.
    """
    series, promise = read_series_of(_once(sources), threshold=None, by=0.0, times=None, ledger=None)
    files = series_files(series, promise)
    return files[PAGE], _packed("series", files)


def holders_job(report: Report, sources: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Return the page of several holders and all its files as a zip, in a subprocess as
    `series_job`."""
    report(0.0, "")
    files = holder_files(read_holders(_once(sources)))
    return files[HOLDERS_PAGE], _packed("together", files)


def _once(sources: Sequence[bytes]) -> list[bytes]:
    """Bundles without repetitions."""
    return list({hashlib.sha256(source).digest(): source for source in sources}.values())


def _packed(name: str, files: Mapping[str, bytes]) -> bytes:
    archive = io.BytesIO()
    zip_bytes_to(archive, name, files)
    return archive.getvalue()


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
