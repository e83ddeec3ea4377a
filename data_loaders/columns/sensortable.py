"""The shape of a table from its first bytes, its header below titles and above units, and chosen entries.

Entries are found in rows and counted for a person who chooses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.numbers import NOTHING, Decimal, Evidence, looks_numeric, parse_numbers, told_alone
from data_loaders.columns.profiles import TOGETHER, Recognised, recognise
from data_loaders.columns.specification import (
    SAMPLE_ROWS,
    Header,
    ReadingSpecification,
    Written,
    find_specification,
)
from data_loaders.errors import DataError, closest
from data_loaders.files.blocks import MAX_COLUMNS, Block, blocks, mask, text
from data_loaders.files.guarded import HEAD, LIMITS, Limits
from data_loaders.files.sources import Source, Table, open_tables

TOP_ROWS = 8
MOST = 1000  # different entries of a column that are told apart
LONGEST = 200  # letters of an entry that is offered


@dataclass(frozen=True)
class Shape:
    """How a table is written."""

    names: tuple[str, ...]  # the header, in order
    specification: ReadingSpecification
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


def shape_of(table: Table, said: Written = Written()) -> Shape:  # noqa: B008 - frozen
    """Sniff how a table is written, but for what a person says of it. Raise `DataError` where there is no
    header, only one column, too many columns, or Price Paid Data, and where a single row decides it."""
    found = find_specification(table, said)
    header, rows, names = found.header, found.rows, found.header.names
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
    width = len(names)
    sample = tuple(
        tuple(row.cells[:width])
        for row in whole
        if len(row.cells) == width or (len(row.cells) == width + 1 and not row.cells[-1])
    )
    top = tuple((row.number, tuple(row.cells)) for row in rows if any(row.cells))[:TOP_ROWS]
    return Shape(names, found.specification, sample[:SAMPLE_ROWS], header, top, known)


def blocks_of(table: Table, shape: Shape, wanted: Mapping[str, int]) -> Iterator[Block]:
    """Read a table in blocks by its specification; parameters and errors as `blocks.blocks`."""
    header, made = shape.header, shape.specification
    return blocks(
        table,
        len(shape.names),
        wanted,
        header=shape.names if header.checked else None,
        delimiter=made.delimiter,
        skip=header.skip,
        encoding=made.encoding,
        quoting=made.quoting,
        longer=header.longer,
    )


def is_typed(table: Table, column: str) -> bool:
    """Whether the numbers of a column have points whatever its texts have; not of a column of texts alone."""
    return table.typed and column not in table.texts


def decimal_mark(entries: Any, typed: bool) -> Decimal | None:
    """Find the decimal mark of a column's sample (Arrow strings); None where that leaves it open."""
    evidence = Evidence()
    evidence.add(entries)
    return None if evidence.may_group_by_point(typed) else evidence.mark(typed)


def marks_of(
    table: Table,
    shape: Shape,
    numeric: Mapping[str, int],
    places: tuple[str, str],
    degrees: bool,
    stated: Decimal | None,
    bare: Callable[[str, Any], Any],
) -> dict[str, Decimal]:
    """The decimal mark of each column of numbers: that of coordinates is no evidence for the values'. `bare`
    takes from a column's entries what stands beside its numbers. Raise `DataError` where a mark is open."""
    marks: dict[str, Decimal] = {}
    for column in sorted(numeric, key=lambda one: one not in places):  # places first
        entries = pc.utf8_trim_whitespace(pa.array(shape.column(numeric[column]), pa.string()))
        evidence, typed = Evidence(), is_typed(table, column)
        entries = bare(column, entries)
        evidence.add(told_alone(entries) if typed else entries)
        found = evidence.mark(typed)
        if column in places:
            # Groups of thousands are no degrees; what is no degrees is refused where all rows are known.
            if found is None and degrees and not evidence.point:
                found = ","
            found = found or stated
        else:
            if evidence.may_group_by_point(typed):
                found = None  # 245.000 is as open as 245,000
            found = stated or found
        if found is None:
            raise mark_wanted(table.name, [column])
        marks[column] = found
    return marks


def mark_wanted(where: str, columns: Sequence[str]) -> DataError:
    """The error for columns whose numbers a decimal point and a decimal comma read differently."""
    return DataError(
        f"{where} writes numbers in {', '.join(map(repr, columns))} whose commas and points may mark "
        "decimals or groups of digits: state the decimal mark with `decimal` (--decimal . or --decimal ,)."
    )


def open_cells(where: str, column: str) -> DataError:
    """The error for cells of a sheet that a stated decimal comma leaves open."""
    return DataError(
        f"{where} has cells in {column!r} such as 245.000, which may be numbers with a point or texts with "
        "groups: let the sheet hold numbers, or save it as CSV and state its decimal mark there."
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
    said: Written = Written(),  # noqa: B008 - frozen
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
        shape = shape_of(table, said)
        wanted = {column: shape.position(column, table.name) for column in named}
        for block in blocks_of(table, shape, wanted):
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
