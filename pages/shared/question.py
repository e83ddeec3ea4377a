"""The second question before what cannot be undone: a dialog that stands until it is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.shared.plain_text import Markdown

_ICON = ":material/shield_lock:"


def begin(key: str, about: object) -> None:
    """Ask from now on, until it is answered. `about` says what is asked, so that nothing else is answered."""
    st.session_state[key] = about


def about(key: str) -> Any:
    """What `begin` was told, None where no question stands."""
    return st.session_state.get(key)


def over(key: str) -> None:
    """It is answered, or closed."""
    st.session_state.pop(key, None)


def ask(key: str, title: Markdown, body: Callable[..., None], *values: Any) -> None:
    """The dialog with `body(*values)` in it; closing it is an answer too."""
    st.dialog(title, icon=_ICON, on_dismiss=lambda: over(key))(body)(*values)


def answered(key: str, token: str) -> bool:
    """The two buttons at its end: whether this is what was asked for. `token` is the request's own."""
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("Go back", key=f"back_{token}"):
            over(key)
            st.rerun()
        return st.button("Release now", type="primary", icon=_ICON, key=f"now_{token}")
