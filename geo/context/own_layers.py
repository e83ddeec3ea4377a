"""A curator's public layers: GeoJSON areas, lines and points around a domain, drawn with their
names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geo.crs import to_lonlat
from geo.domains.domain import Domain
from geo.domains.view import Box, region_box, wide_box
from geo.errors import DomainError
from geo.region import Source, check_outline, read_document, stated_crs

MOST_LAYERS = 5
MOST_FEATURES = 2_000  # of all layers together, near the region
MOST_CORNERS = 20_000  # of all layers together, after simplifying
LONGEST = 100  # letters of a name
# Pixels: widths of outlines and lines, and the diameter of a dot.
_WIDTHS = {"area": 1.3, "line": 1.8, "point": 8.0}
THINNEST, WIDEST = 0.5, 12.0
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
DECIMALS = 6  # of a degree: a tenth of a metre
TYPES = ("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon")
Kind = Literal["area", "line", "point"]
_DIMENSIONS: tuple[Kind, ...] = ("point", "line", "area")
MOST_READ = 50_000  # features of one file, near the region or not
_NAMES = ("name", "label", "title", "borough", "district", "id")
"""Headers of columns that may contain names, the likeliest first; case is ignored."""
_MOST_POSITIONS = 1_000_000
_ROOM = 0.97  # share of the corners that simplifying aims at
_DEEPEST = 8  # collections within collections


@dataclass(frozen=True)
class Named:
    """A name and its position, longitude and latitude in degrees."""

    name: str
    at: tuple[float, float]


@dataclass(frozen=True)
class Feature:
    """A named shape of a layer. Raise `DomainError` for other shapes, and for names that are too
    long or hold control characters."""

    label: str  # its name, or ""
    shape: BaseGeometry  # polygons, lines or points, WGS 84 degrees within -180 to 180 and -90 to 90

    def __post_init__(self) -> None:
        if self.label != clean(self.label):
            raise DomainError("a name in the layers is too long or holds characters that cannot be shown.")
        if self.shape.is_empty or self.shape.geom_type not in TYPES:
            raise DomainError("a layer is made of polygons, lines or points, and of nothing else.")
        positions = shapely.get_coordinates(self.shape)
        if not np.isfinite(positions).all() or (np.abs(positions) > (180.0, 90.0)).any():
            raise DomainError(
                "a layer has coordinates that are not degrees of longitude and latitude: export it in "
                "EPSG:4326."
            )

    @property
    def kind(self) -> Kind:
        """Area, line or point."""
        return _DIMENSIONS[int(shapely.get_dimensions(self.shape))]


@dataclass(frozen=True)
class OwnLayer:
    """A public layer: boroughs, roads, rivers, stations. Raise `DomainError` for no features, a
    name that cannot be shown, or an impossible colour or width."""

    name: str  # of the layer, in a few words
    features: tuple[Feature, ...]  # at least one
    colour: str = ""  # "#rrggbb" of lines and dots on light and on dark ground; "" for the ink of the map
    width: float = 0.0  # pixels of lines, and across dots; 0 for the usual width

    def __post_init__(self) -> None:
        if not self.features:
            raise DomainError(f"the layer {self.name[:60]!r} is empty.")
        if not self.name or self.name != clean(self.name):
            raise DomainError("a layer has no name, or one that is too long or cannot be shown.")
        if self.colour and not _COLOUR.fullmatch(self.colour):
            raise DomainError(f"a layer's colour is written like #1f78b4, not {self.colour[:20]!r}.")
        if self.width and not THINNEST <= self.width <= WIDEST:
            raise DomainError(
                f"a layer's width is {THINNEST:g} to {WIDEST:g} pixels, or 0 for the usual one, not "
                f"{self.width:g}."
            )

    @property
    def stroke(self) -> float:
        """Width of its outlines and lines, pixels."""
        return (
            self.width
            or _WIDTHS["area" if any(feature.kind == "area" for feature in self.features) else "line"]
        )

    @property
    def dot(self) -> float:
        """Diameter of its points, pixels."""
        return self.width or _WIDTHS["point"]

    @property
    def areas(self) -> tuple[Feature, ...]:
        """Its polygons that have a name."""
        return tuple(feature for feature in self.features if feature.kind == "area" and feature.label)

    @cached_property
    def lines(self) -> tuple[NDArray[np.float64], ...]:
        """Outlines and lines for drawing; (K, 2) degrees."""
        outlines: list[NDArray[np.float64]] = []
        for feature in self.features:
            if feature.kind == "point":
                continue
            edges = shapely.boundary(feature.shape) if feature.kind == "area" else feature.shape
            outlines += [shapely.get_coordinates(part) for part in shapely.get_parts(edges)]
        return tuple(outlines)

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """(K, 2) degrees."""
        shapes = [feature.shape for feature in self.features if feature.kind == "point"]
        return np.asarray(shapely.get_coordinates(shapes), dtype=np.float64).reshape(-1, 2)

    @cached_property
    def labels(self) -> tuple[Named, ...]:
        """Distinct names of its features with their places, the larger features first."""
        size = {"area": shapely.area, "line": shapely.length, "point": lambda shape: 0.0}
        largest: dict[str, tuple[float, Named]] = {}
        for feature in self.features:
            large = float(size[feature.kind](feature.shape))
            if feature.label and (feature.label not in largest or largest[feature.label][0] < large):
                largest[feature.label] = (large, Named(feature.label, _spot(feature)))
        return tuple(label for _, label in sorted(largest.values(), key=lambda entry: -entry[0]))


def clean(text: str, longest: int = LONGEST) -> str:
    """Make a text printable: on one line, of at most `longest` letters."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())[:longest].rstrip()


