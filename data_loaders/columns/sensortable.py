"""The shape of a table from its first bytes, its header below titles and above units, and chosen entries.

Entries are found in rows and counted for a person who chooses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.numbers import (
    MISSING_WORDS,
    NOTHING,
    Decimal,
    evidence_of,
    looks_numeric,
    parse_numbers,
)
from data_loaders.columns.profiles import TOGETHER, Recognised, recognise
from data_loaders.errors import DataError, closest
from data_loaders.files.blocks import (
    MAX_COLUMNS,
    Delimiter,
    Encoding,
    Line,
    blocks,
    decode,
    first_lines,
    mask,
    sniff_delimiter,
    text,
    usual_width,
)
from data_loaders.files.guarded import HEAD, LIMITS, Limits
from data_loaders.files.sources import Source, Table, open_tables

_SEARCHED = 200  # rows in which the header is looked for
_NUMERIC = 0.8  # share of a column's entries that are numbers where the column is one of numbers

SAMPLE_ROWS = 1000
TOP_ROWS = 8
MOST = 1000  # different entries of a column that are told apart
LONGEST = 200  # letters of an entry that is offered


@dataclass(frozen=True)
class Header:
    """The row that names the columns of a table."""

    names: tuple[str, ...]
    number: int  # which row it is, counted from 1 as a spreadsheet does
    skip: int  # lines of text before the data, or before the row itself where `checked`
    first: int  # position of the first row of data among the rows
    checked: bool  # whether the row is read again with the data, to compare both readings
    notes: tuple[str, ...] = ()  # sentences about what was passed over


def find_header(where: str, rows: Sequence[Line], wanted: int | None = None) -> Header:
    """Find the header of a table: row `wanted` where a person names it, else of the rows before the first
    data the one with the most different names, since titles and comments have fewer. A table without rows has
    no names. Raise `DataError` where the wanted row is not there."""
    named_by_hand = [at for at, row in enumerate(rows) if row.number == wanted]
    if wanted is not None and not named_by_hand:
        raise DataError(f"{where} has nothing in row {wanted:,}: say which row names its columns.")
    if not rows:
        return Header((), 1, 0, 0, True)
    searched = rows[:_SEARCHED]
    width = usual_width([row.cells for row in searched if not _is_comment(row)])
    at = named_by_hand[0] if named_by_hand else _found(searched, width)
    names = list(rows[at].cells)
    checked = True
    if wanted is None and _numbers(names) >= 2 and at and _is_comment(rows[at - 1]):
        named = rows[at - 1].cells  # "# lon,lat,value"
        named = [named[0].lstrip("# "), *named[1:]] if named[0].lstrip("# ") else named[1:]
        if len(named) == width and _numbers(named) < 2:
            at, names, checked = at - 1, named, False
    below = [row.cells for row in rows[at + 1 :]]
    usual = usual_width(below)
    if len(names) == usual - 1 and all(row[-1] == "" for row in below if len(row) == usual):
        names, checked = [*names, ""], False  # each row ends in a delimiter, the header does not
    elif len(names) == usual + 1 and names[-1] == "":
        names, checked = names[:-1], False
    notes = [f"The names of the columns stand in row {rows[at].number:,}."] if at else []
    first = at + 1
    if _holds_units(names, below):
        notes.append(f"Row {rows[first].number:,} holds units of measure and was passed over.")
        first, checked = first + 1, False
    skip = rows[at].begin if checked else rows[first - 1].end
    return Header(
        tuple(names), rows[at].number, skip if at or not checked else 0, first, checked, tuple(notes)
    )


def _found(rows: Sequence[Line], width: int) -> int:
    """The position of the header among the rows before the first data."""
    likely: list[int] = []
    for at, row in enumerate(rows):
        if _is_comment(row) or _is_order(row) or abs(len(row.cells) - width) > 1 or len(row.cells) < 2:
            continue
        if _numbers(row.cells) >= 2 or 2 * sum(map(_has_digit, row.cells)) > len(row.cells):
            return max(likely, key=lambda one: _names(rows[one].cells)) if likely else at
        if 2 * _names(row.cells) > len(row.cells):
            likely.append(at)
    usable = [at for at, row in enumerate(rows) if not (_is_comment(row) or _is_order(row))]
    return (likely or usable or [0])[0]


def _names(cells: Sequence[str]) -> int:
    return len({cell for cell in cells if cell})


def _numbers(cells: Sequence[str]) -> int:
    return sum(map(looks_numeric, cells))


def _has_digit(cell: str) -> bool:
    return any("0" <= letter <= "9" for letter in cell)


def _is_comment(row: Line) -> bool:
    return row.cells[0].startswith("#")


def _is_order(row: Line) -> bool:
    """Whether it is the line with which Excel is told the delimiter."""
    return row.begin == 0 and row.cells[0].lower().startswith("sep=")


def _holds_units(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first row below the header has words where all others have numbers."""
    if len(below) < 2 or len(below[0]) != len(names) or not any(below[0]):
        return False
    rest = [row for row in below[1:] if len(row) == len(names)]
    numeric = []
    for at in range(len(names)):
        given = [row[at] for row in rest if row[at].lower() not in MISSING_WORDS]
        if given and sum(map(looks_numeric, given)) >= _NUMERIC * len(given):
            numeric.append(below[0][at])
    words = [cell for cell in numeric if cell.lower() not in MISSING_WORDS]
    return len(numeric) >= 2 and len(words) >= 2 and not any(map(_is_number, numeric))


