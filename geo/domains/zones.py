"""A public value for each hexagon, from zones (GeoJSON) or from a table of hexagons (CSV)."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import shapely
from numpy.typing import NDArray

from geo.domains.domain import Domain
from geo.errors import DomainError
from geo.regions.region import MAX_BYTES, read_document, region_from_geojson

VALUE = "value"
CELL = "h3"


def public_values(path: str | Path, domain: Domain, column: str = VALUE) -> NDArray[np.float64]:
    """Return (N,) values, one for each cell of a domain, of a `.csv` file with the columns `h3` and `value`,
    or a GeoJSON file whose features have a number `value`: a cell has that of the first zone in which its
    centre lies. `column` replaces `value`. Raise `DomainError` for a file that is neither, a value that is no
    number, a hexagon without one."""
    place = Path(path)
    found = (_from_table if place.suffix.lower() == ".csv" else _from_zones)(place, domain, column)
    if missing := int(np.isnan(found).sum()):
        raise DomainError(
            f"{missing:,} of {domain.size:,} hexagons have no value in {place.name}: give one for each."
        )
    return found


def _from_zones(place: Path, domain: Domain, column: str) -> NDArray[np.float64]:
    document = read_document(place, "file of zones")
    features = document.get("features")
    if not isinstance(features, list) or not features:
        raise DomainError(f"{place.name} holds no zones: give a GeoJSON FeatureCollection of polygons.")
    crs = {"crs": document["crs"]} if "crs" in document else {}
    centres = shapely.points(domain.centres_lonlat)
    found = np.full(domain.size, np.nan)
    for number, feature in enumerate(features, 1):
        known = feature.get("properties") if isinstance(feature, dict) else None
        value = _number(
            known.get(column) if isinstance(known, dict) else None, column, f"zone {number}", place
        )
        inside = shapely.intersects(region_from_geojson({**feature, **crs}).shape, centres)
        found[inside & np.isnan(found)] = value
    return found


def _from_table(place: Path, domain: Domain, column: str) -> NDArray[np.float64]:
    position = {cell: index for index, cell in enumerate(domain.cells)}
    found = np.full(domain.size, np.nan)
    try:
        with place.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise DomainError(
                f"{place.name} is larger than {MAX_BYTES // 2**20} MiB: keep the rows of the map's hexagons."
            )
        reader = csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline=""))
        if not {CELL, column} <= set(reader.fieldnames or ()):
            raise DomainError(
                f"{place.name} must have the columns {CELL} and {column}: name another one, or rename them."
            )
        for number, row in enumerate(reader, 1):
            index = position.get(str(row[CELL]).strip().lower())
            if index is not None:
                value = _number(row[column], column, f"row {number}", place)
                if not (math.isnan(found[index]) or found[index] == value):
                    raise DomainError(
                        f"row {number} of {place.name} gives a hexagon a second value: give each one value."
                    )
                found[index] = value
    except FileNotFoundError as error:
        raise DomainError(f"there is no file {place.name}: correct its name.") from error
    except (OSError, UnicodeError, csv.Error) as error:
        raise DomainError(f"{place.name} cannot be read as a table: save it as CSV in UTF-8.") from error
    if np.isnan(found).all():
        raise DomainError(
            f"no {CELL} of {place.name} is one of the map's hexagons: they have resolution "
            f"{domain.resolution}, and names such as {domain.cells[0]}."
        )
    return found


def _number(value: object, column: str, where: str, place: Path) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise DomainError(f"{where} of {place.name} has no number {column!r}: give every one a value.")
    return number
