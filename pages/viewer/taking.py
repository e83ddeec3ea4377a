"""What a reader takes along: picture, page to print, web page, layers, tables, and the whole bundle."""

from __future__ import annotations

import streamlit as st

from hexcursion.bundle.published.bundle_store import offers, slug
from pages.shared.plain_text import plain
from pages.shared.released_view import Opened

COLUMNS = 3


def downloads(opened: Opened) -> None:
    """Buttons whose files are made when they are pressed, from what was checked."""
    bundle = opened.viewer.bundle
    name = slug(bundle)
    if opened.whole is not None:
        st.download_button(
            "Whole bundle, with checksums (ZIP)",
            opened.whole,
            f"{name}.zip",
            "application/zip",
            type="primary",
            icon=":material/folder_zip:",
            on_click="ignore",
        )
    columns = st.columns(COLUMNS)
    for number, offer in enumerate(offers(bundle)):
        columns[number % COLUMNS].download_button(
            plain(offer.title),
            offer.make,
            f"{name}-{offer.file}",
            offer.media,
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
        )
    st.caption(
        "The interactive page is one file: it works from disk, can be sent by mail or put on any web server, "
        "and asks nobody for anything."
    )
