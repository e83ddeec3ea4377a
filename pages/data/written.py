"""Asking how a table is written: which sheet holds it, and which row names its columns."""

from __future__ import annotations

from typing import Any

import streamlit as st

from data_loaders import ColumnGuess
from pages.data.row_columns import KEEP
from pages.shared.plain_text import plain
from pages.shared.session.previews import propose_columns
from workflow.errors import WorkflowError


def first_look(path: str) -> tuple[ColumnGuess | None, dict[str, Any]]:
    """What the columns of a file seem to be, and the settings that say how it is written.

    Returns
    -------
    ColumnGuess or None
        None where the file cannot be read; what is wrong has been said then.
    dict
        Settings of a source, by name.
    """
    key = f"sensors_header_row_{path}"
    row: int | None = st.session_state.get(key)
    layer: str | None = st.session_state.get(f"sensors_layer_{path}")
    guess: ColumnGuess | None = None
    try:
        guess = propose_columns(path, layer, row)
        if len(guess.layers) > 1:
            if layer is None:
                st.session_state[f"sensors_layer_{path}"] = guess.layer
            layer = st.selectbox("Sheet or layer", guess.layers, key=f"sensors_layer_{path}", **KEEP)
    except WorkflowError as error:
        st.error(plain(error), icon=":material/error:")
    with st.expander("Where the names of the columns stand", expanded=guess is None or guess.header_row > 1):
        row = st.number_input(
            "Row with the names of the columns",
            min_value=1,
            value=None,
            placeholder="found" if guess is None else f"found: row {guess.header_row}",
            help="Counted from 1 without blank rows. Titles and comments above it are passed over.",
            key=key,
            on_change=_forget_columns,
            args=(path,),
            **KEEP,
        )
        if guess is not None and not guess.points:
            width = max(map(len, guess.top), default=0)
            st.dataframe(
                [
                    {"row": at, **{f"{column + 1}": cell for column, cell in enumerate(cells)}}
                    for at, cells in enumerate((_wide(cells, width) for cells in guess.top), start=1)
                ],
                hide_index=True,
                height="content",
            )
    return guess, {"layer": layer, "header_row": row}


def _forget_columns(path: str) -> None:
    """Other names were proposed from another row."""
    for name in ("x", "y", "value", "crs", "owner", "identifier", "time", "place_sd", "unit"):
        st.session_state.pop(f"sensors_{name}_{path}", None)


def _wide(cells: tuple[str, ...], width: int) -> list[str]:
    return [*cells, *[""] * (width - len(cells))]
