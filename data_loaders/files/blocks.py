"""Reads one CSV table in blocks of bounded memory, and keeps columns that grow block by block.

What a row is does not depend on another row: a quote closes on its own line, and a row that ends in one more
delimiter than its neighbours is a row as they are. Columns stay in memory while they are short, and in a file
without a name beyond that.
"""

from __future__ import annotations

import csv
import io
import re
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Literal, TypeAlias

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

BLOCK = 4 << 20  # bytes parsed at a time; a single row cannot be longer
MAX_COLUMNS = 1000
Delimiter: TypeAlias = Literal[",", ";", "\t", "|"]
DELIMITERS: tuple[Delimiter, ...] = (",", ";", "\t", "|")
_NAMED = re.compile(r"\s*\"?sep=([,;\t|])\"?[ \t]*[,;|]*[\r\n]")  # a first line that Excel reads as an order
_NUMBER = re.compile(r"[+-]?[0-9.,]+$")

IN_MEMORY = 16 << 20
"""Bytes of one column that stay in memory; longer ones go to disk."""

STRIDE = 1 << 20
"""Rows that are worked on at a time wherever a whole column is gone through."""


@dataclass(frozen=True)
class Line:
    """One row of a text as it is written."""

    cells: list[str]  # fields without blanks around them
    begin: int  # lines of the text before it; `end`: up to its end
    end: int
    number: int  # from 1 with blank rows, as a spreadsheet counts


def first_lines(text: str, delimiter: Delimiter, rows: int, quoting: Quoting = "line") -> list[Line]:
    """Split the beginning of a text into at most so many non-empty rows with their lines; the last may be cut
    short. With `quoting` "lines" a quoted cell may hold line breaks."""
    found: list[Line] = []
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        if quoting == "line":
            for number, line in enumerate(text.split("\n")):
                if line:
                    (cells,) = csv.reader((line,), delimiter=delimiter)
                    found.append(Line([cell.strip() for cell in cells], number, number + 1, number + 1))
                if len(found) >= rows:
                    break
            return found
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        begin = 0
        for number, row in enumerate(reader, start=1):
            if row:
                found.append(Line([field.strip() for field in row], begin, reader.line_num, number))
            begin = reader.line_num
            if len(found) >= rows:
                break
    except csv.Error:
        pass  # a field beyond csv's own limit: what was found so far must do
    return found


def first_rows(text: str, delimiter: Delimiter, rows: int) -> list[list[str]]:
    """The fields of the first rows of a text; parameters as in `first_lines`."""
    return [line.cells for line in first_lines(text, delimiter, rows)]


def usual_width(rows: Sequence[Sequence[str]]) -> int:
    """The number of fields that most rows have, of two the one met first; 0 without rows."""
    widths = Counter(len(row) for row in rows)
    return max(widths, key=lambda width: widths[width], default=0)


def sniff_delimiter(text: str) -> Delimiter:
    """Return the delimiter that a first line such as "sep=;" names, or else the one that splits the first
    rows most evenly."""
    return delimiter_named(text) or evenest({mark: first_lines(text, mark, 50) for mark in DELIMITERS})


def delimiter_named(text: str) -> Delimiter | None:
    """Return the delimiter that a first line such as "sep=;" names, None without one."""
    named = _NAMED.match(text)
    return None if named is None else named.group(1)  # type: ignore[return-value]


def evenest(split: Mapping[Delimiter, Sequence[Line]]) -> Delimiter:
    """Return the delimiter that splits the first 50 rows of a text most evenly."""

    def evenness(delimiter: Delimiter) -> tuple[bool, float, int]:
        rows = [row.cells for row in split[delimiter][:50] if not row.cells[0].startswith("#")]
        width = usual_width(rows)
        if width < 2:
            return False, 0.0, 0
        even = [row for row in rows if len(row) == width]
        named = sum(bool(_NUMBER.match(field)) for field in even[0]) < 2
        return named, len(even) / len(rows), width

    return max(DELIMITERS, key=evenness)


@dataclass(frozen=True)
class Block:
    """Some consecutive rows of a table."""

    columns: Mapping[str, Any]  # the wanted columns as Arrow text without nulls
    rows: int
    malformed: int  # further rows left out for a wrong number of columns


