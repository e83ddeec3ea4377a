"""Finished releases: a list with a way back to each, wherever a new one is planned."""

from __future__ import annotations

import streamlit as st

from hexcursion.bundle.published.shelf import shelf
from pages.shared.plain_text import plain
from pages.shared.steps import PUBLISH, VIEWER

MOST = 20


def show(current: str | None = None) -> None:
    """Links to what this installation has released, newest first; `current` is on the screen already."""
    others = [bundle for bundle in shelf() if bundle.name != current][:MOST]
    if not others:
        return
    st.header("Finished releases", anchor=False)
    for bundle in others:
        screen = PUBLISH if bundle.made_here else VIEWER
        st.page_link(
            screen.path, label=plain(bundle.title), icon=screen.icon, query_params={"release": bundle.name}
        )
