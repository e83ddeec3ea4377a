"""Uploading: a file that stays chosen when its screen is left, though the browser's widget forgets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from pages.shared.plain_text import Markdown, plain
from pages.shared.session.workspace import Workspace


def remembered(
    label: Markdown, types: list[str] | None, key: str, work: Workspace, **more: Any
) -> str | None:
    """An upload that stays chosen when the screen is left, though the browser's widget forgets it."""
    st.file_uploader(label, types, key=f"{key}_upload", on_change=_keep, args=(work, key), **more)
    path: str | None = work.uploads.get(key)
    if path is not None and st.session_state[f"{key}_upload"] is None:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f":material/attach_file: In use: **{plain(Path(path).name)}**", width="content")
            st.button(
                "Remove",
                key=f"{key}_remove",
                type="tertiary",
                on_click=_forget,
                args=(work, key),
                help="Upload another file to replace it, or remove it.",
            )
    return path


def _keep(work: Workspace, key: str) -> None:
    upload = st.session_state[f"{key}_upload"]
    if upload is None:
        _forget(work, key)
    else:
        work.uploads[key] = str(work.folder.keep(upload.name, upload.getvalue()))


def _forget(work: Workspace, key: str) -> None:
    work.uploads.pop(key, None)