def blocks(
    table: Table,
    width: int,
    wanted: Mapping[str, int],
    *,
    header: Sequence[str] | None,
    delimiter: Delimiter = ",",
    skip: int = 0,
    encoding: Encoding = "utf-8",
    quoting: Quoting = "line",
    longer: bool = False,
) -> Iterator[Block]:
    """Read a table in blocks of at most `BLOCK` bytes of text. Rows that do not have `width` columns, or one
    more that is blank, are left out and counted; empty lines are no rows. `wanted` maps the name of a column
    in the blocks to its position; `header` is the first row as sniffed, None where that row is data; `skip`
    counts the lines before it. `longer` says that most rows have the further blank column, which changes
    nothing but the time that reading takes. Raise `DataError` where the table has too many columns, where a
    quote does not close on its line (unless `quoting` is "lines"), and where it cannot be parsed; the
    sentence names no value."""
    if width > MAX_COLUMNS:
        raise DataError(
            f"{table.name} has more than {MAX_COLUMNS} columns: keep the columns that are needed."
        )
    names = [f"c{position}" for position in range(width + longer)]
    positions = list(dict.fromkeys((*wanted.values(), *((width,) if longer else ()))))
    stray = _Stray(width, delimiter, wanted)
    text = Utf8Stream(table.stream, encoding)
    lines: io.RawIOBase = JoinedLines(table.name, text, delimiter) if quoting == "lines" else text
    taken = 0
    pending = header
    failed = False
    try:
        reader = pacsv.open_csv(
            lines,
            read_options=pacsv.ReadOptions(
                column_names=names, block_size=BLOCK, use_threads=False, skip_rows=skip
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter, newlines_in_values=table.typed, invalid_row_handler=stray.add
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                include_columns=[names[position] for position in positions],
                strings_can_be_null=False,
            ),
        )
        with reader:
            for batch in reader:
                if pending is not None and batch.num_rows:
                    _check_header(table.name, pending, batch, positions)
                    batch, pending = batch.slice(1), None
                if longer:
                    batch = stray.without_entry(batch, positions.index(width))
                columns = {name: batch.column(positions.index(at)) for name, at in wanted.items()}
                taken += batch.num_rows
                tell_how_far(table.stream)
                yield stray.block(columns, batch.num_rows)
    except DataError:
        raise
    except (pa.ArrowException, ValueError, OverflowError, MemoryError):
        failed = True
    if failed:  # outside the handler: Arrow's own messages quote the row
        raise DataError(
            f"{table.name} cannot be read as CSV after row {taken:,}: look there for a quote "
            "or a line that never ends."
        )
    if stray.waiting:
        yield stray.block({name: pa.array([], pa.string()) for name in wanted}, 0)
    if not table.typed and quoting == "line":
        before = sum(
            1
            for line in decode(table.head, encoding)
            .replace("\r\n", "\n")
            .replace("\r", "\n")
            .split("\n")[:skip]
            if line
        )
        if text.lines > before + taken + stray.met + (header is not None):
            raise unclosed(table.name)


class _Stray:
    """Rows that the parser leaves out for their width: those with one blank cell more or less at the end than
    most have are read, the others are counted."""

    def __init__(self, width: int, delimiter: Delimiter, wanted: Mapping[str, int]) -> None:
        self._width, self._delimiter, self._wanted = width, delimiter, wanted
        self._cells: list[list[str]] = []
        self._malformed = 0
        self.met = 0  # rows that the parser left out, or `without_entry`

    def add(self, row: Any) -> str:
        self.met += 1
        beside = row.actual_columns == self._width
        if beside or (row.actual_columns == self._width + 1 and row.text.endswith((self._delimiter, '"'))):
            (cells,) = csv.reader((row.text,), delimiter=self._delimiter)  # as the parser splits it
            if len(cells) == self._width or (len(cells) == self._width + 1 and not cells[-1]):
                self._cells.append(cells)
                return "skip"
        self._malformed += 1
        return "skip"

    def without_entry(self, batch: Any, at: int) -> Any:
        """Leave out the rows of a batch whose further column is not blank."""
        blank = pc.equal(batch.column(at), "")
        if pc.all(blank).as_py():
            return batch
        kept = batch.filter(blank)
        self._malformed += batch.num_rows - kept.num_rows
        self.met += batch.num_rows - kept.num_rows
        return kept

    @property
    def waiting(self) -> bool:
        return bool(self._cells or self._malformed)

    def block(self, columns: Mapping[str, Any], rows: int) -> Block:
        """The rows of a batch, and those that were met since the last one."""
        cells, malformed = self._cells, self._malformed
        self._cells, self._malformed = [], 0
        if cells:
            columns = {
                name: pa.concat_arrays([columns[name], pa.array([row[at] for row in cells], pa.string())])
                for name, at in self._wanted.items()
            }
        return Block(columns, rows + len(cells), malformed)


