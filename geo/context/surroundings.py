"""The surroundings of a region on maps: coast, lakes, rivers, borders and named places."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import shapely
from numpy.typing import NDArray

from geo.colours import channels
from geo.context.own_layers import OwnLayer
from geo.context.shores import FILE, Lines, cut, shores
from geo.domains.domain import Domain
from geo.domains.view import Box, region_box, wide_box

NAMES_SOURCE = "Place names: GeoNames, CC BY 4.0."
SHORES_SOURCE = "Shores, rivers and borders: Natural Earth."
SOURCE = f"{NAMES_SOURCE} {SHORES_SOURCE}"
STEPS = 10_000  # of a degree: 11 metres; the coast is exact to about a kilometre
CORNERS = 4_000  # largest number for all shores, rivers and borders together
CLOSE = 0.75  # reach of fine lines around a region's middle, as a share of its sides
COARSER = 6.0  # factor of the tolerance of lines beyond
RIVERS_FROM = 0.2  # degrees: least side of a region for which rivers are exact enough
OWN_SIZE = 60_000  # inhabitants of the towns that names of the curator's layers look like
NEAR, FAR = 260, 90  # largest numbers of places within a region's size around it, and beyond
_HOLDERS = {"hexcursion_maps": "assets", "hexcursion": "app/hexcursion_maps/assets"}  # a checkout, a wheel


@dataclass(frozen=True)
class Place:
    """A named place."""

    name: str
    longitude: float  # degrees within 180 of the region's middle, so possibly beyond 180
    latitude: float
    population: int  # by GeoNames; a typical number for seats of an administration without one


@dataclass(frozen=True)
class Surroundings:
    """The surroundings of a region."""

    # extent of the surroundings: west, south, east, north, degrees; longitudes as in `Place`
    box: Box = (0.0, 0.0, 0.0, 0.0)
    land: Lines = ()  # (K, 2) polygons in that box, without holes; the rest is sea
    lakes: Lines = ()  # (K, 2) polygons of water on that land
    isles: Lines = ()  # (K, 2) polygons of land in those lakes
    rivers: Lines = ()  # (K, 2) lines, degrees
    borders: Lines = ()  # (K, 2) lines between countries, degrees
    places: tuple[Place, ...] = ()  # those near the region first, each part by falling population
    own: tuple[OwnLayer, ...] = ()  # public layers of the curator
    middle: float = 0.0  # longitude of the region's middle, degrees, if there are such layers

    @property
    def own_names(self) -> tuple[Place, ...]:
        """The names in the curator's layers, larger features first."""
        return tuple(
            Place(label.name, float(self._near(label.at[0])), label.at[1], OWN_SIZE)
            for layer in self.own
            for label in layer.labels
        )

    @property
    def other_names(self) -> tuple[Place, ...]:
        """The places without those that a curator's layer names as well."""
        taken_names = {place.name.casefold() for place in self.own_names}
        if not taken_names:
            return self.places
        return tuple(place for place in self.places if place.name.casefold() not in taken_names)

    @property
    def named(self) -> tuple[Place, ...]:
        """The names in the curator's layers and the other places, the more important first."""
        return (*self.own_names, *self.other_names)

    @property
    def source(self) -> str:
        """The credits under a map with these surroundings: one line, empty without surroundings."""
        lines = self.land or self.lakes or self.rivers or self.borders
        return " ".join([*([NAMES_SOURCE] if self.places else []), *([SHORES_SOURCE] if lines else [])])

    @property
    def coast(self) -> Lines:
        """Shores of land, lakes and their isles, (K, 2) float64, degrees.

        Lines along the edge of the box, or along the cut of Antarctica at the date line, are
        omitted.
        """
        west, south, east, north = self.box
        shore_lines: list[NDArray[np.float64]] = []
        for ring in (*self.land, *self.lakes, *self.isles):
            closed = np.vstack([ring, ring[:1]])
            x, y = closed.T
            on_edge = np.column_stack([x == west, y == south, x == east, y == north, np.abs(x) == 180.0])
            along: NDArray[np.bool_] = np.logical_and(on_edge[:-1], on_edge[1:]).max(axis=1)
            parts = np.split(np.arange(len(ring)), np.flatnonzero(along[1:] != along[:-1]) + 1)
            shore_lines += [closed[part[0] : part[-1] + 2] for part in parts if not along[part[0]]]
        return tuple(shore_lines)

    def packed(self) -> dict[str, Any]:
        """Pack the surroundings into few numbers for a browser.

        `steps` is the number of steps of a degree; `box` is in degrees; `land`, `lakes`, `isles`,
        `rivers` and `borders` are flat lines of whole steps, the first corner and then the
        differences; `places` are [name, longitude, latitude, population]; `own` are layers of
        `lines`, `points` in degrees, `names` as places, `colour` as three numbers or None, `width`
        and `dot` in pixels; `source` are the credits.
        """
        return {
            "steps": STEPS,
            "box": [*self.box],
            "land": [_packed(line) for line in self.land],
            "lakes": [_packed(line) for line in self.lakes],
            "isles": [_packed(line) for line in self.isles],
            "rivers": [_packed(line) for line in self.rivers],
            "borders": [_packed(line) for line in self.borders],
            "places": [
                [p.name, round(p.longitude, 4), round(p.latitude, 4), p.population] for p in self.other_names
            ],
            "own": [
                {
                    "lines": [_packed(line) for line in self._drawn(layer.lines)],
                    "colour": channels(layer.colour) if layer.colour else None,
                    "width": layer.stroke,
                    "dot": layer.dot,
                    "points": np.round(self._drawn([layer.points])[0], 5).tolist(),
                    "names": [
                        [
                            label.name,
                            round(float(self._near(label.at[0])), 5),
                            round(label.at[1], 5),
                            OWN_SIZE,
                        ]
                        for label in layer.labels
                    ],
                }
                for layer in self.own
            ],
            "source": self.source,
        }

    def _near(self, longitude: float | NDArray[np.float64]) -> Any:
        """Longitudes moved to within 180 degrees of the region's middle, so that lines are
        unbroken."""
        return longitude - 360.0 * np.round((longitude - self.middle) / 360.0)

    def _drawn(self, lines: Sequence[NDArray[np.float64]]) -> Lines:
        """Unbroken lines in degrees, near the region."""
        return tuple(np.column_stack([self._near(line[:, 0]), line[:, 1]]) for line in lines)


