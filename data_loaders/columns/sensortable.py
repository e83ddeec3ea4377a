"""The shape of a table from its first bytes, with a header between titles and units, and its
entries.

Entries are matched by filters, and counted for a person who chooses among them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from data_loaders.files.blocks import MAX_COLUMNS, Block, RowLayout, blocks, mask, text
from data_loaders.files.guarded import HEAD, LIMITS
from data_loaders.files.sources import Source, Table, open_tables

TOP_ROWS = 8
MOST = 1000  # distinct entries of a column that are counted
LONGEST = 200  # letters of the longest entry offered


@dataclass(frozen=True)
class Shape:
    """The format of a table, its header and a sample of its rows."""

    names: tuple[str, ...]  # the header, in order
    specification: ReadingSpecification
    # up to SAMPLE_ROWS data rows as text, of the header's width
    sample: tuple[tuple[str, ...], ...]
    header: Header  # the row of the names
    # numbers and cells of the first TOP_ROWS not blank
    top: tuple[tuple[int, tuple[str, ...]], ...] = ()
    known: Recognised | None = None  # the agency's profile that the names fit
    lonely: tuple[str, ...] = ()  # columns that exist because one row alone has them

    def without(self, names: Sequence[str]) -> Shape:
        """Return the shape without some columns."""
        left = [at for at, name in enumerate(self.names) if name not in names]
        sample = tuple(tuple(row[at] for at in left) for row in self.sample)
        return replace(self, names=tuple(self.names[at] for at in left), sample=sample, lonely=())

    def of_records(self) -> Shape:
        """Return the shape without a row of units in its sample, to propose columns."""
        units = self.header.units and len(self.sample) > 1
        return replace(self, sample=self.sample[1:]) if units else self

    @cached_property
    def called(self) -> tuple[str, ...]:
        """The names, made distinct: a repeated name gets the column before it, as in "Ozone
        status"."""
        often = Counter(name.lower() for name in self.names)
        called: list[str] = []
        previous = ""
        for name in self.names:
            if often[name.lower()] == 1:
                previous = name
            called.append(name if often[name.lower()] == 1 or not name else f"{previous} {name}".strip())
        return tuple(called)

    def position(self, name: str, where: str) -> int:
        """Return the position from 0 of a column by its name, in any capitals or as in `called`.
        Raise `DataError` if no column has the name (suggesting the closest) or several have it."""
        exact = [i for i, spelling in enumerate(self.names) if spelling == name]
        loose = [i for i, spelling in enumerate(self.names) if spelling.lower() == name.strip().lower()]
        positions = (
            exact or loose or [i for i, spelling in enumerate(self.called) if spelling == name.strip()]
        )
        if len(positions) == 1:
            return positions[0]
        if positions:
            raise DataError(
                f"{where} has more than one column {name!r}: rename them so that one is meant, or "
                "write the column that it follows before it, such as 'Ozone status'."
            )
        # Quote only a near miss: the first row of a file without a header is private.
        raise DataError(
            f"{where} has no column {name!r}{closest(name, self.names) or ': name one of its header.'} "
            f"The header was taken from row {self.header.number:,}: if it stands elsewhere, state its row "
            "with `header_row` (--header-row)."
        )

    def owner_parts(self, name: str, where: str) -> tuple[int, ...]:
        """Return the positions of the columns that identify an owner: one, or several as in "state
        + county + site". The name of a column may itself contain a plus sign. Raise `DataError` as
        `position` does.
        """
        parts = [part.strip() for part in name.split(TOGETHER.strip())]
        is_column = name.strip().lower() in {header_name.lower() for header_name in self.names}
        if is_column or len(parts) == 1 or "" in parts:
            return (self.position(name, where),)
        return tuple(self.position(part, where) for part in parts)

    def column(self, position: int) -> list[str]:
        """List the sample's entries of one column."""
        return [row[position] for row in self.sample]


def shape_of(table: Table, said: Written = Written()) -> Shape:  # noqa: B008 - frozen
    """Detect the format of a table, except for the parts that a person states. Raise `DataError`
    for a missing header, a single column, too many columns and Price Paid Data, and if a single row
    decides."""
    reading = find_specification(table, said)
    header, rows, names = reading.header, reading.rows, reading.header.names
    if len(names) < 2:
        raise DataError(
            f"{table.name} has a single column: separate the columns by comma, semicolon, tab or bar."
        )
    if len(names) > MAX_COLUMNS:
        raise DataError(
            f"{table.name} has more than {MAX_COLUMNS} columns: keep the columns that are needed."
        )
    agency = recognise(names)
    if table.lonely and recognise([name for name in names if name not in table.lonely]) != agency:
        raise DataError(
            f"{table.name} has properties in one row alone, {', '.join(map(repr, table.lonely[:3]))}, by "
            "which the table would be taken for another agency's: take them out of that row."
        )
    if agency is not None and agency.profile.first:
        raise DataError(f"{table.name} looks like {agency.profile.title}: load it as sales, not as sensors.")
    if sum(looks_numeric(name) for name in names) >= 2:
        raise DataError(
            f"{table.name} has numbers in its first row: add a header that names the columns, or state its "
            "row with `header_row` (--header-row)."
        )
    # A full head may end inside its last row.
    data_rows = rows[header.first : -1] if len(table.head) >= HEAD else rows[header.first :]
    width = len(names)
    sample = tuple(
        tuple(row.cells[:width])
        for row in data_rows
        if len(row.cells) == width or (len(row.cells) == width + 1 and not row.cells[-1])
    )
    top = tuple((row.number, tuple(row.cells)) for row in rows if any(row.cells))[:TOP_ROWS]
    return Shape(names, reading.specification, sample[:SAMPLE_ROWS], header, top, agency, table.lonely)