def _is_number(cell: str) -> bool:
    return looks_numeric(cell) or (cell[:1] in "<>" and cell != "")


@dataclass(frozen=True)
class Shape:
    """How a table is written."""

    names: tuple[str, ...]  # the header, in order
    delimiter: Delimiter
    encoding: Encoding
    sample: tuple[tuple[str, ...], ...]  # up to SAMPLE_ROWS data rows as text, of the header's width
    header: Header  # where the names stand
    top: tuple[tuple[int, tuple[str, ...]], ...] = ()  # the first TOP_ROWS rows not blank, and their numbers
    known: Recognised | None = None  # the agency's profile that the names fit

    @cached_property
    def called(self) -> tuple[str, ...]:
        """The names with those that repeat told apart: by the column that each follows, "Ozone status"."""
        often = Counter(name.lower() for name in self.names)
        called: list[str] = []
        before = ""
        for name in self.names:
            if often[name.lower()] == 1:
                before = name
            called.append(name if often[name.lower()] == 1 or not name else f"{before} {name}".strip())
        return tuple(called)

    def position(self, name: str, where: str) -> int:
        """Find a column, by its name in any capitals or as in `called`, and return its position from 0. Raise
        `DataError` where there is none (naming the closest) or more than one."""
        exact = [i for i, known in enumerate(self.names) if known == name]
        loose = [i for i, known in enumerate(self.names) if known.lower() == name.strip().lower()]
        found = exact or loose or [i for i, known in enumerate(self.called) if known == name.strip()]
        if len(found) == 1:
            return found[0]
        if found:
            raise DataError(
                f"{where} has more than one column {name!r}: rename them so that one is meant, or "
                "write the column that it follows before it, such as 'Ozone status'."
            )
        # Only a near miss is quoted: the first row of a file without a header would be private.
        raise DataError(
            f"{where} has no column {name!r}{closest(name, self.names) or ': name one of its header.'} "
            f"The header was taken from row {self.header.number:,}: if it stands elsewhere, state its row "
            "with `header_row` (--header-row)."
        )

    def owner_parts(self, name: str, where: str) -> tuple[int, ...]:
        """Return the positions of the columns that name an owner: one, or several as in "state + county +
        site". A column whose own name has a plus sign is that column. Raise `DataError` as `position` does.
        """
        parts = [part.strip() for part in name.split(TOGETHER.strip())]
        whole = name.strip().lower() in {known.lower() for known in self.names}
        if whole or len(parts) == 1 or "" in parts:
            return (self.position(name, where),)
        return tuple(self.position(part, where) for part in parts)

    def column(self, position: int) -> list[str]:
        """List the sample's entries of one column."""
        return [row[position] for row in self.sample]


def shape_of(table: Table, header_row: int | None = None) -> Shape:
    """Sniff how a table is written, unless a person states its header row (from 1, as a spreadsheet counts).
    Raise `DataError` where there is no header, only one column, too many columns, or Price Paid Data."""
    text, encoding = decode(table.head)
    mark = "," if table.typed else sniff_delimiter(text)
    rows = first_lines(text, mark, SAMPLE_ROWS + 1 + (header_row or 1))
    header = find_header(table.name, rows, 1 if table.points else header_row)
    names = header.names
    if len(names) < 2:
        raise DataError(
            f"{table.name} has a single column: separate the columns by comma, semicolon, tab or bar."
        )
    if len(names) > MAX_COLUMNS:
        raise DataError(
            f"{table.name} has more than {MAX_COLUMNS} columns: keep the columns that are needed."
        )
    known = recognise(names)
    if known is not None and known.profile.first:
        raise DataError(f"{table.name} looks like {known.profile.title}: load it as sales, not as sensors.")
    if sum(looks_numeric(name) for name in names) >= 2:
        raise DataError(
            f"{table.name} has numbers in its first row: add a header that names the columns, or state its "
            "row with `header_row` (--header-row)."
        )
    # A full head may end inside its last row.
    whole = rows[header.first : -1] if len(table.head) >= HEAD else rows[header.first :]
    sample = tuple(tuple(row.cells) for row in whole if len(row.cells) == len(names))
    top = tuple((row.number, tuple(row.cells)) for row in rows if any(row.cells))[:TOP_ROWS]
    return Shape(names, mark, encoding, sample[:SAMPLE_ROWS], header, top, known)


def decimal_mark(shape: Shape, position: int, typed: bool) -> Decimal | None:
    """Find the decimal mark of one column from the sample; None where that leaves it open."""
    return evidence_of(shape.column(position)).mark(typed)


def mark_wanted(where: str, columns: Sequence[str]) -> DataError:
    """The error for columns whose numbers a decimal point and a decimal comma read differently."""
    return DataError(
        f"{where} writes numbers in {', '.join(map(repr, columns))} whose commas and points may mark "
        "decimals or groups of digits: state the decimal mark with `decimal` (--decimal . or --decimal ,)."
    )


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
        shape = shape_of(table, header_row)
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
    """Tell, (n,), which of n Arrow strings equal one of `words` as text, or as a number ("2023" and "2023.0"
    agree)."""
    same = mask(pc.is_in(column, value_set=pa.array(words, pa.string())))
    wanted = parse_numbers(pa.array(words, pa.string()), missing=NOTHING).value
    wanted = wanted[np.isfinite(wanted)]
    if wanted.size:
        same |= np.isin(parse_numbers(column, missing=NOTHING).value, wanted)
    return same


def _sorted(found: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))
