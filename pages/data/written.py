"""Asking how a table is written: which sheet holds it, and which row names its columns."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st

from data_loaders import ColumnGuess
from hexcursion.errors import WorkflowError
from hexcursion.settings.source import SourceSettings
from pages.data.row_columns import DATES, KEEP
from pages.shared.plain_text import plain
from pages.shared.session.previews import propose_columns

_MARKS = {".": "point", ",": "comma"}
FIELDS = {
    "header_row": "Row with the names of the columns",
    "decimal": "Decimal mark",
    "missing": "Numbers that stand for a missing value",
    "censored": "Readings such as <0.5 and > 200",
    "detection_limit": "Limit of readings that name none, such as ND",
    "condition": "Column that says which readings are below or above a limit",
    "limit_column": "Column with the limit of readings that name none",
    "day_first": DATES,
    "value_unit": "Its unit",
    "value": "Measured value",
}
"""What the fields of this screen are called, by the settings that they ask for."""

_RULES = {"limit": "count as the limit", "half": "count as half of it", "drop": "are dropped"}


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
            FIELDS["header_row"],
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


def on_screen(sentence: str) -> str:
    """A sentence with the names of this screen's fields in place of those of settings and options."""
    return re.sub(r"`(\w+)`(?: \(--[^)]+\))?", _field_words, sentence)


def _field_words(name: re.Match[str]) -> str:
    return f"“{FIELDS[name[1]]}”" if name[1] in FIELDS else name[0]


def numbers(guess: ColumnGuess, path: str) -> dict[str, Any]:
    """Settings that say how the values are written: only what a person answers, never what is proposed."""
    columns, state = list(guess.columns), st.session_state
    asked = guess.decimal is None or bool(guess.suspects) or guess.beyond
    with st.expander("Decimal mark, missing values and limits", expanded=asked):
        left, right = st.columns(2)
        decimal = left.selectbox(
            FIELDS["decimal"],
            list(_MARKS),
            index=None,
            format_func=_MARKS.__getitem__,
            placeholder="choose one" if guess.decimal is None else f"found: {_MARKS[guess.decimal]}",
            key=f"sensors_decimal_{path}",
            **KEEP,
        )
        missing = right.text_input(
            FIELDS["missing"],
            placeholder="for example -99, 9999; none if all are measurements",
            help="-999, -9999, -99999, -999999, -32768 and numbers beyond 1e30 are missing values anyway.",
            key=f"sensors_missing_{path}",
            **KEEP,
        )
        if guess.suspects:
            listed = ", ".join(f"{number:g}" for number in guess.suspects)
            lie = "lies" if len(guess.suspects) == 1 else "lie"
            st.caption(
                f":material/help: In the first rows {plain(listed)} {lie} far from all other values. Name "
                "above what stands for a missing value, or write none if every number is a measurement."
            )
        state.setdefault(f"sensors_censored_{path}", "limit")
        censored = left.selectbox(
            FIELDS["censored"],
            list(_RULES),
            format_func=_RULES.__getitem__,
            help="They are low or high, not unknown. What becomes of them is a public rule; clipping makes "
            "most of the difference disappear.",
            key=f"sensors_censored_{path}",
            **KEEP,
        )
        limit = right.number_input(
            FIELDS["detection_limit"],
            value=None,
            format="%g",
            placeholder="in the unit of the values",
            key=f"sensors_detection_limit_{path}",
            **KEEP,
        )
        condition = st.selectbox(
            FIELDS["condition"],
            columns,
            index=None,
            placeholder="none",
            key=f"sensors_condition_{path}",
            **KEEP,
        )
        limit_column = st.selectbox(
            FIELDS["limit_column"],
            columns,
            index=None,
            placeholder="none",
            help="In the unit of the values. Where it is blank, the limit above counts.",
            key=f"sensors_limit_column_{path}",
            **KEEP,
        )
    return {
        "decimal": decimal,
        "missing": tuple(missing.replace(",", " ").split()),
        "censored": censored,
        "detection_limit": limit,
        "condition": condition,
        "limit_column": limit_column,
    }


def shown(source: SourceSettings) -> dict[str, Any]:
    """What the widgets show of the settings of a source, by the beginnings of their keys."""
    names = ("layer", "header_row", "decimal", "censored", "detection_limit", "condition", "limit_column")
    return {**{name: getattr(source, name) for name in names}, "missing": " ".join(source.missing)}


def _forget_columns(path: str) -> None:
    """Other names were proposed from another row."""
    for name in ("x", "y", "value", "crs", "owner", "identifier", "time", "place_sd", "unit", "condition",
                 "limit_column"):  # fmt: skip
        st.session_state.pop(f"sensors_{name}_{path}", None)


def _wide(cells: tuple[str, ...], width: int) -> list[str]:
    return [*cells, *[""] * (width - len(cells))]
