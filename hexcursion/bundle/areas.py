"""The curator's own layers, and what a release says of areas such as those named in them."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from dpgp_core.excursion import Direction, JointField, area_shares, excursion, joint_excursions
from dpgp_core.noise import SimulationEntropy
from geo import Domain, GeoError, geometry_dict
from geo.context.own_layers import DECIMALS, MOST_FEATURES, Feature, OwnLayer, check_amount, shape_of
from geo.domains.areas import Areas, areas_of
from geo.domains.hexagons import multipolygon
from geo.geojson import collection_bytes
from hexcursion import words
from hexcursion.bundle import layout
from hexcursion.bundle.layers import DECLARED
from hexcursion.bundle.products import CONFIDENCE, Floats, MapValues, Products
from hexcursion.bundle.untrusted import BundleError, csv_text, neutral_cell, strict_json
from hexcursion.new_place import made_whole, new_place

MOST_MEETINGS = 200_000
"""Pairs of an edge of a layer and a cell: the 20,000 corners of a map of boroughs make a third of
them."""


def layers_bytes(layers: Sequence[OwnLayer]) -> bytes:
    """GeoJSON with a feature for each thing, its layer and its label as properties."""
    features = [
        {
            "type": "Feature",
            "properties": {"layer": layer.name, "label": feature.label},
            "geometry": _geometry(feature),
        }
        for layer in layers
        for feature in layer.features
    ]
    styles = {
        layer.name: {"colour": layer.colour, "width": layer.width}
        for layer in layers
        if layer.colour or layer.width
    }
    collection: dict[str, Any] = {"type": "FeatureCollection", "declared": DECLARED}
    return collection_bytes({**collection, **({"styles": styles} if styles else {}), "features": features})


def read_layers(content: bytes) -> tuple[OwnLayer, ...]:
    """The layers of a bundle that anyone may have made. Raise `BundleError` for what no release
    writes: other properties, shapes, styles or amounts."""
    collection: Any = strict_json(content, layout.LAYERS)
    features = collection.get("features") if isinstance(collection, dict) else None
    if not isinstance(features, list) or not 1 <= len(features) <= MOST_FEATURES:
        raise BundleError(f"{layout.LAYERS} must hold 1 to {MOST_FEATURES:,} features.")
    features_by_layer: dict[str, list[Feature]] = {}
    try:
        for feature in features:
            layer, shape = _feature(feature)
            features_by_layer.setdefault(layer, []).append(shape)
        styles = _styles(collection, features_by_layer.keys())
        layers = tuple(
            OwnLayer(name, tuple(members), *styles.get(name, ("", 0.0)))
            for name, members in features_by_layer.items()
        )
        check_amount(layers)
    except GeoError as error:
        raise BundleError(f"{layout.LAYERS} cannot be used: {error}") from error
    return layers


def named_areas_of(layers: Sequence[OwnLayer], domain: Domain) -> Areas | None:
    """The named polygons of the layers and their parts of the hexagons; None without such layers.
    Nor are there any where their outlines run to and fro over the hexagons. Those of one name are
    one area, which says of how many outlines."""
    outlines_by_name: dict[str, list[BaseGeometry]] = {}
    for layer in layers:
        for area in layer.areas:
            outlines_by_name.setdefault(area.label, []).append(area.shape)
    if not outlines_by_name:
        return None
    shapes = [multipolygon(shapely.union_all(parts)) for parts in outlines_by_name.values()]
    try:
        names = [_told(label, len(parts)) for label, parts in outlines_by_name.items()]
        areas = areas_of(names, shapes, domain, most=MOST_MEETINGS)
    except GeoError:  # no map of areas: such outlines are drawn, and no more
        return None
    inside = areas.weights.sum(axis=1) > 0.0
    return areas.part(inside) if bool(inside.any()) else None


def _told(label: str, outlines: int) -> str:
    return label if outlines == 1 else f"{label} ({outlines} outlines)"


def _styles(collection: Any, names: Collection[str]) -> dict[str, tuple[str, float]]:
    """Colour and width of the layers that have their own."""
    styles = collection.get("styles", {})
    if not isinstance(styles, dict) or not set(styles) <= set(names):
        raise BundleError(f"the styles of {layout.LAYERS} are of layers that it does not hold.")
    checked_styles = {}
    for name, style in styles.items():
        well_formed = isinstance(style, dict) and set(style) == {"colour", "width"}
        width: Any = style["width"] if well_formed else None
        if not well_formed or not isinstance(style["colour"], str) or type(width) not in (int, float):
            raise BundleError(f"a style of {layout.LAYERS} is a colour and a width, and nothing else.")
        checked_styles[name] = (style["colour"], float(width))
    return checked_styles


def _feature(feature: Any) -> tuple[str, Feature]:
    properties = feature.get("properties") if isinstance(feature, dict) else None
    if not isinstance(properties, dict) or set(properties) != {"layer", "label"}:
        raise BundleError(f"every feature of {layout.LAYERS} has a layer and a label, and nothing else.")
    layer, label = properties["layer"], properties["label"]
    if not isinstance(layer, str) or not isinstance(label, str):
        raise BundleError(f"layer and label of a feature of {layout.LAYERS} are texts.")
    return layer, Feature(label, shape_of(feature.get("geometry"), layer))


def _geometry(feature: Feature) -> dict[str, Any]:
    if feature.kind == "area":
        geometry = geometry_dict(multipolygon(feature.shape))
    else:
        geometry = dict(shapely.geometry.mapping(feature.shape))
    return {"type": geometry["type"], "coordinates": _rounded(geometry["coordinates"])}


def _rounded(part: Any) -> Any:
    return (
        [_rounded(number) for number in part]
        if isinstance(part, list | tuple)
        else round(float(part), DECIMALS)
    )


SEED = 20270101  # the same bundle and areas always give the same answers
SETS = 1_000
FEWEST = 10  # draws that can tell how hexagons vary together


@dataclass(frozen=True)
class AreaAnswer:
    """What a release says of one area."""

    name: str  # Of the area
    # Expected share of the area beyond the threshold; None where it has no hexagon
    share: float | None
    low: float | None  # ends of the interval that holds that share with `confidence`
    high: float | None
    confidence: float
    covered: float  # Share of the area with judged hexagons; the others are left out of its answer

    def row(self) -> dict[str, str | float | None]:
        """Columns of a table, shares with four decimals."""
        exact_shares = {"share": self.share, "low": self.low, "high": self.high}
        shares = {name: None if value is None else round(value, 4) for name, value in exact_shares.items()}
        return {"area": self.name, **shares, "confidence": self.confidence, "covered": round(self.covered, 4)}


def shares_of(
    areas: Areas,
    values: MapValues,
    level: Floats | float,
    direction: Direction,
    confidence: float = CONFIDENCE,
) -> list[AreaAnswer]:
    """One answer for each of the areas, from their (A, N) parts of the hexagons, at a `level` in
    response units. Raise `BundleError` for fewer than `FEWEST` draws."""
    draws = values.joint
    if draws.shape[0] < FEWEST:
        raise BundleError(
            f"This release has {words.plural(draws.shape[0], 'draw')} of its field, too few for intervals: "
            f"that takes {FEWEST}."
        )
    sets: Iterable[NDArray[np.bool_]] = [excursion(draws, level, direction)]
    if values.field is not None:
        field = JointField(*values.field, draws)
        sets = joint_excursions(field, level, direction, SETS, SimulationEntropy(SEED))
    in_map = areas.weights.sum(axis=1) > 0.0
    shares = iter(area_shares(sets, areas.weights[in_map], confidence))
    answers = []
    for name, covered, inside in zip(areas.names, areas.covered.tolist(), in_map.tolist(), strict=True):
        if inside:
            share = next(shares)
            answers.append(AreaAnswer(name, share.mean, share.low, share.high, confidence, covered))
        else:
            answers.append(AreaAnswer(name, None, None, None, confidence, 0.0))
    return answers


def judged_part(areas: Areas, judged: NDArray[np.bool_]) -> Areas:
    """The areas with the judged hexagons (N,) alone, and how much of each area these cover."""
    weights = areas.weights * judged
    sizes = areas.weights.sum(axis=1)
    part = np.divide(weights.sum(axis=1), sizes, out=np.zeros(sizes.size), where=sizes > 0.0)
    return replace(areas, weights=weights, covered=areas.covered * part)


MOST = 100
FIRST = 3  # areas that one sentence names
DUST = 1e-9  # nearer to a whole per cent than this counts as whole


@dataclass(frozen=True)
class BoroughTable:
    """The largest shares of named areas, in words, for people."""

    # name, share and interval in words, and how much of the area the hexagons cover; largest share
    # first
    rows: tuple[tuple[str, str, str, str], ...]
    left_out: int  # areas that found no place in the table
    intervals: bool  # whether the release has draws enough to say how surely

    @property
    def lead(self) -> str:
        """The largest shares in one sentence; "" without areas."""
        first = [f"{name} {share}" for name, share, *_ in self.rows[:FIRST] if share not in ("0 %", "–")]
        return f"Largest shares: {', '.join(first)}." if first else ""

    @property
    def note(self) -> str:
        """The meaning of the columns, and of places that the table leaves out."""
        text = "The share is that of the area's judged hexagons, by the part of them that lies in it."
        if self.intervals:
            text += f" The interval holds it with {CONFIDENCE * 100:.0f} % confidence, given the release."
        else:
            text += f" The release has too few draws of its field for intervals: that takes {FEWEST}."
        text += " Open hexagons count by their chance."
        if self.left_out:
            text += f" {self.left_out:,} more areas: python -m hexcursion areas says them all."
        return text


def borough_table(
    domain: Domain,
    layers: Sequence[OwnLayer],
    products: Products,
    values: MapValues,
) -> BoroughTable | None:
    """The table of the named areas in a map's own layers, at the threshold of the products of the
    map's values; None without such areas."""
    areas = named_areas_of(layers, domain)
    if areas is None:
        return None
    areas, draws = judged_part(areas, products.judged), values.joint
    if draws.shape[0] >= FEWEST:
        answers = shares_of(areas, values, products.level, products.direction)
    else:
        sizes = areas.weights.sum(axis=1)
        mean_chance = np.divide(
            areas.weights @ products.chance, sizes, out=np.zeros(sizes.size), where=sizes > 0
        )
        shares = [
            share if has_size else None
            for share, has_size in zip(mean_chance.tolist(), sizes > 0.0, strict=True)
        ]
        named_shares = zip(areas.names, shares, areas.covered.tolist(), strict=True)
        answers = [
            AreaAnswer(name, share, None, None, CONFIDENCE, part) for name, share, part in named_shares
        ]
    ordered = sorted(answers, key=lambda answer: (-(answer.share or 0.0), answer.name))
    rows = tuple(_row(answer) for answer in ordered[:MOST])
    return BoroughTable(rows, max(0, len(ordered) - MOST), draws.shape[0] >= FEWEST)


