"""An independent RFC 7946 checker: the errors of a GeoJSON object in sentences.

Written from the RFC on plain Python values, sharing nothing with the writer, so that each tests the
other. It is stricter than the RFC in three points where the RFC only recommends: right-hand rule
(3.1.6), no more than 7 decimals (11.2), no edge across the antimeridian (3.1.9). It is safe on
hostile input: sizes are bounded, nothing is evaluated, and no exception leaves it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

MAX_FEATURES = 250_000
MAX_POSITIONS = 5_000_000
MAX_DECIMALS = 7
MAX_FINDINGS = 20

_DEPTH = {"Point": 0, "MultiPoint": 1, "LineString": 1, "MultiLineString": 2, "Polygon": 2, "MultiPolygon": 3}
# Section 7.1: members that define one type must not appear on another.
_FOREIGN = {
    "FeatureCollection": ("coordinates", "geometries", "geometry", "properties"),
    "Feature": ("coordinates", "geometries", "features"),
    "geometry": ("geometry", "properties", "features"),
}


class _Stop(Exception):
    """Enough has been found."""


class _Check:
    def __init__(self) -> None:
        self.findings: list[str] = []
        self.positions = 0

    def say(self, where: str, what: str) -> None:
        self.findings.append(f"{where}: {what}")
        if len(self.findings) >= MAX_FINDINGS:
            raise _Stop

    def document(self, thing: Any) -> None:
        kind = self.kind(thing, "document")
        if kind == "FeatureCollection":
            self.foreign(thing, kind, "document")
            features = thing.get("features")
            if not isinstance(features, list):
                self.say("document", "a FeatureCollection needs a list of features (3.3).")
                return
            if len(features) > MAX_FEATURES:
                self.say("document", f"more than {MAX_FEATURES:,} features.")
                raise _Stop
            box: list[float] = []
            for index, feature in enumerate(features):
                where = f"feature {index}"
                if self.kind(feature, where) == "Feature":
                    box = _enclosing(box, self.feature(feature, where))
                elif isinstance(feature, Mapping):
                    self.say(where, "is not a Feature (3.3).")
            self.bbox(thing, box, "document")
        elif kind == "Feature":
            self.feature(thing, "document")
        elif kind is not None:
            self.geometry(thing, "document", 0)

    def kind(self, thing: Any, where: str) -> str | None:
        if not isinstance(thing, Mapping):
            self.say(where, "is not a JSON object (3).")
            return None
        kind = thing.get("type")
        is_known = isinstance(kind, str) and kind in (
            *_DEPTH,
            "GeometryCollection",
            "Feature",
            "FeatureCollection",
        )
        if not is_known:
            self.say(where, "has no GeoJSON type (1.4).")
            return None
        if "crs" in thing:
            self.say(where, "has a crs member, which RFC 7946 removed (4).")
        return str(kind)

    def foreign(self, thing: Mapping[str, Any], kind: str, where: str) -> None:
        for name in _FOREIGN[kind]:
            if name in thing:
                self.say(where, f"must not have a {name!r} member (7.1).")

    def feature(self, thing: Mapping[str, Any], where: str) -> list[float]:
        self.foreign(thing, "Feature", where)
        if "properties" not in thing or not isinstance(thing["properties"], Mapping | None):
            self.say(where, "needs a properties member that is an object or null (3.2).")
        mark = thing.get("id", "")
        if isinstance(mark, bool) or not isinstance(mark, str | int | float):
            self.say(where, "has an id that is neither a string nor a number (3.2).")
        if "geometry" not in thing:
            self.say(where, "needs a geometry member, null if unlocated (3.2).")
            return []
        if thing["geometry"] is None:
            self.bbox(thing, [], where)
            return []
        box = self.geometry(thing["geometry"], where, 0)
        self.bbox(thing, box, where)
        return box

    def geometry(self, thing: Any, where: str, depth: int) -> list[float]:
        kind = self.kind(thing, where)
        if kind is None:
            return []
        if kind in ("Feature", "FeatureCollection") or depth > 4:
            self.say(where, "does not hold a geometry where one belongs (3.1).")
            return []
        self.foreign(thing, "geometry", where)
        box: list[float] = []
        if kind == "GeometryCollection":
            if not isinstance(thing.get("geometries"), list):
                self.say(where, "a GeometryCollection needs a list of geometries (3.1.8).")
                return []
            for member in thing["geometries"]:
                box = _enclosing(box, self.geometry(member, where, depth + 1))
        else:
            box = self.coordinates(thing.get("coordinates"), kind, _DEPTH[kind], where)
        self.bbox(thing, box, where)
        return box

    def coordinates(self, value: Any, kind: str, depth: int, where: str) -> list[float]:
        """Checks nested coordinates, returns their west, south, east, north."""
        if depth == 0:
            return self.position(value, where)
        if not isinstance(value, list):
            self.say(where, f"{kind} coordinates are not nested as they should be (3.1).")
            return []
        if depth == 1 and kind != "MultiPoint":
            return self.line(value, kind, where, outer=True)
        box: list[float] = []
        for index, part in enumerate(value):
            if depth == 2 and kind in ("Polygon", "MultiPolygon"):
                if isinstance(part, list):
                    box = _enclosing(box, self.line(part, kind, where, outer=index == 0))
                else:
                    self.say(where, f"{kind} coordinates are not nested as they should be (3.1).")
            else:
                box = _enclosing(box, self.coordinates(part, kind, depth - 1, where))
        return box

    def line(self, points: list[Any], kind: str, where: str, *, outer: bool) -> list[float]:
        """A line string or a ring: closure, length, orientation, antimeridian."""
        earlier = len(self.findings)
        places = [place for place in [self.position(point, where) for point in points] if place]
        box: list[float] = []
        if places:
            lons, lats = [place[0] for place in places], [place[1] for place in places]
            box = [min(lons), min(lats), max(lons), max(lats)]
        if len(self.findings) > earlier:
            return box
        if any(abs(a[0] - b[0]) > 180 for a, b in pairwise(points)):
            self.say(where, "an edge crosses the antimeridian and should be cut there (3.1.9).")
        if not kind.endswith("Polygon"):
            if len(points) < 2:
                self.say(where, "a line has fewer than two positions (3.1.4).")
            return box
        if len(points) < 4:
            self.say(where, "a ring has fewer than four positions (3.1.6).")
            return box
        if points[0] != points[-1]:
            self.say(where, "a ring is not closed (3.1.6).")
        # Shoelace about the first corner: sums of small numbers keep the sign right for small
        # cells.
        x0, y0 = points[0][0], points[0][1]
        twice = math.fsum((a[0] - x0) * (b[1] - y0) - (b[0] - x0) * (a[1] - y0) for a, b in pairwise(points))
        if twice == 0:
            self.say(where, "a ring encloses no area.")
        elif (twice > 0) != outer:
            turn = "counter-clockwise" if outer else "clockwise"
            self.say(where, f"{'an outer' if outer else 'an inner'} ring is not {turn} (3.1.6).")
        return box

    def position(self, value: Any, where: str) -> list[float]:
        self.positions += 1
        if self.positions > MAX_POSITIONS:
            self.say(where, f"more than {MAX_POSITIONS:,} positions in the file.")
            raise _Stop
        if not isinstance(value, list) or not 2 <= len(value) <= 3 or not all(map(_is_number, value)):
            self.say(where, "a position is not two or three finite numbers (3.1.1).")
            return []
        lon, lat = value[0], value[1]
        if abs(lon) > 180 or abs(lat) > 90:
            self.say(where, "a position is outside longitudes of 180 and latitudes of 90 degrees (4).")
        if lon != round(lon, MAX_DECIMALS) or lat != round(lat, MAX_DECIMALS):
            self.say(where, f"a position has more than {MAX_DECIMALS} decimals (11.2).")
        return [lon, lat, lon, lat]

    def bbox(self, thing: Mapping[str, Any], box: list[float], where: str) -> None:
        if "bbox" not in thing:
            return
        box_numbers = thing["bbox"]
        if (
            not isinstance(box_numbers, list)
            or len(box_numbers) not in (4, 6)
            or not all(map(_is_number, box_numbers))
        ):
            self.say(where, "a bbox is not four or six finite numbers (5).")
            return
        half = len(box_numbers) // 2
        west, south, east, north = box_numbers[0], box_numbers[1], box_numbers[half], box_numbers[half + 1]
        if south > north or max(abs(west), abs(east)) > 180 or max(abs(south), abs(north)) > 90:
            self.say(where, "a bbox is not west, south, east, north in degrees (5).")
        elif box and (box[1] < south or box[3] > north or not _within(thing, box, west, east)):
            self.say(where, "a bbox does not enclose the coordinates (5).")


def rfc7946_findings(thing: Any) -> list[str]:
    """Check a parsed document against RFC 7946 and return at most 20 sentences on its errors."""
    check = _Check()
    try:
        check.document(thing)
    except _Stop:
        pass
    except RecursionError:
        check.findings.append("document: is nested too deeply.")
    return check.findings


def _is_number(value: Any) -> bool:
    if type(value) is float:  # nearly all of them
        return math.isfinite(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _enclosing(box: list[float], other: list[float]) -> list[float]:
    if not box or not other:
        return box or other
    return [min(box[0], other[0]), min(box[1], other[1]), max(box[2], other[2]), max(box[3], other[3])]


def _within(thing: Any, box: list[float], west: float, east: float) -> bool:
    """Whether all longitudes are between west and east; a west > east box crosses 180 degrees
    (5.2)."""
    if west <= east:
        return west <= box[0] and box[2] <= east
    return all(lon >= west or lon <= east for lon in _longitudes(thing))


def _longitudes(thing: Any) -> Iterator[float]:
    """All longitudes below an object or a coordinate array of checked structure."""
    if isinstance(thing, Mapping):
        for name in ("features", "geometry", "geometries", "coordinates"):
            yield from _longitudes(thing.get(name))
    elif isinstance(thing, list) and thing:
        if isinstance(thing[0], Mapping | list):
            for part in thing:
                yield from _longitudes(part)
        elif _is_number(thing[0]):
            yield thing[0]
