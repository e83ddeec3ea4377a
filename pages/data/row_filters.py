"""Ask which rows of a table are kept: any number of columns, and any number of entries of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from data_loaders import DataError, Entries, count_entries
from hexcursion.settings.data_settings import SourceSettings
from pages.data.table_columns import KEEP
from pages.shared.plain_text import Markdown, plain

Rows = tuple[tuple[str, str], ...]
Chosen = dict[str, tuple[str, ...]]
REMEMBERED = "sensors_entries"
MOST_REMEMBERED = 8
MOST_SHOWN = 200  # entries of a column in a list; others are typed


def ask_rows(
    label: Markdown, columns: Sequence[str], key: str, path: str, reading: dict[str, Any], quantity: str = ""
) -> Rows | None:
    """Ask for the rows to keep: one of the entries of each chosen column; None while one is open.

    `columns` come likeliest first, `path` is the file whose entries are counted, `reading` its `layer` and
    what is `said` of it. Of `quantity`, the column that says what a row measures, one entry is kept."""
    state = st.session_state
    options = list(dict.fromkeys((*columns, *state.get(key, ()))))  # settings may name further ones
    names = st.multiselect(label, options, placeholder="all rows", key=key, **KEEP)
    ticked = {name: tuple(map(str, state.get(f"{key}_{name}") or ())) for name in names}
    where = {name: entries for name, entries in ticked.items() if entries}
    tally = _counted(path, names, where, reading) if names else None
    selection: Chosen = {}
    for name in names:
        if entries := _ask_entries(name, where.get(name, ()), tally, key, only=name == quantity):
            selection[name] = entries
    if tally is not None and selection == where and len(selection) == len(names):
        st.caption(f"{tally.kept:,} of {tally.rows:,} rows pass.")
    if len(selection) < len(names):
        return None
    return tuple((name, entry) for name, entries in selection.items() for entry in entries)


def _ask_entries(
    name: str, ticked: tuple[str, ...], tally: Entries | None, key: str, *, only: bool
) -> tuple[str, ...]:
    """Ask for the entries of a column to keep, each with its count."""
    counts = {} if tally is None else dict(tally.counts[name][:MOST_SHOWN])
    crowded = tally is not None and (name in tally.crowded or len(tally.counts[name]) > MOST_SHOWN)
    entries = st.multiselect(
        f"{plain(name)} is",
        list(dict.fromkeys((*counts, *ticked))),
        format_func=lambda entry: f"{entry} ({counts[entry]:,})" if entry in counts else entry,
        max_selections=1 if only else None,
        placeholder="choose or type",
        accept_new_options=True,
        help=f"The {MOST_SHOWN} most frequent entries are listed; type another." if crowded else None,
        key=f"{key}_{name}",
        **KEEP,
    )
    return tuple(map(str, entries))


def with_shared(private: Rows | None, reference: Rows | None, quantity: str | None) -> Rows | None:
    """Add the filters that reference data share with the private data, and say which.

    `quantity` is None where both are rows of one table: what the reference leaves open is then as for the
    private data. Of another file it is the column that says what a row measures, "" where none is known."""
    if private is None or reference is None or (quantity is None and not reference):
        return reference
    columns = {name for name, _ in reference}
    shared = tuple(pair for pair in private if pair[0] not in columns and quantity in (None, pair[0]))
    if shared:
        st.caption(f"As for the private data, {plain(filter_words(shared))}.")
    return (*reference, *shared)


def filter_words(rows: Rows) -> str:
    """Say which rows are kept: "year is 2009 or 2010 and species is o3"."""
    by_column: dict[str, list[str]] = {}
    for name, entry in rows:
        by_column.setdefault(name, []).append(entry)
    return " and ".join(f"{name} is {' or '.join(entries)}" for name, entries in by_column.items())


def refilled(key: str, source: SourceSettings) -> dict[str, Any]:
    """What the widgets of a key hold for the filters of settings."""
    return {key: list(source.filters)} | {
        f"{key}_{name}": entries for name, entries in source.filters.items()
    }


def _counted(
    path: str, columns: Sequence[str], where: Mapping[str, tuple[str, ...]], reading: dict[str, Any]
) -> Entries | None:
    """Counts of this session alone, the last few remembered; None where the file cannot be read."""
    cache: dict[object, Entries] = st.session_state.setdefault(REMEMBERED, {})
    try:
        facts = Path(path).stat()
        key = path, facts.st_size, facts.st_mtime_ns, *columns, *where.items(), *reading.items()
        if key not in cache:
            with st.spinner("Counting the entries"):
                cache[key] = count_entries(path, columns, where, **reading)
            while len(cache) > MOST_REMEMBERED:
                del cache[next(iter(cache))]
        return cache[key]
    except (DataError, OSError) as error:
        sentence = str(error) if isinstance(error, DataError) else "The file cannot be opened: name it again."
        st.error(plain(sentence), icon=":material/error:")
        return None
