"""Loads tables of sensor readings: one place in a stated system and one measured value per row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_loaders.columns.coordinates import check_named, check_places, in_range, system_of
from data_loaders.columns.forms import in_words
from data_loaders.columns.guess import without_places
from data_loaders.columns.guess_names import owner_word_of
from data_loaders.columns.numbers import repeated, suspects
from data_loaders.columns.place_forms import Places
from data_loaders.columns.qualifiers import zeros_alone
from data_loaders.columns.sensortable import shape_of
from data_loaders.columns.times import MONTH, WEEK
from data_loaders.errors import DataError
from data_loaders.files.guarded import LIMITS, Limits
from data_loaders.files.layers import POINT_X, POINT_Y
from data_loaders.files.sources import Source, Table, open_tables, source_name
from data_loaders.files.spool import chosen as kept_rows
from data_loaders.files.spool import strides
from data_loaders.observations import LoadReport, Observations, OwnerWord, Tally, crs_name, tables_note
from data_loaders.repeats import Repeats, find_repeats, numbered_again, refuse_to_guess
from data_loaders.roles import ONE_EACH, Columns
from data_loaders.sensor_rows import Found, read_rows
from data_loaders.systems import in_degrees
from data_loaders.wanted import Wanted

_RULE_WORDS = {"limit": "as the limit", "half": "as half of it, or as a limit above", "drop": "for nothing"}


def load_sensors(
    source: Source,
    wanted: Wanted,
    unit: str,
    owner: str | None = None,
    word: OwnerWord | None = None,
    limits: Limits = LIMITS,
) -> tuple[Observations, LoadReport]:
    """Load one reading per row of a CSV table, a sheet, or a file of places that `files.drivers`
    lists. Without a `value`, count rows: every value is 1. Without `x` (easting or longitude) and
    `y`, take the points of the file, in the system that the file states, otherwise in `crs`. Rows
    with one `identifier` are one record and must be equal. `owner` is the column of sensors or
    persons; `word` states which of the two, by default the column's name decides. Without an owner
    every reading is a unit.

    Drop, and count by reason, every row that lacks two coordinates in range, a finite value or (if
    the settings name their columns) an owner and the noise of its place. Drop every row that
    repeats a record (`repeats.find_repeats`); rows without an identifier repeat one if they are
    equal, unless `wanted` declares each row a record. Raise `DataError` for unusable settings or
    tables, for degrees given as metres, metres given as degrees and columns swapped by name, and
    for rows that differ under one identifier."""
    is_count, value = wanted.value is None, ONE_EACH if wanted.value is None else wanted.value
    if is_count:
        unit, wanted = unit or "records", replace(wanted, missing=("none",))
    unit, name = unit.strip(), source_name(source)
    word = word or (None if owner is None else owner_word_of(owner))
    roles = _columns(value, unit, wanted, owner, word)
    wanted.check_table()
    tally, store = Tally(), Found(unmatched=set(roles.conditions))
    for table in open_tables(source, limits, layer=wanted.layer):
        _read(table, roles, wanted, tally, store)
    system = next(iter(store.systems))
    inside = _in_range(name, system, roles, tally, store)
    far = () if wanted.missing else _far_values(name, value, store.number(roles.value))
    columns: Any = kept_rows(_stored(name, roles, wanted, store), inside)
    columns, repeats = _once_each(name, columns, wanted, tally)
    if roles.owner is not None and not inside.all():
        columns["owner"] = numbered_again(columns["owner"])
    observations = Observations(
        **columns,
        crs=system,
        unit=unit,
        kind="reading",
        title="records" if is_count else f"{value} ({unit})",
        owner_word=roles.owner_word,
    )
    notes = [*_notes(store, observations, roles, wanted), *repeats.notes]
    notes += _notes_to_answer(value, far, store, wanted)
    return observations, tally.report(name, observations.size, tuple(notes))


def _once_each(name: str, columns: Any, wanted: Wanted, tally: Tally) -> tuple[Any, Repeats]:
    """Return the columns without rows that repeat a record; count those rows by reason."""
    repeats = _repeats(name, columns, wanted)
    for reason, count in repeats.reasons:
        tally.drop(reason, count)
    return kept_rows(columns, repeats.kept), repeats


def _read(table: Table, roles: Columns, wanted: Wanted, tally: Tally, store: Found) -> None:
    """Read the rows of one table into the store, in the table's system of coordinates."""
    if roles.x == POINT_X and not table.points and roles.place is None:
        raise without_places(table, wanted.written)
    system = system_of(table, roles.x, wanted.crs)
    if roles.place is not None or roles.zone is not None:
        shape = shape_of(table, wanted.written)
        place_reader = Places(table.name, shape, roles.place, roles.zone, (roles.x, roles.y))
        system = place_reader.crs or crs_name(wanted.crs)
    check_named(roles.x, roles.y, system)
    store.systems.add(system)
    store.tables.append(table.name)
    read_rows(table, replace(roles, degrees=in_degrees(system)), wanted, tally, store)


