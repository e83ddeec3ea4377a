"""Reads the rows of a sensor table block by block, and remembers what is kept of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.columns.coordinates import hemisphere_column, names_hemisphere, parse_degrees
from data_loaders.columns.forms import forms_of, letters_of, undressed
from data_loaders.columns.numbers import (
    USUAL,
    Decimal,
    Evidence,
    Numbers,
    missing_of,
    parse_censored,
    parse_numbers,
    told_alone,
)
from data_loaders.columns.place_forms import Places
from data_loaders.columns.qualifiers import NO_UNIT, Conversion, Qualifiers, units_beside
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
from data_loaders.files.blocks import Block, Column, mask, text
from data_loaders.files.layers import POINT_X, POINT_Y
from data_loaders.files.sources import Table
from data_loaders.observations import OwnerWord, Tally
from data_loaders.repeats import OwnerNumbers, as_bytes, record_names
from data_loaders.wanted import Wanted, ruled

_BETWEEN = "\x1f"  # the unit separator: no two owners of several columns become one by it
_COMMA_ALONE = r"^([+-]?[0-9]*),([0-9]+(?:[eE][+-]?[0-9]+)?)$"

ONE_EACH = "\0one each"
"""Stands for the column of values of a table whose rows are counted: each is 1."""


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
    degrees: bool = False
    unit: str = ""  # of the values, as stated
    place: str | None = None  # column of whole places
    zone: str | None = None

    @property
    def numeric(self) -> tuple[str, ...]:
        return self.value, self.x, self.y, *(() if self.place_sd is None else (self.place_sd,))

    @property
    def named(self) -> tuple[str, ...]:
        """Columns that are kept as text, but for those of the owner."""
        return tuple(name for name in (self.identifier, self.time) if name is not None)


@dataclass
class Found:
    """Columns kept so far, on disk where they are long, and how the tables were written. Dates such as
    3/4/2018 are kept as read with the day first and with the month first: which of the two is meant may show
    in a later row."""

    numbers: dict[str, Column] = field(default_factory=dict)
    names: Column = field(default_factory=Column)
    owners: Column = field(default_factory=Column)
    rows: Column = field(default_factory=Column)
    numbered: OwnerNumbers = field(default_factory=OwnerNumbers)
    times: tuple[Column, Column] = field(default_factory=lambda: (Column(), Column()))
    stamps: Column = field(default_factory=Column)
    forms: Counter[str] = field(default_factory=Counter)  # of values that are not read
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

    def number(self, name: str) -> NDArray[np.float64]:
        return self.numbers.get(name, Column()).array()

    def time(self, month_first: bool) -> tuple[NDArray[np.datetime64], NDArray[np.uint64]]:
        """(n,) when each row was measured, seconds, as its dates are meant, and what else tells it."""
        time = self.times[int(month_first)].array("M8[s]")
        return time, settled(self.stamps.array("u8"), time)

    def add_times(self, column: Any) -> None:
        read = read_times(column)
        self.forms_of_times.update(read.forms)
        self.times[0].add(read.as_day_first)
        self.times[1].add(read.as_month_first)
        self.stamps.add(read.stamp)
        self.order = self.order.with_(read.order)


def read_rows(table: Table, chosen: Columns, stated: Wanted, tally: Tally, found: Found) -> None:
    """Read the rows of one table, add to what was found, and tally every row. Raise `DataError` for a table
    that cannot be read, lacks a column, or leaves its decimal mark open."""
    shape = shape_of(table, stated.written)
    numeric = {
        column: shape.position(column, table.name)
        for column in dict.fromkeys(chosen.numeric)
        if column != ONE_EACH and not (chosen.place and column in (POINT_X, POINT_Y))
    }
    wanted = {f"n:{column}": at for column, at in numeric.items()}
    limits = (column for column in (stated.condition, stated.limit_column) if column)
    kept_as_text = (*chosen.conditions, *chosen.named, *limits)
    wanted |= {f"w:{column}": shape.position(column, table.name) for column in kept_as_text}
    parts = () if chosen.owner is None else shape.owner_parts(chosen.owner, table.name)
    wanted |= {f"o:{at}": at for at in parts}
    turned = None
    if chosen.place is not None or chosen.zone is not None:
        turned = Places(table.name, shape, chosen.place, chosen.zone, (chosen.x, chosen.y))
        wanted["p:place"] = turned.position
    sides = _hemispheres(table.name, shape, chosen, wanted, stated) if chosen.degrees else {}
    wanted |= {f"h:{column}": position for column, position in sides.items()}
    for column, position in sides.items():
        found.written[f"Column {shape.names[position]!r} says on which side {column!r} lies."] = None
    marks = marks_of(
        table, shape, numeric, (chosen.x, chosen.y), chosen.degrees, stated.decimal,
        lambda column, entries: _bare(entries, chosen, stated) if column == chosen.value else entries,
    )  # fmt: skip
    reading = _Reading(table, chosen, stated, marks)
    made = replace(
        shape.specification,
        decimal=tuple(marks.items()),
        sides=tuple((column, shape.names[position]) for column, position in sides.items()),
        missing=stated.missing,
    )
    found.specifications.append(made)
    found.written |= dict.fromkeys((made.line(), *table.notes, *shape.header.notes))
    reading.look_at_others(shape, wanted)
    wanted |= {f"q:{at}": at for at in reading.others.columns}
    for block in blocks_of(table, shape, wanted):
        _take(block if turned is None else turned.added(block), reading, tally, found)
    found.written |= {} if turned is None else {turned.note(): None}
    reading.check_marks()
    if reading.units is not None:
        reading.units.check()
    found.written |= dict.fromkeys(reading.notes())


_WRITTEN_OTHERWISE = (
    ("value has a percent sign: state % as its unit", r"[0-9] ?%$"),
    ("value is in brackets: write -12 or 12 for (12)", r"^\([^()]*[0-9][^()]*\)$"),
)
"""Numbers that one word about the table would make readable: why they are dropped, and how they look."""


class _Reading:
    """How the columns of one table are read, and what their entries say about that on the way."""

    def __init__(self, table: Table, chosen: Columns, stated: Wanted, marks: dict[str, Decimal]) -> None:
        ones: dict[str, Decimal] = {ONE_EACH: "."} if chosen.value == ONE_EACH else {}
        if chosen.place is not None or chosen.zone is not None:
            ones |= {chosen.x: ".", chosen.y: "."}
        self.table, self.chosen, self.stated, self.marks = table, chosen, stated, marks | ones
        self.missing = missing_of(stated.missing)
        self.evidence = {column: Evidence() for column in self.marks}
        self.units: Conversion | None = None
        self.limit_units: Conversion | None = None
        self.others = Qualifiers((), (), owner=True, identifier=True)

    def look_at_others(self, shape: Shape, wanted: dict[str, int]) -> None:
        """Find the columns that qualify the value, and add those of units to the `wanted` ones."""
        chosen, stated = self.chosen, self.stated
        if chosen.value != ONE_EACH and stated.unit_column != NO_UNIT:
            of_value, of_limit = units_beside(
                shape.called, shape.sample, chosen.value, chosen.unit, stated.limit_column, wanted.values(),
                None if (said := stated.unit_column) is None else shape.position(said, self.table.name),
            )  # fmt: skip
            if of_value is not None:
                wanted["u:value"] = of_value
                self.units = Conversion(shape.called[of_value], chosen.unit)
            if of_limit is not None:
                wanted["u:limit"] = of_limit
                self.limit_units = Conversion(shape.called[of_limit], chosen.unit)
        self.others = Qualifiers(
            shape.called,
            wanted.values(),
            owner=chosen.owner is not None,
            identifier=chosen.identifier is not None,
        )

    def notes(self) -> list[str]:
        """What was converted, and which columns qualify the value."""
        units = [] if self.units is None else self.units.notes()
        return [*units, *(one.sentence for one in self.others.findings())]

    def numbers(self, column: str, entries: Any) -> Numbers:
        typed = is_typed(self.table, column)
        entries = told_alone(entries) if typed else entries
        self.evidence[column].add(entries)
        mark = self.marks[column]
        missing = self.missing if column == self.chosen.value else USUAL
        if typed and mark == ",":  # numbers have points beside texts with commas
            entries = pc.replace_substring_regex(entries, _COMMA_ALONE, r"\1.\2")
            return parse_numbers(entries, ".", missing, grouping=False)
        grouping = self.stated.decimal is not None or not typed
        if self.chosen.degrees and column in (self.chosen.x, self.chosen.y):
            grouping = False
        return parse_numbers(entries, mark, missing, grouping=grouping)

    def check_marks(self) -> None:
        """Refuse marks that further rows than the sample leave open or contradict."""
        known = self.marks if self.stated.decimal else (self.chosen.x, self.chosen.y, ONE_EACH)
        wrong = [
            column
            for column, evidence in self.evidence.items()
            if column not in known and evidence.mark(is_typed(self.table, column)) != self.marks[column]
        ]
        if wrong:
            raise mark_wanted(self.table.name, wrong)
        value, typed = self.chosen.value, is_typed(self.table, self.chosen.value)
        if typed and self.stated.decimal == "," and self.evidence[value].may_group_by_point(typed):
            raise open_cells(self.table.name, value)


def _hemispheres(
    where: str, shape: Shape, chosen: Columns, wanted: Mapping[str, int], stated: Wanted
) -> dict[str, int]:
    """Positions of the columns of letters beside each coordinate, where there are any."""
    used = [at for key, at in wanted.items() if key.startswith("n:")]
    coordinates = ((chosen.x, False), (chosen.y, True))
    if stated.sides == ("none",):
        return {}
    if stated.sides:
        at = [shape.position(column, where) for column in stated.sides]
        named = {
            column: [one for one in at if names_hemisphere(shape.names[one], of_latitude=of_latitude)]
            for column, of_latitude in coordinates
        }
        if len(at) == 2:  # in the order of the coordinates
            return {chosen.x: at[0], chosen.y: at[1]}
        return {column: ones[0] for column, ones in named.items() if ones} or {chosen.x: at[0]}
    found = {
        column: hemisphere_column(where, shape, used, of_latitude=of_latitude)
        for column, of_latitude in coordinates
    }
    return {column: at for column, at in found.items() if at is not None}


def _bare(entries: Any, chosen: Columns, stated: Wanted) -> Any:
    """The entries of the value without what stands before and behind its numbers."""
    if chosen.value == ONE_EACH:
        return entries
    return undressed(entries, chosen.unit, letters_of(stated.behind, chosen.unit))


def _take(block: Block, reading: _Reading, tally: Tally, found: Found) -> None:
    chosen, stated = reading.chosen, reading.stated
    before = tally.rows_read
    tally.read(block.rows + block.malformed)
    tally.drop("wrong number of columns", block.malformed)
    alive = np.ones(block.rows, dtype=bool)
    for column, words in chosen.conditions.items():
        match = matches(text(block.columns[f"w:{column}"]), words)
        if match.any():
            found.unmatched.discard(column)
        alive = tally.drop_where(f"{column} is not {' or '.join(words)}", ~match, alive)
    rows = pa.array(np.flatnonzero(alive))
    ones = {ONE_EACH: pa.array(["1"] * len(rows), pa.string())} if chosen.value == ONE_EACH else {}
    entries = ones | {key: text(block.columns[f"n:{key}"].take(rows)) for key in chosen.numeric[len(ones) :]}
    entries[chosen.value] = _bare(entries[chosen.value], chosen, stated)
    read = [reading.numbers(column, entries[column]) for column in chosen.numeric]
    condition = None if stated.condition is None else text(block.columns[f"w:{stated.condition}"].take(rows))
    value = parse_censored(
        entries[chosen.value], read[0], reading.marks[chosen.value], reading.missing, condition
    )
    if reading.units is not None:
        value = replace(
            value, value=reading.units.converted(block.columns["u:value"].take(rows), value.value)
        )
    x, y = read[1:3]
    places = x.value, y.value
    alive = np.ones(len(rows), dtype=bool)
    alive = tally.drop_where("coordinate missing", x.missing | y.missing, alive)
    if chosen.degrees:
        places, unsided = _in_degrees(block, reading, entries, read, rows, found)
        alive = tally.drop_where("hemisphere letter missing or unknown", unsided, alive)
    alive = tally.drop_where("coordinate is not a number", np.isnan(places[0]) | np.isnan(places[1]), alive)
    if chosen.degrees:
        nowhere = (places[0] == 0.0) & (places[1] == 0.0)
        alive = tally.drop_where("place at 0, 0, which devices write without a fix", nowhere, alive)
    alive = tally.drop_where("value missing", value.missing, alive)
    beyond = value.below | value.above
    if stated.censored == "drop":
        alive = tally.drop_where("below or above a limit", beyond, alive)
    limits = None
    if stated.limit_column is not None:
        written = text(block.columns[f"w:{stated.limit_column}"].take(rows))
        limits = parse_numbers(written, reading.marks[chosen.value]).value
        converted = reading.limit_units or reading.units
        if converted is not None:
            key = "u:value" if reading.limit_units is None else "u:limit"
            factor, shift = converted.factors(text(block.columns[key].take(rows)))
            limits = limits * factor + shift
    measured = ruled(value, stated, alive, reading.table.name, chosen.value, limits)
    unread = np.isnan(measured)
    if unread.any():
        written = pc.utf8_trim_whitespace(entries[chosen.value])
        for reason, pattern in _WRITTEN_OTHERWISE:
            alive = tally.drop_where(reason, unread & mask(pc.match_substring_regex(written, pattern)), alive)
        left = np.flatnonzero(unread & alive)
        found.forms.update(forms_of(written.take(pa.array(left)).to_pylist()))
    alive = tally.drop_where("value is not a number", unread, alive)
    for spread in read[3:]:
        alive = tally.drop_where(
            "noise of the place is not a number of metres", ~(spread.value >= 0.0), alive
        )
    texts = {name: text(block.columns[f"w:{name}"].take(rows)) for name in chosen.named}
    if chosen.owner is not None:
        owners = _owners(block, rows)
        nobody = mask(pc.equal(owners, ""))
        alive = tally.drop_where(f"{chosen.owner_word} not named", nobody, alive)
    if reading.units is not None:
        units = block.columns["u:value"].take(rows)
        if np.isnan(reading.units.factors(units)[0][alive]).any():
            raise reading.units.refuse()
        reading.units.count(units, alive)
    kept = rows.filter(pa.array(alive))
    reading.others.add({at: text(block.columns[f"q:{at}"].take(kept)) for at in reading.others.columns})
    found.grouped += value.grouped + x.grouped + y.grouped
    found.below += int(np.count_nonzero(value.below & alive))
    found.above += int(np.count_nonzero(value.above & alive))
    numbers = [measured, *places, *(each.value for each in read[3:])]
    for column, given in zip(chosen.numeric, numbers, strict=True):
        found.numbers.setdefault(column, Column()).add(given[alive])
    found.rows.add(before + rows.to_numpy()[alive])
    texts = {name: column_text.filter(pa.array(alive)) for name, column_text in texts.items()}
    if chosen.identifier is not None:
        found.names.add(as_bytes(record_names(texts[chosen.identifier])))
    if chosen.time is not None:
        found.add_times(texts[chosen.time])
    if chosen.owner is not None:
        found.owners.add(found.numbered.of(owners.filter(pa.array(alive))))


def _owners(block: Block, rows: Any) -> Any:
    """Arrow array of the owners' names: those of several columns together, "" where one of them is blank."""
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
    block: Block, reading: _Reading, entries: Mapping[str, Any], read: list[Numbers], rows: Any, found: Found
) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], NDArray[np.bool_]]:
    """The degrees of both coordinates, and rows whose hemisphere is not known."""
    chosen, places = reading.chosen, []
    unsided = np.zeros(len(rows), dtype=bool)
    for column, numbers, of_latitude in ((chosen.x, read[1], False), (chosen.y, read[2], True)):
        key = f"h:{column}"
        letters = text(block.columns[key].take(rows)) if key in block.columns else None
        degrees, bad = parse_degrees(
            entries[column], numbers, column, of_latitude=of_latitude, letters=letters
        )
        places.append(degrees)
        unsided |= bad & ~numbers.missing
        if not of_latitude:
            with np.errstate(invalid="ignore"):
                found.wrapped += int(np.count_nonzero((numbers.value > 180.0) & (numbers.value <= 360.0)))
    return (places[0], places[1]), unsided
