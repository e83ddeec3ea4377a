"""Layers of one's own: areas, lines and points that are public, drawn over the hexagons with their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from geo.errors import DomainError

MOST_LAYERS = 5
MOST_FEATURES = 2_000  # of all layers together, near the region
MOST_CORNERS = 20_000  # of all layers together, after simplifying
LONGEST = 100  # letters of a name
USUAL = {"area": 1.3, "line": 1.8, "point": 8.0}  # pixels: widths of outlines and lines, and across a dot
THINNEST, WIDEST = 0.5, 12.0
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
DECIMALS = 6  # of a degree: a tenth of a metre
TYPES = ("Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon")
Kind = Literal["area", "line", "point"]
_DIMENSIONS: tuple[Kind, ...] = ("point", "line", "area")


@dataclass(frozen=True)
class Named:
    """A name and where it stands, longitude and latitude in degrees."""

    name: str
    at: tuple[float, float]


@dataclass(frozen=True)
class Feature:
    """One thing of a layer. Raise `DomainError` for other shapes, and names that are too long or hold control
    characters."""

    label: str  # its name; "" where it has none
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
        """What it is made of."""
        return _DIMENSIONS[int(shapely.get_dimensions(self.shape))]


@dataclass(frozen=True)
class OwnLayer:
    """A public layer: boroughs, roads, rivers, stations. Raise `DomainError` for no features, a name that
    cannot be shown, or a colour or width that is none."""

    name: str  # what it is called, in a few words
    features: tuple[Feature, ...]  # at least one
    colour: str = ""  # "#rrggbb" of lines and dots on light and on dark ground; "" for the ink of the map
    width: float = 0.0  # pixels of lines, and across dots; 0 for what is usual

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
        """Pixels: how wide its outlines and lines are drawn."""
        return self.width or USUAL["area" if any(one.kind == "area" for one in self.features) else "line"]

    @property
    def dot(self) -> float:
        """Pixels: how large its points are drawn, from side to side."""
        return self.width or USUAL["point"]

    @property
    def areas(self) -> tuple[Feature, ...]:
        """Its polygons that have a name."""
        return tuple(one for one in self.features if one.kind == "area" and one.label)

    @cached_property
    def lines(self) -> tuple[NDArray[np.float64], ...]:
        """Outlines and lines as they are drawn; (K, 2) degrees."""
        found: list[NDArray[np.float64]] = []
        for one in self.features:
            if one.kind == "point":
                continue
            edges = shapely.boundary(one.shape) if one.kind == "area" else one.shape
            found += [shapely.get_coordinates(part) for part in shapely.get_parts(edges)]
        return tuple(found)

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """(K, 2) degrees."""
        shapes = [one.shape for one in self.features if one.kind == "point"]
        return np.asarray(shapely.get_coordinates(shapes), dtype=np.float64).reshape(-1, 2)

    @cached_property
    def labels(self) -> tuple[Named, ...]:
        """Names of its features and where they stand, the larger first, each once."""
        size = {"area": shapely.area, "line": shapely.length, "point": lambda shape: 0.0}
        kept: dict[str, tuple[float, Named]] = {}
        for one in self.features:
            large = float(size[one.kind](one.shape))
            if one.label and (one.label not in kept or kept[one.label][0] < large):
                kept[one.label] = (large, Named(one.label, _spot(one)))
        return tuple(named for _, named in sorted(kept.values(), key=lambda each: -each[0]))


def clean(text: str, longest: int = LONGEST) -> str:
    r"""Make a text fit to be shown: on one line, printable, of at most so many letters.

    >>> clean("  Tower\nHamlets\u202e ")
    'Tower Hamlets'
    """
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())[:longest].rstrip()


def check_amount(layers: Sequence[OwnLayer], *, corners: bool = True) -> None:
    """Raise `DomainError` for more layers, features or (unless left out) corners than a map can carry."""
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
    return sum(int(shapely.count_coordinates([one.shape for one in layer.features])) for layer in layers)


def _spot(one: Feature) -> tuple[float, float]:
    """Where a name stands: inside the largest part of an area, halfway along the longest line."""
    parts = shapely.get_parts(one.shape)
    if one.kind == "area":
        place = shapely.point_on_surface(parts[int(np.argmax(shapely.area(parts)))])
    elif one.kind == "line":
        place = shapely.line_interpolate_point(
            parts[int(np.argmax(shapely.length(parts)))], 0.5, normalized=True
        )
    else:
        place = parts[0]
    return round(float(place.x), DECIMALS), round(float(place.y), DECIMALS)
