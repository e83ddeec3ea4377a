"""Reads one CSV table in blocks of bounded memory.

Rows are parsed independently of each other: a quote closes on its own line, and a row may end in
one more delimiter than its neighbours.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from data_loaders.errors import DataError
from data_loaders.files.codings import Encoding, JoinedLines, Utf8Stream, decode, unclosed
from data_loaders.files.guarded import tell_how_far
from data_loaders.files.sources import Table

Quoting: TypeAlias = Literal["line", "lines"]
"""Whether a quoted cell ends on its line, or may hold line breaks."""

BLOCK = 4 << 20  # bytes parsed at a time, and so the longest row
MAX_COLUMNS = 1000
Delimiter: TypeAlias = Literal[",", ";", "\t", "|"]
DELIMITERS: tuple[Delimiter, ...] = (",", ";", "\t", "|")
# a first line that sets it in Excel
_NAMED = re.compile(r"\s*\"?sep=([,;\t|])\"?[ \t]*[,;|]*[\r\n]")
_NUMBER = re.compile(r"[+-]?[0-9.,]+$")


@dataclass(frozen=True)
class Line:
    """One row of a text, with its lines."""

    cells: list[str]  # fields without blanks around them
    begin: int  # number of lines before it; `end`: up to its end
    end: int
    number: int  # from 1 with blank rows, as in a spreadsheet


def first_lines(text: str, delimiter: Delimiter, rows: int) -> list[Line]:
    """Split the beginning of a text into at most `rows` non-empty rows, one a line; the last may be
    cut short. A row with a cell beyond the limit of `csv` is one cell."""
    lines: list[Line] = []
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")):
        if line:
            try:
                (cells,) = csv.reader((line,), delimiter=delimiter)
            except csv.Error:
                cells = [line]
            lines.append(Line([cell.strip() for cell in cells], number, number + 1, number + 1))
        if len(lines) >= rows:
            break
    return lines


def check_cells(name: str, lines: Sequence[Line]) -> None:
    """Raise `DataError` if a cell of some rows is beyond the limit of `csv`."""
    most = csv.field_size_limit()
    if any(len(cell) > most for line in lines for cell in line.cells):
        raise long_cell(name)


def long_cell(name: str) -> DataError:
    """Return the error for a cell beyond the limit of `csv`."""
    return DataError(
        f"{name} has a cell of more than {csv.field_size_limit():,} letters: shorten it, or leave its column "
        "or its row out."
    )


def first_rows(text: str, delimiter: Delimiter, rows: int) -> list[list[str]]:
    """Return the fields of the first rows of a text; parameters as in `first_lines`."""
    return [line.cells for line in first_lines(text, delimiter, rows)]


def usual_width(rows: Sequence[Sequence[str]]) -> int:
    """Return the most frequent number of fields in a row, the first of equal ones; 0 without
    rows."""
    widths = Counter(len(row) for row in rows)
    return max(widths, key=lambda width: widths[width], default=0)


def sniff_delimiter(text: str) -> Delimiter:
    """Return the delimiter that a first line such as "sep=;" names, otherwise the one that splits
    the first rows most evenly."""
    return delimiter_named(text) or evenest({mark: first_lines(text, mark, 50) for mark in DELIMITERS})


def delimiter_named(text: str) -> Delimiter | None:
    """Return the delimiter that a first line such as "sep=;" names; None without such a line."""
    match = _NAMED.match(text)
    return None if match is None else match.group(1)  # type: ignore[return-value]


def evenest(split: Mapping[Delimiter, Sequence[Line]]) -> Delimiter:
    """Return the delimiter that splits the first 50 rows of a text most evenly."""

    def evenness(delimiter: Delimiter) -> tuple[bool, float, int]:
        rows = [row.cells for row in split[delimiter][:50] if not row.cells[0].startswith("#")]
        width = usual_width(rows)
        if width < 2:
            return False, 0.0, 0
        even = [row for row in rows if len(row) == width]
        has_names = sum(bool(_NUMBER.match(field)) for field in even[0]) < 2
        return has_names, len(even) / len(rows), width

    return max(DELIMITERS, key=evenness)


@dataclass(frozen=True)
class Block:
    """Some consecutive rows of a table."""

    columns: Mapping[str, Any]  # the wanted columns as Arrow text without nulls
    rows: int
    malformed: int  # further rows left out for a wrong number of columns


@dataclass(frozen=True)
class RowLayout:
    """How the rows of a text follow each other, and what is in the first of them."""

    width: int  # columns of a row
    header: Sequence[str] | None  # the first row as sniffed; None if that row is data
    delimiter: Delimiter = ","
    skip: int = 0  # lines before the first row
    encoding: Encoding = "utf-8"
    quoting: Quoting = "line"
    longer: bool = False  # most rows have a further blank column: affects only the time of reading


def blocks(table: Table, wanted: Mapping[str, int], layout: RowLayout) -> Iterator[Block]:
    """Read a table in blocks of at most `BLOCK` bytes of text. Drop and count rows that do not have
    the layout's columns, or one more that is blank; ignore empty lines. `wanted` maps the name of a
    column in the blocks to its position. Raise `DataError` if the table has too many columns, a
    quote does not close on its line (unless quoting is "lines"), or the table cannot be parsed; the
    sentence names no value."""
    width, header, delimiter, longer = layout.width, layout.header, layout.delimiter, layout.longer
    if width > MAX_COLUMNS:
        raise DataError(
            f"{table.name} has more than {MAX_COLUMNS} columns: keep the columns that are needed."
        )
    names = [f"c{position}" for position in range(width + longer)]
    positions = list(dict.fromkeys((*wanted.values(), *((width,) if longer else ()))))
    stray = _Stray(width, delimiter, wanted)
    text = Utf8Stream(table.stream, layout.encoding)
    lines: io.RawIOBase = JoinedLines(table.name, text, delimiter) if layout.quoting == "lines" else text
    row_count = 0
    pending = header
    failed = False
    try:
        with _opened(lines, names, positions, stray, layout.skip) as reader:
            for batch in reader:
                if pending is not None and batch.num_rows:
                    _check_header(table.name, pending, batch, positions)
                    batch, pending = batch.slice(1), None
                if longer:
                    batch = stray.without_entry(batch, positions.index(width))
                columns = {name: batch.column(positions.index(at)) for name, at in wanted.items()}
                row_count += batch.num_rows
                tell_how_far(table.stream)
                yield stray.block(columns, batch.num_rows)
    except DataError:
        raise
    except (pa.ArrowException, ValueError, OverflowError, MemoryError):
        failed = True
    if failed:  # outside the handler, because Arrow's message quotes the row
        raise DataError(
            f"{table.name} cannot be read as CSV after row {row_count:,}: look there for a quote "
            "or a line that never ends."
        )
    if stray.long:
        raise long_cell(table.name)
    if stray.waiting:
        yield stray.block({name: pa.array([], pa.string()) for name in wanted}, 0)
    if not table.typed and layout.quoting == "line":
        rows = row_count + stray.met + (header is not None)
        if text.lines > rows + _lines_above(decode(table.head, layout.encoding), layout.skip):
            raise unclosed(table.name)


def _lines_above(head: str, skip: int) -> int:
    """Return how many of the first `skip` lines of a table are not empty."""
    lines = head.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return sum(map(bool, lines[:skip]))


def _opened(
    lines: io.RawIOBase, names: Sequence[str], positions: Sequence[int], stray: _Stray, skip: int
) -> Any:
    """Return Arrow's reader of the columns at these positions, all as text without nulls."""
    return pacsv.open_csv(
        lines,
        read_options=pacsv.ReadOptions(
            column_names=names, block_size=BLOCK, use_threads=False, skip_rows=skip
        ),
        parse_options=pacsv.ParseOptions(
            delimiter=stray.delimiter, newlines_in_values=False, invalid_row_handler=stray.add
        ),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=[names[position] for position in positions],
            strings_can_be_null=False,
        ),
    )