def check_amount(layers: Sequence[OwnLayer], *, corners: bool = True) -> None:
    """Raise `DomainError` for more layers, features or, with `corners`, corners than a map can
    show."""
    if len(layers) > MOST_LAYERS:
        raise DomainError(f"{len(layers)} layers are too many: choose at most {MOST_LAYERS}.")
    features = sum(len(layer.features) for layer in layers)
    if features > MOST_FEATURES:
        raise DomainError(
            f"the layers have {features:,} features near the area, more than the {MOST_FEATURES:,} that "
            "a map can show: leave the smaller ones out."
        )
    if corners and corners_of(layers) > MOST_CORNERS:
        raise DomainError(f"the layers have more than {MOST_CORNERS:,} corners: simplify them first.")


def corners_of(layers: Iterable[OwnLayer]) -> int:
    """Count the corners of all features."""
    return sum(
        int(shapely.count_coordinates([feature.shape for feature in layer.features])) for layer in layers
    )


def _spot(feature: Feature) -> tuple[float, float]:
    """The position of a name: inside the largest part of an area, halfway along the longest
    line."""
    parts = shapely.get_parts(feature.shape)
    if feature.kind == "area":
        place = shapely.point_on_surface(parts[int(np.argmax(shapely.area(parts)))])
    elif feature.kind == "line":
        place = shapely.line_interpolate_point(
            parts[int(np.argmax(shapely.length(parts)))], 0.5, normalized=True
        )
    else:
        place = parts[0]
    return round(float(place.x), DECIMALS), round(float(place.y), DECIMALS)


def label_columns(source: Source) -> tuple[str, ...]:
    """Return the columns of a GeoJSON file with a text or number in some feature, usual columns of
    names first; raise `DomainError` for other files."""
    columns: dict[str, None] = {}
    for feature in _features(read_document(source, "layer file")):
        for name, value in properties_of(feature).items():
            if _text(value):
                columns[str(name)] = None
    return tuple(sorted(columns, key=_likely))


