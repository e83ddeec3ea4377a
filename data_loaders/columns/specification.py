"""The reading specification: the format of a text, by which its rows are read one by one.

The first rows determine the parts that a person does not state, provided that no single row decides
them: leaving out any one row must give the same specification (docs/proofs/owners.md, lemma
4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from data_loaders.columns.numbers import MISSING_WORDS, Decimal, looks_numeric
from data_loaders.errors import DataError
from data_loaders.files.blocks import (
    DELIMITERS,
    Delimiter,
    Line,
    Quoting,
    check_cells,
    delimiter_named,
    evenest,
    first_lines,
    first_rows,
    usual_width,
)
from data_loaders.files.codings import Encoding, coding_of, decode, first_text, marked_coding
from data_loaders.files.guarded import HEAD, MOST_HEAD
from data_loaders.files.sources import Table

_SEARCHED = 200  # rows searched for the header
_ALONE = 12  # first rows that are left out one by one; of later rows, one of each form
_NUMERIC = 0.8  # share of numbers among the entries that makes a column one of numbers
SAMPLE_ROWS = 1000
DELIMITER_WORDS: dict[Delimiter, str] = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
MARK_WORDS: dict[Decimal, str] = {".": "point", ",": "comma"}


def settled(yes: int, no: int, rows: int, share: float) -> bool | None:
    """Whether more than a `share` of the entries of a sample say yes: `yes` do and `no` do not, the
    others of its `rows` are blank. None if one row decides: it alone says yes, or the answer changes
    without it."""
    if rows == 1:
        return yes == 1
    left = [(yes, no), *([(yes - 1, no)] if yes else []), *([(yes, no - 1)] if no else [])]
    answers = {_most(*counts, rows, share) for counts in left}
    return None if (yes, no) == (1, 0) or len(answers) > 1 else answers.pop()


def _most(yes: int, no: int, rows: int, share: float) -> bool:
    """Whether most entries say yes; a single one does only in a table of two rows."""
    return (yes > 1 or (yes == 1 and rows == 2)) and yes > share * (yes + no)


def counted(answers: Iterable[bool]) -> tuple[int, int]:
    """Count the answers that say yes, and those that say no."""
    given = list(answers)
    return sum(given), len(given) - sum(given)


def first_part(table: Table, encoding: Encoding, delimiter: Delimiter | None, rows: int) -> str:
    """Return the beginning of a table with at least `rows` rows, each on one line, or all of it; a
    `delimiter` says that cells may hold line breaks. So what one row says never depends on how
    many others its letters or line breaks leave room for. Raise `DataError` if the rows are too
    long for that."""
    head = table.head
    while True:
        text = first_text(head, encoding, delimiter, table.name)
        if sum(map(bool, text.split("\n"))) > rows:
            return text
        longer = table.stream.head(2 * (head.count(b"\n") + head.count(b"\r")) + 2)
        if len(longer) == len(head):
            break
        head = longer
    if len(head) >= MOST_HEAD:
        raise DataError(
            f"{table.name} has rows of more than {MOST_HEAD // rows:,} letters: leave out columns that are "
            "not needed."
        )
    return text


def sample_rows(table: Table) -> list[list[str]]:
    """Return the cells of the first rows of a table with commas, at most SAMPLE_ROWS."""
    text = first_part(table, marked_coding(table.head) or "utf-8", None, SAMPLE_ROWS)
    rows = first_rows(text, ",", SAMPLE_ROWS + 1)
    # A full head may end inside its last row.
    cut = len(table.head) >= HEAD and len(rows) > 1
    return rows[: len(rows) - cut][:SAMPLE_ROWS]


@dataclass(frozen=True)
class Written:
    """The parts of a text format that a person states; None for a part to be detected."""

    header_row: int | None = None  # from 1, as in a spreadsheet
    encoding: Encoding | None = None
    delimiter: Delimiter | None = None
    quoting: Quoting | None = None


@dataclass(frozen=True)
class ReadingSpecification:
    """How the rows of one table are read, one by one: public choices, and parts detected in the
    first rows that no single row decides."""

    encoding: Encoding = "utf-8"
    delimiter: Delimiter = ","
    quoting: Quoting = "line"
    header_row: int = 1
    width: int = 0  # columns of a row; a further blank one is ignored
    decimal: tuple[tuple[str, Decimal], ...] = ()  # the decimal mark of each column of numbers
    # coordinate columns with their columns of letters N/S or E/W
    sides: tuple[tuple[str, str], ...] = ()
    day_first: bool | None = None  # how dates such as 3/4/2018 are read; None without such dates
    missing: tuple[str, ...] = ()  # further numbers for a missing value
    typed: bool = False  # a sheet or layer, which needs no delimiter and no encoding
    points: bool = False
    mixed: bool = False  # whether bytes outside UTF-8 occurred and were read as Windows-1252

    def line(self) -> str:
        """Return the specification in one sentence, for the report."""
        commas = [column for column, mark in self.decimal if mark == ","]
        if len(commas) in (0, len(self.decimal)):
            words = f"decimal {'comma' if commas else 'point'}"
        else:
            words = f"decimal comma in {' and '.join(map(repr, commas))} and decimal point elsewhere"
        if self.typed:
            source = "the points' own coordinates" if self.points else "a sheet's own numbers"
            return f"Read with {source}{f', {words} in texts' if commas else ''}."
        coding = "utf-8, other bytes as windows-1252" if self.mixed else self.encoding
        lines = ", line breaks within quotes" if self.quoting == "lines" else ""
        return f"Read with delimiter {DELIMITER_WORDS[self.delimiter]}, {words}, encoding {coding}{lines}."


@dataclass(frozen=True)
class Header:
    """The row that names the columns of a table."""

    names: tuple[str, ...]
    number: int  # of the row, from 1 as in a spreadsheet
    skip: int  # lines of text before the data, or before the row itself where `checked`
    first: int  # position of the first row of data among the rows
    checked: bool  # whether the row is read again with the data, to compare both readings
    notes: tuple[str, ...] = ()  # sentences about skipped rows
    units: bool = False  # whether the row below seems to hold units of measure, and so no record
    longer: bool = False  # whether most rows end in one more delimiter than the header


@dataclass(frozen=True)
class Found:
    """The format of a text, with its first rows."""

    specification: ReadingSpecification
    header: Header
    rows: Sequence[Line] = field(repr=False)  # up to SAMPLE_ROWS of data, and the rows above them


def find_specification(table: Table, said: Written = Written()) -> Found:
    """Detect the format of a table, except for the parts that a person states. Raise `DataError` if
    a single row decides a part, with the name of the option that states it."""
    limit = SAMPLE_ROWS + 2 + (said.header_row or 1)
    if table.typed:
        rows = first_lines(first_part(table, "utf-8", None, limit), ",", limit - 1)
        check_cells(table.name, rows)
        header = find_header(table.name, rows, 1 if table.points else said.header_row, even=True)
        return Found(_of(header, ReadingSpecification(typed=True, points=table.points)), header, rows)
    encoding = said.encoding or coding_of(table.head, table.name)
    quoting = said.quoting or "line"
    plain = decode(table.head, encoding)
    mark = said.delimiter or delimiter_named(plain)
    if quoting == "lines" and mark is None:
        raise DataError(
            f"{table.name} has line breaks within cells, so that a row ends where its quotes and delimiters "
            "say: state the delimiter with `delimiter` (--delimiter ';')."
        )
    text = first_part(table, encoding, mark if quoting == "lines" else None, limit)
    marks = (mark,) if mark else DELIMITERS
    split = {candidate: first_lines(text, candidate, limit) for candidate in marks}
    delimiter = mark or evenest(split)
    check_cells(table.name, split[delimiter])
    rows = split[delimiter][: limit - 1]
    further = len(table.head) >= HEAD or len(rows) >= limit - 2
    header = find_header(table.name, rows, said.header_row, further=further)
    _refuse_one_row(table.name, split, replace(said, delimiter=mark), delimiter, header)
    mixed = encoding == "utf-8" and "\ufffd" not in plain and not _is_utf8(table.head)
    specification = ReadingSpecification(encoding, delimiter, quoting, mixed=mixed)
    return Found(_of(header, specification), header, rows)


def _is_utf8(head: bytes) -> bool:
    try:
        head[: head.rfind(b"\n") + 1].decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _of(header: Header, specification: ReadingSpecification) -> ReadingSpecification:
    return ReadingSpecification(
        specification.encoding,
        specification.delimiter,
        specification.quoting,
        header.number,
        len(header.names),
        typed=specification.typed,
        points=specification.points,
        mixed=specification.mixed,
    )


def _refuse_one_row(
    name: str,
    split: Mapping[Delimiter, Sequence[Line]],
    layout: Written,
    delimiter: Delimiter,
    header: Header,
) -> None:
    """Raise `DataError` if the delimiter or the header depends on a single row below the header."""
    rows = split[delimiter]
    if not rows:
        return
    top = next((at for at, row in enumerate(rows) if row.number == header.number), 0)
    sought = layout.header_row is None and rows[_top(rows)].number == header.number
    likely, _ = _likely(rows[:_SEARCHED])
    if layout.header_row is None and top in likely[1:]:
        raise DataError(
            f"{name} has several rows that may name its columns, {rows[likely[0]].number:,} and "
            f"{header.number:,} among them: state the row with `header_row` (--header-row)."
        )
    forms: set[object] = set()
    for at in range(top + 1, min(len(rows), _SEARCHED + 1)):
        form = at if at < top + _ALONE else (at < 50, *(_width(split, candidate, at) for candidate in split))
        if form in forms:
            continue
        forms.add(form)
        less = {candidate: [*lines[:at], *lines[at + 1 :]] for candidate, lines in split.items()}
        if layout.delimiter is None and evenest(less) != delimiter:
            raise DataError(
                f"{name} leaves open what separates its columns, since one row alone decides it: state the "
                "delimiter with `delimiter` (--delimiter ';')."
            )
        if sought and less[delimiter][_top(less[delimiter])].number != header.number:
            raise DataError(
                f"{name} leaves open which row names its columns, since one row alone decides it: state the "
                "row with `header_row` (--header-row)."
            )


def _width(split: Mapping[Delimiter, Sequence[Line]], delimiter: Delimiter, at: int) -> int:
    lines = split[delimiter]
    return len(lines[at].cells) if at < len(lines) else 0


def find_header(
    where: str, rows: Sequence[Line], wanted: int | None = None, *, further: bool = False, even: bool = False
) -> Header:
    """Find the header of a table: row `wanted` if a person states it, otherwise the row before the
    first data with the most distinct names, since titles and comments have fewer. A table without
    rows has no names. `further` rows may follow; all have an `even` width in a sheet or layer.
    Raise `DataError` if row `wanted` does not exist, or if one row decides whether a blank name at
    the end is a column."""
    stated_rows = [at for at, row in enumerate(rows) if row.number == wanted]
    if wanted is not None and not stated_rows:
        raise DataError(f"{where} has nothing in row {wanted:,}: say which row names its columns.")
    if not rows:
        return Header((), 1, 0, 0, True)
    searched = rows[:_SEARCHED]
    width = usual_width([row.cells for row in searched if not _is_comment(row)])
    at = stated_rows[0] if stated_rows else _top(rows)
    names = list(rows[at].cells)
    checked = True
    if wanted is None and _numbers(names) >= 2 and at and _is_comment(rows[at - 1]):
        comment = rows[at - 1].cells  # "# lon,lat,value"
        comment = [comment[0].lstrip("# "), *comment[1:]] if comment[0].lstrip("# ") else comment[1:]
        if len(comment) == width and _numbers(comment) < 2:
            at, names, checked = at - 1, comment, False
    below = [row.cells for row in rows[at + 1 :]]
    if len(names) > 1 and names[-1] == "" and not even and not _is_column(where, len(names), below, further):
        names, checked = names[:-1], False  # a row with an entry there is left out
    longer = usual_width(below) == len(names) + 1
    checked = checked and not longer
    notes = [f"The names of the columns stand in row {rows[at].number:,}."] if at else []
    first = at + 1
    units = _holds_units(names, below)
    if units:
        notes.append(f"Row {rows[first].number:,} holds units of measure, and so no record.")
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


def _is_column(where: str, width: int, rows: Sequence[Sequence[str]], further: bool) -> bool:
    """Whether the blank name at the end of a header of `width` cells names a column, because more
    rows, by two at least, are read with that column only than without it only. Raise `DataError` if
    one row decides this, so that others are lost."""
    fits = [(_fits(row, width), _fits(row, width - 1)) for row in rows]
    with_it, without = fits.count((True, False)), fits.count((False, True))

    def kept(with_it: int, without: int) -> bool:
        return with_it > without + 1 or (without == 0 and not further)

    answer = kept(with_it, without)
    changes = [(0, 0), *([(1, 0)] if with_it else []), *([(0, 1)] if without else [])]
    for less in changes:
        for more in ((0, 0), (1, 0), (0, 1)) if further else ((0, 0),):
            left = with_it - less[0] + more[0], without - less[1] + more[1]
            if kept(*left) != answer and (further or any(left)):
                raise DataError(
                    f"{where} leaves open whether the blank name at the end of its header names a column, "
                    "since one row alone decides it: write a name there, or delete the last delimiter of "
                    "the header."
                )
    return answer


def _fits(row: Sequence[str], width: int) -> bool:
    return len(row) == width or (len(row) == width + 1 and row[-1] == "")


def _likely(rows: Sequence[Line]) -> tuple[list[int], int | None]:
    """Return the positions of possible headers before the first data, and the position of the first
    data."""
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
    """Return the position of the header among the rows before the first data, comments excluded."""
    searched = rows[:_SEARCHED]
    likely, data = _likely(searched)
    if data is not None:
        return max(likely, key=lambda position: _names(searched[position].cells)) if likely else data
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
    """Whether the row is the line "sep=;" that sets the delimiter for Excel."""
    return row.begin == 0 and row.cells[0].lower().startswith("sep=")


def _holds_units(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first row below the header has words in columns of numbers. For a person alone: the
    row is read as all others, and left out since it has no place and no number."""
    if len(below) < 2 or len(below[0]) < len(names) or not any(below[0]):
        return False
    data_rows = [row for row in below[1:] if len(row) >= len(names)]
    numeric = []
    for at in range(len(names)):
        entries = [row[at] for row in data_rows if row[at].lower() not in MISSING_WORDS]
        if entries and sum(map(looks_numeric, entries)) >= _NUMERIC * len(entries):
            numeric.append(below[0][at])
    words = [cell for cell in numeric if cell.lower() not in MISSING_WORDS]
    return len(numeric) >= 2 and len(words) >= 2 and not any(map(_is_number, numeric))


def _is_number(cell: str) -> bool:
    return looks_numeric(cell) or (cell[:1] in "<>" and cell != "")
