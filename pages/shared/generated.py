"""The badge of generated data, the same on every screen."""

from __future__ import annotations

import streamlit as st

from pages.shared.plain_text import Markdown


def generated_badge(help: Markdown | None = None) -> None:
    """Say that what is shown was made by this program; `help` says how, for who points at it."""
    st.badge("generated data", icon=":material/science:", color="violet", help=help)
