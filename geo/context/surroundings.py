"""What is drawn around a region: coast, lakes, rivers, borders and named places."""

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
STEPS = 10_000  # of a degree: 11 metres, where the coast itself is right to about a kilometre
CORNERS = 4_000  # at most so many are drawn of all shores, rivers and borders together
CLOSE = 0.75  # of its sides from a region's middle lines are drawn finely
COARSER = 6.0  # times as coarsely beyond
RIVERS_FROM = 0.2  # degrees: the side of a region from which rivers are right enough to be drawn
OWN_SIZE = 60_000  # a name of an own layer is drawn as that of a town of so many people
NEAR, FAR = 260, 90  # at most so many places within a region's own size around it, and beyond
_HOLDERS = {"hexcursion_maps": "assets", "hexcursion": "app/hexcursion_maps/assets"}  # a checkout, a wheel


@dataclass(frozen=True)
class Place:
    """A named place."""

    name: str
    longitude: float  # degrees within 180 of the region's middle, so possibly beyond 180
    latitude: float
    population: int  # as known to GeoNames; for seats of an administration without a count, a typical one


@dataclass(frozen=True)
class Surroundings:
    """What is drawn around a region."""

    # what is known: west, south, east, north, degrees; longitudes as in `Place`
    box: Box = (0.0, 0.0, 0.0, 0.0)
    land: Lines = ()  # (K, 2) polygons in that box, without holes; the rest is sea
    lakes: Lines = ()  # (K, 2) polygons of water on that land
    isles: Lines = ()  # (K, 2) polygons of land in those lakes
    rivers: Lines = ()  # (K, 2) lines, degrees
    borders: Lines = ()  # (K, 2) lines between countries, degrees
    places: tuple[Place, ...] = ()  # those near the region first, each part by falling population
    own: tuple[OwnLayer, ...] = ()  # public layers of the curator's own
    middle: float = 0.0  # longitude of the region's middle, degrees, where there are own layers

    @property
    def own_names(self) -> tuple[Place, ...]:
        """The names of the own layers, those of each layer by its size."""
        return tuple(
            Place(one.name, float(self._near(one.at[0])), one.at[1], OWN_SIZE)
            for layer in self.own
            for one in layer.labels
        )

    @property
    def other_names(self) -> tuple[Place, ...]:
        """The places that no own layer names: one name does not stand twice."""
        own = {one.name.casefold() for one in self.own_names}
        return tuple(one for one in self.places if one.name.casefold() not in own) if own else self.places

    @property
    def named(self) -> tuple[Place, ...]:
        """The names of the own layers and the other places, the more important first."""
        return (*self.own_names, *self.other_names)

    @property
    def source(self) -> str:
        """Who is to be named under a map with these: one line, empty where nothing is drawn."""
        drawn = self.land or self.lakes or self.rivers or self.borders
        return " ".join([*([NAMES_SOURCE] if self.places else []), *([SHORES_SOURCE] if drawn else [])])

    @property
    def coast(self) -> Lines:
        """Shores of land, lakes and their isles, without what only follows the edge of the box or the cut of
        Antarctica at the date line; (K, 2) float64, degrees."""
        west, south, east, north = self.box
        found: list[NDArray[np.float64]] = []
        for ring in (*self.land, *self.lakes, *self.isles):
            closed = np.vstack([ring, ring[:1]])
            x, y = closed.T
            on_edge = np.column_stack([x == west, y == south, x == east, y == north, np.abs(x) == 180.0])
            along: NDArray[np.bool_] = np.logical_and(on_edge[:-1], on_edge[1:]).max(axis=1)
            parts = np.split(np.arange(len(ring)), np.flatnonzero(along[1:] != along[:-1]) + 1)
            found += [closed[part[0] : part[-1] + 2] for part in parts if not along[part[0]]]
        return tuple(found)

    def packed(self) -> dict[str, Any]:
        """Put it into few numbers for a browser: `steps`, how many a degree has; `box` in degrees; `land`,
        `lakes`, `isles`, `rivers` and `borders`, lines of whole steps, each the first corner and then the
        differences, flat; `places` as
        [name, longitude, latitude, population]; `own`, layers of `lines`, `points` in degrees, `names` as
        places, `colour` as three numbers or None, `width` and `dot` in pixels; `source`."""
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
                        [one.name, round(float(self._near(one.at[0])), 5), round(one.at[1], 5), OWN_SIZE]
                        for one in layer.labels
                    ],
                }
                for layer in self.own
            ],
            "source": self.source,
        }

    def _near(self, longitude: float | NDArray[np.float64]) -> Any:
        """Longitudes within 180 degrees of the region's middle: a map is drawn in one piece there."""
        return longitude - 360.0 * np.round((longitude - self.middle) / 360.0)

    def _drawn(self, lines: Sequence[NDArray[np.float64]]) -> Lines:
        """Lines in degrees, each in one piece and near the region."""
        return tuple(np.column_stack([self._near(line[:, 0]), line[:, 1]]) for line in lines)


