"""Counts what a workbook unfolds to: cells repeat one text, and one cell makes a sheet wide or deep."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from data_loaders.errors import DataError

MOST_PLACES = 20_000_000
"""Rows times columns of a sheet."""

_LETTERS = re.compile(r"[A-Za-z]{1,3}")


class Unfolded:
    """Texts and places of the parts of a workbook, added one by one; memory grows with its texts alone."""

    def __init__(self) -> None:
        self._lengths: list[int] = []  # of the shared texts, in characters
        self._cells: Counter[str] = Counter()  # how often each of them is meant
        self._inside = ""  # "text" or "number" while characters count
        self._said: list[str] = []
        self._rows = self._columns = self._column = 0

    def add(self, part: Any) -> None:
        """Read a part of XML to its end (what is none is left to the reader of workbooks); raise `DataError`
        for a sheet of more than `MOST_PLACES`."""
        self._rows = self._columns = self._column = 0
        self._shared = False
        self._texts: list[int] = []
        parser = ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
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
                self._column = _number(found.group())
            if self._column > self._columns:
                self._columns = self._column
                self._check_places()
        elif kind == "row":
            self._rows, self._column = self._rows + 1, 0
            self._check_places()
        elif kind == "si":
            self._inside, self._said = "text", []
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


def _number(letters: str) -> int:
    """The number of a column from 1: A, B, ..., Z, AA."""
    found = 0
    for letter in letters.upper():
        found = 26 * found + ord(letter) - 64
    return found
