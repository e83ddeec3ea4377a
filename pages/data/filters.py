"""Asking which rows of a table are kept: any number of columns, each with its entries and their counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from data_loaders import ColumnGuess, DataError, Entries, Recognised, count_entries
from hexcursion.settings.data_settings import SourceSettings
from pages.data.table_columns import KEEP
from pages.shared.plain_text import Markdown, plain

Rows = tuple[tuple[str, str], ...]
REMEMBERED = "sensors_entries"
MOST_REMEMBERED = 8
MOST_SHOWN = 200  # entries of a column in a list; others are typed


def ask_rows(
    label: Markdown, columns: Sequence[str], key: str, path: str, written: dict[str, Any]
) -> Rows | None:
    """Ask for the rows to keep: one entry for each chosen column, all of them together; None while one is
    open.

    `columns` come likeliest first, `path` is the file whose entries are counted, `written` its `layer` and
    `header_row`.
    """
    state = st.session_state
    offered = list(dict.fromkeys((*columns, *state.get(key, ()))))  # settings may name further ones
    names = st.multiselect(label, offered, placeholder="all rows", key=key, **KEEP)
    held = {name: state.get(f"{key}_{name}") for name in names}
    where = {name: str(entry) for name, entry in held.items() if entry is not None}
    found = _counted(path, names, where, written) if names else None
    chosen: dict[str, str] = {}
    for name in names:
        counts = {} if found is None else dict(found.counts[name][:MOST_SHOWN])
        listed = list(dict.fromkeys((*counts, *((where[name],) if name in where else ()))))
        crowded = found is not None and (name in found.crowded or len(found.counts[name]) > MOST_SHOWN)
        entry = st.selectbox(
            f"{plain(name)} is", listed, index=None,
            format_func=lambda one, counts=counts: _shown(one, counts), placeholder="choose or type one",
            accept_new_options=True,
            help=f"The {MOST_SHOWN} most frequent entries are listed; type another." if crowded else None,
            key=f"{key}_{name}", **KEEP,
        )  # fmt: skip
        if entry is not None:
            chosen[name] = str(entry)
    if found is not None and chosen == where and len(chosen) == len(names):
        st.caption(f"{found.kept:,} of {found.rows:,} rows pass.")
    return tuple(chosen.items()) if len(chosen) == len(names) else None


def with_shared(private: Rows | None, reference: Rows | None, quantity: str | None) -> Rows | None:
    """Add the filters that reference data share with the private data, and say which.

    `quantity` is None where both are rows of one table: what the reference leaves open is then as for the
    private data. Of another file it is the column that says what a row measures, "" where none is known.
    """
    if private is None or reference is None or (quantity is None and not reference):
        return reference
    named = {name for name, _ in reference}
    added = tuple(pair for pair in private if pair[0] not in named and quantity in (None, pair[0]))
    if added:
        listed = " and ".join(f"{name} is {entry}" for name, entry in added)
        st.caption(f"As for the private data, {plain(listed)}.")
    return (*reference, *added)


def refilled(key: str, source: SourceSettings) -> dict[str, Any]:
    """What the widgets of a key hold for the filters of settings."""
    entries: dict[str, Any] = {f"{key}_{name}": entry for name, entry in source.where}
    return {key: [name for name, _ in source.where], **entries}


def _shown(entry: str, counts: dict[str, int]) -> str:
    return f"{entry} ({counts[entry]:,})" if entry in counts else entry


def _counted(
    path: str, columns: Sequence[str], where: dict[str, str], written: dict[str, Any]
) -> Entries | None:
    """Counts of this session alone, the last few remembered; None where the file cannot be read."""
    known: dict[object, Entries] = st.session_state.setdefault(REMEMBERED, {})
    try:
        facts = Path(path).stat()
        key = path, facts.st_size, facts.st_mtime_ns, *columns, *where.items(), *written.items()
        if key not in known:
            with st.spinner("Counting the entries"):
                known[key] = count_entries(path, columns, where, **written)
            while len(known) > MOST_REMEMBERED:
                del known[next(iter(known))]
        return known[key]
    except (DataError, OSError) as error:
        said = str(error) if isinstance(error, DataError) else "The file cannot be opened: name it again."
        st.error(plain(said), icon=":material/error:")
        return None


def offer_agency(guess: ColumnGuess, path: str) -> None:
    """Say whose table it seems to be; its columns fill the fields below when a person says so."""
    known = guess.known
    if known is None or known.profile.kind != "table":
        return
    with st.container(border=True):
        st.markdown(f":material/badge: These look like the columns of **{plain(known.profile.title)}**.")
        st.caption(" ".join(plain(line) for line in agency_sentences(known)))
        st.button("Use its columns", key=f"sensors_profile_{path}", on_click=_take_agency, args=(known, path))


def agency_sentences(known: Recognised) -> list[str]:
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
    """Return what the fields hold when the agency's columns are taken over, by key; a field that a person
    must fill is emptied: a value among several, the quantity, a system that varies.
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


def _take_agency(known: Recognised, path: str) -> None:
    st.session_state.update(widget_state(known, path))