def _in_range(name: str, system: str, roles: Columns, tally: Tally, store: Found) -> NDArray[np.bool_]:
    """Whether the coordinates of each row are in the system's range. Raise `DataError` if none are."""
    places = store.number(roles.x), store.number(roles.y)
    check_places(name, system, (roles.x, roles.y), places)
    inside = in_range(system, *places)
    tally.drop("coordinates outside the range of longitude and latitude", int(np.count_nonzero(~inside)))
    if not inside.any():
        raise _nothing_left(name, roles.value, tally, store)
    return inside


def _far_values(name: str, value: str, numbers: NDArray[np.float64]) -> tuple[float, ...]:
    """Return numbers far from all others. Raise `DataError` where some must be codes of missing values."""
    if zeros_alone(numbers):
        raise DataError(
            f"{name} has many numbers in {value!r} that are 0, and hardly another comes near 0: they may "
            "stand for a missing value, such as a transfer without a price. State `missing` (--missing 0) "
            "where they do, or `none` (--missing none) where every 0 is a measurement."
        )
    far = suspects(numbers)
    if repeated(numbers, far):
        raise DataError(
            f"{name} has numbers in {value!r} far from all others, or alone below 0, that may stand for a "
            "missing value, such as -99 or 9999: state them with `missing` (--missing -99 9999), or `none` "
            "(--missing none) if every number is a measurement."
        )
    return far


def _stored(name: str, roles: Columns, wanted: Wanted, store: Found) -> dict[str, Any]:
    """Return the columns of all rows read, by their names in `Observations`; `stamp` with `time`."""
    columns: dict[str, Any] = {
        "x": store.number(roles.x),
        "y": store.number(roles.y),
        "value": store.number(roles.value),
        "row": store.rows.array("i8"),
    }
    if wanted.identifier is not None:
        columns["identifier"] = store.names.array("S1")
    if wanted.time is not None:
        columns["time"], columns["stamp"] = store.time(_month_first(name, wanted, store))
    if roles.owner is not None:
        columns["owner"] = store.owners.array("i8")
    if wanted.place_metres is not None:
        columns["place_sd"] = np.full(columns["x"].size, wanted.place_metres)
    elif roles.place_sd is not None:
        columns["place_sd"] = store.number(roles.place_sd)
    return columns


def _month_first(name: str, wanted: Wanted, store: Found) -> bool:
    """Whether dates have the month first. Raise `DataError` where they contradict the stated order, or
    too few rows tell."""
    time, day_first = wanted.time, wanted.day_first
    if day_first is not None:
        if store.order.contradicts(day_first):
            raise DataError(
                f"{name} has dates in {time!r} that have the {'month' if day_first else 'day'} first, since "
                "their other number is above 12: leave `day_first` (--day-first) out, or say the opposite."
            )
        return not day_first
    month_first = store.order.month_comes_first()
    if month_first is None:
        raise DataError(
            f"{name} has dates such as 3/4/2018 in {time!r} of which a single one, or few among many, "
            "would tell that the month stands first: say which stands first with `day_first` "
            "(--day-first or --no-day-first)."
        )
    return month_first


def _repeats(name: str, columns: dict[str, Any], wanted: Wanted) -> Repeats:
    """Return which rows repeat a record, and take the stamps of times out of the columns.

    Raise `DataError` where only a person can say whether equal rows are one record."""
    repeats = find_repeats(columns, wanted.equal_rows or "once")
    stamps = columns.pop("stamp", np.zeros(repeats.kept.size, np.uint64))[~repeats.kept]
    # Two rows with the same month as their time may still be two records.
    within = bool(np.any((stamps >= MONTH) & (stamps <= WEEK)))
    if wanted.equal_rows is None and (within or np.isin(columns["value"], (0, 1)).all()):
        refuse_to_guess(repeats, name)
    return repeats


def _notes_to_answer(value: str, far: tuple[float, ...], store: Found, wanted: Wanted) -> list[str]:
    """Return sentences on entries that are read in one of two ways, each with the setting that decides."""
    notes = []
    if far:
        notes.append(
            f"A number in column {value!r} lies far from all others. If it means no value, name it "
            "with `missing` (--missing)."
        )
    if store.order.slashed and wanted.day_first is None:
        remedy = "; if the month stands first, say so with `day_first` (--no-day-first)"
        notes.append(
            f"Dates such as 3/4/2018 in column {wanted.time!r} were read with the "
            f"{'month' if store.order.month_comes_first() else 'day'} first"
            f"{remedy if store.order.open else ''}."
        )
    return notes