class _Stray:
    """Rows that the parser rejects for their width. Those that differ from most rows only by one
    blank cell at the end are read, the others are counted."""

    def __init__(self, width: int, delimiter: Delimiter, positions: Mapping[str, int]) -> None:
        self._width, self.delimiter, self._wanted = width, delimiter, positions
        self._cells: list[list[str]] = []
        self._malformed = 0
        self.met = 0  # rows rejected by the parser or by `without_entry`
        self.long = False  # whether one of them has a cell beyond the limit of `csv`

    def add(self, row: Any) -> str:
        self.met += 1
        same_width = row.actual_columns == self._width
        if same_width or (row.actual_columns == self._width + 1 and row.text.endswith((self.delimiter, '"'))):
            try:
                (cells,) = csv.reader((row.text,), delimiter=self.delimiter)  # as the parser splits it
            except csv.Error:
                self.long = True
                return "skip"
            if len(cells) == self._width or (len(cells) == self._width + 1 and not cells[-1]):
                self._cells.append(cells)
                return "skip"
        self._malformed += 1
        return "skip"

    def without_entry(self, batch: Any, at: int) -> Any:
        """Drop the rows of a batch whose further column is not blank."""
        blank = pc.equal(batch.column(at), "")
        if pc.all(blank).as_py():
            return batch
        rows = batch.filter(blank)
        self._malformed += batch.num_rows - rows.num_rows
        self.met += batch.num_rows - rows.num_rows
        return rows

    @property
    def waiting(self) -> bool:
        return bool(self._cells or self._malformed)

    def block(self, columns: Mapping[str, Any], rows: int) -> Block:
        """Return the rows of a batch together with the stray rows since the last batch."""
        cells, malformed = self._cells, self._malformed
        self._cells, self._malformed = [], 0
        if cells:
            columns = {
                name: pa.concat_arrays([columns[name], pa.array([row[at] for row in cells], pa.string())])
                for name, at in self._wanted.items()
            }
        return Block(columns, rows + len(cells), malformed)


def _check_header(name: str, header: Sequence[str], batch: Any, positions: list[int]) -> None:
    """Check that the parser that found the columns and the parser that streams them read one
    header."""
    for index, position in enumerate(positions):
        if text(batch.column(index).slice(0, 1))[0].as_py() != header[position]:
            raise DataError(f"{name} has a header with stray quotes or line breaks: clean its first row.")


def text(column: Any) -> Any:
    """Strip the blanks around the entries of an Arrow column."""
    plain = pc.all(pc.string_is_ascii(column)).as_py()  # Arrow trims ASCII in half the time
    return pc.ascii_trim_whitespace(column) if plain else pc.utf8_trim_whitespace(column)


def mask(column: Any) -> NDArray[np.bool_]:
    """Return an Arrow column of booleans without nulls as an (n,) mask."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=bool)
