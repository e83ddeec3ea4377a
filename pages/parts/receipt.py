"""The receipt on a screen: one line per fact, warnings marked by word, sign and colour."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st


def receipt_lines(lines: Iterable[tuple[str, str, bool]]) -> None:
    """Draw (topic, text, is a warning) lines as a receipt."""
    with st.container(key="receipt", border=True):
        for topic, text, warning in lines:
            left, right = st.columns([1, 4], gap="small")
            left.markdown(f"**{topic}**")
            if warning:
                right.markdown(f":red[:material/warning: {_escaped(text)}]")
            else:
                right.markdown(_escaped(text))


def _escaped(text: str) -> str:
    """Text as it stands: brackets and dollar signs mean nothing to Markdown here."""
    for sign in "\\[]$*_`":
        text = text.replace(sign, f"\\{sign}")
    return text
