"""Reads the rows of a sensor table block by block, and remembers what is kept of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.identifiers import OwnerNumbers, as_bytes, record_names
from data_loaders.columns.numbers import Decimal, Numbers, parse_numbers
from data_loaders.columns.sensortable import Shape, decimal_mark, shape_of
from data_loaders.columns.times import DateOrder, read_times
from data_loaders.errors import DataError
from data_loaders.files.csvstream import DELIMITERS, Block, Delimiter, blocks, mask, text
from data_loaders.files.sources import Table
from data_loaders.files.spool import Column
from data_loaders.observations import OwnerWord
from data_loaders.report import Tally

_DELIMITER_WORDS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


@dataclass(frozen=True)
class Stated:
    """What a person says of how a table is written; None where it is to be found out.

    Parameters
    ----------
    decimal : {".", ","} or None
    delimiter : {",", ";", tab, "|"} or None
    header_row : int or None
        Which row names the columns, counted from 1 without blank rows.
    """

    decimal: Decimal | None = None
    delimiter: Delimiter | None = None
    header_row: int | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise DataError("The decimal mark is '.' or ','.")
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            raise DataError("The delimiter is a comma, a semicolon, a tab or a bar.")
        if self.header_row is not None and self.header_row < 1:
            raise DataError("Rows are counted from 1: state the one that names the columns.")


@dataclass(frozen=True)
class Columns:
    """Which column serves for what; None where none does."""

    value: str
    x: str
    y: str
    identifier: str | None
    time: str | None
    owner: str | None
    owner_word: OwnerWord | None
    place_sd: str | None
    conditions: Mapping[str, tuple[str, ...]]

    @property
    def numeric(self) -> tuple[str, ...]:
        return self.value, self.x, self.y, *(() if self.place_sd is None else (self.place_sd,))

    @property
    def named(self) -> tuple[str, ...]:
        """Columns that are kept as text."""
        return tuple(name for name in (self.identifier, self.time, self.owner) if name is not None)


@dataclass
class Found:
    """Columns kept so far, on disk where they are long, and how the tables were written.

    Dates such as 3/4/2018 are kept as read with the day first and with the month first: which of the two is
    meant may show in a later row.
    """

    numbers: dict[str, Column] = field(default_factory=dict)
    names: Column = field(default_factory=Column)
    owners: Column = field(default_factory=Column)
    rows: Column = field(default_factory=Column)
    numbered: OwnerNumbers = field(default_factory=OwnerNumbers)
    times: tuple[Column, Column] = field(default_factory=lambda: (Column(), Column()))
    order: DateOrder = field(default_factory=DateOrder)
    systems: set[str] = field(default_factory=set)
    grouped: int = 0
    written: dict[str, None] = field(default_factory=dict)
    unmatched: set[str] = field(default_factory=set)
    tables: list[str] = field(default_factory=list)

    def number(self, name: str) -> NDArray[np.float64]:
        return self.numbers.get(name, Column()).array()

    def time(self) -> NDArray[np.datetime64]:
        """(n,) when each row was measured, seconds, as its dates are meant."""
        return self.times[int(self.order.month_comes_first())].array("M8[s]")

    def add_times(self, column: Any) -> None:
        read = read_times(column)
        self.times[0].add(read.as_day_first)
        self.times[1].add(read.as_month_first)
        self.order = self.order.with_(read.order)


def read_rows(table: Table, chosen: Columns, stated: Stated, tally: Tally, found: Found) -> None:
    """Read the rows of one table and add to what was found.

    Parameters
    ----------
    table : Table
    chosen : Columns
    stated : Stated
    tally : Tally
        Counts every row and why it is dropped.
    found : Found

    Raises
    ------
    DataError
        For a table that cannot be read, lacks a column, or leaves its decimal mark open.
    """
    shape = shape_of(table, stated.delimiter, stated.header_row)
    numeric = {column: shape.position(column, table.name) for column in dict.fromkeys(chosen.numeric)}
    wanted = {f"n:{column}": at for column, at in numeric.items()}
    kept_as_text = (*chosen.conditions, *chosen.named)
    wanted |= {f"w:{column}": shape.position(column, table.name) for column in kept_as_text}
    mark: Decimal = "."
    if not table.typed:
        mark = stated.decimal or decimal_mark(shape, numeric, table.name)
    elif stated.decimal == ",":
        raise DataError(f"{table.name} holds numbers as numbers: leave the decimal mark out.")
    found.written[f"Read with {_written(table, shape, mark)}."] = None
    header = shape.names if shape.header.checked else None
    found.written.update(dict.fromkeys(shape.header.said))
    for block in blocks(
        table, len(shape.names), wanted, header=header, delimiter=shape.delimiter, skip=shape.header.skip
    ):
        _take(block, chosen, mark, not table.typed, tally, found)


def _written(table: Table, shape: Shape, mark: Decimal) -> str:
    if table.typed:
        return "the points' own coordinates" if table.points else "a sheet's own numbers"
    return (
        f"delimiter {_DELIMITER_WORDS[shape.delimiter]}, decimal {'point' if mark == '.' else 'comma'}, "
        f"encoding {shape.encoding}"
    )


def _take(block: Block, chosen: Columns, mark: Decimal, grouping: bool, tally: Tally, found: Found) -> None:
    before = tally.rows_read
    tally.read(block.rows + block.malformed)
    tally.drop("wrong number of columns", block.malformed)
    alive = np.ones(block.rows, dtype=bool)
    for column, words in chosen.conditions.items():
        match = _matches(text(block.columns[f"w:{column}"]), words)
        if match.any():
            found.unmatched.discard(column)
        alive = tally.drop_where(f"{column} is not {' or '.join(words)}", ~match, alive)
    rows = pa.array(np.flatnonzero(alive))
    read = [
        parse_numbers(text(block.columns[f"n:{column}"].take(rows)), mark, grouping=grouping)
        for column in chosen.numeric
    ]
    value, x, y = read[:3]
    alive = np.ones(len(rows), dtype=bool)
    alive = tally.drop_where("coordinate missing", x.missing | y.missing, alive)
    alive = tally.drop_where("coordinate is not a number", _unreadable(x) | _unreadable(y), alive)
    alive = tally.drop_where("value missing", value.missing, alive)
    alive = tally.drop_where("value is not a number", _unreadable(value), alive)
    for spread in read[3:]:
        alive = tally.drop_where(
            "noise of the place is not a number of metres", ~(spread.value >= 0.0), alive
        )
    texts = {name: text(block.columns[f"w:{name}"].take(rows)) for name in chosen.named}
    if chosen.owner is not None:
        nobody = mask(pc.equal(texts[chosen.owner], ""))
        alive = tally.drop_where(f"{chosen.owner_word} not named", nobody, alive)
    found.grouped += value.grouped + x.grouped + y.grouped
    for column, numbers in zip(chosen.numeric, read, strict=True):
        found.numbers.setdefault(column, Column()).add(numbers.value[alive])
    found.rows.add(before + rows.to_numpy()[alive])
    texts = {name: column_text.filter(pa.array(alive)) for name, column_text in texts.items()}
    if chosen.identifier is not None:
        found.names.add(as_bytes(record_names(texts[chosen.identifier])))
    if chosen.time is not None:
        found.add_times(texts[chosen.time])
    if chosen.owner is not None:
        found.owners.add(found.numbered.of(texts[chosen.owner]))


def _unreadable(numbers: Numbers) -> NDArray[np.bool_]:
    return np.isnan(numbers.value)


def _matches(column: Any, words: tuple[str, ...]) -> NDArray[np.bool_]:
    """Rows whose entry equals one of `words` as text, or as a number ("2023" and "2023.0" agree)."""
    same = mask(pc.is_in(column, value_set=pa.array(words, pa.string())))
    wanted = parse_numbers(pa.array(words, pa.string()), missing=()).value
    wanted = wanted[np.isfinite(wanted)]
    if wanted.size:
        same |= np.isin(parse_numbers(column, missing=()).value, wanted)
    return same
