"""Reads GeoJSON feature by feature, so that no feature decides how the others are read.

GDAL would give each property one type for all features: a text among numbers, or a time in another
zone, would change how the entries of other features are written.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import shapely

from data_loaders.errors import DataError
from data_loaders.files.codings import decode
from data_loaders.files.columnar import ROWS, points_of
from data_loaders.systems import WGS84, system_named

MOST_NAMES = 1000  # properties of all features together
_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass
class Features:
    """The features of a file in batches of rows: x, y, and their properties as text."""

    crs: str = WGS84  # "AUTHORITY:CODE", or "" where the file states that it has none
    areas: int = 0  # features whose centre counts
    filled: Counter[str] = field(default_factory=Counter)  # features with an entry, by property
    batches: list[tuple[Any, Any, dict[str, Any]]] = field(default_factory=list)

    def table(self, x: str, y: str) -> Any:
        """Return an Arrow table of the places and properties; a property called like a coordinate
        is renamed."""
        blanks = {len(batch[0]): pa.array([""] * len(batch[0]), pa.string()) for batch in self.batches}
        columns = {
            f"{name} (property)" if name in (x, y) else name: pa.chunked_array(
                [batch[2].get(name, blanks[len(batch[0])]) for batch in self.batches], pa.string()
            )
            for name in self.filled
        }
        places = [pa.chunked_array([batch[at] for batch in self.batches], pa.float64()) for at in (0, 1)]
        return pa.table({x: places[0], y: places[1], **columns})


def features_of(data: bytes, name: str, lines: bool) -> Features:
    """Read a GeoJSON text, or one with a feature on each of its `lines`. Raise `DataError` if it is
    damaged or has too many properties."""
    found, rows = Features(), list[dict[str, Any]]()
    members: dict[str, Any] = {}
    failed = False
    try:
        text = decode(data)
        for feature in _one_by_one(text) if lines else _members(text, members):
            rows.append(feature)
            if len(rows) == ROWS:
                _add(found, rows, name)
                rows = []
        if not lines and members.get("type") == "Feature":
            rows = [members]
        _add(found, rows, name)
    except DataError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        failed = True
    if failed:  # outside the handler, so that no row travels with the error
        raise DataError(
            f"{name} is damaged or not the GeoJSON file it claims to be: save or export it again."
        )
    if "crs" in members:
        crs = members["crs"]
        stated = crs.get("properties", {}).get("name") if isinstance(crs, dict) else None
        found.crs = "" if stated is None else system_named(name, str(stated))
    return found


def _one_by_one(text: str) -> Iterator[Any]:
    """Decode a text of one feature a line, or one behind each record separator."""
    for record in text.split("\x1e") if "\x1e" in text else text.split("\n"):
        if record.strip():
            yield _DECODER.decode(record.strip())


def _members(text: str, members: dict[str, Any]) -> Iterator[Any]:
    """Decode the features of a collection one by one, and its other members into `members`."""

    def after(at: int) -> int:
        return _BLANKS.match(text, at).end()  # type: ignore[union-attr]  # it matches no blank too

    def separated(at: int, end: str) -> tuple[int, bool]:
        """Return the place behind a comma, or behind the end, and whether it is the end."""
        at = after(at)
        if text[at] not in (",", end):
            raise ValueError
        return after(at + 1), text[at] == end

    at = after(0)
    at, ended = after(at + 1), False
    while not ended:
        key, at = _DECODER.raw_decode(text, at)
        at = after(at)
        if text[at] != ":":
            raise ValueError
        at = after(at + 1)
        if key != "features" or text[at] != "[":
            members[key], at = _DECODER.raw_decode(text, at)
        else:
            at = after(at + 1)
            closed = text[at] == "]"
            at += closed
            while not closed:
                feature, at = _DECODER.raw_decode(text, at)
                yield feature
                at, closed = separated(at, "]")
        at, ended = separated(at, "}")
    if text[at:]:
        raise ValueError


def _add(found: Features, rows: list[dict[str, Any]], name: str) -> None:
    """Add a batch of features as rows. A feature without properties or place is a row too."""
    properties = []
    for row in rows:
        entries = {str(key): _text(value) for key, value in (row.get("properties") or {}).items()}
        if isinstance(row.get("id"), str):
            entries.setdefault("id", row["id"])
        properties.append(entries)
        for key, entry in entries.items():
            found.filled[key] += entry != ""
        if len(found.filled) > MOST_NAMES:
            raise DataError(f"{name} has more than {MOST_NAMES} properties: keep those that are needed.")
    x, y = _places(found, [row.get("geometry") for row in rows])
    names = dict.fromkeys(key for entries in properties for key in entries)
    columns = {key: pa.array([entries.get(key, "") for entries in properties], pa.string()) for key in names}
    found.batches.append((pa.array(x, from_pandas=True), pa.array(y, from_pandas=True), columns))


def _places(found: Features, geometries: list[Any]) -> tuple[Any, Any]:
    places = np.full((2, len(geometries)), np.nan)
    others: list[int] = []
    for at, geometry in enumerate(geometries):
        if geometry is None:
            continue
        if geometry["type"] != "Point":
            others.append(at)
        elif len(geometry["coordinates"]) >= 2:
            places[:, at] = [float(part) for part in geometry["coordinates"][:2]]
    if others:
        texts = np.array([json.dumps(geometries[at]) for at in others], dtype=object)
        shapes = shapely.to_wkb(shapely.from_geojson(texts, on_invalid="ignore"))
        x, y, areas = points_of(pa.array(shapes, pa.binary()))
        places[:, others] = x, y
        found.areas += areas
    return places[0], places[1]


def _text(value: Any) -> str:
    """Write a property as text. A number of three decimals gets a zero more, because 1.234 as text
    may be grouped digits."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 2.0**53:
            return str(int(value))
        text = repr(value)
        return f"{text}0" if re.fullmatch(r"-?[0-9]+\.[0-9]{3}", text) else text
    return str(value) if isinstance(value, int) else json.dumps(value, ensure_ascii=False)
