"""Textual formats of traces without XML: GeoLife, tables, and GeoJSON lines with times."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from data_loaders.columns.coordinates import is_latitude, is_longitude
from data_loaders.columns.specification import find_specification
from data_loaders.errors import DataError
from data_loaders.files.codings import decode
from data_loaders.files.guarded import HEAD_LINES, LIMITS, GuardedStream, Meter
from data_loaders.files.sources import Table
from hexcursion_traces.loading.model import Fix

_HEADER_LINES = 6  # of a GeoLife file
_CLOCK_ALONE = re.compile(r"\d{1,2}(:\d\d|\s?[ap]\.?m)", re.IGNORECASE)  # its date is in another column
_DAY = re.compile(r"[T\s]")  # some programs write midnight after each date
_What: TypeAlias = Literal["time", "latitude", "longitude", "date", "id"]
_NAMES: dict[_What, tuple[str, ...]] = {
    "time": (
        "time",
        "timestamp",
        "datetime",
        "date_time",
        "utc",
        "t",
        "recorded_at",
        "location-timestamp",
        "utc_time",
        "time_utc",
        "gps_time",
        "local_time",
    ),
    "latitude": ("lat", "latitude", "y", "location-lat", "lat_deg"),
    "longitude": ("lon", "lng", "long", "longitude", "x", "location-long", "lon_deg"),
    "date": ("date", "day", "utc_date", "date_utc", "gps_date", "local_date"),
    "id": ("id", "user", "user_id", "device", "device_id", "trip", "trip_id", "track", "trace", "individual"),
}


def plt_fixes(data: bytes) -> Iterator[tuple[str, list[Fix]]]:
    """Yield the title "" and the records of a GeoLife trajectory: six lines, then latitude, longitude,
    0, feet, days, date, GMT time."""
    fixes = []
    for line in data.decode("latin-1").splitlines()[_HEADER_LINES:]:
        if not line.strip():
            continue
        parts = line.split(",")
        if len(parts) < 7:
            fixes.append(Fix("", "", ""))
        else:
            fixes.append(Fix(f"{parts[5].strip()}T{parts[6].strip()}+00:00", parts[1], parts[0]))
    yield "", fixes


def table_fixes(name: str, data: bytes) -> Iterator[tuple[str, list[Fix]]]:
    """Yield mover and records of a table with columns for time, latitude and longitude, perhaps for date
    and mover.

    The mover is "" without such a column; `name` is the file's in messages. Raise `DataError` if a
    column is missing."""
    stream = GuardedStream(name, io.BytesIO(data), Meter(LIMITS))
    table = find_specification(Table(name, stream.head(HEAD_LINES), stream))
    layout, top, delimiter = table.specification, table.header, table.specification.delimiter
    lines = decode(data, layout.encoding).split("\n")
    rows = (row for line in lines for row in csv.reader((line,), delimiter=delimiter, strict=True) if row)
    fixes: dict[str, list[Fix]] = {}
    try:
        header = [field.strip().lower() for field in top.names]
        where = {what: _column(name, header, what) for what in _NAMES}
        comma = delimiter != ","
        for row in itertools.islice(rows, top.first, None):
            if not any(field.strip() for field in row):
                continue
            cells = {
                what: row[at].strip() if at is not None and at < len(row) else ""
                for what, at in where.items()
            }
            if comma:
                cells["latitude"] = cells["latitude"].replace(",", ".")
                cells["longitude"] = cells["longitude"].replace(",", ".")
            time = cells["time"]
            if cells["date"] and _CLOCK_ALONE.match(time):
                time = f"{_DAY.split(cells['date'])[0]} {time}"
            fix = Fix(time, cells["longitude"], cells["latitude"])
            fixes.setdefault(cells["id"], []).append(fix)
    except csv.Error:
        raise DataError(
            f"{name} is not a table that can be read: look for a quote that does not close on its line."
        ) from None
    yield from fixes.items()


def _column(name: str, header: list[str], what: _What) -> int | None:
    at = [header.index(word) for word in _NAMES[what] if word in header]
    if at:
        return at[0]
    by_name = {"latitude": is_latitude, "longitude": is_longitude}.get(what)
    if by_name is not None and (at := [place for place, word in enumerate(header) if by_name(word)]):
        return at[0]
    if what in ("id", "date"):
        return None
    if what == "time" and any(word in header for word in _NAMES["date"]):
        return _column(name, header, "date")
    raise DataError(
        f"{name} has no column for the {what}: name one {_NAMES[what][0]!r}, next to 'time', 'lat' and 'lon'."
    )


def geojson_fixes(name: str, data: bytes) -> Iterator[tuple[str, list[Fix]]]:
    """Yield name and records of each line of a GeoJSON file with times in its properties; "" for no name.

    Raise `DataError` for broken JSON, no line at all, or a line with more or fewer times than places."""
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise DataError(f"{name} is broken JSON: export it again as GeoJSON.") from None
    lines = 0
    for feature in _features(content):
        geometry, properties = feature.get("geometry"), feature.get("properties") or {}
        if not isinstance(geometry, dict) or not isinstance(properties, dict):
            continue
        if geometry.get("type") not in {"LineString", "MultiLineString"}:
            continue
        lines += 1
        places = _flat(geometry.get("coordinates"), geometry["type"])
        times = _times(properties)
        if len(times) != len(places):
            raise DataError(
                f"{name} has a line without one time for each place: give the times as the property "
                f"'coordTimes'."
            )
        title = properties.get("name")
        yield (
            title if isinstance(title, str) else "",
            [Fix(str(time), *_lonlat(place)) for time, place in zip(times, places, strict=True)],
        )
    if not lines:
        raise DataError(f"{name} holds no line: a trace in GeoJSON is a LineString with 'coordTimes'.")


def _features(content: Any) -> list[dict[str, Any]]:
    if not isinstance(content, dict):
        return []
    if content.get("type") == "FeatureCollection":
        members = content.get("features")
        return [member for member in members if isinstance(member, dict)] if isinstance(members, list) else []
    return [content if content.get("type") == "Feature" else {"geometry": content}]


def _flat(coordinates: Any, kind: str) -> list[Any]:
    if not isinstance(coordinates, list):
        return []
    if kind == "LineString":
        return coordinates
    return [place for line in coordinates if isinstance(line, list) for place in line]


def _times(properties: dict[str, Any]) -> list[Any]:
    nested = properties.get("coordinateProperties")
    inner = nested if isinstance(nested, dict) else {}
    for times in (properties.get("coordTimes"), properties.get("times"), inner.get("times")):
        if isinstance(times, list):
            return [time for part in times for time in (part if isinstance(part, list) else [part])]
    return []


def _lonlat(place: Any) -> tuple[str, str]:
    if not isinstance(place, list) or len(place) < 2:
        return "", ""
    return tuple("" if isinstance(part, bool) else str(part) for part in place[:2])  # type: ignore[return-value]
