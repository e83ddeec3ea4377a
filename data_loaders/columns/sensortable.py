"""The shape of a sensor table: its delimiter, encoding, header and decimal mark, from its first bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from data_loaders.columns.header import Header, find_header
from data_loaders.columns.marks import Decimal, evidence_of
from data_loaders.columns.numbers import looks_numeric
from data_loaders.columns.profiles import TOGETHER, Recognised, recognise
from data_loaders.errors import DataError, closest
from data_loaders.files.csvstream import MAX_COLUMNS, Delimiter, first_lines, sniff_delimiter
from data_loaders.files.encoding import Encoding, decode
from data_loaders.files.guarded import HEAD
from data_loaders.files.sources import Table

SAMPLE_ROWS = 1000
TOP_ROWS = 8


@dataclass(frozen=True)
class Shape:
    """How a table is written."""

    names: tuple[str, ...]  # the header, in order
    delimiter: Delimiter
    encoding: Encoding
    sample: tuple[tuple[str, ...], ...]  # up to SAMPLE_ROWS data rows as text, of the header's width
    header: Header  # where the names stand
    top: tuple[tuple[str, ...], ...] = ()  # the first TOP_ROWS rows as they are, header included
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


def shape_of(table: Table, delimiter: Delimiter | None = None, header_row: int | None = None) -> Shape:
    """Sniff how a table is written, unless a person states delimiter or header row (from 1 without blank
    rows). Raise `DataError` where there is no header, only one column, too many columns, or Price Paid Data.
    """
    text, encoding = decode(table.head)
    mark = "," if table.typed else delimiter or sniff_delimiter(text)
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
    top = tuple(tuple(row.cells) for row in rows[:TOP_ROWS])
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
