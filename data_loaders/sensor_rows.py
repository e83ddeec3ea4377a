"""Reads the rows of a sensor table block by block and stores the columns of those kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.coordinates import parse_coordinates, parse_degrees
from data_loaders.columns.forms import forms_of, letters_of, undressed
from data_loaders.columns.numbers import (
    USUAL,
    Censored,
    Decimal,
    Evidence,
    Numbers,
    missing_of,
    parse_censored,
    parse_numbers,
    told_alone,
    with_points,
)
from data_loaders.columns.place_forms import Places
from data_loaders.columns.qualifiers import Conversion, Qualifiers
from data_loaders.columns.sensortable import (
    Shape,
    blocks_of,
    is_typed,
    mark_wanted,
    marks_of,
    matches,
    open_cells,
    shape_of,
)
from data_loaders.columns.specification import ReadingSpecification
from data_loaders.columns.times import DateOrder, read_times, settled
from data_loaders.files.blocks import Block, mask, text
from data_loaders.files.sources import Table
from data_loaders.files.spool import Column
from data_loaders.observations import Tally
from data_loaders.repeats import OwnerNumbers, as_bytes, record_names
from data_loaders.roles import ONE_EACH, Columns, positions_of
from data_loaders.wanted import Wanted, ruled

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_BETWEEN = "\x1f"  # the unit separator, so that owners of several columns stay distinct when joined


@dataclass
class Found:
    """The columns stored so far, on disk if long, and the formats of the tables. Dates such as
    3/4/2018 are stored in both orders, because a later row may decide between them."""

    numbers: dict[str, Column] = field(default_factory=dict)
    names: Column = field(default_factory=Column)
    owners: Column = field(default_factory=Column)
    rows: Column = field(default_factory=Column)
    numbered: OwnerNumbers = field(default_factory=OwnerNumbers)
    times: tuple[Column, Column] = field(default_factory=lambda: (Column(), Column()))
    stamps: Column = field(default_factory=Column)
    forms: Counter[str] = field(default_factory=Counter)  # of unread values
    forms_of_times: Counter[str] = field(default_factory=Counter)
    order: DateOrder = field(default_factory=DateOrder)
    systems: set[str] = field(default_factory=set)
    grouped: int = 0
    below: int = 0
    above: int = 0
    wrapped: int = 0
    written: dict[str, None] = field(default_factory=dict)
    unmatched: set[str] = field(default_factory=set)
    tables: list[str] = field(default_factory=list)
    specifications: list[ReadingSpecification] = field(default_factory=list)

    def number(self, name: str) -> Floats:
        return self.numbers.get(name, Column()).array()

    def time(self, month_first: bool) -> tuple[NDArray[np.datetime64], NDArray[np.uint64]]:
        """Return (n,) times of the rows in seconds, in an order of dates, and their stamps."""
        time = self.times[int(month_first)].array("M8[s]")
        return time, settled(self.stamps.array("u8"), time)

    def add_times(self, column: Any) -> None:
        read = read_times(column)
        self.forms_of_times.update(read.forms)
        self.times[0].add(read.as_day_first)
        self.times[1].add(read.as_month_first)
        self.stamps.add(read.stamp)
        self.order = self.order.with_(read.order)


def read_rows(table: Table, roles: Columns, request: Wanted, tally: Tally, store: Found) -> None:
    """Read the rows of one table into `store` and tally every row. Raise `DataError` if the table
    is unreadable, lacks a column, or leaves its decimal mark open."""
    shape = shape_of(table, request.written)
    positions = positions_of(table, shape, roles, request)
    numeric = {role[2:]: at for role, at in positions.items() if role.startswith("n:")}
    sides = {role[2:]: at for role, at in positions.items() if role.startswith("h:")}
    places = None
    if roles.place is not None or roles.zone is not None:
        places = Places(table.name, shape, roles.place, roles.zone, (roles.x, roles.y))
    for column, position in sides.items():
        store.written[f"Column {shape.names[position]!r} says on which side {column!r} lies."] = None
    samples = {
        column: pc.utf8_trim_whitespace(pa.array(shape.column(position), pa.string()))
        for column, position in numeric.items()
    }
    if roles.value in samples:
        samples[roles.value] = _bare(samples[roles.value], roles, request)
    marks = marks_of(table, samples, (roles.x, roles.y), roles.degrees, request.decimal)
    reading = _Reading(table, roles, request, marks)
    specification = replace(
        shape.specification,
        decimal=tuple(marks.items()),
        sides=tuple((column, shape.names[position]) for column, position in sides.items()),
        missing=request.missing,
    )
    store.specifications.append(specification)
    store.written |= dict.fromkeys((specification.line(), *table.notes, *shape.header.notes))
    reading.look_at_others(shape, positions)
    positions |= {f"q:{at}": at for at in reading.others.columns}
    for block in blocks_of(table, shape, positions):
        _take(block if places is None else places.added(block), reading, tally, store)
    store.written |= {} if places is None else {places.note(): None}
    reading.check_marks()
    if reading.units is not None:
        reading.units.check()
    store.written |= dict.fromkeys(reading.notes())


_WRITTEN_OTHERWISE = (
    ("value has a percent sign: state % as its unit", r"[0-9] ?%$"),
    ("value is in brackets: write -12 or 12 for (12)", r"^\([^()]*[0-9][^()]*\)$"),
)
"""Numbers that a setting would make readable: the reason for dropping them, and their pattern."""


class _Reading:
    """How the columns of one table are read, with the evidence that its entries add on the way."""

    def __init__(self, table: Table, roles: Columns, request: Wanted, marks: dict[str, Decimal]) -> None:
        ones: dict[str, Decimal] = {ONE_EACH: "."} if roles.value == ONE_EACH else {}
        if roles.place is not None or roles.zone is not None:
            ones |= {roles.x: ".", roles.y: "."}
        self.table, self.chosen, self.stated, self.marks = table, roles, request, marks | ones
        self.missing = missing_of(request.missing)
        self.evidence = {column: Evidence() for column in self.marks}
        self.units: Conversion | None = None
        self.limit_units: Conversion | None = None
        self.others = Qualifiers((), (), owner=True, identifier=True)

    def look_at_others(self, shape: Shape, positions: Mapping[str, int]) -> None:
        """Find the columns that qualify the value, its units among them."""
        roles = self.chosen
        if (at := positions.get("u:value")) is not None:
            self.units = Conversion(shape.called[at], roles.unit)
        if (at := positions.get("u:limit")) is not None:
            self.limit_units = Conversion(shape.called[at], roles.unit)
        self.others = Qualifiers(
            shape.called,
            positions.values(),
            owner=roles.owner is not None,
            identifier=roles.identifier is not None,
        )

    def notes(self) -> list[str]:
        """Return sentences about converted units and columns that qualify the value."""
        units = [] if self.units is None else self.units.notes()
        return [*units, *(finding.sentence for finding in self.others.findings())]

    def numbers(self, column: str, entries: Any) -> Numbers:
        typed, mark = is_typed(self.table, column), self.marks[column]
        if column in (self.chosen.x, self.chosen.y):
            self.evidence[column].add(told_alone(entries) if typed else entries)
            return parse_coordinates(entries, mark, degrees=self.chosen.degrees)
        entries = told_alone(entries) if typed else entries
        self.evidence[column].add(entries)
        missing = self.missing if column == self.chosen.value else USUAL
        if typed and mark == ",":  # the column mixes numbers with points and texts with commas
            return parse_numbers(with_points(entries), ".", missing, grouping=False)
        return parse_numbers(entries, mark, missing, grouping=self.stated.decimal is not None or not typed)

    def check_marks(self) -> None:
        """Raise `DataError` if rows after the sample contradict a decimal mark or leave it open."""
        if self.stated.decimal is None:
            places = (self.chosen.x, self.chosen.y)
            given = (ONE_EACH, *(places if self.chosen.degrees or self.chosen.place else ()))
            wrong = [
                column
                for column, evidence in self.evidence.items()
                if column not in given and evidence.mark(is_typed(self.table, column)) != self.marks[column]
            ]
            if wrong:
                raise mark_wanted(self.table.name, wrong)
        value, typed = self.chosen.value, is_typed(self.table, self.chosen.value)
        if typed and self.stated.decimal == "," and self.evidence[value].may_group_by_point(typed):
            raise open_cells(self.table.name, value)


def _bare(entries: Any, roles: Columns, request: Wanted) -> Any:
    """Strip the entries of the value down to their numbers."""
    if roles.value == ONE_EACH:
        return entries
    return undressed(entries, roles.unit, letters_of(request.behind, roles.unit))


def _take(block: Block, reading: _Reading, tally: Tally, store: Found) -> None:
    """Read the rows of one block into the store, and count each row that is left out once."""
    roles, request = reading.chosen, reading.stated
    first_row = tally.rows_read
    rows = _asked_rows(block, roles, tally, store)
    ones = {ONE_EACH: pa.array(["1"] * len(rows), pa.string())} if roles.value == ONE_EACH else {}
    entries = ones | {key: text(block.columns[f"n:{key}"].take(rows)) for key in roles.numeric[len(ones) :]}
    entries[roles.value] = _bare(entries[roles.value], roles, request)
    read = [reading.numbers(column, entries[column]) for column in roles.numeric]
    value = _value(block, reading, entries[roles.value], read[0], rows)
    x, y = read[1:3]
    alive = tally.drop_where("coordinate missing", x.missing | y.missing, np.ones(len(rows), dtype=bool))
    places, unsided = (x.value, y.value), None
    if roles.degrees:
        places, unsided = _in_degrees(block, reading, entries, read, rows)
        store.wrapped += _wrapped(x)
    alive = _drop_unplaced(places, unsided, alive, tally)
    alive = tally.drop_where("value missing", value.missing, alive)
    if request.censored == "drop":
        alive = tally.filter_where("below or above a limit", value.below | value.above, alive)
    value = value.with_limits(_limits(block, reading, rows))
    measured = ruled(value, request, alive, reading.table.name, roles.value)
    alive = _drop_unread(entries[roles.value], np.isnan(measured), alive, tally, store)
    for spread in read[3:]:
        bad = ~(spread.value >= 0.0)
        alive = tally.drop_where("noise of the place is not a number of metres", bad, alive)
    if roles.owner is not None:
        owners = _owners(block, rows)
        no_owner = mask(pc.equal(owners, ""))
        alive = tally.drop_where(f"{roles.owner_word} not named", no_owner, alive)
        store.owners.add(store.numbered.of(owners.filter(pa.array(alive))))
    if reading.units is not None:
        units = block.columns["u:value"].take(rows)
        if np.isnan(reading.units.factors(units)[0][alive]).any():
            raise reading.units.refuse()
        reading.units.count(units, alive)
    kept = rows.filter(pa.array(alive))
    reading.others.add({at: text(block.columns[f"q:{at}"].take(kept)) for at in reading.others.columns})
    store.grouped += value.grouped + x.grouped + y.grouped
    store.below += int(np.count_nonzero(value.below & alive))
    store.above += int(np.count_nonzero(value.above & alive))
    numbers = [measured, *places, *(deviation.value for deviation in read[3:])]
    for column, column_values in zip(roles.numeric, numbers, strict=True):
        store.numbers.setdefault(column, Column()).add(column_values[alive])
    store.rows.add(first_row + kept.to_numpy())
    if roles.identifier is not None:
        store.names.add(as_bytes(record_names(text(block.columns[f"w:{roles.identifier}"].take(kept)))))
    if roles.time is not None:
        store.add_times(text(block.columns[f"w:{roles.time}"].take(kept)))


def _asked_rows(block: Block, roles: Columns, tally: Tally, store: Found) -> Any:
    """Return the positions of the rows that meet all conditions, as an Arrow array."""
    tally.read(block.rows + block.malformed)
    tally.drop("wrong number of columns", block.malformed)
    alive = np.ones(block.rows, dtype=bool)
    for column, words in roles.conditions.items():
        match = matches(text(block.columns[f"w:{column}"]), words)
        if match.any():
            store.unmatched.discard(column)
        alive = tally.filter_where(f"{column} is not {' or '.join(words)}", ~match, alive)
    return pa.array(np.flatnonzero(alive))


def _value(block: Block, reading: _Reading, entries: Any, numbers: Numbers, rows: Any) -> Censored:
    """Return the values in the asked unit, and which are below or above a limit."""
    roles, name = reading.chosen, reading.stated.condition
    condition = None if name is None else text(block.columns[f"w:{name}"].take(rows))
    value = parse_censored(entries, numbers, reading.marks[roles.value], reading.missing, condition)
    if reading.units is None:
        return value
    units = block.columns["u:value"].take(rows)
    return replace(value, value=reading.units.converted(units, value.value))


def _drop_unplaced(places: tuple[Floats, Floats], unsided: Bools | None, alive: Bools, tally: Tally) -> Bools:
    """Drop the rows without a place; `unsided` marks unknown hemispheres, None for other than degrees."""
    if unsided is not None:
        alive = tally.drop_where("hemisphere letter missing or unknown", unsided, alive)
    alive = tally.drop_where("coordinate is not a number", np.isnan(places[0]) | np.isnan(places[1]), alive)
    if unsided is not None:
        nowhere = (places[0] == 0.0) & (places[1] == 0.0)
        alive = tally.drop_where("place at 0, 0, which devices write without a fix", nowhere, alive)
    return alive


def _limits(block: Block, reading: _Reading, rows: Any) -> Floats | None:
    """Return the detection limits of the rows in the asked unit; None without such a column."""
    roles, request = reading.chosen, reading.stated
    if request.limit_column is None:
        return None
    entries = text(block.columns[f"w:{request.limit_column}"].take(rows))
    limits = parse_numbers(entries, reading.marks[roles.value]).value
    conversion = reading.limit_units or reading.units
    if conversion is None:
        return limits
    key = "u:value" if reading.limit_units is None else "u:limit"
    factor, shift = conversion.factors(text(block.columns[key].take(rows)))
    return limits * factor + shift


def _drop_unread(entries: Any, unread: Bools, alive: Bools, tally: Tally, store: Found) -> Bools:
    """Drop the rows whose value is no number, by the form in which it is written."""
    if unread.any():
        entries = pc.utf8_trim_whitespace(entries)
        for reason, pattern in _WRITTEN_OTHERWISE:
            match = mask(pc.match_substring_regex(entries, pattern))
            alive = tally.drop_where(reason, unread & match, alive)
        store.forms.update(forms_of(entries.take(pa.array(np.flatnonzero(unread & alive))).to_pylist()))
    return tally.drop_where("value is not a number", unread, alive)


def _owners(block: Block, rows: Any) -> Any:
    """Return the owners' names as an Arrow array: columns joined, "" if one of them is blank."""
    parts = [
        pc.utf8_trim_whitespace(text(column.take(rows)))
        for key, column in block.columns.items()
        if key.startswith("o:")
    ]
    if len(parts) == 1:
        return parts[0]
    blank = np.logical_or.reduce([mask(pc.equal(part, "")) for part in parts])
    return pc.if_else(pa.array(blank), "", pc.binary_join_element_wise(*parts, _BETWEEN))


def _in_degrees(
    block: Block, reading: _Reading, entries: Mapping[str, Any], read: list[Numbers], rows: Any
) -> tuple[tuple[Floats, Floats], Bools]:
    """Return the degrees of both coordinates, and a mask of rows with an unknown hemisphere."""
    roles, places = reading.chosen, []
    unsided = np.zeros(len(rows), dtype=bool)
    for column, numbers, of_latitude in ((roles.x, read[1], False), (roles.y, read[2], True)):
        key = f"h:{column}"
        letters = text(block.columns[key].take(rows)) if key in block.columns else None
        degrees, bad = parse_degrees(
            entries[column], numbers, column, of_latitude=of_latitude, letters=letters
        )
        places.append(degrees)
        unsided |= bad & ~numbers.missing
    return (places[0], places[1]), unsided


def _wrapped(longitude: Numbers) -> int:
    """How many longitudes are counted from 0 to 360 degrees, not from -180 to 180."""
    with np.errstate(invalid="ignore"):
        return int(np.count_nonzero((longitude.value > 180.0) & (longitude.value <= 360.0)))
