"""Shows which agency's columns a table has, and takes them over with one click."""

from __future__ import annotations

from typing import Any

import streamlit as st

from data_loaders import ColumnGuess, Recognised
from pages.shared.plain_text import plain


def offer(guess: ColumnGuess, path: str) -> None:
    """Say whose table it seems to be; its columns fill the fields below when a person says so."""
    known = guess.known
    if known is None or known.profile.kind != "table":
        return
    with st.container(border=True):
        st.markdown(f":material/badge: These look like the columns of **{plain(known.profile.title)}**.")
        st.caption(" ".join(plain(line) for line in sentences(known)))
        st.button("Use its columns", key=f"sensors_profile_{path}", on_click=_take, args=(known, path))


def sentences(known: Recognised) -> list[str]:
    """What the agency's columns are, and what a person still has to choose."""
    said = []
    if known.place is not None:
        system = known.place.crs or "a coordinate system to state"
        said.append(f"Places: {known.place.x}, {known.place.y} in {system}.")
    if len(known.values) == 1:
        said.append(f"Value: {known.values[0].column}.")
    elif known.values:
        said.append(f"Values, of which you choose one: {', '.join(one.column for one in known.values)}.")
    if known.quantity is not None:
        said.append(f"What a row measures: {known.quantity}, of which you choose one entry.")
    for what, column in (("Owner", known.owner), ("Time", known.time), ("Limits", known.condition)):
        if column is not None:
            said.append(f"{what}: {column}.")
    if known.limit is not None:
        said.append(f"Limits of detection, if they have the values' unit: {known.limit}.")
    return [*said, known.profile.note] if known.profile.note else said


def widget_state(known: Recognised, path: str) -> dict[str, Any]:
    """What the fields of the screen hold when the agency's columns are taken over, by their keys.

    A field that a person must fill is emptied: a value among several, the quantity, a system that varies.
    """
    only = known.measured(None)
    state: dict[str, Any] = {
        "value": None if only is None else only.column,
        "owner": known.owner,
        "time": known.time,
        "condition": known.condition,
    }
    if known.place is not None:
        state |= {"x": known.place.x, "y": known.place.y, "crs": known.place.crs or ""}
    if known.profile.missing:
        state["missing"] = " ".join(known.profile.missing)
    if only is not None and only.unit:
        state["unit"] = only.unit
    if known.quantity is not None:
        state |= {"where": [known.quantity], "reference_where": []}
    named = {f"sensors_{name}_{path}": held for name, held in state.items()}
    if only is not None and only.name:
        named[f"sensors_name_{path}_{only.column}"] = only.name
    return named


def owners(guess: ColumnGuess, path: str) -> list[str]:
    """What may name the owner of a row: each column, and those that do so together."""
    held: str | None = st.session_state.get(f"sensors_owner_{path}")
    together = (None if guess.known is None else guess.known.owner, held)
    return list(dict.fromkeys((*guess.columns, *(one for one in together if one is not None))))


def _take(known: Recognised, path: str) -> None:
    st.session_state.update(widget_state(known, path))