def _columns(value: str, unit: str, request: Wanted, owner: str | None, word: OwnerWord | None) -> Columns:
    if (request.x is None) != (request.y is None):
        raise DataError("Name both coordinate columns, x and y, or neither for the points of the file.")
    conditions: dict[str, tuple[str, ...]] = {}
    for column, entry in request.where:
        conditions[column] = (*conditions.get(column, ()), entry.strip())
    if request.place_column is not None and (request.x is not None or request.zone_column is not None):
        raise DataError(
            "Name a column of whole places with `place_column` (--place-column), or columns of x and y."
        )
    if request.zone_column is not None and request.x is None:
        raise DataError("A column of UTM zones needs the columns of easting and northing, `x` and `y`.")
    places = request.x or POINT_X, request.y or POINT_Y
    unsure = request.place_sd if request.place_metres is None else None
    roles = Columns(value, *places, request.identifier, request.time, owner, word, unsure, conditions)
    roles = replace(roles, unit=unit, place=request.place_column, zone=request.zone_column)
    if roles.x != roles.y and len(set(roles.numeric)) < len(roles.numeric):
        raise DataError(
            "One column was named for two things: name different ones for the value, for each coordinate and "
            "for the noise of the place."
        )
    if not unit:
        raise DataError(
            "State the unit of the values, such as ug/m3 or mg/kg, with `value_unit` (--value-unit)."
        )
    return roles


def _nothing_left(name: str, value: str, tally: Tally, store: Found) -> DataError:
    if tally.rows_read == 0:
        return DataError(f"{name} holds no rows below its header: choose a file with measurements.")
    if store.unmatched:
        column = sorted(store.unmatched)[0]
        return DataError(f"No row of {name} has the value asked for in column {column!r}: check the filter.")
    number = "" if value == ONE_EACH else f" and a number in {value!r}"
    words = ""
    if tally.main_reason == "value is not a number" and store.forms:
        if any("9" in form for form in store.forms):
            words = (
                f", {in_words(store.forms)}; name letters that may stand behind a number with `behind` "
                "(--behind), and the currency or unit of the cells as the values' unit"
            )
        else:
            words = "; write answers as 1 for yes and 0 for no"
    return DataError(
        f"No row of {name} has two coordinates{number}; most were dropped as: {tally.main_reason}{words}."
    )


def _places(observations: Observations) -> int:
    """Return the number of distinct places."""
    distinct = np.empty(0, dtype=np.complex128)
    for rows in strides(observations.size):
        distinct = np.unique(np.concatenate([distinct, observations.x[rows] + 1j * observations.y[rows]]))
    return int(distinct.size)


def _notes(store: Found, observations: Observations, roles: Columns, request: Wanted) -> list[str]:
    notes = [*tables_note(store.tables), *store.written]
    if store.grouped:
        notes.append(f"{store.grouped:,} numbers were written with thousands separators.")
    if store.below or store.above:
        notes.append(
            f"{store.below:,} readings lie below a detection limit and {store.above:,} above a limit: they "
            f"count {_RULE_WORDS[request.censored]} (`censored`)."
        )
    if store.forms_of_times:
        count = sum(store.forms_of_times.values())
        notes.append(
            f"{count:,} {'time' if count == 1 else 'times'} could not be read, "
            f"{in_words(store.forms_of_times)}: write years with four digits, as in 2018-02-01. Each counts "
            "as it is written."
        )
    if store.forms:
        notes.append(
            f"Values that were not read: {in_words(store.forms)}. Letters behind a number that leave it as "
            "it is are named with `behind` (--behind); a sign or unit beside it, as the values' unit."
        )
    if store.wrapped:
        notes.append(f"{store.wrapped:,} longitudes from 180 to 360 were read as west of Greenwich.")
    if observations.owners is not None:
        notes.append(f"The readings belong to {observations.owners:,} {roles.owner_word}s.")
        if alike := store.numbered.alike:
            names = "1 name differs" if alike == 1 else f"{alike:,} names differ"
            notes.append(
                f"{names} from another in capitals, blanks or leading zeros only, and counts as another "
                f"{roles.owner_word}: write each name in one way if they are the same."
            )
    places = _places(observations)
    if places < observations.size:
        advice = (
            "; if the table mixes quantities or years, keep the rows of one" if not roles.conditions else ""
        )
        shared = observations.size - places
        share = "1 row shares its" if shared == 1 else f"{shared:,} rows share their"
        notes.append(f"{share} coordinates with another row{advice}.")
    return notes
