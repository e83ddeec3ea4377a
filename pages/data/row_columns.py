"""Asking which columns of a sensor table say whose a row is, which row it is, and how sure its place is."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.shared.plain_text import plain

KEEP: Any = {"persist_state": "session"}
DATES = "Dates such as 3/4/2018"
ORDERS = {"have the day first": True, "have the month first": False}
MADE_BY_TRACE = "sd_m"  # what the trace command calls it in the tables that it writes


NO_VALUE = "\0none"


def measured(columns: list[str], guess: str | None, path: str) -> str | None:
    """The column of values; NO_VALUE where each row is a record without one, such as a case."""
    found: str | None = st.selectbox(
        "Measured value",
        [*columns, NO_VALUE],
        index=at(columns, guess),
        format_func=lambda name: "none: count the rows" if name == NO_VALUE else name,
        help="Cases, crimes or sightings have none: the map then shows where their risk or density is high.",
        key=f"sensors_value_{path}",
        **KEEP,
    )
    return found


def counted_word(path: str) -> str:
    """What one row of a table without values is."""
    return str(
        st.text_input(
            "One row is a",
            value="case",
            help="The released map asks its question in this word: burglary, sighting.",
            key=f"sensors_word_{path}",
            **KEEP,
        )
    ).strip()


def at(columns: list[str], name: str | None) -> int | None:
    """The position of a column, None where there is none of this name."""
    return columns.index(name) if name in columns else None


def owner(columns: list[str], question: str, path: str) -> tuple[str | None, int]:
    """The column that names the sensor or person of a row, and how many rows of each may count."""
    first, second = st.columns(2)
    name = first.selectbox(
        "Sensor or person of a row (optional)",
        columns,
        index=None,
        placeholder="each reading on its own",
        help="Without it one reading is protected, and a sensor or person with several readings less.",
        key=f"sensors_owner_{path}",
        **KEEP,
    )
    if name is None:
        st.caption(f":material/help: {plain(question)}")
        return None, 1
    most = second.number_input(
        "Readings of each that may count",
        min_value=1,
        value=1,
        help="Further ones are left out by a public rule. With one of each, a whole sensor or person is "
        "protected as strongly as a reading is; with several, less: the release says how much less.",
        key=f"sensors_most_{path}",
        **KEEP,
    )
    return name, int(most)


def further(
    columns: list[str], identifier: str | None, time: str | None, path: str
) -> tuple[str | None, str | None, bool | None]:
    """Columns by which the ledger knows a row again, as guessed; nothing of them is ever published."""
    with st.expander("Columns by which the ledger knows a row again (optional)"):
        name = st.selectbox(
            "Name of the row, such as a sample number",
            columns,
            index=at(columns, identifier),
            placeholder="none",
            key=f"sensors_identifier_{path}",
            **KEEP,
        )
        moment = st.selectbox(
            "Date or time",
            columns,
            index=at(columns, time),
            placeholder="none",
            key=f"sensors_time_{path}",
            **KEEP,
        )
        order: str | None = st.selectbox(
            DATES,
            list(ORDERS),
            index=None,
            placeholder="found; the day stands first where no date tells",
            key=f"sensors_day_first_{path}",
            **KEEP,
        )
    return name, moment, None if order is None else ORDERS[order]


def order_words(day_first: bool | None) -> str | None:
    """How the screen calls an order of dates."""
    return next((words for words, first in ORDERS.items() if first is day_first), None)


def place_noise(columns: list[str], path: str) -> str | None:
    """The column that tells how sure a row's place is; proposed where a table of the trace command has it."""
    key = f"sensors_place_sd_{path}"
    with st.expander("Places that carry known noise (optional)", expanded=MADE_BY_TRACE in columns):
        st.session_state.setdefault(key, MADE_BY_TRACE if MADE_BY_TRACE in columns else None)
        name: str | None = st.selectbox(
            "Standard deviation of a row's place, metres per axis",
            columns,
            index=None,  # so that a proposal can be taken back
            placeholder="none: places are exact",
            help="A row then counts in the hexagon where it most probably was, and the report says how "
            "probable that is on average.",
            key=key,
            **KEEP,
        )
    return name
