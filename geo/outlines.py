"""Public outlines put right: the named parts of a file to choose among, and exchanged axes turned back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geo.errors import DomainError
from geo.region import Source, read_document

MOST_PARTS = 5_000  # names offered for choice
_LABELS = ("name", "nom", "naam", "label", "title", "bezeichnung")


def named_parts(source: Source) -> dict[str, dict[str, Any]]:
    """Find the parts of a GeoJSON file that a person can choose among by name.

    Parameters
    ----------
    source : str, Path, bytes or mapping
        A path, the file's bytes, or the parsed object.

    Returns
    -------
    dict
        A GeoJSON feature for each name, names increasing; empty where the file has fewer than two features or
        no column of texts that tells them apart.

    Raises
    ------
    DomainError
        Where the file is not GeoJSON.
    """
    document = read_document(source)
    features = [one for one in document.get("features") or () if isinstance(one, Mapping)]
    if document.get("type") != "FeatureCollection" or not 2 <= len(features) <= MOST_PARTS:
        return {}
    column = _label_column(features)
    if column is None:
        return {}
    shared = {"crs": document["crs"]} if "crs" in document else {}
    return {name: {**one, **shared} for name, one in sorted((_text(one, column), one) for one in features)}


def exchanged(source: Source) -> dict[str, Any]:
    """Exchange longitude and latitude in a GeoJSON file that has them the wrong way round.

    Parameters
    ----------
    source : str, Path, bytes or mapping

    Returns
    -------
    dict
        The same document with the first two numbers of every position exchanged.

    Raises
    ------
    DomainError
        Where the file is not GeoJSON.
    """
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
    return [_turned(one, depth + 1) for one in thing] if isinstance(thing, list) else thing


def _positions(thing: Any, depth: int) -> Any:
    if depth > 12 or not isinstance(thing, list):
        return thing
    if len(thing) >= 2 and all(isinstance(one, int | float) for one in thing[:2]):
        return [thing[1], thing[0], *thing[2:]]
    return [_positions(one, depth + 1) for one in thing]


def _label_column(features: list[Mapping[str, Any]]) -> str | None:
    """The column of texts that tell all features apart; one that is called a name, if there are many."""
    first = features[0].get("properties")
    columns = [str(name) for name in first] if isinstance(first, Mapping) else []
    good = []
    for column in columns:
        texts = [_text(one, column) for one in features]
        if all(texts) and len(set(texts)) == len(texts):
            good.append(column)
    return min(good, key=_rank, default=None)


def _rank(column: str) -> int:
    """Columns that are called a name come first, then those whose name ends like one."""
    low = column.lower()
    if low in _LABELS:
        return _LABELS.index(low)
    return len(_LABELS) + (0 if low.endswith(("name", "nm")) else 1)


def _text(feature: Mapping[str, Any], column: str) -> str:
    """The entry of a column where it is a text, else nothing."""
    properties = feature.get("properties")
    value = properties.get(column) if isinstance(properties, Mapping) else None
    return value.strip()[:120] if isinstance(value, str) else ""
