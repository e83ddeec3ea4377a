"""Finds the rows with chosen entries, and counts the entries for a person who chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.numbers import NOTHING, parse_numbers
from data_loaders.columns.sensortable import shape_of
from data_loaders.files.csvstream import blocks, mask, text
from data_loaders.files.guarded import LIMITS, Limits
from data_loaders.files.sources import Source, open_tables

MOST = 1000  # different entries of a column that are told apart
LONGEST = 200  # letters of an entry that is offered


@dataclass(frozen=True, repr=False)
class Entries:
    """What stands in some columns; private, so it prints nothing of itself."""

    rows: int
    kept: int  # rows that pass all filters
    # by column, its entries and how many rows have them, the most frequent first; of rows that pass the
    # filters on all other columns
    counts: Mapping[str, tuple[tuple[str, int], ...]]
    # columns with more than MOST different entries, of which the first MOST are counted
    crowded: tuple[str, ...]


def count_entries(
    source: Source,
    columns: Sequence[str],
    where: Mapping[str, str],
    *,
    layer: str | None = None,
    header_row: int | None = None,
    limits: Limits = LIMITS,
) -> Entries:
    """Count the entries of columns over a whole table, in bounded memory; `where` has filters as
    `load_sensors` takes them, combined. Raise `DataError` for a table that cannot be read, or lacks a column.
    """
    named = tuple(dict.fromkeys((*columns, *where)))
    counted: dict[str, dict[str, int]] = {column: {} for column in columns}
    crowded: dict[str, None] = {}
    rows = kept = 0
    for table in open_tables(source, limits, layer=layer):
        shape = shape_of(table, None, header_row)
        wanted = {column: shape.position(column, table.name) for column in named}
        header = shape.names if shape.header.checked else None
        for block in blocks(
            table, len(shape.names), wanted, header=header, delimiter=shape.delimiter, skip=shape.header.skip
        ):
            entries = {column: text(block.columns[column]) for column in named}
            passed = {column: matches(entries[column], (entry,)) for column, entry in where.items()}
            everyone = np.ones(block.rows, dtype=bool)
            rows += block.rows
            kept += int(np.count_nonzero(np.logical_and.reduce([everyone, *passed.values()])))
            for column, found in counted.items():
                others = [passed[other] for other in passed if other != column]
                alive = np.logical_and.reduce([everyone, *others])
                for pair in pc.value_counts(entries[column].filter(alive)).to_pylist():
                    entry = pair["values"]
                    if not entry or len(entry) > LONGEST:
                        continue
                    if entry in found or len(found) < MOST:
                        found[entry] = found.get(entry, 0) + pair["counts"]
                    else:
                        crowded[column] = None
    return Entries(rows, kept, {column: _sorted(found) for column, found in counted.items()}, tuple(crowded))


def matches(column: Any, words: tuple[str, ...]) -> NDArray[np.bool_]:
    """Tell which of n Arrow strings equal one of `words` as text, or as a number ("2023" and "2023.0"
    agree)."""
    same = mask(pc.is_in(column, value_set=pa.array(words, pa.string())))
    wanted = parse_numbers(pa.array(words, pa.string()), missing=NOTHING).value
    wanted = wanted[np.isfinite(wanted)]
    if wanted.size:
        same |= np.isin(parse_numbers(column, missing=NOTHING).value, wanted)
    return same


def _sorted(found: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
