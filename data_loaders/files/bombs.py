"""Looks into workbooks and GeoPackages before GDAL does, and refuses those that unfold without end.

Cells of a workbook repeat one text, and one cell makes a sheet wide or deep; a GeoPackage must be made of
plain tables only.
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
_STEPS = 2_000_000  # instructions of SQLite's machine for all questions asked here; a plain file needs 1,000s
_STEPS_PER_BYTE = 2  # a row takes about 40 bytes and a dozen instructions
_FAR = 1000  # layers looked at


class Unfolded:
    """Texts and places of the parts of a workbook, added one by one; memory grows with its texts alone."""

    def __init__(self) -> None:
        self._lengths: list[int] = []  # of the shared texts, in characters
        self._cells: Counter[str] = Counter()  # how often each of them is meant
        self._inside = ""  # "text" or "number" while characters count
        self._said: list[str] = []
        self._rows = self._columns = self._column = 0

        self.titles: dict[str, str] = {}  # identifiers of sheets in the workbook, by their titles
        self.targets: dict[str, str] = {}  # parts of the workbook, by those identifiers
        self.merged: dict[str, list[str]] = {}  # merged cells such as "A2:A5", by part
        self.hidden: Counter[str] = Counter()  # hidden rows, by part

    def add(self, part: Any, called: str = "") -> None:
        """Read a part of XML to its end (what is none is left to the reader of workbooks); raise `DataError`
        for a sheet of more than `MOST_PLACES`, and for a document type, whose entities may unfold."""
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
        """Characters of all cells that mean a shared text."""
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
            if found := _LETTERS.match(attributes.get("r", "")):
                self._column = column_number(found.group())
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
    """Raise `DataError`: a handler for the document type of XML, whose entities may unfold without end."""
    raise DataError("A part of this file declares a document type (DOCTYPE): save the table as CSV.")


def column_number(letters: str) -> int:
    """The number of a column from 1: A, B, ..., Z, AA."""
    found = 0
    for letter in letters.upper():
        found = 26 * found + ord(letter) - 64
    return found


def layers_of(path: Path, name: str) -> tuple[str, ...]:
    """List the feature layers of a GeoPackage in order; the file is opened read-only. A view or a computed
    column runs whatever its author wrote when it is read, for as long as it likes, so a file in which GDAL
    would meet one is refused (`DataError`), as are damaged files and those that are no GeoPackage."""
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
    except (sqlite3.Error, ValueError, OverflowError, MemoryError):  # ValueError: text that is no UTF-8
        pass
    raise DataError(f"{name} is damaged or no GeoPackage: export the layer again.")


def check_amount(database: sqlite3.Connection, table: str, size: int) -> None:
    """Raise `sqlite3.DatabaseError` for a table that holds more than the `size` bytes of its file (pages that
    stand in it many times unfold without end) or is damaged. The connection's progress handler is set anew.
    """
    quoted = [
        '"{}"'.format(row[1].replace('"', '""'))
        for row in database.execute("SELECT 0, name FROM pragma_table_info(?)", (table,))
    ]
    database.set_progress_handler(lambda: 1, _STEPS + _STEPS_PER_BYTE * size)
    held = 0
    name = table.replace('"', '""')
    lengths = ", ".join(f"length(CAST({column} AS BLOB))" for column in quoted)
    for row in database.execute(f'SELECT {lengths} FROM "{name}"'):
        held += sum(each or 0 for each in row)
        if held > 2 * size + _STEPS:  # numbers are longer as text
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
