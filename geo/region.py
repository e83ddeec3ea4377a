"""Public regions: GeoJSON or a bounding box becomes one valid lon/lat MultiPolygon.

GEOS cannot be interrupted, so the work of an outline is bounded before GEOS gets it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry import MultiPolygon, Polygon, box
from shapely.geometry.base import BaseGeometry

from geo.crs import is_lonlat, parse_crs, to_lonlat
from geo.errors import CrsError, DomainError, Progress, silent

Floats = NDArray[np.float64]

MAX_PAIRS = 150_000_000
"""Pairs of edges with overlapping boxes. GEOS tests all of them for the validity of an outline, in
about 3 s. A star of 40,000 spikes a third of its radius long has 36 million, a coast far fewer."""

MAX_CROSSINGS = 10_000
"""Points at which edges cross; repairing or uniting such outlines takes about 1 s."""

_FEW_EDGES = 5_000  # outlines below this number need no check of pairs
_SAMPLE = 512  # edges compared with all others
MAX_BYTES = 64 * 2**20
MAX_VERTICES = 300_000
_MANY_PARTS = 1_000
_METRES = 10_000.0  # numbers of this size are metres rather than mistyped degrees
MAX_LATITUDE = 85.0  # web maps end here, and a cell beyond may contain a pole
Source = str | Path | bytes | Mapping[str, Any]


def check_raggedness(rings: Sequence[Floats]) -> None:
    """Refuse closed (K, 2) rings in degrees whose overlapping edges would take minutes to test.
    Raise `DomainError` if an estimate from a sample of edges exceeds `MAX_PAIRS`."""
    edges = _edges(rings)
    if len(edges) <= _FEW_EDGES:
        return
    boxes, sample = _boxes(edges), _sample(edges)
    overlaps = sum(int(np.count_nonzero(_overlapping(boxes, boxes[:, edge]))) - 1 for edge in sample)
    if overlaps * len(edges) / (2 * len(sample)) > MAX_PAIRS:
        raise DomainError(
            f"the region's outline of {len(edges):,} edges runs to and fro over itself too often to be "
            "checked: simplify the polygon, for example with mapshaper or QGIS."
        )


def check_crossings(rings: Sequence[Floats]) -> None:
    """Refuse closed (K, 2) rings in degrees with too many crossings for a repair or a union. Raise
    `DomainError` if an estimate from a sample of edges (all edges of a short outline) exceeds
    `MAX_CROSSINGS`."""
    edges = _edges(rings)
    boxes, sample = _boxes(edges), _sample(edges)
    crossings = 0
    for edge in sample:
        near = np.flatnonzero(_overlapping(boxes, boxes[:, edge]))
        crossings += int(np.count_nonzero(_cross(edges[edge], edges[near])))
    estimate = crossings * len(edges) / (2 * len(sample))
    if estimate > MAX_CROSSINGS:
        raise DomainError(
            f"the region's outlines cross themselves or one another in about {round(estimate, -3):,.0f} "
            "places: repair the polygons first, for example with QGIS (Fix geometries, Dissolve)."
        )


def check_outline(shape: MultiPolygon) -> None:
    """Refuse polygons in degrees, valid or not, that would take minutes to test or to repair. Raise
    `DomainError` as `check_raggedness` and, for invalid polygons, `check_crossings`."""
    rings = [shapely.get_coordinates(ring) for ring in shapely.get_rings(shapely.get_parts(shape))]
    if rings:
        check_raggedness(rings)
        if not shape.is_valid:
            check_crossings(rings)


def _edges(rings: Sequence[Floats]) -> Floats:
    """(E, 4) x, y of the start and x, y of the end of every edge."""
    return np.vstack([np.column_stack([ring[:-1, :2], ring[1:, :2]]) for ring in rings])


def _boxes(edges: Floats) -> Floats:
    """(4, E) west, south, east, north."""
    first, last = edges[:, :2].T, edges[:, 2:].T
    return np.vstack([np.minimum(first, last), np.maximum(first, last)])


def _sample(edges: Floats) -> NDArray[np.int64]:
    """Positions of at most `_SAMPLE` edges, the same in every run; all edges of a short outline."""
    if len(edges) <= 4 * _SAMPLE:
        return np.arange(len(edges))
    # Multiples of an irrational step cannot miss a regular pattern of an outline.
    return np.unique((np.arange(_SAMPLE) * 0.6180339887498949 % 1.0 * len(edges)).astype(np.int64))


def _overlapping(boxes: Floats, box: Floats) -> NDArray[np.bool_]:
    west, south, east, north = boxes
    return np.asarray((west <= box[2]) & (east >= box[0]) & (south <= box[3]) & (north >= box[1]))


def _cross(tested: Floats, edges: Floats) -> NDArray[np.bool_]:
    """Mask of the edges that cross an edge between the ends of both; common ends do not count."""

    def side(edge: Floats, x: Floats, y: Floats) -> Floats:
        x0, y0, x1, y1 = edge.T
        return np.asarray((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0))

    ends = side(tested, edges[:, 0], edges[:, 1]) * side(tested, edges[:, 2], edges[:, 3])
    edge_ends = side(edges, tested[0], tested[1]) * side(edges, tested[2], tested[3])
    return np.asarray((ends < 0) & (edge_ends < 0))


@dataclass(frozen=True)
class Region:
    """A valid, non-empty region in WGS 84 degrees, with notes on repairs of the input. Raise
    `DomainError` if the shape is empty, invalid or outside its bounds."""

    shape: MultiPolygon  # within longitudes -180 to 180 and latitudes -85 to 85, cut at the antimeridian
    notes: tuple[str, ...] = ()  # for the user, e.g. that a self-intersection was repaired

    def __post_init__(self) -> None:
        if self.shape.is_empty or self.shape.area <= 0:
            raise DomainError("the region is empty: give a polygon that encloses an area.")
        west, south, east, north = self.shape.bounds
        if west < -180 or east > 180:
            raise DomainError("the region leaves the longitudes -180 to 180: cut it at the antimeridian.")
        if south < -MAX_LATITUDE or north > MAX_LATITUDE:
            raise DomainError(
                f"the region reaches beyond {MAX_LATITUDE:g} degrees of latitude, where web maps end: "
                "choose a region further from the pole."
            )
        if not self.shape.is_valid:  # last, since it may take a second
            raise _CrossedOutline("the region's outline crosses itself: give a valid polygon.")


class _CrossedOutline(DomainError):
    """An outline that must be repaired before it can be a region."""


def region_from_geojson(source: Source, progress: Progress = silent) -> Region:
    """Read the region of a GeoJSON object: a path, the file's bytes, or the parsed object. The
    object is a Polygon, MultiPolygon, Feature, FeatureCollection or GeometryCollection. Several
    polygons are united. A file with the older `crs` member is converted to longitude and latitude.
    `progress` is called before each step; an exception from it ends the work. Raise `DomainError`
    for an unusable region, including outlines that would take minutes to check."""
    progress(0.0, "Reading the outline")
    document = read_document(source)
    members = list(_polygons(document))
    if not members:
        raise DomainError(
            "the GeoJSON holds no polygon: give a Polygon or MultiPolygon of the public region."
        )
    vertices = sum(len(ring) for polygon in members for ring in polygon)
    if vertices > MAX_VERTICES:
        raise DomainError(
            f"the region has {vertices:,} vertices, more than the {MAX_VERTICES:,} this program reads: "
            "simplify the polygon, for example with mapshaper or QGIS."
        )
    crs = stated_crs(document)
    notes: list[str] = []
    rings = ([_ring(ring, crs) for ring in polygon] for polygon in members)
    polygons = [Polygon(shell, holes) for shell, *holes in rings]
    if crs is not None:
        notes.append(f"The region was converted from {crs} to longitude and latitude.")
    return _united(polygons, notes, progress)


def region_from_bbox(
    west: float, south: float, east: float, north: float, *, crosses_date_line: bool | None = None
) -> Region:
    """Make the region between two longitudes and two latitudes in degrees. `crosses_date_line` True
    allows a box with west > east, which crosses the date line (180 degrees); False allows a box
    wider than 180 degrees, which does not cross it. By default both are refused, as they are more
    often two exchanged numbers. Raise `DomainError`, with the remedy, for impossible boxes."""
    values = [float(value) for value in (west, south, east, north)]
    if not all(map(math.isfinite, values)):
        raise DomainError("a bounding box needs four finite numbers: west, south, east, north in degrees.")
    west, south, east, north = values
    _check_degrees(np.array([[west, south], [east, north]]))
    if south >= north:
        raise DomainError(
            f"the bounding box has south {south:g} and north {north:g}: south must be the smaller; "
            "the order is west, south, east, north."
        )
    if west == east:
        raise DomainError("the bounding box has no width: west and east are the same longitude.")
    _ask_about_date_line(west, east, crosses_date_line)
    if west < east:
        return Region(MultiPolygon([box(west, south, east, north)]))
    sides = [(west, 180.0), (-180.0, east)]
    return Region(MultiPolygon([box(a, south, b, north) for a, b in sides if a < b]))


def _ask_about_date_line(west: float, east: float, crosses: bool | None) -> None:
    if west > east and not crosses:
        raise DomainError(
            f"the bounding box has west {west:g} and east {east:g}: exchange the two, or state that it "
            "crosses the date line if that is meant."
        )
    if west < east and crosses:
        raise DomainError(
            f"a bounding box that crosses the date line has its west east of its east, not {west:g} and "
            f"{east:g}: exchange the two, or state that it does not cross."
        )
    if east - west > 180.0 and crosses is None:
        raise DomainError(
            f"the bounding box is {east - west:g} degrees wide: exchange west and east if it is meant to "
            "cross the date line, or state that it does not cross."
        )


def region_from_shape(shape: BaseGeometry) -> Region:
    """Make a polygon in WGS 84 degrees into a region; raise `DomainError` if it encloses
    nothing."""
    if not isinstance(shape, Polygon | MultiPolygon):
        raise DomainError(f"the region must be a polygon, got {shape.geom_type}.")
    return _united([shape], [], silent)


def read_document(source: Source, what: str = "region file") -> Mapping[str, Any]:
    """Read a GeoJSON file, or pass on a parsed one: an object whose parts are not checked. `what`
    is the file's name in messages. Raise `DomainError` for a file that cannot be read, is too
    large, or is no GeoJSON."""
    if isinstance(source, Mapping):
        return source
    try:
        if isinstance(source, bytes):
            raw = source
        else:
            with Path(source).open("rb") as stream:  # limited, since a device has no end
                raw = stream.read(MAX_BYTES + 1)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise DomainError(f"the {what} {source!s} cannot be read ({reason}): name a GeoJSON file.") from None
    except ValueError:
        raise DomainError(f"the {what}'s name is not a path: name a GeoJSON file.") from None
    if len(raw) > MAX_BYTES:
        raise DomainError(f"the {what} is larger than {MAX_BYTES // 2**20} MiB: simplify the polygons first.")
    try:
        document = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise DomainError(
            f"the {what} is not GeoJSON: export it as GeoJSON in longitude and latitude (EPSG:4326)."
        ) from None
    if not isinstance(document, dict):
        raise DomainError(f"the {what} is not GeoJSON: its top level must be an object with a type.")
    return document


def _polygons(thing: Any, depth: int = 0) -> Iterator[list[Any]]:
    """The coordinate arrays of every polygon; other geometries are refused."""
    kind = thing.get("type") if isinstance(thing, Mapping) else None
    if depth > 8 or not isinstance(kind, str):
        raise DomainError("the GeoJSON has a part without a type: check the file with a GeoJSON validator.")
    if kind in ("Polygon", "MultiPolygon"):
        coordinates = thing.get("coordinates")
        parts = [coordinates] if kind == "Polygon" else coordinates
        if not isinstance(parts, list | tuple):
            raise DomainError(f"the {kind} has no list of coordinates.")
        for part in parts:
            if not isinstance(part, list | tuple) or not all(isinstance(ring, list | tuple) for ring in part):
                raise DomainError(f"the coordinates of the {kind} are not nested as rings of positions.")
            if len(part) > 0:
                yield list(part)
    elif kind == "Feature":
        if thing.get("geometry") is not None:
            yield from _polygons(thing["geometry"], depth + 1)
    elif kind in ("FeatureCollection", "GeometryCollection"):
        parts = thing.get("features" if kind == "FeatureCollection" else "geometries")
        if not isinstance(parts, list | tuple):
            raise DomainError(f"the {kind} has no list of parts.")
        for part in parts:
            yield from _polygons(part, depth + 1)
    else:
        raise DomainError(
            f"the region must be made of Polygon or MultiPolygon geometries, but the file has a {kind[:40]}: "
            "draw the outline of the area as a polygon."
        )


def stated_crs(document: Mapping[str, Any]) -> str | None:
    """Return the coordinate system in the `crs` member (used before 2016) of a GeoJSON object.
    Return None for longitude and latitude or no member. Raise `DomainError` for an unknown
    system."""
    member = document.get("crs")
    if member is None:
        return None
    try:
        name = str(member["properties"]["name"])
        parse_crs(name)
    except (TypeError, KeyError, CrsError):
        raise DomainError(
            "the GeoJSON states a coordinate reference system that is not known: export it in longitude "
            "and latitude (EPSG:4326)."
        ) from None
    return None if is_lonlat(name) else name


def _ring(ring: Any, crs: str | None) -> Floats:
    """(K, 2) closed ring in degrees, checked."""
    try:
        pairs = [(position[0], position[1]) for position in ring]
        if not all(isinstance(x, int | float) and isinstance(y, int | float) for x, y in pairs):
            raise TypeError
        positions = np.array(pairs, dtype=np.float64)
    except (TypeError, ValueError, IndexError, KeyError, OverflowError):
        raise DomainError("a ring of the region holds something that is not a pair of numbers.") from None
    if positions.shape[0] < 3:
        raise DomainError("a ring of the region has fewer than three corners.")
    if not np.all(np.isfinite(positions)):
        raise DomainError("the region has coordinates that are not finite numbers.")
    if crs is not None:
        positions = np.column_stack(to_lonlat(positions[:, 0], positions[:, 1], crs))
        if not np.all(np.isfinite(positions)):
            raise DomainError(f"some corners of the region have no place on Earth when read as {crs}.")
    _check_degrees(positions)
    if not np.array_equal(positions[0], positions[-1]):
        positions = np.vstack([positions, positions[:1]])
    return positions


def _check_degrees(lonlat: Floats) -> None:
    lon, lat = np.abs(lonlat[:, 0]).max(), np.abs(lonlat[:, 1]).max()
    if lon <= 180.0 and lat <= 90.0:
        return
    if lon <= 90.0 and lat <= 180.0:
        raise DomainError(
            "the region's latitudes exceed 90 degrees while its longitudes do not: longitude and latitude "
            "look swapped; GeoJSON wants longitude first."
        )
    if lon <= 360.0 and lat <= 90.0:
        raise DomainError(
            "the region has longitudes beyond 180 degrees: write them within -180 to 180 and cut the "
            "region at the antimeridian (RFC 7946, section 3.1.9)."
        )
    if max(lon, lat) < _METRES and (lon <= 180.0 or lat <= 90.0):
        name, reach, degrees = ("longitude", 180, lon) if lon > 180.0 else ("latitude", 90, lat)
        raise DomainError(
            f"the region has a {name} of {degrees:,.6g} degrees: a {name} is between -{reach} and {reach}, "
            "so correct that number."
        )
    raise DomainError(
        f"the region's coordinates (up to {max(lon, lat):,.0f}) are not degrees of longitude and latitude: "
        "they look projected, so convert the file to EPSG:4326 first."
    )


def _united(parts: list[Any], notes: list[str], progress: Progress) -> Region:
    rings = [ring for part in parts for ring in _rings_of(part)]
    if any(float(np.abs(np.diff(ring[:, 0])).max()) > 180.0 for ring in rings):
        raise DomainError(
            "an edge of the region jumps over more than 180 degrees of longitude: a region across the "
            "antimeridian must be cut there into two polygons (RFC 7946, section 3.1.9)."
        )
    progress(0.2, "Checking the outline")
    if rings:
        check_raggedness(rings)
    # Coordinates like 1e-288 divide by zero before a valid result: only numpy would warn.
    with np.errstate(all="ignore"):
        if len(parts) == 1 and (pieces := _pieces(parts[0])):
            try:
                return Region(MultiPolygon(pieces), tuple(notes))
            except _CrossedOutline:
                pass  # repaired below
        if rings:
            check_crossings(rings)
        if not all(part.is_valid for part in parts):
            progress(0.5, "Repairing the outline")
            notes.append("The region's outline crossed or touched itself and was repaired.")
            parts = [shapely.make_valid(part, method="structure", keep_collapsed=False) for part in parts]
        progress(0.7, "Uniting the polygons")
        # Many polygons hardly touch: uniting only those that do is ten times as fast.
        unite = shapely.union_all if len(parts) <= _MANY_PARTS else shapely.disjoint_subset_union_all
        pieces = _pieces(unite(parts))
    if not pieces:
        raise DomainError("the region encloses no area: its corners are on a line or cancel out.")
    return Region(MultiPolygon(pieces), tuple(notes))


def _pieces(shape: BaseGeometry) -> list[Polygon]:
    return [piece for piece in shapely.get_parts(shape) if isinstance(piece, Polygon) and piece.area > 0]


def _rings_of(shape: Polygon | MultiPolygon) -> list[Floats]:
    """(K, 2) closed rings in degrees without empty ones."""
    return [
        np.asarray(ring.coords)[:, :2]
        for piece in shapely.get_parts(shape)
        for ring in (piece.exterior, *piece.interiors)
        if not ring.is_empty
    ]