def _check_header(name: str, header: Sequence[str], batch: Any, positions: list[int]) -> None:
    """Two parsers read the header, one to find the columns and one to stream them: they must agree."""
    for index, position in enumerate(positions):
        if text(batch.column(index).slice(0, 1))[0].as_py() != header[position]:
            raise DataError(f"{name} has a header with stray quotes or line breaks: clean its first row.")


def text(column: Any) -> Any:
    """Drop the blanks around the entries of an Arrow column."""
    plain = pc.all(pc.string_is_ascii(column)).as_py()  # worked on in half the time
    return pc.ascii_trim_whitespace(column) if plain else pc.utf8_trim_whitespace(column)


def mask(column: Any) -> NDArray[np.bool_]:
    """Return an Arrow column of booleans without nulls as an (n,) mask."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=bool)


@dataclass(frozen=True)
class _Part:
    """One block of a column that was written out: where it begins, and what it is."""

    start: int
    kind: np.dtype[Any]
    rows: int


class Column:
    """One column as it grows. What is written out lies in the folder for temporary files ($TMPDIR), in a file
    that has no name there: nobody else can open it, and the operating system takes it back with the last
    array made of it, also where the process is killed."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._limit = in_memory
        self._held: list[NDArray[Any]] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._parts: list[_Part] = []

    def add(self, block: NDArray[Any]) -> None:
        """Append an (n,) block of numbers, times or bytes, which may be wider than before. Raise `DataError`
        on a full disk."""
        self._held.append(block)
        self._bytes += block.nbytes
        if self._file is not None or self._bytes > self._limit:
            self._write_out()

    def array(self, kind: str = "f8") -> NDArray[Any]:
        """Return the whole (n,) column, read-only; `kind` is its type where nothing was added."""
        if self._file is None:
            whole = np.concatenate(self._held) if self._held else np.empty(0, kind)
            whole.setflags(write=False)
            return whole
        widest = max((part.kind for part in self._parts), key=lambda each: each.itemsize)
        if any(part.kind != widest for part in self._parts):
            again = Column(self._limit)
            for block in self._blocks():
                again.add(block.astype(widest))
            return again.array(kind)
        self._file.flush()
        return np.memmap(self._file, dtype=widest, mode="r")

    def _blocks(self) -> Iterator[NDArray[Any]]:
        assert self._file is not None
        for part in self._parts:
            self._file.seek(part.start)
            yield np.frombuffer(self._file.read(part.kind.itemsize * part.rows), part.kind)

    def _write_out(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
                weakref.finalize(self, self._file.close)  # arrays made of it live on
            self._file.seek(0, 2)
            for block in self._held:
                if block.size:
                    self._parts.append(_Part(self._file.tell(), block.dtype, block.size))
                    self._file.write(np.ascontiguousarray(block).view(np.uint8).data)
        except OSError as error:
            failure = _full(error)
        else:
            self._held = []
            return
        raise failure


class Spool:
    """Columns of equally many rows that grow together, each with so many bytes in memory."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._in_memory = in_memory
        self._columns: dict[str, Column] = {}

    def add(self, **blocks: NDArray[Any]) -> None:
        """Append a block of rows: one (n,) array for each column, the same names every time."""
        for name, block in blocks.items():
            self._columns.setdefault(name, Column(self._in_memory)).add(block)

    def array(self, name: str, kind: str = "f8") -> NDArray[Any]:
        """Return the whole (n,) column of a name, read-only; empty and of type `kind` where there is none."""
        return self._columns.get(name, Column()).array(kind)


def strides(size: int) -> Iterator[slice]:
    """Cut a number of rows into slices of at most `STRIDE`."""
    for start in range(0, size, STRIDE):
        yield slice(start, min(start + STRIDE, size))


def chosen(columns: Mapping[str, NDArray[Any]], kept: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return the kept rows of (n,) columns, read-only, without holding both in memory."""
    if kept.all():
        return {name: _read_only(column) for name, column in columns.items()}
    spool = Spool()
    for rows in strides(kept.size):
        spool.add(**{name: column[rows][kept[rows]] for name, column in columns.items()})
    return {name: spool.array(name, column.dtype.str) for name, column in columns.items()}


def _read_only(column: NDArray[Any]) -> NDArray[Any]:
    """The same rows in an array that cannot be written to; a column on disk is one already."""
    if not column.flags.writeable:
        return column
    view = column.view()
    view.setflags(write=False)
    return view


def _full(error: OSError) -> DataError:
    return DataError(
        f"There is no room for the rows of this file in the folder for temporary files ({error.strerror}): "
        "free some, or name another folder by TMPDIR."
    )