def _row(answer: AreaAnswer) -> tuple[str, str, str, str]:
    interval = "–"
    # Rounded outwards: it still holds what it held
    if answer.low is not None and answer.high is not None:
        low, high = math.floor(100.0 * answer.low + DUST), math.ceil(100.0 * answer.high - DUST)
        interval = f"{low} % to {high} %"
    share = "–" if answer.share is None else _part(answer.share)
    return answer.name, share, interval, "all" if answer.covered > 0.995 else _part(answer.covered)


def _part(share: float) -> str:
    return f"{100.0 * share:.0f} %"


def new_table(path: str | Path) -> Path:
    """Return the path of a new file for `write_table`.

    Raise `BundleError` unless its name ends in .csv or .geojson, `WorkflowError` as `new_place`.
    """
    place = new_place(path, "file")
    if place.suffix.lower() not in (".csv", ".geojson"):
        raise BundleError(f"{place.name} is neither .csv nor .geojson: name the file for one of them.")
    return place


def table_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write at least one row, all of the same columns, as CSV; no text of it runs in a
    spreadsheet."""
    cells = ([neutral_cell(cell) if isinstance(cell, str) else cell for cell in row.values()] for row in rows)
    return csv_text([rows[0], *cells])


def write_table(place: Path, rows: Sequence[Mapping[str, Any]], shapes: Iterable[BaseGeometry]) -> None:
    """Write rows as CSV, or with the outline of each (WGS 84) as GeoJSON, as the file's name ends.

    Raise `WorkflowError` if the file cannot be written.
    """
    if place.suffix.lower() == ".csv":
        text = table_csv(rows)
    else:
        features = [
            {"type": "Feature", "properties": row, "geometry": geometry_dict(shape)}
            for row, shape in zip(rows, shapes, strict=True)
        ]
        text = json.dumps({"type": "FeatureCollection", "features": features}, ensure_ascii=False) + "\n"
    with made_whole(place) as file:
        file.write_text(text, encoding="utf-8", newline="")
