"""Public numbers per hexagon: of the areas and points of layers, of zones (GeoJSON), and of tables
(CSV)."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray

from geo.context.own_layers import OwnLayer, numbered_shapes
from geo.crs import project
from geo.domains.domain import Domain
from geo.domains.hexagons import ancestor
from geo.errors import DomainError
from geo.region import MAX_BYTES, Source, read_document, region_from_geojson

VALUE = "value"
CELL = "h3"

PLACE = (("lon", "lng", "long", "longitude", "x"), ("lat", "latitude", "y"))
"""Names of the columns of longitude and of latitude in a public table, in small letters."""

LONGEST_HEADER = 2**16
"""Bytes of a table's first line."""


def public_values(
    path: str | Path, domain: Domain, column: str = VALUE, *, summed: bool = False
) -> NDArray[np.float64]:
    """Return (N,) values, one for each cell of a domain, of a `.csv` file with the columns `h3` and
    `value`, or a GeoJSON file whose features have a number `value`: a cell has the value of the
    first zone that contains its centre. `column` replaces `value`. With `summed` numbers, such as
    inhabitants, finer cells add up to the hexagon that contains them. Raise `DomainError` for
    another kind of file, a value that is no number, or a hexagon without a value."""
    place = Path(path)
    table = place.suffix.lower() == ".csv"
    values = _from_table(place, domain, column, summed) if table else _from_zones(place, domain, column)
    if missing := int(np.isnan(values).sum()):
        raise DomainError(
            f"{missing:,} of {domain.size:,} hexagons have no value in {place.name}: give one for each."
        )
    return values


def _from_zones(place: Path, domain: Domain, column: str) -> NDArray[np.float64]:
    document = read_document(place, "file of zones")
    features = document.get("features")
    if not isinstance(features, list) or not features:
        raise DomainError(f"{place.name} holds no zones: give a GeoJSON FeatureCollection of polygons.")
    crs = {"crs": document["crs"]} if "crs" in document else {}
    centres = shapely.points(domain.centres_lonlat)
    numbers = np.full(domain.size, np.nan)
    for number, feature in enumerate(features, 1):
        properties = feature.get("properties") if isinstance(feature, dict) else None
        value = _zone_number(
            properties.get(column) if isinstance(properties, dict) else None, column, f"zone {number}", place
        )
        inside = shapely.intersects(region_from_geojson({**feature, **crs}).shape, centres)
        numbers[inside & np.isnan(numbers)] = value
    return numbers


def _from_table(place: Path, domain: Domain, column: str, summed: bool) -> NDArray[np.float64]:
    finer: dict[str, float] = {}
    position = {cell: index for index, cell in enumerate(domain.cells)}
    numbers = np.full(domain.size, np.nan)
    with _table(place):
        with place.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise DomainError(
                f"{place.name} is larger than {MAX_BYTES // 2**20} MiB: keep the rows of the map's hexagons."
            )
        reader = csv.DictReader(_lines(raw.decode("utf-8-sig")), strict=True)
        if not {CELL, column} <= set(reader.fieldnames or ()):
            raise DomainError(
                f"{place.name} must have the columns {CELL} and {column}: name another one, or rename them."
            )
        for number, row in enumerate(reader, 1):
            cell = str(row[CELL]).strip().lower()
            index = position.get(cell)
            if index is not None:
                value = _zone_number(row[column], column, f"row {number}", place)
                if not (math.isnan(numbers[index]) or numbers[index] == value):
                    raise DomainError(_second(number, place))
                numbers[index] = value
            elif summed and ancestor(cell, domain.resolution) in position:
                value = _zone_number(row[column], column, f"row {number}", place)
                if finer.setdefault(cell, value) != value:
                    raise DomainError(_second(number, place))
    parents = np.array([position[str(ancestor(cell, domain.resolution))] for cell in finer], dtype=np.int64)
    if not np.isnan(numbers[parents]).all():
        raise DomainError(
            f"{place.name} gives a hexagon a number, and cells in it too: keep rows of one resolution."
        )
    numbers[parents] = 0.0
    np.add.at(numbers, parents, list(finer.values()))
    if np.isnan(numbers).all():
        raise DomainError(
            f"no {CELL} of {place.name} is one of the map's hexagons: they have resolution "
            f"{domain.resolution}, and names such as {domain.cells[0]}."
        )
    return numbers


@contextmanager
def _table(place: Path) -> Iterator[None]:
    """Raise `DomainError` for a file that is missing or is no table."""
    try:
        yield
    except FileNotFoundError as error:
        raise DomainError(f"there is no file {place.name}: correct its name.") from error
    except (OSError, UnicodeError, csv.Error) as error:
        raise DomainError(f"{place.name} cannot be read as a table: save it as CSV in UTF-8.") from error


def _lines(text: str) -> Iterator[str]:
    """The lines of a table with one row per line: raise `csv.Error` for a quote that does not
    close."""
    for line in io.StringIO(text):
        list(csv.reader((line.rstrip("\n"),), strict=True))
        yield line


def _second(number: int, place: Path) -> str:
    return f"row {number} of {place.name} gives a hexagon a second value: give each one value."


def _zone_number(value: object, column: str, where: str, place: Path) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DomainError(f"{where} of {place.name} has no number {column!r}: give every one a value.")
    return number


