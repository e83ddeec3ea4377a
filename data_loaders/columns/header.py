"""Finds the row that names the columns of a table: below titles and comments, above units of measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from data_loaders.columns.numbers import MISSING_WORDS, looks_numeric
from data_loaders.errors import DataError
from data_loaders.files.csvstream import Line, usual_width

_SEARCHED = 200  # rows in which the header is looked for
_NUMERIC = 0.8  # share of a column's entries that are numbers where the column is one of numbers


@dataclass(frozen=True)
class Header:
    """The row that names the columns of a table."""

    names: tuple[str, ...]
    number: int  # which row it is, counted from 1 without blank rows
    skip: int  # lines of text before the data, or before the row itself where `checked`
    first: int  # position of the first row of data among the rows
    checked: bool  # whether the row is read again with the data, to compare both readings
    said: tuple[str, ...] = ()  # sentences about what was passed over


def find_header(where: str, rows: Sequence[Line], wanted: int | None = None) -> Header:
    """Find the header of a table: row `wanted` where a person names it, else of the rows before the first
    data the one with the most different names, since titles and comments have fewer. A table without rows has
    no names. Raise `DataError` where the wanted row is not there."""
    if wanted is not None and wanted > len(rows):
        raise DataError(f"{where} has no row {wanted:,}: say which row names its columns.")
    if not rows:
        return Header((), 1, 0, 0, True)
    searched = rows[:_SEARCHED]
    width = usual_width([row.cells for row in searched if not _is_comment(row)])
    at = wanted - 1 if wanted is not None else _found(searched, width)
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
    said = [f"The names of the columns stand in row {at + 1:,}."] if at else []
    first = at + 1
    if _holds_units(names, below):
        said.append(f"Row {first + 1:,} holds units of measure and was passed over.")
        first, checked = first + 1, False
    skip = rows[at].begin if checked else rows[first - 1].end
    return Header(tuple(names), at + 1, skip if at or not checked else 0, first, checked, tuple(said))


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
