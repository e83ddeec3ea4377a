"""The badges of the examples, the same on every screen."""

from __future__ import annotations

import streamlit as st

from pages.shared.plain_text import Markdown


def generated_badge(help: Markdown | None = None) -> None:
    """Say that what is shown was made by this program; `help` says how, for who points at it."""
    st.badge("generated data", icon=":material/science:", color="violet", help=help)


def published_badge() -> None:
    """Say that the private data of the example were published long ago, and only play their part."""
    st.badge(
        "example data",
        icon=":material/public:",
        color="violet",
        help="Real sales, published long ago. Those of 1998 play the private data here, so that anybody can "
        "check what a release shows of them.",
    )