def folder() -> Path | None:
    """Return the folder of the named places, a part of the linked maps; None if these are not
    installed."""
    for package, inside in _HOLDERS.items():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            place = Path(spec.origin).parent / inside
            if (place / "places.tsv.gz").is_file():
                return place
    return None


def around(domain: Domain, layers: Sequence[OwnLayer] = (), *, world: bool = True) -> Surroundings:
    """Return the surroundings of a domain.

    With `world` these are shores, rivers, borders and places, and the curator's layers, which maps
    draw over the cells. Without built files there are no places. The result depends only on the
    public cells and on the layers.
    """
    layers = tuple(layers)
    surroundings = _around(folder(), FILE, region_box(domain)) if world else Surroundings()
    return replace(surroundings, own=layers, middle=domain.middle[0]) if layers else surroundings


def around_box(box: Box) -> Surroundings:
    """Return the surroundings of a box of degrees, without a cache: the box may be private."""
    return _around.__wrapped__(folder(), FILE, box)


def all_places() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the (n, 2) longitudes and latitudes, degrees, and the (n,) populations of all named
    places, the largest first; n is 0 without built files."""
    source = folder()
    if source is None:
        return np.empty((0, 2)), np.empty(0, dtype=np.int64)
    return _gazetteer(source)[1:]


def find_places(name: str, most: int = 8) -> tuple[Place, ...]:
    """Find at most `most` places by the start of their name, ignoring case.

    Places of exactly this name come first, and larger places before smaller ones. The result is empty
    without built files, or for an empty name.
    """
    source = folder()
    start = name.strip().casefold()
    if source is None or not start:
        return ()
    column, where, population = _gazetteer(source)
    names = column.to_pylist()
    matches = [at for at, entry in enumerate(names) if entry.casefold().startswith(start)]
    matches.sort(key=lambda at: (names[at].casefold() != start, -population[at]))
    return tuple(
        Place(names[at], float(where[at, 0]), float(where[at, 1]), int(population[at]))
        for at in matches[:most]
    )


@lru_cache(maxsize=32)
def _around(source: Path | None, file: Path, region: Box) -> Surroundings:
    frame, side, stretch = wide_box(region)
    middle = ((region[0] + region[2]) / 2, (region[1] + region[3]) / 2)
    world = shores(file)
    rings = [
        [cut(ring, frame) for ring in group.near(frame)] for group in (world.land, world.lakes, world.isles)
    ]
    rivers = world.rivers.near(frame) if side >= RIVERS_FROM else ()
    lines = [
        [part for line in group for part in _within(line, frame)]
        for group in (rivers, world.borders.near(frame))
    ]
    finest = _Fineness(middle, CLOSE * side * np.array([stretch, 1.0]), side / 1500.0)
    all_lines = [line for group in (*rings, *lines) for line in group]
    while sum(len(finest.simple(line)) for line in all_lines) > CORNERS and finest.exact < 1.0:
        finest = replace(finest, exact=1.6 * finest.exact)
    simple_lines = [tuple(finest.simple(line) for line in group) for group in (*rings, *lines)]
    land, lakes, isles = (tuple(ring for ring in group if len(ring) > 3) for group in simple_lines[:3])
    places = () if source is None else _places(source, frame, region, (side * stretch, side))
    return Surroundings(frame, land, lakes, isles, simple_lines[3], simple_lines[4], places)


@dataclass(frozen=True, eq=False)
class _Fineness:
    """The tolerance of lines: fine around a region, coarser beyond."""

    middle: tuple[float, float]  # of the region, degrees
    reach: NDArray[np.float64]  # (2,) degrees of fine lines east and north of the middle
    exact: float  # degrees of latitude

    def simple(self, line: NDArray[np.float64]) -> NDArray[np.float64]:
        """The corners of a simplified (K, 2) line. The plane is shrunk beyond the reach, so that
        the tolerance is coarser there."""
        if len(line) < 3:
            return line
        away = line - self.middle
        beyond = np.clip(np.abs(away) - self.reach, 0.0, None)
        flat = np.sign(away) * (np.abs(away) - beyond * (1.0 - 1.0 / COARSER))
        flat[:, 0] *= self.reach[1] / self.reach[0]
        numbered = shapely.LineString(np.column_stack([flat, np.arange(len(line))]))
        simplified = shapely.simplify(numbered, self.exact, preserve_topology=False)
        places = shapely.get_coordinates(simplified, include_z=True)[:, 2].astype(np.int64)
        return np.asarray(line[places])


def _places(source: Path, frame: Box, region: Box, reach: tuple[float, float]) -> tuple[Place, ...]:
    """Places in a box: first those in the region's box, or the nearest place if it has none, so
    that a map names its subject; then those within `reach`, degrees east and north; then others."""
    names, where, population = _gazetteer(source)
    west, south, east, north = region
    lon = (west + east) / 2 + (where[:, 0] - (west + east) / 2 + 180.0) % 360.0 - 180.0
    lat = where[:, 1]
    inside = (lon >= frame[0]) & (lon <= frame[2]) & (lat >= frame[1]) & (lat <= frame[3])
    aside, along = np.abs(lon - (west + east) / 2), np.abs(lat - (south + north) / 2)
    distance = np.maximum(aside / max(east - west, 1e-9), along / max(north - south, 1e-9)) * 2.0
    first = inside & (distance <= max(1.0, float(distance[inside].min(initial=np.inf))))
    close = inside & ~first & (aside <= reach[0]) & (along <= reach[1])
    ranked = [*np.flatnonzero(first).tolist(), *np.flatnonzero(close).tolist()][:NEAR]
    order = [*ranked, *np.flatnonzero(inside & ~close & ~first)[:FAR].tolist()]
    return tuple(
        Place(names[at].as_py(), round(float(lon[at]), 4), float(lat[at]), int(population[at]))
        for at in order
    )


@cache
def _gazetteer(source: Path) -> tuple[pa.ChunkedArray, NDArray[np.float64], NDArray[np.int64]]:
    """Names, (n, 2) degrees and populations, the largest first."""
    kinds = {"name": pa.string(), "lon": pa.float64(), "lat": pa.float64(), "people": pa.int64()}
    rows = pacsv.read_csv(
        source / "places.tsv.gz",
        pacsv.ReadOptions(use_threads=False, column_names=list(kinds)),
        pacsv.ParseOptions(delimiter="\t", quote_char=False),
        pacsv.ConvertOptions(column_types=kinds),
    )
    where = np.column_stack([rows["lon"].to_numpy(), rows["lat"].to_numpy()])
    return rows["name"], where, rows["people"].to_numpy()


def _within(line: NDArray[np.float64], frame: Box) -> Lines:
    """The parts of a line in a box."""
    parts = shapely.get_parts(shapely.clip_by_rect(shapely.LineString(line), *frame))
    return tuple(shapely.get_coordinates(part) for part in parts if not part.is_empty)


def _packed(line: NDArray[np.float64]) -> list[int]:
    steps = np.round(line * STEPS).astype(np.int64)
    flat: list[int] = np.vstack([steps[:1], np.diff(steps, axis=0)]).ravel().tolist()
    return flat