def table_columns(path: str | Path) -> tuple[str, ...]:
    """Return the columns of a table of hexagons without `h3`; raise `DomainError` for another
    table."""
    place = Path(path)
    with _table(place), place.open("rb") as stream:
        first = stream.readline(LONGEST_HEADER).decode("utf-8-sig")
        names = next(csv.reader([first]), [])
    if CELL not in names or len(names) < 2:
        raise DomainError(
            f"{place.name} must have a column {CELL} and one of numbers, with commas between them."
        )
    return tuple(name for name in names if name != CELL)


def layer_numbers(layer: OwnLayer, domain: Domain) -> NDArray[np.float64]:
    """Return (N,) numbers: that of the area that contains a hexagon's centre, or the mean of the
    points in the hexagon. Raise `DomainError` for a label that is no number, a layer of lines, and
    a hexagon without a number.
    """
    numbers = np.full(domain.size, np.nan)
    total, many = np.zeros(domain.size), np.zeros(domain.size)
    centres = shapely.points(domain.centres_lonlat)
    for feature in layer.features:
        value = _number(feature.label, layer.name)
        if feature.kind == "line":
            raise DomainError(
                f"the layer {layer.name!r} has lines, which belong to no single hexagon: leave its column "
                "out to use the distance to them."
            )
        if feature.kind == "area":
            inside = shapely.intersects(feature.shape, centres)
            numbers[inside & np.isnan(numbers)] = value
            continue
        at = domain.locate(*shapely.get_coordinates(feature.shape).T)
        np.add.at(total, at[at >= 0], value)
        np.add.at(many, at[at >= 0], 1.0)
    pointed = np.isnan(numbers) & (many > 0)
    numbers[pointed] = total[pointed] / many[pointed]
    if missing := int(np.isnan(numbers).sum()):
        raise DomainError(
            f"{missing:,} of {domain.size:,} hexagons have no number in the layer {layer.name!r}: give one "
            "that covers the area."
        )
    return numbers


def totals(source: Source, domain: Domain, name: str, column: str) -> NDArray[np.float64]:
    """Distribute the numbers of a GeoJSON layer's column, such as inhabitants, over (N,) hexagons.
    The number of a point counts in its hexagon. The number of an area is divided evenly among the
    hexagons with their centre in it, or counts in the hexagon around its middle otherwise.
    The part of an area outside the domain is not counted. Raise `DomainError` for a feature without
    a number, or with a negative one, and a layer of lines."""
    sums, centres = np.zeros(domain.size), shapely.points(domain.centres_lonlat)
    for shape, label in numbered_shapes(source, name, column):
        number = _number(label, name)
        if number < 0:
            raise DomainError(f"the layer {name!r} has a negative number in {column!r}: correct it.")
        if shape.geom_type.endswith("LineString"):
            raise DomainError(f"the layer {name!r} has lines, which hold no numbers: give areas or points.")
        middle = shape if shape.geom_type.endswith("Point") else shape.point_on_surface()
        points = shapely.get_coordinates(middle)
        if not len(points):
            raise DomainError(
                f"the layer {name!r} has a number without a place: add the place, or delete it."
            )
        inside = np.flatnonzero(shapely.intersects(shape, centres))
        if inside.size:
            flat = shapely.transform(shape, lambda lonlat: project(lonlat, domain.crs))
            share = domain.areas[inside] * 1e6 / flat.area if flat.area > 0 else np.inf
            sums[inside] += number * np.minimum(share, 1.0 / inside.size)
            continue
        at = domain.locate(*points.T)
        np.add.at(sums, at[at >= 0], number / len(points))
    return sums


def table_totals(path: str | Path, domain: Domain, column: str) -> NDArray[np.float64]:
    """Return (N,) sums per hexagon of a column of a table of places, which has their longitude and
    latitude in degrees. Raise `DomainError` as `totals`, and for a table without these columns."""
    place = Path(path)
    with _table(place), place.open(newline="", encoding="utf-8-sig") as stream:
        rows = list(csv.DictReader(_lines(stream.read()), strict=True))
    names = {header.strip().lower(): header for header in (rows[0] if rows else {}) if header}
    sides = [next((names[word] for word in words if word in names), None) for words in PLACE]
    if None in sides or column not in names.values():
        raise DomainError(
            f"{place.name} must have rows, and the columns lon, lat and {column!r} or {CELL} and {column!r}, "
            "with commas between them: name another file or column, or rename its columns."
        )
    lon, lat, number = (
        np.array([_number(str(row[name]), place.name) for row in rows]) for name in (*sides, column)
    )
    if np.any(number < 0):
        raise DomainError(f"{place.name} has a negative number in {column!r}: correct it.")
    at = domain.locate(lon, lat)
    return np.bincount(at[at >= 0], weights=number[at >= 0], minlength=domain.size).astype(np.float64)


def distances(layer: OwnLayer, domain: Domain) -> NDArray[np.float64]:
    """(N,) metres from each hexagon's centre to the nearest shape of a layer; 0 inside its
    areas."""
    shapes = [
        shapely.transform(feature.shape, lambda lonlat: project(lonlat, domain.crs))
        for feature in layer.features
    ]
    tree = shapely.STRtree(shapes)
    _, metres = tree.query_nearest(shapely.points(domain.centres), return_distance=True, all_matches=False)
    return np.asarray(metres, dtype=np.float64)


def _number(label: str, name: str) -> float:
    try:
        number = float(label)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DomainError(f"the layer {name!r} has a feature without a number in that column: give each one.")
    return number