def own_layer(source: Source, domain: Domain, name: str, column: str | None = None) -> OwnLayer:
    """Read a GeoJSON layer of polygons, lines or points, and keep the part around a domain. A file
    with the older `crs` member is converted. `column` has the names of features: "" for no names,
    by default the likeliest column. Raise `DomainError` for another kind of file, a missing column,
    or a layer without a shape near the domain."""
    document = read_document(source, "layer file")
    features = _features(document)
    label_column = _column(features, name, column)
    crs = stated_crs(document)
    box = wide_box(region_box(domain))[0]
    nearby, positions = list[Feature](), 0
    for feature in features:
        shape = _parsed(feature.get("geometry"), name)
        positions += int(shapely.count_coordinates(shape))
        if positions > _MOST_POSITIONS:
            raise DomainError(f"the layer {name[:60]!r} has over {_MOST_POSITIONS:,} corners: simplify it.")
        if crs is not None:
            shape = shapely.transform(shape, lambda xy: np.column_stack(to_lonlat(xy[:, 0], xy[:, 1], crs)))
        label = clean(_text(properties_of(feature).get(label_column, ""))) if label_column else ""
        for part in _by_kind(shape):
            Feature("", part)  # refuses coordinates that are no degrees before they are cut
            if near := _near(part, box):
                nearby += [Feature(label, near_part) for near_part in near]
    if not nearby:
        raise DomainError(
            f"the layer {name[:60]!r} has nothing near the area: choose one of the same place, in longitude "
            "and latitude."
        )
    return OwnLayer(clean(name) or "layer", tuple(nearby))


def numbered_shapes(source: Source, name: str, column: str) -> Iterator[tuple[BaseGeometry, str]]:
    """Yield the uncut shape of each feature of a layer, in degrees, with its entry in a column;
    errors as `own_layer`."""
    document = read_document(source, "layer file")
    features, crs = _features(document), stated_crs(document)
    label_column = _column(features, name, column)
    for feature in features:
        shape = _parsed(feature.get("geometry"), name)
        if crs is not None:
            shape = shapely.transform(shape, lambda xy: np.column_stack(to_lonlat(xy[:, 0], xy[:, 1], crs)))
        yield shape, _text(properties_of(feature).get(label_column, ""))


def fitted(layers: Iterable[OwnLayer], domain: Domain) -> tuple[OwnLayer, ...]:
    """Simplify layers until all together have at most `MOST_CORNERS` corners. Shapes that are too
    small for the domain's size may disappear. Raise `DomainError` for too many layers or features,
    or if the coarsest shapes still have too many corners."""
    originals = tuple(layers)
    check_amount(originals, corners=False)
    side = wide_box(region_box(domain))[1]
    exact = side / 20_000.0
    simplified = originals
    while corners_of(simplified) > _ROOM * MOST_CORNERS and exact < side:
        simplified = tuple(_coarser(layer, exact) for layer in originals)
        exact *= 1.6
    check_amount(simplified)
    return simplified


def _coarser(layer: OwnLayer, exact: float) -> OwnLayer:
    features = []
    for feature in layer.features:
        shape = feature.shape if feature.kind == "point" else shapely.simplify(feature.shape, exact)
        features += [Feature(feature.label, part) for part in _by_kind(_rounded(shape))]
    return replace(layer, features=tuple(features)) if features else layer


def _near(shape: BaseGeometry, box: Box) -> list[BaseGeometry]:
    """The parts of a shape in a box that may reach beyond 180 degrees."""
    pieces = []
    for turn in (-360.0, 0.0, 360.0):
        frame = shapely.box(box[0] - turn, box[1], box[2] - turn, box[3])
        if not shapely.intersects(frame, shape):
            continue
        cut = shape if shapely.contains(frame, shape) else shapely.intersection(shape, frame)
        dimension = shapely.get_dimensions(shape)
        pieces += [p for p in _by_kind(_rounded(cut)) if shapely.get_dimensions(p) == dimension]
    return pieces


def _rounded(shape: BaseGeometry) -> BaseGeometry:
    """Round a shape to a grid of `DECIMALS`, so that it remains valid."""
    return shapely.set_precision(shape, 10.0**-DECIMALS)


