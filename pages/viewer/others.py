"""Other releases beside the one that is read: maps under one camera, and several periods read together."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence

import streamlit as st

from geo.maps.linked import Pane
from geo.maps.painting import LegendEntry, legend
from hexcursion.bundle.layout import contents_of, zip_bytes_to
from hexcursion.bundle.published.bundle_store import StoredBundle, open_bundle, stored_bundles
from hexcursion.bundle.published.series_files import PAGE, series_files
from hexcursion.bundle.published.view import Viewer
from hexcursion.bundle.untrusted import BundleError
from hexcursion.door.series import read_series_of
from hexcursion.errors import WorkflowError
from hexcursion.words import quantity
from pages.shared import maps
from pages.shared.plain_text import one_line, plain
from pages.shared.released_view import BROUGHT, LARGEST_MB, Opened, ShownProduct, paint, products_of

MOST_PERIODS = 11  # other periods
HELD_SERIES = "series-read"
HEIGHT = 1400  # pixels: map and facts; the frame scrolls to the rest


def ask_together(opened: Opened) -> None:
    """Ask for releases of other periods and show what all say; it is kept in this session alone."""
    own = opened.viewer.bundle.statement["release"]["id"]
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
                st.session_state[HELD_SERIES] = (own, *series_of(sources))
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


MOST_BESIDE = 3  # others: four maps stand side by side
HELD_BESIDE = "beside-opened"


def others_beside(viewer: Viewer, product: ShownProduct, threshold: float, rounds: int) -> None:
    """Ask for other stored releases and draw all under one camera; nothing where there are none."""
    own = viewer.bundle.statement["release"]["id"]
    known = [bundle for bundle in stored_bundles() if bundle.name != own]
    if not known:
        return
    chosen = st.multiselect(
        "Other releases of the same area, side by side",
        known,
        format_func=lambda bundle: one_line(bundle.title),
        max_selections=MOST_BESIDE,
        placeholder="choose up to three",
        key="viewer_beside",
    )
    opened = [viewer, *(other for bundle in chosen if (other := _opened(bundle)) is not None)]
    same = [one for one in opened if one.domain.cells == viewer.domain.cells]
    if len(same) < len(opened):
        st.info("A release of other hexagons is left out: it cannot share one map.", icon=":material/info:")
    if len(same) < 2:
        return
    panes, entries = in_time_order(same, product, threshold, rounds)
    maps.show(
        viewer.domain,
        panes,
        mode="beside",
        key="viewer_beside_map",
        alt="Releases side by side, the earliest first: " + "; ".join(pane.title for pane in panes) + ".",
        legend=entries,
        layers=viewer.bundle.layers,
    )


def in_time_order(
    viewers: Sequence[Viewer], product: ShownProduct, threshold: float, rounds: int
) -> tuple[list[Pane], tuple[LegendEntry, ...]]:
    """Return a pane of each release, the earliest first, and one legend for all.

    One that lacks the product shows its released region; one of another unit or range its own threshold,
    named in the title."""
    panes: list[Pane] = []
    entries: dict[str, LegendEntry] = {}
    unit = viewers[0].unit
    for viewer in sorted(viewers, key=lambda one: str(one.bundle.statement["release"]["created"])):
        low, high = viewer.thresholds
        fits = viewer.unit == unit and low <= threshold <= high
        at = threshold if fits else viewer.bundle.threshold
        name = product if product in products_of(viewer) else "vote-set"
        painting = paint(viewer, viewer.at(threshold=at, smoothing=rounds), name, at, rounds)
        date = str(viewer.bundle.statement["release"]["created"])[:10]
        panes.append(Pane(date if fits else f"{date}, at {quantity(at, viewer.unit)}", painting))
        for entry in legend(painting, maps.theme()):
            entries.setdefault(entry.label, LegendEntry(entry.label, entry.colour, entry.mark, ink=entry.ink))
    return panes, tuple(entries.values())


def _opened(bundle: StoredBundle) -> Viewer | None:
    """The same bundles are read once per session."""
    held: dict[str, Viewer] = st.session_state.setdefault(HELD_BESIDE, {})
    if bundle.name not in held:
        try:
            held[bundle.name] = open_bundle(bundle.path)
        except WorkflowError as error:
            st.error(plain(f"{bundle.title}: {error}"), icon=":material/error:")
            return None
        while len(held) > MOST_BESIDE + 1:
            held.pop(next(iter(held)))
    return held[bundle.name]
