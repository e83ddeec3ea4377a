"""Corrections of input: named parts of a public outline, exchanged axes, and points that miss a
domain.

Functions that read private coordinates are for the curator only; no result of them belongs in a
release.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geo.context.own_layers import name_rank, properties_of
from geo.crs import is_lonlat, to_lonlat
from geo.domains.domain import Domain
from geo.errors import DomainError
from geo.region import Source, read_document

MOST_PARTS = 5_000  # names offered for choice
_LABELS = ("name", "nom", "naam", "label", "title", "bezeichnung")

_COMMON = ("EPSG:27700", "EPSG:28992", "EPSG:3857", "EPSG:2056", "EPSG:2154", "EPSG:25832", "EPSG:4326")
_SAMPLE = 2_000  # points in a test of "most", cheap for a million rows


def part_columns(source: Source) -> tuple[str, ...]:
    """Return the columns of a GeoJSON file with texts by which its features can be chosen.

    Columns that distinguish all features come first, then columns that several features share; in
    both, columns with a usual header of names come first. A file with fewer than two features has
    no such column. Raise `DomainError` if the file is not GeoJSON.
    """
    return _columns(_parts(read_document(source)))


def part_names(source: Source, column: str = "") -> tuple[str, ...]:
    """Return the distinct names of a GeoJSON file's features, sorted: those in `column`, by default
    the column that differs between all features. Raise `DomainError` if the file is not GeoJSON."""
    return tuple(_groups(read_document(source), column))


def chosen_parts(source: Source, names: Sequence[str], column: str = "") -> dict[str, Any]:
    """Return all features of a GeoJSON file with one of these names as a FeatureCollection.

    `column` is as in `part_names`. Raise `DomainError`, with the nearest name, for a name that no
    feature has.
    """
    document = read_document(source)
    groups = _groups(document, column)
    if not groups:
        raise DomainError(
            f"the region's file has no names in a column {column[:60]!r}: name the one that holds them, or "
            "leave the features out."
            if column
            else "the region's file has no column of names that distinguishes its features: name a column, "
            "or leave the features out."
        )
    for name in names:
        if name not in groups:
            near = difflib.get_close_matches(name, groups, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"choose among {', '.join([*groups][:8])}."
            raise DomainError(f"the region's file has no feature {name[:60]!r}: {hint}")
    features = [feature for name in dict.fromkeys(names) for feature in groups[name]]
    shared = {"crs": document["crs"]} if "crs" in document else {}
    return {"type": "FeatureCollection", **shared, "features": features}


def exchanged(source: Source) -> dict[str, Any]:
    """Exchange longitude and latitude in every position of a GeoJSON file; raise `DomainError` if
    the file is not GeoJSON."""
    document = dict(read_document(source))
    document.pop("bbox", None)
    turned: dict[str, Any] = _turned(document, 0)
    return turned


def _turned(thing: Any, depth: int) -> Any:
    if depth > 12:
        raise DomainError("the GeoJSON is nested too deeply: check the file with a GeoJSON validator.")
    if isinstance(thing, Mapping):
        return {
            key: _positions(value, depth + 1) if key == "coordinates" else _turned(value, depth + 1)
            for key, value in thing.items()
            if key != "bbox"
        }
    return [_turned(entry, depth + 1) for entry in thing] if isinstance(thing, list) else thing


def _positions(thing: Any, depth: int) -> Any:
    if depth > 12 or not isinstance(thing, list):
        return thing
    if len(thing) >= 2 and all(isinstance(entry, int | float) for entry in thing[:2]):
        return [thing[1], thing[0], *thing[2:]]
    return [_positions(entry, depth + 1) for entry in thing]


def _parts(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The features for a choice; empty if there are fewer than two, or too many."""
    entries = document.get("features")
    features = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
    choice = document.get("type") == "FeatureCollection" and 2 <= len(features) <= MOST_PARTS
    return features if choice else []


def _columns(features: list[Mapping[str, Any]]) -> tuple[str, ...]:
    names = {str(name) for feature in features for name in properties_of(feature)}
    distinct, shared = [], []
    for column in names:
        texts = [_text(feature, column) for feature in features]
        if all(texts) and len(set(texts)) == len(texts):
            distinct.append(column)
        elif len(set(texts) - {""}) >= 2:
            shared.append(column)
    by_name = [
        sorted(columns, key=lambda column: (name_rank(column, _LABELS), column))
        for columns in (distinct, shared)
    ]
    return (*by_name[0], *by_name[1])


