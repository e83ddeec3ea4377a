"""The curator's public layers in a bundle: written as GeoJSON, and read again within limits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import shapely
from shapely.geometry.base import BaseGeometry

from geo import GeoError, geometry_dict
from geo.context.own_layers import DECIMALS, MOST_FEATURES, Feature, OwnLayer, check_amount, shape_of
from geo.domains.areas import Areas, areas_of
from geo.domains.domain import Domain
from geo.domains.hexagons import multipolygon
from geo.geojson import collection_bytes
from hexcursion.bundle.errors import BundleError
from hexcursion.bundle.exports.base import DECLARED
from hexcursion.bundle.files import layout
from hexcursion.bundle.untrusted import strict_json

MOST_MEETINGS = 200_000
"""Pairs of an edge of a layer and a cell: the 20,000 corners of a map of boroughs make a third of them."""


def layers_bytes(layers: Sequence[OwnLayer]) -> bytes:
    """GeoJSON with a feature for each thing, its layer and its label as properties."""
    features = [
        {
            "type": "Feature",
            "properties": {"layer": layer.name, "label": one.label},
            "geometry": _geometry(one),
        }
        for layer in layers
        for one in layer.features
    ]
    styles = {
        layer.name: {"colour": layer.colour, "width": layer.width}
        for layer in layers
        if layer.colour or layer.width
    }
    written: dict[str, Any] = {"type": "FeatureCollection", "declared": DECLARED}
    return collection_bytes({**written, **({"styles": styles} if styles else {}), "features": features})


def read_layers(content: bytes) -> tuple[OwnLayer, ...]:
    """The layers of a bundle that anyone may have made. Raise `BundleError` for what no release writes: other
    properties, shapes, styles or amounts."""
    collection: Any = strict_json(content, layout.LAYERS)
    features = collection.get("features") if isinstance(collection, dict) else None
    if not isinstance(features, list) or not 1 <= len(features) <= MOST_FEATURES:
        raise BundleError(f"{layout.LAYERS} must hold 1 to {MOST_FEATURES:,} features.")
    found: dict[str, list[Feature]] = {}
    try:
        for feature in features:
            layer, one = _feature(feature)
            found.setdefault(layer, []).append(one)
        styles = _styles(collection, found.keys())
        layers = tuple(
            OwnLayer(name, tuple(members), *styles.get(name, ("", 0.0))) for name, members in found.items()
        )
        check_amount(layers)
    except GeoError as error:
        raise BundleError(f"{layout.LAYERS} cannot be used: {error}") from error
    return layers


def named_areas_of(layers: Sequence[OwnLayer], domain: Domain) -> Areas | None:
    """The named polygons of the layers and their parts of the hexagons; None where there are none. Nor are
    there any where their outlines run to and fro over the hexagons."""
    named: dict[str, list[BaseGeometry]] = {}
    for layer in layers:
        for one in layer.areas:
            named.setdefault(one.label, []).append(one.shape)
    if not named:
        return None
    shapes = [multipolygon(shapely.union_all(parts)) for parts in named.values()]
    try:
        found = areas_of([*named], shapes, domain, most=MOST_MEETINGS)
    except GeoError:  # no map of areas: such outlines are drawn, and no more
        return None
    inside = found.weights.sum(axis=1) > 0.0
    return found.part(inside) if bool(inside.any()) else None


def _styles(collection: Any, names: Collection[str]) -> dict[str, tuple[str, float]]:
    """Colour and width of the layers that have their own."""
    stated = collection.get("styles", {})
    if not isinstance(stated, dict) or not set(stated) <= set(names):
        raise BundleError(f"the styles of {layout.LAYERS} are of layers that it does not hold.")
    found = {}
    for name, one in stated.items():
        known = isinstance(one, dict) and set(one) == {"colour", "width"}
        width: Any = one["width"] if known else None
        if not known or not isinstance(one["colour"], str) or type(width) not in (int, float):
            raise BundleError(f"a style of {layout.LAYERS} is a colour and a width, and nothing else.")
        found[name] = (one["colour"], float(width))
    return found


def _feature(feature: Any) -> tuple[str, Feature]:
    properties = feature.get("properties") if isinstance(feature, dict) else None
    if not isinstance(properties, dict) or set(properties) != {"layer", "label"}:
        raise BundleError(f"every feature of {layout.LAYERS} has a layer and a label, and nothing else.")
    layer, label = properties["layer"], properties["label"]
    if not isinstance(layer, str) or not isinstance(label, str):
        raise BundleError(f"layer and label of a feature of {layout.LAYERS} are texts.")
    return layer, Feature(label, shape_of(feature.get("geometry"), layer))


def _geometry(one: Feature) -> dict[str, Any]:
    if one.kind == "area":
        made = geometry_dict(multipolygon(one.shape))
    else:
        made = dict(shapely.geometry.mapping(one.shape))
    return {"type": made["type"], "coordinates": _rounded(made["coordinates"])}


def _rounded(part: Any) -> Any:
    return [_rounded(one) for one in part] if isinstance(part, list | tuple) else round(float(part), DECIMALS)
