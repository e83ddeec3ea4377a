"""Asking which rows of a table are kept: any number of columns, each with its entries and their counts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from data_loaders import DataError, Entries, count_entries
from hexcursion.settings.source import SourceSettings
from pages.data.row_columns import KEEP
from pages.shared.plain_text import Markdown, plain

Rows = tuple[tuple[str, str], ...]
REMEMBERED = "sensors_entries"
MOST_REMEMBERED = 8
MOST_SHOWN = 200  # entries of a column in a list; others are typed


def ask_rows(
    label: Markdown, columns: Sequence[str], key: str, path: str, written: dict[str, Any]
) -> Rows | None:
    """The rows to keep: one entry for each chosen column, all of them together; None while one is open.

    Parameters
    ----------
    label
        What is asked.
    columns
        Columns to choose from, the likeliest first.
    key
        Where the widgets keep what is chosen.
    path
        The file whose entries are counted.
    written
        Its `layer` and `header_row`.
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
            f"{plain(name)} is",
            listed,
            index=None,
            format_func=lambda one, counts=counts: _shown(one, counts),
            placeholder="choose or type one",
            accept_new_options=True,
            help=f"The {MOST_SHOWN} most frequent entries are listed; type another." if crowded else None,
            key=f"{key}_{name}",
            **KEEP,
        )
        if entry is not None:
            chosen[name] = str(entry)
    if found is not None and chosen == where and len(chosen) == len(names):
        st.caption(f"{found.kept:,} of {found.rows:,} rows pass.")
    return tuple(chosen.items()) if len(chosen) == len(names) else None


def with_shared(private: Rows | None, reference: Rows | None, quantity: str | None) -> Rows | None:
    """The filters of reference data, with those of the private data that they share; what is added is said.

    Parameters
    ----------
    private, reference
        Filters as `ask_rows` returns them.
    quantity
        None where both are rows of one table: what the reference leaves open is then as for the private data.
        Of another file, the column that says what a row measures, "" where none is known.
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
