"""Inspects workbooks and GeoPackages before GDAL reads them, and refuses those that expand without
bound.

Many cells of a workbook may repeat one text, and a single cell may make a sheet wide or deep. A
GeoPackage must consist of plain tables only.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from data_loaders.errors import DataError

MOST_PLACES = 20_000_000
"""Rows times columns of a sheet."""

_LETTERS = re.compile(r"[A-Za-z]{1,3}")

_LINKS = "xl/_rels/workbook.xml.rels"

MAGIC = b"SQLite format 3\0"
# instructions of SQLite's machine for all queries here; a plain file needs thousands
_STEPS = 2_000_000
_STEPS_PER_BYTE = 2  # a row takes about 40 bytes and a dozen instructions
_FAR = 1000  # layers inspected


class Unfolded:
    """Counts of the texts and cells of a workbook, part by part; memory grows only with its
    texts."""

    def __init__(self) -> None:
        self._lengths: list[int] = []  # of the shared texts, in characters
        self._cells: Counter[str] = Counter()  # number of cells that refer to each of them
        self._inside = ""  # "text" or "number" while characters count
        self._said: list[str] = []
        self._rows = self._columns = self._column = 0

        self.titles: dict[str, str] = {}  # identifiers of sheets, by title
        self.targets: dict[str, str] = {}  # parts of the workbook, by identifier
        self.merged: dict[str, list[str]] = {}  # merged cells such as "A2:A5", by part
        self.hidden: Counter[str] = Counter()  # hidden rows, by part

    def add(self, part: Any, called: str = "") -> None:
        """Read a part of XML to its end, and leave malformed XML to the reader of workbooks. Raise
        `DataError` for a sheet of more than `MOST_PLACES`, and for a document type, whose entities
        may expand."""
        self._called = called
        self._rows = self._columns = self._column = 0
        self._shared = False
        self._texts: list[int] = []
        parser = ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = refuse_doctype
        self._inside = ""
        try:
            while content := part.read(1 << 20):
                parser.Parse(content)
        except (ExpatError, ValueError) as error:
            if isinstance(error, DataError):
                raise
        for at, length in enumerate(self._texts):
            if at == len(self._lengths):
                self._lengths.append(0)
            self._lengths[at] = max(self._lengths[at], length)

    def unfolded(self) -> int:
        """Return the number of characters of all cells that refer to a shared text."""
        return sum(
            self._lengths[int(at)] * count
            for at, count in self._cells.items()
            if at.isdecimal() and len(at) < 10 and int(at) < len(self._lengths)
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(" ")[2]
        if kind == "c":
            self._shared = attributes.get("t") == "s"
            self._column += 1
            if match := _LETTERS.match(attributes.get("r", "")):
                self._column = column_number(match.group())
            if self._column > self._columns:
                self._columns = self._column
                self._check_places()
        elif kind == "row":
            self._rows, self._column = self._rows + 1, 0
            self._check_places()
            self.hidden[self._called] += attributes.get("hidden") in ("1", "true")
        elif kind == "si":
            self._inside, self._said = "text", []
        elif kind == "mergeCell":
            self.merged.setdefault(self._called, []).append(attributes.get("ref", ""))
        elif kind == "sheet":
            identifier = next((word for key, word in attributes.items() if key.endswith(" id")), "")
            self.titles[attributes.get("name", "")] = identifier
        elif kind == "Relationship" and self._called == _LINKS:
            self.targets[attributes.get("Id", "")] = attributes.get("Target", "")
        elif kind == "v" and self._shared:
            self._inside, self._said = "number", []

    def _check_places(self) -> None:
        if self._rows * self._columns > MOST_PLACES:
            raise DataError("This workbook has a sheet of too many rows and columns: save it as CSV.")

    def _characters(self, text: str) -> None:
        if self._inside:
            self._said.append(text)

    def _end(self, name: str) -> None:
        kind = name.rpartition(" ")[2]
        if kind == "si" and self._inside == "text":
            self._texts.append(sum(map(len, self._said)))
            self._inside = ""
        elif kind == "v" and self._inside == "number":
            self._cells["".join(self._said).strip()[:12]] += 1
            self._inside = ""


def refuse_doctype(*_: object) -> None:
    """Raise `DataError`: a handler for the document type of XML, whose entities may expand without
    bound."""
    raise DataError("A part of this file declares a document type (DOCTYPE): save the table as CSV.")


def column_number(letters: str) -> int:
    """Return the number of a column from 1: A, B, ..., Z, AA."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - 64
    return number


def layers_of(path: Path, name: str) -> tuple[str, ...]:
    """List the feature layers of a GeoPackage in order, opening the file read-only. Reading a view
    or a computed column runs its author's SQL for an unbounded time, so raise `DataError` for a
    file in which GDAL would read one, for a damaged file, and for a file that is not a
    GeoPackage."""
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        ) as database:
            database.execute("PRAGMA trusted_schema=OFF")
            database.set_progress_handler(lambda: 1, _STEPS)
            layers = _layers(database, name)
            for layer in layers:
                check_amount(database, layer, path.stat().st_size)
            return layers
    except DataError:
        raise
    # ValueError: text that is no UTF-8
    except (sqlite3.Error, ValueError, OverflowError, MemoryError):
        pass
    raise DataError(f"{name} is damaged or no GeoPackage: export the layer again.")


def check_amount(database: sqlite3.Connection, table: str, size: int) -> None:
    """Raise `sqlite3.DatabaseError` for a damaged table, and for one with more bytes than the
    `size` of its file, since repeated pages expand without bound. Replace the connection's progress
    handler.
    """
    quoted = [
        '"{}"'.format(row[1].replace('"', '""'))
        for row in database.execute("SELECT 0, name FROM pragma_table_info(?)", (table,))
    ]
    database.set_progress_handler(lambda: 1, _STEPS + _STEPS_PER_BYTE * size)
    total = 0
    name = table.replace('"', '""')
    lengths = ", ".join(f"length(CAST({column} AS BLOB))" for column in quoted)
    for row in database.execute(f'SELECT {lengths} FROM "{name}"'):
        total += sum(length or 0 for length in row)
        if total > 2 * size + _STEPS:  # numbers are longer as text
            raise sqlite3.DatabaseError("a table larger than its file")


def _layers(database: sqlite3.Connection, name: str) -> tuple[str, ...]:
    kinds = {
        str(table).lower(): str(kind)
        for kind, table in database.execute(
            "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view')"
        )
    }
    if "gpkg_contents" not in kinds:
        raise DataError(f"{name} is a database but no GeoPackage: export the table as CSV or GeoPackage.")
    for table, kind in kinds.items():
        if table.startswith("gpkg_"):
            _check_plain(database, name, table, kind)
    rows = database.execute(
        f"SELECT table_name FROM gpkg_contents WHERE data_type = 'features' ORDER BY table_name LIMIT {_FAR}"
    )
    layers = tuple(str(row[0]) for row in rows)
    for layer in layers:
        _check_plain(database, name, layer, kinds.get(layer.lower(), "missing"))
    return layers


def _check_plain(database: sqlite3.Connection, name: str, table: str, kind: str) -> None:
    columns = database.execute("SELECT hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
    if kind != "table" or any(hidden for (hidden,) in columns):
        raise DataError(
            f"{name} has a layer that is a view or holds computed columns: export it as a plain table, for "
            "example with QGIS (Export, Save features as)."
        )
