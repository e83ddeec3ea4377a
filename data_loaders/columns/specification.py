"""The reading specification: how a text is written, by which its rows are read one by one.

Whatever a person does not say is found in the first rows, and used only where no single row decides it: the
specification without any one row must be the same (docs/units-of-protection.md, lemma 4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from data_loaders.columns.numbers import MISSING_WORDS, Decimal, looks_numeric
from data_loaders.errors import DataError
from data_loaders.files.blocks import (
    DELIMITERS,
    Delimiter,
    Line,
    Quoting,
    delimiter_named,
    evenest,
    first_lines,
    usual_width,
)
from data_loaders.files.codings import Encoding, coding_of, decode, first_text
from data_loaders.files.sources import Table

_SEARCHED = 200  # rows in which the header is looked for
_ALONE = 12  # first rows that are left out one by one; of further ones, one of each form
_NUMERIC = 0.8  # share of a column's entries that are numbers where the column is one of numbers
SAMPLE_ROWS = 1000
DELIMITER_WORDS: dict[Delimiter, str] = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
MARK_WORDS: dict[Decimal, str] = {".": "point", ",": "comma"}


@dataclass(frozen=True)
class Written:
    """What a person says of how a text is written; None for what is to be found."""

    header_row: int | None = None  # counted from 1 as a spreadsheet does
    encoding: Encoding | None = None
    delimiter: Delimiter | None = None
    quoting: Quoting | None = None


@dataclass(frozen=True)
class ReadingSpecification:
    """How the rows of one table are read, one by one: public choices, and what its first rows tell where no
    single one of them decides it."""

    encoding: Encoding = "utf-8"
    delimiter: Delimiter = ","
    quoting: Quoting = "line"
    header_row: int = 1
    width: int = 0  # columns of a row; a further one that is blank is passed over
    units_row: bool = False  # whether the row below the header holds units, and is no record
    decimal: tuple[tuple[str, Decimal], ...] = ()  # the decimal mark of each column of numbers
    sides: tuple[tuple[str, str], ...] = ()  # which column has the letters N and S, or E and W, of another
    day_first: bool | None = None  # how dates such as 3/4/2018 are read; None without such dates
    missing: tuple[str, ...] = ()  # numbers that stand for a missing value beside the usual ones
    typed: bool = False  # a sheet or layer, which needs no delimiter and no coding
    points: bool = False
    mixed: bool = False  # whether bytes that are no UTF-8 were met, and read as Windows-1252

    def line(self) -> str:
        """The specification in one sentence, for the report of reading."""
        commas = [column for column, mark in self.decimal if mark == ","]
        if len(commas) in (0, len(self.decimal)):
            words = f"decimal {'comma' if commas else 'point'}"
        else:
            words = f"decimal comma in {' and '.join(map(repr, commas))} and decimal point elsewhere"
        if self.typed:
            own = "the points' own coordinates" if self.points else "a sheet's own numbers"
            return f"Read with {own}{f', {words} in texts' if commas else ''}."
        coding = "utf-8, other bytes as windows-1252" if self.mixed else self.encoding
        lines = ", line breaks within quotes" if self.quoting == "lines" else ""
        return f"Read with delimiter {DELIMITER_WORDS[self.delimiter]}, {words}, encoding {coding}{lines}."


@dataclass(frozen=True)
class Header:
    """The row that names the columns of a table."""

    names: tuple[str, ...]
    number: int  # which row it is, counted from 1 as a spreadsheet does
    skip: int  # lines of text before the data, or before the row itself where `checked`
    first: int  # position of the first row of data among the rows
    checked: bool  # whether the row is read again with the data, to compare both readings
    notes: tuple[str, ...] = ()  # sentences about what was passed over
    units: bool = False  # whether the row below holds units of measure
    longer: bool = False  # whether most rows end in one more delimiter than the header


@dataclass(frozen=True)
class Found:
    """How a text is written, with its first rows."""

    specification: ReadingSpecification
    header: Header
    rows: Sequence[Line] = field(repr=False)  # up to SAMPLE_ROWS of data, and what stands above them


def find_specification(table: Table, said: Written = Written()) -> Found:
    """Find how a table is written, but for what a person says of it. Raise `DataError` where a single row
    decides it, naming the option that answers."""
    if table.typed:
        text = decode(table.head)
        rows = first_lines(text, ",", SAMPLE_ROWS + 1 + (said.header_row or 1), "lines")
        header = find_header(table.name, rows, 1 if table.points else said.header_row)
        return Found(_of(header, ReadingSpecification(typed=True, points=table.points)), header, rows)
    encoding = said.encoding or coding_of(table.head, table.name)
    quoting = said.quoting or "line"
    plain = decode(table.head, encoding)
    mark = said.delimiter or delimiter_named(plain)
    joined = None if quoting == "line" else mark or ","
    text = first_text(table.head, encoding, joined, table.name)
    marks = (mark,) if mark else DELIMITERS
    most = SAMPLE_ROWS + 2 + (said.header_row or 1)
    split = {one: first_lines(text, one, most) for one in marks}
    found = mark or evenest(split)
    rows = split[found][: most - 1]
    header = find_header(table.name, rows, said.header_row)
    _refuse_one_row(table.name, split, said, mark, found, header)
    mixed = encoding == "utf-8" and "\ufffd" not in plain and not _is_utf8(table.head)
    made = ReadingSpecification(encoding, found, quoting, mixed=mixed)
    return Found(_of(header, made), header, rows)


def _is_utf8(head: bytes) -> bool:
    try:
        head[: head.rfind(b"\n") + 1].decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _of(header: Header, made: ReadingSpecification) -> ReadingSpecification:
    return ReadingSpecification(
        made.encoding, made.delimiter, made.quoting, header.number, len(header.names), header.units,
        typed=made.typed, points=made.points, mixed=made.mixed,
    )  # fmt: skip


def _refuse_one_row(
    name: str,
    split: Mapping[Delimiter, Sequence[Line]],
    said: Written,
    mark: Delimiter | None,
    found: Delimiter,
    header: Header,
) -> None:
    """Raise `DataError` where the delimiter or the row of the header hangs on a single row below it."""
    rows = split[found]
    if not rows:
        return
    top = next((at for at, row in enumerate(rows) if row.number == header.number), 0)
    sought = said.header_row is None and rows[_top(rows)].number == header.number
    likely, _ = _likely(rows[:_SEARCHED])
    if said.header_row is None and top in likely[1:]:
        raise DataError(
            f"{name} has several rows that may name its columns, {rows[likely[0]].number:,} and "
            f"{header.number:,} among them: state the row with `header_row` (--header-row)."
        )
    tried: set[object] = set()
    for at in range(top + 1, min(len(rows), _SEARCHED + 1)):
        form = at if at < top + _ALONE else (at < 50, *(_width(split, one, at) for one in split))
        if form in tried:
            continue
        tried.add(form)
        less = {one: [*lines[:at], *lines[at + 1 :]] for one, lines in split.items()}
        if mark is None and evenest(less) != found:
            raise DataError(
                f"{name} leaves open what separates its columns, since one row alone decides it: state the "
                "delimiter with `delimiter` (--delimiter ';')."
            )
        if sought and less[found][_top(less[found])].number != header.number:
            raise DataError(
                f"{name} leaves open which row names its columns, since one row alone decides it: state the "
                "row with `header_row` (--header-row)."
            )


def _width(split: Mapping[Delimiter, Sequence[Line]], delimiter: Delimiter, at: int) -> int:
    lines = split[delimiter]
    return len(lines[at].cells) if at < len(lines) else 0


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
    at = named_by_hand[0] if named_by_hand else _top(rows)
    names = list(rows[at].cells)
    checked = True
    if wanted is None and _numbers(names) >= 2 and at and _is_comment(rows[at - 1]):
        named = rows[at - 1].cells  # "# lon,lat,value"
        named = [named[0].lstrip("# "), *named[1:]] if named[0].lstrip("# ") else named[1:]
        if len(named) == width and _numbers(named) < 2:
            at, names, checked = at - 1, named, False
    below = [row.cells for row in rows[at + 1 :]]
    usual = usual_width(below)
    if len(names) == usual + 1 and names[-1] == "":  # a row with an entry there is left out
        names, checked = names[:-1], False
    longer = usual == len(names) + 1
    checked = checked and not longer
    notes = [f"The names of the columns stand in row {rows[at].number:,}."] if at else []
    first = at + 1
    units = _holds_units(names, below)
    if units:
        notes.append(f"Row {rows[first].number:,} holds units of measure and was passed over.")
        first, checked = first + 1, False
    skip = rows[at].begin if checked else rows[first - 1].end
    return Header(
        tuple(names),
        rows[at].number,
        skip if at or not checked else 0,
        first,
        checked,
        tuple(notes),
        units,
        longer,
    )


def _likely(rows: Sequence[Line]) -> tuple[list[int], int | None]:
    """The positions of rows before the first data that may name the columns, and that of the first data."""
    width = usual_width([row.cells for row in rows if not _is_comment(row)])
    likely: list[int] = []
    for at, row in enumerate(rows):
        if _is_comment(row) or _is_order(row) or abs(len(row.cells) - width) > 1 or len(row.cells) < 2:
            continue
        if _numbers(row.cells) >= 2 or 2 * sum(map(_has_digit, row.cells)) > len(row.cells):
            return likely, at
        if 2 * _names(row.cells) > len(row.cells):
            likely.append(at)
    return likely, None


def _top(rows: Sequence[Line]) -> int:
    """The position of the header among the rows before the first data, as long as it is no comment."""
    searched = rows[:_SEARCHED]
    likely, data = _likely(searched)
    if data is not None:
        return max(likely, key=lambda one: _names(searched[one].cells)) if likely else data
    usable = [at for at, row in enumerate(searched) if not (_is_comment(row) or _is_order(row))]
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
    if len(below) < 2 or len(below[0]) < len(names) or not any(below[0]):
        return False
    rest = [row for row in below[1:] if len(row) >= len(names)]
    numeric = []
    for at in range(len(names)):
        given = [row[at] for row in rest if row[at].lower() not in MISSING_WORDS]
        if given and sum(map(looks_numeric, given)) >= _NUMERIC * len(given):
            numeric.append(below[0][at])
    words = [cell for cell in numeric if cell.lower() not in MISSING_WORDS]
    return len(numeric) >= 2 and len(words) >= 2 and not any(map(_is_number, numeric))


def _is_number(cell: str) -> bool:
    return looks_numeric(cell) or (cell[:1] in "<>" and cell != "")
