"""What lies around a region: coast, borders and named places; the open sea is cut out of an area.

From files that ship with the app or are built at set-up.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from geo.colours import channels
from geo.context.own_layers import OwnLayer
from geo.domains.domain import Domain
from geo.domains.hexagons import EARTH_RADIUS, average_spacing
from geo.domains.view import Box, region_box, wide_box
from geo.region import Region

SOURCE = "Place names: GeoNames, CC BY 4.0. Coast and borders: Natural Earth, 1:10 million."
STEPS = 10_000  # of a degree: 11 metres, where the coast itself is right to about a kilometre
CORNERS = 1_500  # at most so many are drawn of coast and borders together
OWN_SIZE = 60_000  # a name of an own layer is drawn as that of a town of so many people
NEAR, FAR = 260, 90  # at most so many places within a region's own size around it, and beyond
_HOLDERS = {"hexcursion_maps": "assets", "hexcursion": "app/hexcursion_maps/assets"}  # a checkout, a wheel

Lines = tuple[NDArray[np.float64], ...]

NEAR_KM = 2.0
"""Water so near to land is kept: the shores are right to about a kilometre, and sensors stand on piers."""

WIDEST = 1.3  # of a cell's own reach to that of an average one
_CORNERS = 2_000  # of a side of the area: finer bends of a shore do not matter
_ROUND = 0.9  # of a distance that a corner widened in two steps keeps: cos(pi / 8) is 0.92
_LEAST = 1e-3  # share of an area that must be sea for anything to be cut


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
        return SOURCE if self.places or self.land or self.borders else ""

    @property
    def coast(self) -> Lines:
        """Shores of the land, without what only follows the edge of the box; (K, 2) float64, degrees."""
        west, south, east, north = self.box
        found: list[NDArray[np.float64]] = []
        for ring in self.land:
            closed = np.vstack([ring, ring[:1]])
            on_edge = np.hstack(
                [
                    np.asarray(closed[:, axis] == limit, dtype=np.bool_)[:, None]
                    for axis, limit in ((0, west), (1, south), (0, east), (1, north))
                ]
            )
            along: NDArray[np.bool_] = np.logical_and(on_edge[:-1], on_edge[1:]).max(axis=1)
            parts = np.split(np.arange(len(ring)), np.flatnonzero(along[1:] != along[:-1]) + 1)
            found += [closed[part[0] : part[-1] + 2] for part in parts if not along[part[0]]]
        return tuple(found)

    def packed(self) -> dict[str, Any]:
        """Put it into few numbers for a browser: `steps`, how many a degree has; `box` in degrees; `land` and
        `borders`, lines of whole steps, each the first corner and then the differences, flat; `places` as
        [name, longitude, latitude, population]; `own`, layers of `lines`, `points` in degrees, `names` as
        places, `colour` as three numbers or None, `width` and `dot` in pixels; `source`."""
        return {
            "steps": STEPS,
            "box": [*self.box],
            "land": [_packed(line) for line in self.land],
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
    """Return the folder of the files that travel with the linked maps, None where these are not installed."""
    for package, inside in _HOLDERS.items():
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            found = Path(spec.origin).parent / inside
            if (found / "places.tsv.gz").is_file() and (found / "land.json.gz").is_file():
                return found
    return None


def around(domain: Domain, layers: Sequence[OwnLayer] = (), *, world: bool = True) -> Surroundings:
    """Find what lies around a domain: with `world` coast, borders and places, and the curator's own layers,
    which are drawn over the cells (these alone where the files were not built). It depends on the public
    cells and on these layers, and on nothing else."""
    own = tuple(layers)
    built = folder() if world else None
    if built is None:
        return Surroundings(own=own, middle=domain.middle[0]) if own else Surroundings()
    found = _around(built, region_box(domain))
    return replace(found, own=own, middle=domain.middle[0]) if own else found


def around_box(box: Box) -> Surroundings:
    """Find what lies around a box of degrees. It is remembered nowhere: it may be that of private places."""
    built = folder()
    return Surroundings() if built is None else _around.__wrapped__(built, box)


def land_near(box: Box) -> Lines:
    """Return the land in a box: outer shores, cut at its edges; (K, 2) float64, degrees."""
    built = folder()
    rings = () if built is None else _land(built)[0].near(box)
    return tuple(cut for ring in rings if len(cut := _cut(ring, box)) > 2)


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
def _around(built: Path, region: Box) -> Surroundings:
    kept, side, stretch = wide_box(region)
    middle = ((region[0] + region[2]) / 2, (region[1] + region[3]) / 2)
    land, borders = _land(built)
    rings, lines = land.near(kept), borders.near(kept)
    shores = [_cut(ring, kept) for ring in rings]
    exact = _exactness(side / 1500.0, (*shores, *lines))
    return Surroundings(
        box=kept,
        land=tuple(drawn for shore in shores if len(drawn := _simple(shore, exact)) > 3),
        borders=tuple(part for line in lines for part in _within(line, kept, exact)),
        places=_places(built, kept, (middle[0], middle[1], side * stretch, side)),
    )


def _exactness(finest: float, lines: Lines) -> float:
    """By how many degrees lines are simplified so that few enough corners are left; at least the finest."""
    exact = finest
    while sum(len(_simple(line, exact)) for line in lines) > CORNERS and exact < 1.0:
        exact *= 1.6
    return exact


def _places(built: Path, kept: Box, near: Box) -> tuple[Place, ...]:
    """Places in a box: those within one side of the region first; `near` is its middle and its sides."""
    names, where, population = _gazetteer(built)
    lon = near[0] + (where[:, 0] - near[0] + 180.0) % 360.0 - 180.0
    lat = where[:, 1]
    inside = (lon >= kept[0]) & (lon <= kept[2]) & (lat >= kept[1]) & (lat <= kept[3])
    close = inside & (np.abs(lon - near[0]) <= near[2]) & (np.abs(lat - near[1]) <= near[3])
    chosen = [*np.flatnonzero(close)[:NEAR].tolist(), *np.flatnonzero(inside & ~close)[:FAR].tolist()]
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


class _Lines:
    """Many lines in degrees and the box around each, from first corners and differences in whole steps."""

    def __init__(self, packed: list[list[int]], steps: float) -> None:
        sizes = np.array([len(flat) // 2 for flat in packed])
        starts = np.cumsum(sizes) - sizes
        moves = np.fromiter(chain.from_iterable(packed), dtype=np.int64).reshape(-1, 2)
        moved = np.cumsum(moves, axis=0)
        before = moved[starts] - moves[starts]  # where the line in front of each ends
        corners = (moved - np.repeat(before, sizes, axis=0)) / steps
        self.lines = np.split(corners, starts[1:])
        self.low = np.minimum.reduceat(corners, starts, axis=0)
        self.high = np.maximum.reduceat(corners, starts, axis=0)

    def near(self, kept: Box) -> Lines:
        """Those whose box touches a box, moved by whole turns to where that box is."""
        found: list[NDArray[np.float64]] = []
        for turn in (-360.0, 0.0, 360.0):
            west, east = kept[0] - turn, kept[2] - turn
            across = (self.low[:, 0] <= east) & (self.high[:, 0] >= west)
            along = (self.low[:, 1] <= kept[3]) & (self.high[:, 1] >= kept[1])
            found += [self.lines[at] + (turn, 0.0) for at in np.flatnonzero(across & along).tolist()]
        return tuple(found)


@cache
def _land(built: Path) -> tuple[_Lines, _Lines]:
    """The shores of the land, closed rings, and the borders between countries."""
    with gzip.open(built / "land.json.gz", "rb") as packed:
        found: dict[str, Any] = json.load(packed)

    return _Lines(found["land"], float(found["steps"])), _Lines(found["borders"], float(found["steps"]))


def _cut(ring: NDArray[np.float64], kept: Box) -> NDArray[np.float64]:
    """A ring cut by a box (Sutherland and Hodgman 1974, doi 10.1145/360767.360802), edge after edge."""
    for axis, limit, sign in ((0, kept[0], 1.0), (1, kept[1], 1.0), (0, kept[2], -1.0), (1, kept[3], -1.0)):
        inward = sign * (ring[:, axis] - limit)
        if not len(ring) or (inward >= 0).all():
            continue
        after = np.roll(ring, -1, axis=0)
        beyond = np.roll(inward, -1)
        inside = inward >= 0
        crossing = inside != (beyond >= 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            met = ring + (after - ring) * (inward / (inward - beyond))[:, None]
        pair = np.stack([ring, met], axis=1).reshape(-1, 2)
        ring = pair[np.stack([inside, crossing], axis=1).reshape(-1)]
    return ring


def _within(line: NDArray[np.float64], kept: Box, exact: float) -> Lines:
    """The parts of a line in a box."""
    parts = shapely.get_parts(shapely.clip_by_rect(shapely.LineString(line), *kept))
    return tuple(_simple(shapely.get_coordinates(part), exact) for part in parts if not part.is_empty)


def _packed(line: NDArray[np.float64]) -> list[int]:
    steps = np.round(line * STEPS).astype(np.int64)
    flat: list[int] = np.vstack([steps[:1], np.diff(steps, axis=0)]).ravel().tolist()
    return flat


def _simple(line: NDArray[np.float64], exact: float) -> NDArray[np.float64]:
    if len(line) < 3:
        return line
    return np.asarray(
        shapely.get_coordinates(shapely.simplify(shapely.LineString(line), exact, preserve_topology=False))
    )


def without_sea(region: Region, resolution: int | None = None) -> Region:
    """Cut the open sea out of a region: keep what lies on land or within `NEAR_KM` of it, with a note. Given
    the `resolution` of the cells that fill it, keep the centre of every cell that touches land as well.
    Return the region as it is where it has no land or no open sea, and where the shores were not built (`make
    maps`)."""
    if folder() is None:
        return region
    reach = 0.0 if resolution is None else WIDEST * average_spacing(resolution) / math.sqrt(3.0) / 1000.0
    kilometres = max(NEAR_KM, reach)
    parts = [_dry(part, kilometres) for part in region.shape.geoms]
    dry = MultiPolygon([one for part in parts for one in shapely.get_parts(part) if isinstance(one, Polygon)])
    if dry.is_empty or dry.area > (1.0 - _LEAST) * region.shape.area:
        return region
    note = f"The open sea, more than {kilometres:.0f} km from land, is left out unless asked for (land_only)."
    return Region(dry, (*region.notes, note))


def _dry(part: Polygon, kilometres: float) -> BaseGeometry:
    """What of a polygon lies on or near land."""
    west, south, east, north = part.bounds
    stretch = math.cos(math.radians((south + north) / 2.0))
    fine = max(east - west, north - south) / _CORNERS
    near = math.degrees(1000.0 * kilometres / EARTH_RADIUS) + fine
    pad = 2.0 * near  # where shores are cut, beyond what is kept
    rings = land_near((west - pad / stretch, south - pad, east + pad / stretch, north + pad))
    land = [_wide(Polygon(ring), stretch) for ring in rings]
    wide = _wide(part, stretch)
    across = math.hypot((east - west) * stretch, north - south)
    if across < _ROUND * near and any(wide.distance(one) + across < _ROUND * near for one in land):
        return part  # widening shores far beyond a small part takes seconds
    land = shapely.simplify(land, fine)
    reach = _wide(shapely.union_all(shapely.buffer(land, near, quad_segs=2)), 1.0 / stretch)
    return shapely.intersection(part, reach)


def _wide(shape: BaseGeometry, times: float) -> BaseGeometry:
    """A shape with its longitudes times a number."""
    return shapely.transform(shape, lambda corners: corners * np.array([times, 1.0]))
