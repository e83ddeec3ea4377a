"""The facts of a release on a screen: one line each, warnings marked, those for specialists folded away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from pages.shared.plain_text import plain

Line = tuple[str, str, bool]
SPECIALISTS = frozenset({"Bound", "Orders"})  # which theorem, and where its proof stands


def receipt_lines(lines: Sequence[Line]) -> None:
    """Draw (topic, text, is a warning) lines; a warning is never folded away."""
    folded = [line for line in lines if line[0] in SPECIALISTS and not line[2]]
    with st.container(key="receipt", border=True):
        _draw(line for line in lines if line not in folded)
        if folded:
            with st.expander("For specialists: the proof behind the numbers"):
                _draw(folded)


def _draw(lines: Iterable[Line]) -> None:
    for topic, text, warning in lines:
        left, right = st.columns([1, 4], gap="small")
        left.markdown(f"**{plain(topic)}**")
        if warning:
            right.markdown(f":red[:material/warning: {plain(text)}]")
        else:
            right.markdown(plain(text))
