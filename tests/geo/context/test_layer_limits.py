"""Own layers at their limits: widths, letters, depths and corners; and where their names stand."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
import shapely

from geo import DomainError, domain_from_bbox
from geo.context import own_layers
from geo.context.own_layers import Feature, OwnLayer, check_amount, clean, fitted, label_columns, own_layer

DOMAIN = domain_from_bbox(-0.2, 51.45, 0.0, 51.55, 7)
DOT = Feature("", shapely.Point(-0.1, 51.5))
LINE = Feature("", shapely.LineString([(-0.2, 51.5), (0.0, 51.5)]))
AREA = Feature("", shapely.box(-0.2, 51.45, -0.1, 51.5))


@pytest.mark.parametrize(
    ("width", "good"), [(0.0, True), (0.5, True), (12.0, True), (0.49, False), (12.1, False)]
)
def test_lines_are_half_a_pixel_to_twelve_wide(width: float, good: bool) -> None:
    if good:
        assert OwnLayer("a", (DOT,), width=width).dot == (width or 8.0)
    else:
        with pytest.raises(DomainError, match=rf"0.5 to 12 pixels, or 0 for the usual one, not {width:g}\."):
            OwnLayer("a", (DOT,), width=width)


def test_outlines_are_thinner_than_lines_unless_a_width_is_asked_for() -> None:
    assert OwnLayer("a", (LINE,)).stroke == 1.8
    assert OwnLayer("a", (LINE, AREA)).stroke == 1.3
    assert OwnLayer("a", (AREA,), width=3.0).stroke == 3.0
    assert OwnLayer("a", (AREA,), width=3.0).dot == 3.0


@pytest.mark.parametrize("colour", ["1f78b4", "#1f78b", "#1f78b44", "#1f78bg", "red"])
def test_another_way_to_write_a_colour_is_refused(colour: str) -> None:
    assert OwnLayer("a", (DOT,), colour="#1F78b4").colour == "#1F78b4"
    with pytest.raises(
        DomainError, match=re.escape(f"a layer's colour is written like #1f78b4, not {colour!r}.")
    ):
        OwnLayer("a", (DOT,), colour=colour)


def test_names_are_cut_to_a_hundred_letters_and_refused_beyond() -> None:
    assert clean("x" * 101) == "x" * 100
    assert clean("ab cd", 3) == "ab"
    assert OwnLayer("x" * 100, (DOT,)).name == "x" * 100
    with pytest.raises(DomainError, match="a layer has no name, or one that is too long"):
        OwnLayer("x" * 101, (DOT,))
    with pytest.raises(DomainError, match="a name in the layers is too long"):
        Feature("x" * 101, DOT.shape)
    with pytest.raises(DomainError, match=f"the layer '{'y' * 60}' is empty"):
        OwnLayer("y" * 90, ())


@pytest.mark.parametrize("place", [(180.1, 0.0), (-180.1, 0.0), (0.0, 90.1), (0.0, -90.1), (np.inf, 0.0)])
def test_a_place_beyond_the_globe_is_refused(place: tuple[float, float]) -> None:
    assert Feature("", shapely.Point(180.0, -90.0)).kind == "point"
    with pytest.raises(DomainError, match="not degrees of longitude and latitude: export it in EPSG:4326"):
        Feature("", shapely.Point(place))


def test_amounts_are_met_and_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    five = [OwnLayer("a", (DOT, LINE))] * 5
    monkeypatch.setattr(own_layers, "MOST_FEATURES", 10)
    monkeypatch.setattr(own_layers, "MOST_CORNERS", 15)
    check_amount(five)
    with pytest.raises(DomainError, match="6 layers are too many: choose at most 5"):
        check_amount([*five, five[0]], corners=False)
    monkeypatch.setattr(own_layers, "MOST_CORNERS", 14)
    check_amount(five, corners=False)
    with pytest.raises(DomainError, match="more than 14 corners: simplify them first"):
        check_amount(five)
    monkeypatch.setattr(own_layers, "MOST_FEATURES", 9)
    with pytest.raises(DomainError, match="10 features near the area, more than the 9"):
        check_amount(five)


def test_a_file_is_read_to_its_limits_of_features_corners_and_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(*shapes: dict[str, Any]) -> bytes:
        made = [{"type": "Feature", "properties": {}, "geometry": shape} for shape in shapes]
        return json.dumps({"type": "FeatureCollection", "features": made}).encode()

    dot, line = ({"type": "Point", "coordinates": [-0.1, 51.5]}, json.loads(shapely.to_geojson(LINE.shape)))
    monkeypatch.setattr(own_layers, "MOST_READ", 2)
    monkeypatch.setattr(own_layers, "_MOST_POSITIONS", 3)
    assert len(own_layer(text(dot, line), DOMAIN, "a").features) == 2
    with pytest.raises(DomainError, match="the layer 'a' has over 3 corners: simplify it"):
        own_layer(text(line, line), DOMAIN, "a")
    with pytest.raises(DomainError, match="more than 2 features: export those near the area"):
        own_layer(text(dot, dot, dot), DOMAIN, "a")
    nested = dot
    for _ in range(8):
        nested = {"type": "GeometryCollection", "geometries": [nested]}
    assert own_layer(text(nested), DOMAIN, "a").features[0].kind == "point"
    with pytest.raises(DomainError, match="a layer is nested too deeply"):
        own_layer(text({"type": "GeometryCollection", "geometries": [nested]}), DOMAIN, "a")


def test_a_name_stands_in_the_largest_part_and_halfway_along_the_longest_line() -> None:
    areas = shapely.MultiPolygon([shapely.box(0, 0, 1, 1), shapely.box(5, 0, 9, 4)])
    lines = shapely.MultiLineString([[(0, 0), (1, 0)], [(0, 2), (6, 2)]])
    dots = shapely.MultiPoint([(3.1234567, 1), (4, 1)])
    layer = OwnLayer(
        "a", tuple(Feature(name, one) for name, one in zip("ALD", (areas, lines, dots), strict=True))
    )
    assert [(one.name, one.at) for one in layer.labels] == [
        ("A", (7.0, 2.0)),
        ("L", (3.0, 2.0)),
        ("D", (3.123457, 1.0)),
    ]
    twice = OwnLayer("a", (Feature("B", shapely.box(0, 0, 1, 1)), Feature("B", shapely.box(2, 0, 4, 2))))
    assert [(one.name, one.at) for one in twice.labels] == [("B", (3.0, 1.0))], "once, where it is largest"


def test_columns_for_names_come_in_order_of_their_likelihood() -> None:
    known = {"id": 1, "zone": "z", "LAD22NM": "l", "TITLE": "t", "name": "n", "label": "b", "open": True}
    made = {
        "type": "Feature",
        "properties": {**known, "empty": " "},
        "geometry": {"type": "Point", "coordinates": [0, 51]},
    }
    found = label_columns(json.dumps(made).encode())
    assert found == ("name", "label", "TITLE", "id", "LAD22NM", "zone")


def test_layers_are_made_coarser_until_they_fit_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    circle = Feature("c", shapely.Point(-0.1, 51.5).buffer(0.05, quad_segs=250))
    layer = OwnLayer("a", (circle, DOT))
    assert fitted([layer], DOMAIN)[0] is layer
    monkeypatch.setattr(own_layers, "MOST_CORNERS", 200)
    (made,) = fitted([layer], DOMAIN)
    assert 100 < own_layers.corners_of([made]) <= 0.97 * 200
    assert made.features[0].shape.symmetric_difference(circle.shape).area < 0.01 * circle.shape.area
    assert [one.label for one in made.features] == ["c", ""]
