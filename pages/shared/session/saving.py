"""Saving: all choices as the settings file that the Data screen and the command line take."""

from __future__ import annotations

import streamlit as st

from hexcursion.errors import WorkflowError
from hexcursion.settings.model import ReleaseSettings
from pages.shared.plain_text import Markdown, plain
from pages.shared.session.portable import portable_settings
from pages.shared.session.workspace import Workspace


def offer(work: Workspace, settings: ReleaseSettings, label: Markdown) -> None:
    """A button that gives the file, or the sentence why it cannot be written."""
    try:
        text = portable_settings(settings, work.folder)
    except WorkflowError as error:
        st.caption(plain(error))
        return
    st.download_button(
        label,
        text,
        "hexcursion-settings.toml",
        "application/toml",
        icon=":material/save:",
        help="A settings file (TOML) for the Data screen and for the command line. It holds no data; it "
        "names your files, columns and threshold.",
        on_click="ignore",
        width="stretch",
    )


def offer_choices(work: Workspace) -> None:
    """The same for the choices made so far, once they are complete."""
    try:
        settings = work.settings()
    except WorkflowError:
        return
    offer(work, settings, "Save these choices")