def blocks_of(table: Table, shape: Shape, positions: Mapping[str, int]) -> Iterator[Block]:
    """Read a table in blocks by its specification; parameters and errors as in `blocks.blocks`."""
    header, specification = shape.header, shape.specification
    layout = RowLayout(
        len(shape.names),
        shape.names if header.checked else None,
        specification.delimiter,
        header.skip,
        specification.encoding,
        specification.quoting,
        header.longer,
    )
    return blocks(table, positions, layout)


def is_typed(table: Table, column: str) -> bool:
    """Whether the numbers of a column have a decimal point by their type; False for columns of
    text."""
    return table.typed and column not in table.texts


def decimal_mark(entries: Any, typed: bool, *, grouped: bool = True) -> Decimal | None:
    """Find the decimal mark of a column's sample (Arrow strings); None if the sample leaves it
    open.

    5.723 is open if digits may be `grouped`, as in values but not in coordinates.
    """
    evidence = Evidence()
    evidence.add(entries)
    return None if grouped and evidence.may_group_by_point(typed) else evidence.mark(typed)


def marks_of(
    table: Table,
    samples: Mapping[str, Any],
    places: tuple[str, str],
    degrees: bool,
    stated: Decimal | None,
) -> dict[str, Decimal]:
    """Find the decimal mark of each column of numbers; coordinates are no evidence for values.
    `samples` are entries of each column, stripped down to their numbers. Raise `DataError` if a mark
    is open."""
    marks: dict[str, Decimal] = {}
    for column in sorted(samples, key=lambda name: name not in places):  # places first
        entries = samples[column]
        evidence, typed = Evidence(), is_typed(table, column)
        evidence.add(told_alone(entries) if typed else entries)
        mark = evidence.mark(typed)
        if column in places and degrees:  # in which each entry tells its mark
            mark = mark or (stated if evidence.point else ",") or "."
        elif column in places:
            mark = stated or mark
        else:
            if evidence.may_group_by_point(typed):
                mark = None  # 245.000 is as open as 245,000
            mark = stated or mark
        if mark is None:
            raise mark_wanted(table.name, [column])
        marks[column] = mark
    return marks


def mark_wanted(where: str, columns: Sequence[str]) -> DataError:
    """Return the error for columns whose decimal mark is open."""
    return DataError(
        f"{where} writes numbers in {', '.join(map(repr, columns))} whose commas and points may mark "
        "decimals or groups of digits: state the decimal mark with `decimal` (--decimal . or --decimal ,)."
    )


def open_cells(where: str, column: str) -> DataError:
    """Return the error for cells of a sheet that stay ambiguous with a stated decimal comma."""
    return DataError(
        f"{where} has cells in {column!r} such as 245.000, which may be numbers with a point or texts with "
        "groups: let the sheet hold numbers, or save it as CSV and state its decimal mark there."
    )


@dataclass(frozen=True, repr=False)
class Entries:
    """Counts of the entries of some columns; private, so without a repr of its content."""

    rows: int
    kept: int  # rows that pass all filters
    # entries of each column with their number of rows, the most frequent first, among the rows that
    # pass the filters on all other columns
    counts: Mapping[str, tuple[tuple[str, int], ...]]
    # columns with more than MOST distinct entries, of which the first MOST are counted
    crowded: tuple[str, ...]


def count_entries(
    source: Source,
    columns: Sequence[str],
    where: Mapping[str, str | Sequence[str]],
    *,
    layer: str | None = None,
    said: Written = Written(),  # noqa: B008 - frozen
) -> Entries:
    """Count the entries of columns over a whole table, in bounded memory. `where` has filters as
    for `load_sensors`, with one or several entries of a column. Raise `DataError` for a table that
    is unreadable or lacks a column.
    """
    names = tuple(dict.fromkeys((*columns, *where)))
    filters = {
        column: (entries,) if isinstance(entries, str) else tuple(entries)
        for column, entries in where.items()
    }
    counts_by_column: dict[str, dict[str, int]] = {column: {} for column in columns}
    crowded: dict[str, None] = {}
    rows = passing = 0
    for table in open_tables(source, LIMITS, layer=layer):
        shape = shape_of(table, said)
        positions = {column: shape.position(column, table.name) for column in names}
        for block in blocks_of(table, shape, positions):
            entries = {column: text(block.columns[column]) for column in names}
            passed = {column: matches(entries[column], words) for column, words in filters.items()}
            all_rows = np.ones(block.rows, dtype=bool)
            rows += block.rows
            passing += int(np.count_nonzero(np.logical_and.reduce([all_rows, *passed.values()])))
            for column, counts in counts_by_column.items():
                masks = [passed[other] for other in passed if other != column]
                alive = np.logical_and.reduce([all_rows, *masks])
                for pair in pc.value_counts(entries[column].filter(alive)).to_pylist():
                    entry = pair["values"]
                    if not entry or len(entry) > LONGEST:
                        continue
                    if entry in counts or len(counts) < MOST:
                        counts[entry] = counts.get(entry, 0) + pair["counts"]
                    else:
                        crowded[column] = None
    return Entries(
        rows,
        passing,
        {column: _sorted(counts) for column, counts in counts_by_column.items()},
        tuple(crowded),
    )


def matches(column: Any, words: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return (n,) which of n Arrow strings equal one of `words` as text or as a number ("2023"
    and "2023.0")."""
    same = mask(pc.is_in(column, value_set=pa.array(words, pa.string())))
    numbers = parse_numbers(pa.array(words, pa.string()), missing=NOTHING).value
    numbers = numbers[np.isfinite(numbers)]
    if numbers.size:
        same |= np.isin(parse_numbers(column, missing=NOTHING).value, numbers)
    return same


def _sorted(counts: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
