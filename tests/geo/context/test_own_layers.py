"""Layers of one's own: read near the area, named by a column, cut and simplified, refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from geo import DomainError, domain_from_bbox
from geo.context.own_layers import (
    Feature,
    OwnLayer,
    clean,
    corners_of,
    fitted,
    label_columns,
    own_layer,
    shape_of,
)
from geo.context.surroundings import Place, Surroundings, around

DOMAIN = domain_from_bbox(-0.2, 51.45, 0.0, 51.55, 7)


def feature(geometry: dict[str, Any] | None, **properties: object) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def square(west: float, south: float, size: float = 0.05) -> dict[str, Any]:
    ring = [
        [west, south],
        [west + size, south],
        [west + size, south + size],
        [west, south + size],
        [west, south],
    ]
    return {"type": "Polygon", "coordinates": [ring]}


def collection(*features: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features), **more}


LINE = {"type": "LineString", "coordinates": [[-0.2, 51.5], [0.0, 51.5]]}
POINT = {"type": "Point", "coordinates": [-0.1, 51.5]}
MIXED = collection(
    feature(square(-0.2, 51.45), NAME="West", code=1),
    feature(square(-0.1, 51.45, 0.1), NAME="East", code=2),
    feature(LINE, NAME="River", code=3),
    feature(POINT, NAME="Station", code=4),
    feature(square(20.0, 51.45), NAME="Far away", code=5),
    feature(None, NAME="Nowhere", code=6),
)


def test_what_lies_near_is_kept_with_its_names_the_larger_first() -> None:
    layer = own_layer(MIXED, DOMAIN, "boroughs")
    assert [one.label for one in layer.features] == ["West", "East", "River", "Station"]
    assert [one.kind for one in layer.features] == ["area", "area", "line", "point"]
    assert [one.name for one in layer.labels] == ["River", "East", "West", "Station"]
    assert [one.label for one in layer.areas] == ["West", "East"]
    assert layer.labels[1].at == (-0.05, 51.5)
    assert layer.labels[0].at == (-0.1, 51.5)
    assert layer.points.tolist() == [[-0.1, 51.5]]
    assert len(layer.lines) == 3
    assert label_columns(json.dumps(MIXED).encode()) == ("NAME", "code")


def test_a_column_is_chosen_or_none() -> None:
    assert [one.label for one in own_layer(MIXED, DOMAIN, "x", "code").features] == ["1", "2", "3", "4"]
    assert {one.label for one in own_layer(MIXED, DOMAIN, "x", "").features} == {""}
    with pytest.raises(DomainError, match="no entries in a column 'borough': choose among NAME, code"):
        own_layer(MIXED, DOMAIN, "x", "borough")
    unnamed = collection(feature(POINT, colour="red"))
    assert own_layer(unnamed, DOMAIN, "x").features[0].label == ""


def test_an_area_is_cut_where_no_map_shows_it() -> None:
    layer = own_layer(collection(feature(square(-40.0, 20.0, 70.0))), DOMAIN, "land")
    west, south, east, north = shapely.total_bounds(layer.features[0].shape)
    # Three sides of .2 degrees of longitude to both sides, one and a half up and down.
    assert (west, east) == pytest.approx((-0.1 - 0.62, -0.1 + 0.62), abs=0.1)
    assert (south, north) == pytest.approx((51.5 - 0.2, 51.5 + 0.2), abs=0.05)


def test_a_projected_file_is_converted() -> None:
    crs = {"type": "name", "properties": {"name": "EPSG:27700"}}
    camden = feature({"type": "Point", "coordinates": [530_000.0, 180_000.0]}, name="x")
    layer = own_layer(collection(camden, crs=crs), DOMAIN, "x")
    assert layer.points[0] == pytest.approx((-0.1285, 51.5037), abs=1e-3)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (collection(feature(square(20.0, 51.45))), "nothing near the area"),
        (collection(), "nothing near the area"),
        (collection(feature({"type": "Point", "coordinates": [530_000.0, 180_000.0]})), "EPSG:4326"),
        (collection(feature({"type": "Circle", "coordinates": [0, 0]})), "not GeoJSON"),
        (collection(feature({"type": "Point", "coordinates": ["a", "b"]})), "not GeoJSON"),
        ({"type": "FeatureCollection", "features": [1]}, "list of objects"),
        ({"type": "Topology"}, "not GeoJSON"),
    ],
)
def test_what_is_no_layer_is_refused_in_one_sentence(document: dict[str, Any], said: str) -> None:
    with pytest.raises(DomainError, match=said) as refused:
        own_layer(document, DOMAIN, "x")
    assert str(refused.value).endswith((".", "..."))
    assert "\n" not in str(refused.value)


def test_names_are_one_printable_line_of_a_hundred_letters() -> None:
    assert clean("a\tb\u202ec\x00") == "a b c"
    assert len(clean("x" * 101)) == 100
    assert own_layer(collection(feature(POINT, name="a\u202eb")), DOMAIN, "x").features[0].label == "a b"
    with pytest.raises(DomainError, match="cannot be shown"):
        Feature("a\nb", shapely.Point(0, 0))


def test_many_corners_are_simplified_and_few_are_kept_as_they_are() -> None:
    turns = np.linspace(0.0, 2.0 * np.pi, 40_001)
    ring = np.column_stack([-0.1 + 0.05 * np.cos(turns), 51.5 + 0.05 * np.sin(turns)]).round(7).tolist()
    ring[-1] = ring[0]
    round_one = own_layer(
        collection(feature({"type": "Polygon", "coordinates": [ring]}, name="o")), DOMAIN, "o"
    )
    [made] = fitted([round_one], DOMAIN)
    assert corners_of([round_one]) > 20_000
    assert corners_of([made]) <= 20_000
    assert shapely.area(made.features[0].shape) == pytest.approx(np.pi * 0.05**2, rel=1e-3)
    few = own_layer(MIXED, DOMAIN, "few")
    assert fitted([few], DOMAIN) == (few,)
    with pytest.raises(DomainError, match="6 layers are too many: choose at most 5"):
        fitted([few] * 6, DOMAIN)
    many = OwnLayer("many", few.features * 501)
    with pytest.raises(DomainError, match="2,004 features near the area, more than the 2,000"):
        fitted([many], DOMAIN)


def test_a_crossed_area_is_mended() -> None:
    bow = {
        "type": "Polygon",
        "coordinates": [[[-0.2, 51.45], [0, 51.55], [0, 51.45], [-0.2, 51.55], [-0.2, 51.45]]],
    }
    [one] = own_layer(collection(feature(bow)), DOMAIN, "x").features
    assert shapely.is_valid(one.shape)
    assert shapely.area(one.shape) == pytest.approx(0.01, rel=1e-3)


def test_one_kind_of_shape_in_each_feature_of_a_bundle() -> None:
    assert shape_of(LINE, "x").geom_type == "MultiLineString"
    both = {"type": "GeometryCollection", "geometries": [LINE, POINT]}
    for bad in (both, {"type": "Point", "coordinates": []}, None):
        with pytest.raises(DomainError, match="without a shape, or with shapes of two kinds"):
            shape_of(bad, "x")


def test_across_the_date_line_a_layer_is_drawn_in_one_piece() -> None:
    fiji = domain_from_bbox(179.5, -17.0, -179.5, -16.5, 6, crosses_date_line=True)
    road = {
        "type": "MultiLineString",
        "coordinates": [[[179.6, -16.8], [180, -16.8]], [[-180, -16.8], [-179.6, -16.8]]],
    }
    layer = own_layer(collection(feature(road, name="Road")), fiji, "roads")
    known = around(fiji, (layer,), world=False)
    packed = known.packed()["own"][0]
    ends = []
    for flat in packed["lines"]:
        steps = np.cumsum(np.asarray(flat).reshape(-1, 2), axis=0) / 10_000
        ends += steps[:, 0].tolist()
    assert max(ends) - min(ends) == pytest.approx(0.8, abs=1e-3)
    assert known.named[0].name == "Road"


def test_own_names_come_before_the_places_of_the_world() -> None:
    layer = own_layer(MIXED, DOMAIN, "x")
    known = around(DOMAIN, (layer,), world=False)
    assert [one.name for one in known.named] == ["River", "East", "West", "Station"]
    assert known.source == ""
    packed = known.packed()["own"]
    assert packed[0]["points"] == [[-0.1, 51.5]]
    assert packed[0]["names"][1] == ["East", -0.05, 51.5, 60_000]
    json.dumps(packed, allow_nan=False)


def test_a_place_that_a_layer_names_does_not_stand_twice() -> None:
    layer = own_layer(MIXED, DOMAIN, "x")
    places = (Place("east", -0.04, 51.49, 9), Place("Elsewhere", -0.1, 51.5, 8))
    known = Surroundings(own=(layer,), places=places, middle=-0.1)
    assert [one.name for one in known.named] == ["River", "East", "West", "Station", "Elsewhere"]
    assert [name for name, *_ in known.packed()["places"]] == ["Elsewhere"]
    assert Surroundings(places=places).named == places


def test_columns_that_are_called_a_name_come_first() -> None:
    named = collection(feature(POINT, area="1", LAD_NM="x", name="y", zone="z"))
    assert label_columns(named) == ("name", "LAD_NM", "area", "zone")
    assert own_layer(named, DOMAIN, "x").features[0].label == "y"


def test_a_layer_that_is_not_there_is_called_a_layer(tmp_path: Path) -> None:
    with pytest.raises(DomainError, match=r"^the layer file \S+nope\.geojson cannot be read \(No such file"):
        label_columns(tmp_path / "nope.geojson")
    with pytest.raises(DomainError, match=r"^the layer file is not GeoJSON: export it as GeoJSON"):
        label_columns(b"nothing")