def _groups(document: Mapping[str, Any], column: str) -> dict[str, list[Mapping[str, Any]]]:
    """Features by their name, names increasing."""
    features = _parts(document)
    if not column:
        first = next(iter(_columns(features)), "")
        texts = [_text(feature, first) for feature in features]
        if not all(texts) or len(set(texts)) < len(texts):
            return {}
        column = first
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for feature in features:
        if name := _text(feature, column):
            groups.setdefault(name, []).append(feature)
    return dict(sorted(groups.items()))


def _text(feature: Mapping[str, Any], column: str) -> str:
    """The entry of a column if it is a text, else ""."""
    value = properties_of(feature).get(column)
    return value.strip()[:120] if isinstance(value, str) else ""


def looks_swapped(lon: ArrayLike, lat: ArrayLike, domain: Domain) -> bool:
    """Whether most of (n,) points, in degrees, are in the domain with longitude and latitude
    exchanged, and hardly any without the exchange."""
    x, y = _sample(lon, lat)
    return x.size > 0 and _share(x, y, domain) < 0.1 and _share(y, x, domain) > 0.5


def looks_projected(x: ArrayLike, y: ArrayLike) -> bool:
    """Whether most finite pairs of (n,) coordinates are too large for degrees, as metres are."""
    east, north = _sample(x, y)
    if east.size == 0:
        return False
    size = np.maximum(np.abs(east), np.abs(north))
    return bool(np.mean(size > 360.0) > 0.5)


def looks_like_degrees(x: ArrayLike, y: ArrayLike) -> bool:
    """Whether all finite pairs of (n,) coordinates are within 180, which is rare for metres in a
    projection."""
    east, north = _sample(x, y)
    return bool(east.size > 0 and np.all(np.abs(east) <= 180.0) and np.all(np.abs(north) <= 180.0))


FEWEST_TOLD = 10
"""Least number of points whose middle is stated, to a tenth of a degree; fewer points would reveal
a single place."""


def outside_reason(x: ArrayLike, y: ArrayLike, crs: str, domain: Domain) -> str:
    """Explain in one sentence, with the remedy, why hardly any of (n,) points is in a domain.

    The sentence shows the place of the points and is for the curator only. Raise `CrsError` if the
    system is unknown or not convertible.
    """
    east, north = _sample(x, y)
    if east.size == 0:
        return "No row has finite coordinates: check which columns hold them."
    if is_lonlat(crs):
        if looks_swapped(east, north, domain):
            return (
                "Longitude and latitude look swapped: exchange the two columns, or give the area as west, "
                "south, east, north."
            )
        if looks_projected(east, north):
            fits = _fitting(east, north, domain)
            hint = f"they fit {fits}" if fits else "name their EPSG code"
            return f"The coordinates are not degrees, they look projected: {hint} instead of {crs}."
    else:
        if looks_like_degrees(east, north):
            return f"The coordinates look like degrees, not like {crs}: give EPSG:4326 as their system."
        if _share(*to_lonlat(north, east, crs), domain) > 0.5:
            return "Easting and northing look swapped: exchange the two columns."
        fits = _fitting(east, north, domain)
        if fits:
            return f"Read as {crs} the points miss the region; they fit {fits}."
    lon, lat = to_lonlat(east, north, crs)
    on_earth = np.isfinite(lon)
    if not on_earth.any():
        return f"No point has a place on Earth when read as {crs}: name the right EPSG code."
    west, south, right, top = domain.region.bounds
    area = f"longitudes {west:.2f} and {right:.2f}, latitudes {south:.2f} and {top:.2f}"
    if int(on_earth.sum()) < FEWEST_TOLD:
        return f"No point is between {area}: choose the region that belongs to the data."
    middle = f"longitude {np.median(lon[on_earth]):.1f}, latitude {np.median(lat[on_earth]):.1f}"
    return (
        f"The points are around {middle}, the region between {area}: "
        "choose the region that belongs to the data."
    )


def _sample(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most `_SAMPLE` finite pairs, evenly spread over the rows."""
    east = np.atleast_1d(np.asarray(x, dtype=np.float64))
    north = np.atleast_1d(np.asarray(y, dtype=np.float64))
    finite = np.flatnonzero(np.isfinite(east) & np.isfinite(north))
    rows = finite[:: max(1, -(-finite.size // _SAMPLE))]
    return east[rows], north[rows]


def _share(lon: NDArray[np.float64], lat: NDArray[np.float64], domain: Domain) -> float:
    return float(np.mean(domain.locate(lon, lat) >= 0)) if lon.size else 0.0


def _fitting(x: NDArray[np.float64], y: NDArray[np.float64], domain: Domain) -> str | None:
    """The first common system in which most points are in the domain."""
    return next((crs for crs in _COMMON if _share(*to_lonlat(x, y, crs), domain) > 0.5), None)
