"""Reading regions: what is accepted, what is repaired and said, and the sentence for everything else."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import geo.region as region_module
from geo import (
    DomainError,
    Region,
    domain_from_geojson,
    geometry_dict,
    region_from_bbox,
    region_from_geojson,
)
from tests.mutation import damaged

SQUARE = [[0.0, 50.0], [1.0, 50.0], [1.0, 51.0], [0.0, 51.0], [0.0, 50.0]]
POLYGON = {"type": "Polygon", "coordinates": [SQUARE]}


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def collection(*geometries: Any) -> dict[str, Any]:
    features = [{"type": "Feature", "properties": {}, "geometry": one} for one in geometries]
    return {"type": "FeatureCollection", "features": features}


def test_path_bytes_and_object_are_the_same(tmp_path: Path) -> None:
    text = json.dumps(POLYGON).encode()
    file = tmp_path / "a region.geojson"
    file.write_bytes(text)
    regions = [
        region_from_geojson(source) for source in (file, str(file), text, b"\xef\xbb\xbf" + text, POLYGON)
    ]
    assert all(one == regions[0] for one in regions)
    assert regions[0].shape.bounds == (0.0, 50.0, 1.0, 51.0)
    assert regions[0].notes == ()


def test_an_open_ring_is_closed_and_a_height_is_dropped() -> None:
    flat = region_from_geojson(polygon(SQUARE))
    assert region_from_geojson(polygon(SQUARE[:-1])).shape.equals(flat.shape)
    assert region_from_geojson(polygon([[*corner, 12.0] for corner in SQUARE])).shape.equals(flat.shape)


def test_a_bow_tie_is_repaired_and_said() -> None:
    bow = region_from_geojson(polygon([[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]))
    assert bow.shape.is_valid
    assert bow.shape.area == pytest.approx(2.0)
    assert any("repaired" in note for note in bow.notes)


def test_an_older_crs_member_is_honoured_and_said() -> None:
    square = [[530000, 180000], [540000, 180000], [540000, 190000], [530000, 190000], [530000, 180000]]
    named = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::27700"}}
    region = region_from_geojson({**collection(polygon(square)), "crs": named})
    west, south, east, north = region.shape.bounds
    assert -0.2 < west < east < 0.1
    assert 51.4 < south < north < 51.7
    assert "EPSG::27700" in region.notes[0]
    lonlat = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    assert region_from_geojson({**POLYGON, "crs": lonlat}).notes == ()
    with pytest.raises(DomainError, match="not known"):
        region_from_geojson({**POLYGON, "crs": {"type": "link", "properties": {"href": "http://x"}}})


def test_a_box_across_the_antimeridian_is_cut_there() -> None:
    region = region_from_bbox(179.0, -18.0, -179.0, -16.0, crosses_date_line=True)
    assert len(region.shape.geoms) == 2
    assert region.shape.area == pytest.approx(4.0)
    cut = region_from_geojson(geometry_dict(region.shape))
    assert cut.shape.equals(region.shape)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"", "not GeoJSON"),
        (b"\x00\xff\xfe", "not GeoJSON"),
        (b"[1, 2", "not GeoJSON"),
        (b"[" * 100_000, "not GeoJSON"),
        (b"[]", "must be an object"),
        ({"a": 1}, "without a type"),
        ({"type": "Topology", "arcs": []}, "Topology"),
        ({"type": "Point", "coordinates": [0, 50]}, "has a Point"),
        ({"type": "LineString", "coordinates": SQUARE}, "has a LineString"),
        (collection(POLYGON, {"type": "Point", "coordinates": [0, 50]}), "has a Point"),
        (collection(), "no polygon"),
        ({"type": "FeatureCollection"}, "no list of parts"),
        ({"type": "Feature", "properties": {}, "geometry": None}, "no polygon"),
        ({"type": "Polygon"}, "not nested"),
        ({"type": "MultiPolygon"}, "no list of coordinates"),
        ({"type": "Polygon", "coordinates": []}, "no polygon"),
        ({"type": "Polygon", "coordinates": [[]]}, "fewer than three corners"),
        ({"type": "Polygon", "coordinates": SQUARE}, "not a pair of numbers"),
        ({"type": "Polygon", "coordinates": {"x": 1}}, "not nested"),
        ({"type": "Polygon", "coordinates": ["abcd"]}, "not nested"),
        (polygon([["0", "50"], ["1", "50"], ["1", "51"]]), "not a pair of numbers"),
        (polygon([[0], [1], [2], [0]]), "not a pair of numbers"),
        (polygon([[0, 50], [1, 50]]), "fewer than three corners"),
        (polygon([[0, 50], [1, float("nan")], [1, 51], [0, 50]]), "not finite"),
        (polygon([[0, 50], [10**400, 50], [1, 51], [0, 50]]), "not a pair of numbers"),
        (polygon([[0, 50], [1, 51], [2, 52], [0, 50]]), "no area"),
        (polygon([[0, 50], [0, 50], [0, 50], [0, 50]]), "no area"),
        (polygon([[530000, 180000], [540000, 180000], [540000, 190000], [530000, 180000]]), "look projected"),
        (polygon([[-35, 149], [-35.5, 149], [-35.5, 149.5], [-35, 149]]), "look swapped"),
        (polygon([[179, 0], [181, 0], [181, 1], [179, 0]]), "antimeridian"),
        (polygon([[179, 0], [-179, 0], [-179, 1], [179, 1], [179, 0]]), "cut there into two"),
        (polygon([[0, 84], [10, 84], [10, 89], [0, 84]]), "further from the pole"),
        ("/nowhere/region.geojson", "cannot be read"),
        ("/", "cannot be read"),
        ("nul\0byte", "not a path"),
    ],
)
def test_what_is_no_region_gets_one_sentence(source: Any, words: str) -> None:
    with pytest.raises(DomainError, match=words) as caught:
        region_from_geojson(source)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 260


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ((0, 51, 1, 50), "south must be the smaller"),
        ((1, 50, 1, 51), "no width"),
        ((0, 50, float("nan"), 51), "four finite numbers"),
        ((51.4, -100, 51.6, 0.1), "look swapped"),
        ((530000, 180000, 540000, 190000), "look projected"),
        (
            (999, 51.4, 1000, 51.6),
            "longitude of 1,000 degrees: a longitude is between -180 and 180, so correct",
        ),
        ((0, 51.4, 1, 515), "latitude of 515 degrees: a latitude is between -90 and 90, so correct"),
        ((200, 100, 300, 200), "look projected"),
        ((530000, 10, 540000, 20), "look projected"),
        ((170, 0, -170, 1), "west 170 and east -170: exchange the two, or state that it crosses"),
        ((-170, 0, 170, 1), "340 degrees wide: exchange west and east if it is meant to cross"),
        ((-90, 0, 90.5, 1), "180.5 degrees wide"),
        ((0, 80, 1, 89), "pole"),
    ],
)
def test_what_is_no_box_gets_one_sentence(box: tuple[float, float, float, float], words: str) -> None:
    with pytest.raises(DomainError, match=words):
        region_from_bbox(*box)


@pytest.mark.parametrize(
    ("box", "crosses", "words"),
    [
        ((170, 0, -170, 1), False, "exchange the two"),
        ((-170, 0, 170, 1), True, "exchange the two, or state that it does not cross"),
        ((180, 0, -180, 1), True, "empty"),
    ],
)
def test_an_answer_that_does_not_fit_the_box_is_refused(
    box: tuple[float, float, float, float], crosses: bool, words: str
) -> None:
    with pytest.raises(DomainError, match=words):
        region_from_bbox(*box, crosses_date_line=crosses)


def test_a_wide_box_is_taken_as_it_stands_once_that_is_said() -> None:
    assert region_from_bbox(-170, -60, 170, 60, crosses_date_line=False).shape.area == 340 * 120
    assert region_from_bbox(10, 0, -10, 1, crosses_date_line=True).shape.area == 340
    assert region_from_bbox(-90, 0, 90, 1).shape.area == 180, "half the globe is not questioned"


@pytest.mark.slow
def test_a_million_vertices_get_a_sentence_before_they_are_looked_at() -> None:
    angle = np.linspace(0, 2 * np.pi, 1_000_000)
    ring = np.column_stack([np.cos(angle), 50 + np.sin(angle)]).tolist()
    with pytest.raises(DomainError, match="1,000,000 vertices"):
        region_from_geojson(polygon(ring))


def test_a_large_file_is_not_even_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_module, "MAX_BYTES", 2**20)
    file = tmp_path / "huge.geojson"
    with file.open("wb") as stream:
        stream.truncate(2**40)  # sparse: a terabyte that takes no room
    with pytest.raises(DomainError, match="larger than 1 MiB"):
        region_from_geojson(file)
    with pytest.raises(DomainError, match="larger than 1 MiB"):
        region_from_geojson(b" " * (2**20 + 1))


def test_a_region_cannot_exist_empty() -> None:
    with pytest.raises(DomainError, match="empty"):
        Region(shapely.MultiPolygon())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-400, 400) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=30,
)
KINDS = ["Polygon", "MultiPolygon", "Feature", "FeatureCollection", "GeometryCollection", "Point", "x"]


THINGS = st.builds(
    lambda kind, name, inner: {"type": kind, name: inner},
    st.sampled_from(KINDS),
    st.sampled_from(["coordinates", "geometry", "features", "geometries", "crs"]),
    JSON,
)
RINGS = st.builds(
    lambda rings: {"type": "Polygon", "coordinates": rings},
    st.lists(st.lists(st.tuples(st.floats(-190, 190), st.floats(-95, 95)), max_size=8), max_size=3),
)
INPUTS = THINGS | RINGS | st.builds(lambda one: {"type": "FeatureCollection", "features": [one]}, THINGS)


def is_valid_or_a_sentence(source: Any) -> None:
    with contextlib.suppress(DomainError):
        region = region_from_geojson(source)
        assert region.shape.is_valid
        assert region.shape.area > 0


@settings(max_examples=60)
@given(INPUTS)
def test_any_json_gives_a_valid_region_or_a_sentence(thing: Any) -> None:
    is_valid_or_a_sentence(thing)


RING = [[-0.2, 51.45], [0.0, 51.45], [0.02, 51.55], [-0.1, 51.6], [-0.2, 51.45]]
HOLED = {
    "type": "Polygon",
    "coordinates": [RING, [[-0.12, 51.48], [-0.1, 51.48], [-0.1, 51.5], [-0.12, 51.48]]],
}
GRID = [[530000, 180000], [540000, 180000], [540000, 190000], [530000, 180000]]
NAMED = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::27700"}}
FEATURES = [{"type": "Feature", "properties": {"name": "é"}, "geometry": shape} for shape in (HOLED, None)]
FILES = st.sampled_from(
    [
        json.dumps(one).encode()
        for one in (
            HOLED,
            {"type": "FeatureCollection", "features": FEATURES},
            {"type": "GeometryCollection", "geometries": [HOLED, HOLED]},
            {"type": "Polygon", "coordinates": [GRID], "crs": NAMED},
        )
    ]
)


@settings(max_examples=200)
@given(st.binary(max_size=200) | damaged(FILES))
def test_any_bytes_give_a_valid_region_and_domain_or_a_sentence(content: bytes) -> None:
    is_valid_or_a_sentence(content)
    with contextlib.suppress(DomainError):
        assert domain_from_geojson(content, 5).size >= 1


def test_a_path_that_is_none_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.geojson", "a\0b", "x" * 5_000):
        with pytest.raises(DomainError):
            region_from_geojson(path)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@settings(max_examples=2_000)
@given(INPUTS)
def test_any_json_at_length(thing: Any) -> None:
    is_valid_or_a_sentence(thing)


def test_tiny_coordinates_are_no_warning() -> None:
    """Found by fuzzing: coordinates far below any length on Earth in a self-touching outline."""
    ring = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    touching = [[0.0, 1.0], [0.0, 2.0], [-1.1762816751363357e-288, -1.0], [-1.0, 0.0], [0.0, 1.0]]
    third = [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [-1.0766706775967777e-189, 0.0], [1.0, 0.0]]
    region = region_from_geojson({"type": "Polygon", "coordinates": [ring, touching, third]})
    assert region.shape.is_valid
    assert region.shape.area > 0