def folder() -> Path | None:
    """Return the folder of the named places, which travel with the linked maps; None where these are not
    installed."""
    for package, inside in _HOLDERS.items():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            found = Path(spec.origin).parent / inside
            if (found / "places.tsv.gz").is_file():
                return found
    return None


def around(domain: Domain, layers: Sequence[OwnLayer] = (), *, world: bool = True) -> Surroundings:
    """Find what lies around a domain: with `world` shores, rivers, borders and places, and the curator's own
    layers, which are drawn over the cells. No places where they were not built. It depends on the public
    cells and on these layers, and on nothing else."""
    own = tuple(layers)
    if not world:
        return Surroundings(own=own, middle=domain.middle[0]) if own else Surroundings()
    found = _around(folder(), FILE, region_box(domain))
    return replace(found, own=own, middle=domain.middle[0]) if own else found


def around_box(box: Box) -> Surroundings:
    """Find what lies around a box of degrees. It is remembered nowhere: it may be that of private places."""
    return _around.__wrapped__(folder(), FILE, box)


def all_places() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the (n, 2) longitudes and latitudes, degrees, and the (n,) populations of all named places,
    the largest first; n is 0 where they were not built."""
    built = folder()
    return (np.empty((0, 2)), np.empty(0, dtype=np.int64)) if built is None else _gazetteer(built)[1:]


def find_places(name: str, most: int = 8) -> tuple[Place, ...]:
    """Find at most so many places by the beginning of their name, without regard to case: those of exactly
    that name first, the largest of each kind before the others. None where the files were not built, or for
    an empty name."""
    built = folder()
    wanted = name.strip().casefold()
    if built is None or not wanted:
        return ()
    column, where, population = _gazetteer(built)
    names = column.to_pylist()
    found = [at for at, known in enumerate(names) if known.casefold().startswith(wanted)]
    found.sort(key=lambda at: (names[at].casefold() != wanted, -population[at]))
    return tuple(
        Place(names[at], float(where[at, 0]), float(where[at, 1]), int(population[at])) for at in found[:most]
    )


@lru_cache(maxsize=32)
def _around(built: Path | None, file: Path, region: Box) -> Surroundings:
    kept, side, stretch = wide_box(region)
    middle = ((region[0] + region[2]) / 2, (region[1] + region[3]) / 2)
    world = shores(file)
    rings = [[cut(ring, kept) for ring in some.near(kept)] for some in (world.land, world.lakes, world.isles)]
    rivers = world.rivers.near(kept) if side >= RIVERS_FROM else ()
    lines = [
        [part for line in some for part in _within(line, kept)] for some in (rivers, world.borders.near(kept))
    ]
    finest = _Fineness(middle, CLOSE * side * np.array([stretch, 1.0]), side / 1500.0)
    every = [line for some in (*rings, *lines) for line in some]
    while sum(len(finest.simple(line)) for line in every) > CORNERS and finest.exact < 1.0:
        finest = replace(finest, exact=1.6 * finest.exact)
    drawn = [tuple(finest.simple(line) for line in some) for some in (*rings, *lines)]
    land, lakes, isles = (tuple(ring for ring in some if len(ring) > 3) for some in drawn[:3])
    places = () if built is None else _places(built, kept, region, (side * stretch, side))
    return Surroundings(kept, land, lakes, isles, drawn[3], drawn[4], places)


@dataclass(frozen=True, eq=False)
class _Fineness:
    """How exactly lines are drawn: finely about a region, more coarsely beyond."""

    middle: tuple[float, float]  # of the region, degrees
    reach: NDArray[np.float64]  # (2,) degrees east and north of it up to which lines are fine
    exact: float  # degrees of latitude

    def simple(self, line: NDArray[np.float64]) -> NDArray[np.float64]:
        """Those corners of a (K, 2) line that matter. Beyond the reach the plane is drawn together, so that
        one tolerance is a coarser one there."""
        if len(line) < 3:
            return line
        away = line - self.middle
        beyond = np.clip(np.abs(away) - self.reach, 0.0, None)
        flat = np.sign(away) * (np.abs(away) - beyond * (1.0 - 1.0 / COARSER))
        flat[:, 0] *= self.reach[1] / self.reach[0]
        numbered = shapely.LineString(np.column_stack([flat, np.arange(len(line))]))
        kept = shapely.simplify(numbered, self.exact, preserve_topology=False)
        places = shapely.get_coordinates(kept, include_z=True)[:, 2].astype(np.int64)
        return np.asarray(line[places])


def _places(built: Path, kept: Box, region: Box, reach: tuple[float, float]) -> tuple[Place, ...]:
    """Places in a box: first those in the region's own box, so that a map names what it is of, or the nearest
    where none is in it; then those within one of its sides (`reach`, degrees east and north); then others."""
    names, where, population = _gazetteer(built)
    west, south, east, north = region
    lon = (west + east) / 2 + (where[:, 0] - (west + east) / 2 + 180.0) % 360.0 - 180.0
    lat = where[:, 1]
    inside = (lon >= kept[0]) & (lon <= kept[2]) & (lat >= kept[1]) & (lat <= kept[3])
    aside, along = np.abs(lon - (west + east) / 2), np.abs(lat - (south + north) / 2)
    own = np.maximum(aside / max(east - west, 1e-9), along / max(north - south, 1e-9)) * 2.0
    first = inside & (own <= max(1.0, float(own[inside].min(initial=np.inf))))
    close = inside & ~first & (aside <= reach[0]) & (along <= reach[1])
    ranked = [*np.flatnonzero(first).tolist(), *np.flatnonzero(close).tolist()][:NEAR]
    chosen = [*ranked, *np.flatnonzero(inside & ~close & ~first)[:FAR].tolist()]
    return tuple(
        Place(names[at].as_py(), round(float(lon[at]), 4), float(lat[at]), int(population[at]))
        for at in chosen
    )


@cache
def _gazetteer(built: Path) -> tuple[pa.ChunkedArray, NDArray[np.float64], NDArray[np.int64]]:
    """Names, (n, 2) degrees and populations, the largest first."""
    kinds = {"name": pa.string(), "lon": pa.float64(), "lat": pa.float64(), "people": pa.int64()}
    rows = pacsv.read_csv(
        built / "places.tsv.gz",
        pacsv.ReadOptions(use_threads=False, column_names=list(kinds)),
        pacsv.ParseOptions(delimiter="\t", quote_char=False),
        pacsv.ConvertOptions(column_types=kinds),
    )
    where = np.column_stack([rows["lon"].to_numpy(), rows["lat"].to_numpy()])
    return rows["name"], where, rows["people"].to_numpy()


def _within(line: NDArray[np.float64], kept: Box) -> Lines:
    """The parts of a line in a box."""
    parts = shapely.get_parts(shapely.clip_by_rect(shapely.LineString(line), *kept))
    return tuple(shapely.get_coordinates(part) for part in parts if not part.is_empty)


def _packed(line: NDArray[np.float64]) -> list[int]:
    steps = np.round(line * STEPS).astype(np.int64)
    flat: list[int] = np.vstack([steps[:1], np.diff(steps, axis=0)]).ravel().tolist()
    return flat