def _by_kind(shape: BaseGeometry) -> list[BaseGeometry]:
    """A shape divided into its areas, its lines and its points, each a valid shape."""
    if not np.isfinite(shapely.get_coordinates(shape)).all():
        raise DomainError("a layer has coordinates that are not finite numbers: export it again.")
    parts = np.array([*_flat(shape)], dtype=object)
    shapes: list[BaseGeometry] = []
    for dimension, united in (
        (2, shapely.multipolygons),
        (1, shapely.multilinestrings),
        (0, shapely.multipoints),
    ):
        of_dimension = parts[shapely.get_dimensions(parts) == dimension]
        joint = united(of_dimension) if of_dimension.size else shapely.Point()
        if dimension == 2 and of_dimension.size:
            check_outline(joint)
        if dimension == 2 and not shapely.is_valid(joint):
            joint = shapely.make_valid(joint, method="structure", keep_collapsed=False)
        if not joint.is_empty:
            shapes.append(joint)
    return shapes


def _flat(shape: BaseGeometry, depth: int = 0) -> Iterator[BaseGeometry]:
    """The single points, lines and polygons of a shape without empty ones."""
    if depth > _DEEPEST:
        raise DomainError("a layer is nested too deeply: export it again.")
    if not hasattr(shape, "geoms"):
        if not shape.is_empty:
            yield shape
        return
    for part in shape.geoms:
        yield from _flat(part, depth + 1)


def shape_of(geometry: Any, name: str) -> BaseGeometry:
    """Read one GeoJSON geometry of a layer with one kind of shape in each feature; raise
    `DomainError` for other geometries."""
    shapes = _by_kind(_parsed(geometry, name))
    if len(shapes) != 1:
        raise DomainError(
            f"the layer {name[:60]!r} has a feature without a shape, or with shapes of two kinds."
        )
    return shapes[0]


def _parsed(geometry: Any, name: str) -> BaseGeometry:
    if geometry is None:
        return shapely.Point()
    try:
        shape: BaseGeometry = shapely.force_2d(shapely.from_geojson(json.dumps(geometry)))
    except (shapely.errors.ShapelyError, TypeError, ValueError, RecursionError):
        raise DomainError(
            f"the layer {name[:60]!r} has a geometry that is not GeoJSON: export the layer again."
        ) from None
    return shape


def _features(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    kind = document.get("type")
    features = document.get("features") if kind == "FeatureCollection" else [document]
    if kind != "Feature" and kind in TYPES:
        features = [{"type": "Feature", "properties": {}, "geometry": document}]
    elif kind not in ("Feature", "FeatureCollection"):
        features = None
    if not isinstance(features, list) or not all(isinstance(feature, Mapping) for feature in features):
        raise DomainError("the layer is not GeoJSON: its features must be a list of objects.")
    if len(features) > MOST_READ:
        raise DomainError(f"the layer has more than {MOST_READ:,} features: export those near the area.")
    return features


def _column(features: list[Mapping[str, Any]], layer: str, column: str | None) -> str:
    columns = {
        str(name) for feature in features for name, value in properties_of(feature).items() if _text(value)
    }
    if column:
        if column not in columns:
            raise DomainError(
                f"the layer {layer[:60]!r} has no entries in a column {column[:60]!r}: choose among "
                f"{', '.join(sorted(columns, key=_likely)[:8]) or 'none: it has no columns'}."
            )
        return column
    if column is not None:
        return ""
    likely = [name for name in columns if name.lower() in _NAMES or name.lower().endswith(("name", "nm"))]
    return min(likely, key=_likely, default="")


def _likely(column: str) -> tuple[int, str]:
    return name_rank(column, _NAMES), column


def name_rank(column: str, names: Sequence[str]) -> int:
    """Return the rank of a column among those that may hold names, 0 for the likeliest. Columns of
    `names` come first, in that order, then columns that end in "name" or "nm", then the other
    columns."""
    low = column.lower()
    if low in names:
        return names.index(low)
    return len(names) + (0 if low.endswith(("name", "nm")) else 1)


def properties_of(feature: Mapping[str, Any]) -> Mapping[str, Any]:
    """The properties of a GeoJSON feature; empty without an object of properties."""
    properties = feature.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _text(value: Any) -> str:
    """A text or a number as a name; "" for other values."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value).strip()
