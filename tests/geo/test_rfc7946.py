"""The checker: silent on what the RFC allows, and a finding for each single fault planted in a good file."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geo.rfc7946 as checker
from geo import rfc7946_findings

OUTER = [[0.0, 50.0], [1.0, 50.0], [1.0, 51.0], [0.0, 51.0], [0.0, 50.0]]
HOLE = [[0.2, 50.2], [0.2, 50.4], [0.4, 50.4], [0.4, 50.2], [0.2, 50.2]]


def good() -> dict[str, Any]:
    return {
        "type": "FeatureCollection",
        "bbox": [0.0, 50.0, 1.0, 51.0],
        "features": [
            {
                "type": "Feature",
                "id": "a",
                "bbox": [0.0, 50.0, 1.0, 51.0],
                "properties": {"h3": "88194ad001fffff"},
                "geometry": {"type": "Polygon", "coordinates": copy.deepcopy([OUTER, HOLE])},
            },
            {"type": "Feature", "properties": None, "geometry": None},
        ],
    }


def feature(thing: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = thing["features"][0]
    return found


def rings(thing: dict[str, Any]) -> list[Any]:
    found: list[Any] = feature(thing)["geometry"]["coordinates"]
    return found


def shifted(ring: list[list[float]], lon: float) -> list[list[float]]:
    return [[x + lon, y] for x, y in ring]


def put(path: Callable[[dict[str, Any]], Any], key: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def plant(thing: dict[str, Any]) -> None:
        path(thing)[key] = value

    return plant


def whole(thing: dict[str, Any]) -> dict[str, Any]:
    return thing


FAULTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "outer ring clockwise": (lambda t: rings(t)[0].reverse(), "outer ring is not counter-clockwise"),
    "hole counter-clockwise": (lambda t: rings(t)[1].reverse(), "inner ring is not clockwise"),
    "open ring": (lambda t: rings(t)[0].pop(), "not closed"),
    "short ring": (put(rings, 1, [[0.2, 50.2], [0.3, 50.3], [0.2, 50.2]]), "fewer than four"),
    "flat ring": (put(rings, 1, [[0.2, 50.2], [0.3, 50.2], [0.4, 50.2], [0.2, 50.2]]), "encloses no area"),
    "eight decimals": (put(lambda t: rings(t)[0], 1, [1.00000001, 50.0]), "more than 7 decimals"),
    "tiny number": (put(lambda t: rings(t)[0], 1, [1e-9, 50.0]), "more than 7 decimals"),
    "longitude 181": (put(lambda t: rings(t)[0], 1, [181.0, 50.0]), "outside longitudes"),
    "latitude 91": (put(lambda t: rings(t)[0], 2, [1.0, 91.0]), "outside longitudes"),
    "projected": (put(lambda t: rings(t)[0], 1, [530000, 180000]), "outside longitudes"),
    "jump over 180": (put(lambda t: rings(t)[0], 1, [-179.9, 50.0]), ""),
    "text coordinate": (put(lambda t: rings(t)[0], 1, ["1", "50"]), "finite numbers"),
    "true coordinate": (put(lambda t: rings(t)[0], 1, [True, 50.0]), "finite numbers"),
    "nan coordinate": (put(lambda t: rings(t)[0], 1, [float("nan"), 50.0]), "finite numbers"),
    "huge integer": (put(lambda t: rings(t)[0], 1, [10**400, 50.0]), "finite numbers"),
    "one coordinate": (put(lambda t: rings(t)[0], 1, [1.0]), "finite numbers"),
    "four coordinates": (put(lambda t: rings(t)[0], 1, [1.0, 50.0, 0.0, 0.0]), "finite numbers"),
    "ring not a list": (put(rings, 1, "ring"), "not nested"),
    "coordinates missing": (lambda t: feature(t)["geometry"].pop("coordinates"), "not nested"),
    "too deep": (put(lambda t: feature(t)["geometry"], "coordinates", [[OUTER]]), "finite numbers"),
    "too shallow": (put(lambda t: feature(t)["geometry"], "coordinates", OUTER), ""),
    "wrong type": (put(lambda t: feature(t)["geometry"], "type", "Circle"), "no GeoJSON type"),
    "type is a list": (put(lambda t: feature(t)["geometry"], "type", ["Polygon"]), "no GeoJSON type"),
    "feature as geometry": (put(feature, "geometry", {"type": "Feature"}), "where one belongs"),
    "geometry as feature": (
        put(lambda t: t["features"], 0, {"type": "Point", "coordinates": [0, 0]}),
        "is not a Feature",
    ),
    "number as feature": (put(lambda t: t["features"], 0, 7), "not a JSON object"),
    "no geometry member": (lambda t: feature(t).pop("geometry"), "needs a geometry member"),
    "no properties": (lambda t: feature(t).pop("properties"), "needs a properties member"),
    "properties a list": (put(feature, "properties", []), "needs a properties member"),
    "id an object": (put(feature, "id", {}), "has an id"),
    "id null": (put(feature, "id", None), "has an id"),
    "crs": (put(whole, "crs", None), "crs member"),
    "crs in a geometry": (put(lambda t: feature(t)["geometry"], "crs", {}), "crs member"),
    "features missing": (lambda t: t.pop("features"), "list of features"),
    "feature with features": (put(feature, "features", []), "must not have"),
    "collection with geometry": (put(whole, "geometry", None), "must not have"),
    "bbox too small": (put(whole, "bbox", [0.0, 50.0, 0.9, 51.0]), "does not enclose"),
    "bbox upside down": (put(whole, "bbox", [0.0, 51.0, 1.0, 50.0]), "not west, south"),
    "bbox of three": (put(whole, "bbox", [0.0, 50.0, 1.0]), "four or six"),
    "bbox across, wrongly": (put(whole, "bbox", [170.0, 50.0, -170.0, 51.0]), "does not enclose"),
    "feature's bbox": (put(feature, "bbox", [0.0, 50.0, 1.0, 50.5]), "does not enclose"),
}


def test_a_good_file_has_no_findings() -> None:
    assert rfc7946_findings(good()) == []
    assert rfc7946_findings(json.loads(json.dumps(good()))) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(fault: str) -> None:
    plant, words = FAULTS[fault]
    thing = good()
    plant(thing)
    findings = rfc7946_findings(thing)
    assert findings
    assert any(words in finding for finding in findings), findings


@pytest.mark.parametrize(
    "geometry",
    [
        {"type": "Point", "coordinates": [1, 2]},
        {"type": "Point", "coordinates": [1.5, 2.5, 100.0]},
        {"type": "MultiPoint", "coordinates": [[1, 2], [3, 4]]},
        {"type": "LineString", "coordinates": [[1, 2], [3, 4]]},
        {"type": "MultiLineString", "coordinates": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]},
        {"type": "Polygon", "coordinates": [OUTER, HOLE]},
        {"type": "MultiPolygon", "coordinates": [[OUTER, HOLE], [shifted(OUTER, 10.0)]]},
        {"type": "MultiPolygon", "coordinates": []},
        {"type": "GeometryCollection", "geometries": [{"type": "Point", "coordinates": [1, 2]}]},
        {"type": "Point", "coordinates": [-180, 90]},
        {"type": "Point", "coordinates": [1e-7, 0.1234567]},
    ],
)
def test_every_geometry_of_the_rfc_is_accepted(geometry: dict[str, Any]) -> None:
    assert rfc7946_findings(geometry) == []
    assert rfc7946_findings({"type": "Feature", "properties": {}, "geometry": geometry, "id": 3}) == []


def test_a_box_across_the_antimeridian_is_accepted_and_checked() -> None:
    two = {
        "type": "MultiPolygon",
        "coordinates": [[shifted(OUTER, 179.0)], [shifted(OUTER, -180.0)]],
        "bbox": [179.0, 50.0, -179.0, 51.0],
    }
    assert rfc7946_findings(two) == []
    assert "does not enclose" in rfc7946_findings({**two, "bbox": [179.5, 50.0, -179.0, 51.0]})[0]


def test_the_cut_at_the_antimeridian_is_asked_for() -> None:
    line = {"type": "LineString", "coordinates": [[179.0, 0.0], [-179.0, 0.0]]}
    assert "antimeridian" in rfc7946_findings(line)[0]


def test_the_orientation_of_the_smallest_cells_is_seen() -> None:
    """At resolution 15 a cell is a millionth of a degree: the sign must not drown in rounding."""
    tiny = [[0.1278 + 1e-6 * x, 51.5 + 1e-6 * y] for x, y in [(0, 0), (5, 0), (5, 5), (0, 5), (0, 0)]]
    tiny = [[round(x, 7), round(y, 7)] for x, y in tiny]
    assert rfc7946_findings({"type": "Polygon", "coordinates": [tiny]}) == []
    assert rfc7946_findings({"type": "Polygon", "coordinates": [tiny[::-1]]}) != []


def test_findings_and_sizes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    many = {"type": "FeatureCollection", "features": [{}] * 1000}
    assert len(rfc7946_findings(many)) == checker.MAX_FINDINGS
    monkeypatch.setattr(checker, "MAX_FEATURES", 10)
    assert "more than 10 features" in rfc7946_findings(many)[0]
    monkeypatch.setattr(checker, "MAX_POSITIONS", 5)
    line = {"type": "LineString", "coordinates": [[x, 0] for x in range(50)]}
    assert "more than 5 positions" in rfc7946_findings(line)[0]


def test_nesting_is_bounded() -> None:
    inner: Any = {"type": "Point", "coordinates": [0, 0]}
    for _ in range(5000):
        inner = {"type": "GeometryCollection", "geometries": [inner]}
    assert rfc7946_findings(inner) != []
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    assert rfc7946_findings({"type": "MultiPolygon", "coordinates": deep}) != []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=25,
)
TYPED = st.fixed_dictionaries(
    {"type": st.sampled_from([*checker._DEPTH, "GeometryCollection", "Feature", "FeatureCollection"])},
    optional={
        "coordinates": JSON,
        "geometry": JSON,
        "geometries": st.lists(JSON, max_size=3),
        "features": st.lists(JSON, max_size=3),
        "properties": JSON,
        "bbox": JSON,
        "id": JSON,
    },
)


def holds(thing: Any) -> None:
    findings = rfc7946_findings(thing)
    assert len(findings) <= checker.MAX_FINDINGS + 1
    assert all(isinstance(finding, str) for finding in findings)


@settings(max_examples=50)
@given(TYPED | JSON)
def test_no_input_raises(thing: Any) -> None:
    holds(thing)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@settings(max_examples=1_000)
@given(TYPED | JSON)
def test_no_input_raises_at_length(thing: Any) -> None:
    holds(thing)


def test_a_line_of_one_position_is_found_and_one_of_two_is_not() -> None:
    one = {"type": "LineString", "coordinates": [[1.0, 2.0]]}
    [said] = rfc7946_findings(one)
    assert said.endswith("a line has fewer than two positions (3.1.4).")
    assert rfc7946_findings({**one, "coordinates": [[1.0, 2.0], [1.0, 3.0]]}) == []
