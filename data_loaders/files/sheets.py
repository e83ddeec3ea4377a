"""Inspects the sheets of a workbook: bounds on their unpacked size, merged cells, and hidden
rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

import numpy as np
import pyarrow as pa

from data_loaders.errors import DataError
from data_loaders.files.bombs import MOST_PLACES, Unfolded, column_number, refuse_doctype
from data_loaders.files.drivers import DRIVERS, Format
from data_loaders.files.guarded import DAMAGE, GuardedStream, Limits, Meter, damage_sentence, open_zip

_RANGE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7}):([A-Za-z]{1,3})([0-9]{1,7})")
_FEW = 3  # merged headers named in a sentence


@dataclass(frozen=True)
class Sheet:
    """The layout of a sheet that its cells do not show."""

    # first row and column, last row and column, from 0
    merged: tuple[tuple[int, int, int, int], ...] = ()
    hidden: int = 0  # rows


def check_workbook(kind: Format, name: str, handle: Any, limits: Limits) -> Mapping[str, Sheet]:
    """Return the sheets of a workbook by title. Unpack all parts and count their bytes, since the
    directory of a workbook may state false sizes. Raise `DataError` if it is damaged or exceeds the
    limits."""
    limit = min(limits.max_bytes, DRIVERS[kind].most_bytes)
    meter = Meter(Limits(limit, limits.max_ratio, limits.free_bytes))
    failure: DataError | None = None
    unfolded, open_document = Unfolded(), OpenDocument()
    try:
        with open_zip(name, handle, limits) as archive:
            members = archive.infolist()
            if len(members) > limits.max_members:
                raise DataError(f"{name} holds too many parts for a workbook: save the sheet as CSV.")
            for member in members:
                with archive.open(member) as part:
                    stream = GuardedStream(name, part, meter, lambda size=member.compress_size: size)  # type: ignore[misc]
                    part_name = member.filename.lower()
                    if kind == "ODS" and part_name == "content.xml":
                        open_document.add(stream)
                    elif kind == "XLSX" and part_name.endswith((".xml", ".rels")):
                        unfolded.add(stream, member.filename)
                    while stream.read(1 << 20):
                        pass
        letters = unfolded.unfolded() + open_document.letters
        size = handle.seek(0, 2)
        meter.add(name, letters, letters, int(size))
    except DataError:
        raise
    except DAMAGE as error:
        failure = damage_sentence(name, error)
    if failure is not None:
        raise failure
    return open_document.sheets if kind == "ODS" else _sheets(unfolded)


def _sheets(unfolded: Unfolded) -> dict[str, Sheet]:
    sheets: dict[str, Sheet] = {}
    for title, identifier in unfolded.titles.items():
        target = unfolded.targets.get(identifier, "")
        part = target.lstrip("/") if target.startswith("/") else str(PurePosixPath("xl") / target)
        ranges = (_RANGE.fullmatch(match.strip()) for match in unfolded.merged.get(part, ()))
        merged = tuple(
            (int(match[2]) - 1, column_number(match[1]) - 1, int(match[4]) - 1, column_number(match[3]) - 1)
            for match in ranges
            if match is not None
        )
        sheets[title] = Sheet(merged, unfolded.hidden[part])
    return sheets


class OpenDocument:
    """Sheets of an OpenDocument spreadsheet, whose cells and rows state their number of
    repetitions."""

    def __init__(self) -> None:
        self.sheets: dict[str, Sheet] = {}
        self.letters = 0  # of all cells, with their repetitions
        self._merged: list[tuple[int, int, int, int]] = []
        self._title, self._hidden, self._row, self._column = "", 0, 0, 0
        self._rows_alike = self._cells_alike = 1
        self._said = 0
        self._of_row = 0  # letters of one row
        self._filled = False

    def add(self, part: Any) -> None:
        """Read content.xml to its end; raise `DataError` for a sheet of more than `MOST_PLACES`."""
        parser = ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = refuse_doctype
        try:
            while content := part.read(1 << 20):
                parser.Parse(content)
        except (ExpatError, ValueError) as error:
            if isinstance(error, DataError):
                raise

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(" ")[2]
        values = {key.rpartition(" ")[2]: word for key, word in attributes.items()}
        if kind == "table":
            self._title, self._merged, self._hidden, self._row = values.get("name", ""), [], 0, 0
        elif kind == "table-row":
            self._rows_alike, self._column = _count(values.get("number-rows-repeated")), 0
            self._of_row, self._filled = 0, False
            if values.get("visibility") in ("collapse", "filter"):
                self._hidden += self._rows_alike
        elif kind in ("table-cell", "covered-table-cell"):
            self._cells_alike, self._said = _count(values.get("number-columns-repeated")), 0
            rows, columns = (_count(values.get(f"number-{axis}-spanned")) for axis in ("rows", "columns"))
            if rows > 1 or columns > 1:
                last = self._row + rows - 1, self._column + columns - 1
                self._merged.append((self._row, self._column, *last))
            self._filled |= "value" in values or "date-value" in values

    def _characters(self, text: str) -> None:
        self._said += len(text)

    def _end(self, name: str) -> None:
        kind = name.rpartition(" ")[2]
        if kind in ("table-cell", "covered-table-cell"):
            self._column += self._cells_alike
            self._of_row += self._said * self._cells_alike
        elif kind == "table-row":
            self._filled |= self._of_row > 0
            self.letters += self._of_row * self._rows_alike
            self._row += self._rows_alike
            if self._filled and (self._row * self._column > MOST_PLACES or self.letters > 1 << 31):
                raise DataError("This workbook has a sheet of too many rows and columns: save it as CSV.")
        elif kind == "table":
            self.sheets[self._title] = Sheet(tuple(self._merged), self._hidden)


def _count(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 8 else 1


def as_shown(
    table: pa.Table, sheet: Sheet | None
) -> tuple[pa.Table, tuple[str, ...], tuple[tuple[int, int, int], ...]]:
    """Fill the merged cells of a sheet of text downwards. Return sentences about filled cells,
    hidden rows and headers over several columns, and the first row, last row and column of cells
    merged over several rows."""
    if sheet is None:
        return table, (), ()
    notes: list[str] = []
    tall = [cells for cells in sheet.merged if cells[2] > cells[0] and cells[1] < table.num_columns]
    columns: dict[int, Any] = {}
    filled = 0
    for first, at, last, _ in tall:
        if at not in columns:
            columns[at] = np.asarray(table.column(at).to_pandas(), dtype=object)
        entries = columns[at][first : last + 1]
        if entries.size:
            filled += entries.size - 1
            entries[:] = entries[0]
    for at, entries in columns.items():
        table = table.set_column(at, table.column_names[at], pa.array(entries, pa.string(), from_pandas=True))
    if filled:
        notes.append(f"{filled:,} merged cells were filled with the entry that stands in the first of them.")
    if wide := sorted(cells for cells in sheet.merged if cells[3] > cells[1] and cells[0] < table.num_rows):
        ranges = ", ".join(f"{_letters(a)}{r + 1}:{_letters(b)}{s + 1}" for r, a, s, b in wide[:_FEW])
        remainder = f" and {len(wide) - _FEW:,} more" if len(wide) > _FEW else ""
        notes.append(
            f"Cells merged over several columns ({ranges}{remainder}) count for the first of these alone."
        )
    if sheet.hidden:
        rows = "1 row is" if sheet.hidden == 1 else f"{sheet.hidden:,} rows are"
        notes.append(
            f"{rows} hidden in the sheet and read as all others: delete them in the file if not meant."
        )
    return table, tuple(notes), tuple((first, last, at) for first, at, last, _ in tall)


def _letters(at: int) -> str:
    """Return the name of a column from 0: A, B, ..., Z, AA."""
    letters, at = "", at + 1
    while at:
        at, digit = divmod(at - 1, 26)
        letters = chr(65 + digit) + letters
    return letters
