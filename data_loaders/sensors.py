"""Loads sensor tables: CSV rows with two coordinates in a stated system and one measured value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from data_loaders.csvstream import DELIMITERS, Block, blocks, mask, text
from data_loaders.errors import DataError
from data_loaders.guarded import LIMITS, Limits
from data_loaders.numbers import Numbers, parse_numbers
from data_loaders.observations import DEGREES, Observations, crs_name
from data_loaders.report import LoadReport, Tally
from data_loaders.sensortable import decimal_mark, shape_of
from data_loaders.sources import Source, Table, open_tables, source_name

Wanted: TypeAlias = "str | int | float | Iterable[str | int | float]"
LATITUDE = ("lat", "latitude", "y_lat", "lat_wgs84", "latitude_wgs84")
LONGITUDE = ("lon", "long", "lng", "longitude", "x_long", "lon_wgs84", "longitude_wgs84")


@dataclass
class _Found:
    """Columns kept so far, and how the tables were written."""

    x: list[NDArray[np.float64]] = field(default_factory=list)
    y: list[NDArray[np.float64]] = field(default_factory=list)
    value: list[NDArray[np.float64]] = field(default_factory=list)
    grouped: int = 0
    written: set[str] = field(default_factory=set)
    unmatched: set[str] = field(default_factory=set)


def load_sensors(
    source: Source,
    *,
    value: str,
    x: str,
    y: str,
    unit: str,
    crs: str | int = "EPSG:4326",
    kind_title: str = "",
    where: Mapping[str, Wanted] | None = None,
    decimal: str | None = None,
    delimiter: str | None = None,
    attribution: Iterable[str] = (),
    limits: Limits = LIMITS,
) -> tuple[Observations, LoadReport]:
    """Load one sensor reading per row.

    value, x, y  column names; x is easting or longitude, y northing or latitude
    unit         unit of the value column, e.g. "ug/m3"
    crs          coordinate system of x and y, as an EPSG code
    where        column -> value or values; rows with another entry are dropped (species, year)
    decimal      "." or ","; sniffed where None, and asked for where the table leaves it open
    delimiter    ",", ";", tab or "|"; sniffed where None

    Every row without two coordinates in range and a finite value is dropped and counted by reason. Degrees
    offered as metres, metres as degrees, and columns that are swapped by name raise DataError.
    """
    system = crs_name(crs)
    _check_settings(x, y, unit, system, decimal, delimiter)
    name = source_name(source)
    tally, found = Tally(), _Found()
    conditions = {column: _words(column, wanted) for column, wanted in (where or {}).items()}
    found.unmatched = set(conditions)
    for table in open_tables(source, limits):
        _read(table, (value, x, y), conditions, decimal, delimiter, tally, found)
    columns = [np.concatenate(part) if part else np.empty(0) for part in (found.x, found.y, found.value)]
    _check_places(name, system, x, y, columns[0], columns[1])
    inside = _in_range(system, columns[0], columns[1])
    tally.drop("coordinates outside the range of longitude and latitude", int(np.count_nonzero(~inside)))
    if not inside.any():
        raise _nothing_left(name, value, tally, found)
    observations = Observations(
        x=columns[0][inside],
        y=columns[1][inside],
        crs=system,
        value=columns[2][inside],
        unit=unit.strip(),
        kind="sensor",
        title=kind_title.strip() or f"{value} ({unit.strip()})",
        attribution=tuple(attribution),
    )
    return observations, tally.report(name, observations.size, _notes(found, observations, conditions))


def _check_settings(
    x: str, y: str, unit: str, system: str, decimal: str | None, delimiter: str | None
) -> None:
    if not unit.strip():
        raise DataError("State the unit of the value column, such as ug/m3 or mg/kg.")
    if decimal not in (None, ".", ","):
        raise DataError("The decimal mark is '.' or ','.")
    if delimiter is not None and delimiter not in DELIMITERS:
        raise DataError("The delimiter is a comma, a semicolon, a tab or a bar.")
    if x == y:
        raise DataError(f"Column {x!r} is named for both coordinates: choose one for x and another for y.")
    if system in DEGREES and x.strip().lower() in LATITUDE and y.strip().lower() in LONGITUDE:
        raise DataError(f"Longitude is x and latitude is y: exchange the columns {x!r} and {y!r}.")


def _words(column: str, wanted: Wanted) -> tuple[str, ...]:
    items = [wanted] if isinstance(wanted, (str, int, float)) else list(wanted)
    words = tuple(str(item).strip() for item in items)
    if not words:
        raise DataError(f"The filter on column {column!r} lists no value: leave it out to keep all rows.")
    return words


def _read(
    table: Table,
    names: tuple[str, str, str],
    conditions: Mapping[str, tuple[str, ...]],
    decimal: str | None,
    delimiter: str | None,
    tally: Tally,
    found: _Found,
) -> None:
    shape = shape_of(table, delimiter)
    numeric = {column: shape.position(column, table.name) for column in dict.fromkeys(names)}
    wanted = {f"n:{column}": at for column, at in numeric.items()}
    wanted |= {f"w:{column}": shape.position(column, table.name) for column in conditions}
    mark = decimal or decimal_mark(shape, numeric, table.name)
    found.written.add(
        f"delimiter {_DELIMITER_WORDS[shape.delimiter]}, decimal {'point' if mark == '.' else 'comma'}, "
        f"encoding {shape.encoding}"
    )
    for block in blocks(table, len(shape.names), wanted, header=shape.names, delimiter=shape.delimiter):
        _take(block, names, conditions, mark, tally, found)


_DELIMITER_WORDS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def _take(
    block: Block,
    names: tuple[str, str, str],
    conditions: Mapping[str, tuple[str, ...]],
    mark: str,
    tally: Tally,
    found: _Found,
) -> None:
    tally.read(block.rows + block.malformed)
    tally.drop("wrong number of columns", block.malformed)
    alive = np.ones(block.rows, dtype=bool)
    for column, words in conditions.items():
        match = _matches(text(block.columns[f"w:{column}"]), words)
        if match.any():
            found.unmatched.discard(column)
        alive = tally.drop_where(f"{column} is not {' or '.join(words)}", ~match, alive)
    rows = pa.array(np.flatnonzero(alive))
    value, x, y = (parse_numbers(text(block.columns[f"n:{column}"].take(rows)), mark) for column in names)
    alive = np.ones(len(rows), dtype=bool)
    alive = tally.drop_where("coordinate missing", x.missing | y.missing, alive)
    alive = tally.drop_where("coordinate is not a number", _unreadable(x) | _unreadable(y), alive)
    alive = tally.drop_where("value missing", value.missing, alive)
    alive = tally.drop_where("value is not a number", _unreadable(value), alive)
    found.grouped += value.grouped + x.grouped + y.grouped
    found.x.append(x.value[alive])
    found.y.append(y.value[alive])
    found.value.append(value.value[alive])


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


def _in_range(system: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    if system not in DEGREES:
        return np.ones(x.shape, dtype=bool)
    return (np.abs(x) <= 180) & (np.abs(y) <= 90)


def _check_places(name: str, system: str, x_name: str, y_name: str, x: Any, y: Any) -> None:
    """Refuse a coordinate system that the numbers contradict: a whole column, not a stray row, decides."""
    if x.size == 0:
        return
    small = (np.abs(x) <= 180) & (np.abs(y) <= 90)
    if system in DEGREES:
        if np.count_nonzero(small) * 2 >= x.size:
            return
        swapped = (np.abs(y) <= 180) & (np.abs(x) <= 90)
        if np.all(swapped):
            raise DataError(
                f"{name} has values beyond 90 degrees in its latitude column {y_name!r}: "
                f"exchange the columns {x_name!r} and {y_name!r}."
            )
        raise DataError(
            f"{name} has values in {x_name!r} and {y_name!r} that are not degrees but projected coordinates: "
            "set the EPSG code of their coordinate system, such as EPSG:27700 for the British National Grid."
        )
    # Geographic systems have EPSG codes from 4000 to 4999; any other is taken to be in metres or feet.
    if np.count_nonzero(small) * 2 > x.size and not system.startswith("EPSG:4"):
        raise DataError(
            f"{name} has values in {x_name!r} and {y_name!r} that look like degrees, not like {system}: "
            "set the EPSG code to EPSG:4326, or give the coordinates in the units of that system."
        )


def _nothing_left(name: str, value: str, tally: Tally, found: _Found) -> DataError:
    if tally.rows_read == 0:
        return DataError(f"{name} holds no rows below its header: choose a file with measurements.")
    if found.unmatched:
        column = sorted(found.unmatched)[0]
        return DataError(f"No row of {name} has the value asked for in column {column!r}: check the filter.")
    return DataError(
        f"No row of {name} has two coordinates and a number in {value!r}; most were dropped as: "
        f"{tally.main_reason}."
    )


def _notes(found: _Found, made: Observations, conditions: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    said = [f"Read with {written}." for written in sorted(found.written)]
    if found.grouped:
        said.append(f"{found.grouped:,} numbers were written with thousands separators.")
    places = np.unique(made.x + 1j * made.y).size
    if places < made.size:
        advice = "" if conditions else "; filter by species or year if the table holds several"
        said.append(f"{made.size - places:,} rows share their coordinates with another row{advice}.")
    return tuple(said)
