"""Areas of a stranger's map: their names, parts of hexagons in square metres, limits and what is told."""

from __future__ import annotations

import json
import re
from typing import Any

import h3
import numpy as np
import pytest
import shapely

from geo import DomainError, domain_from_bbox, domain_from_cells
from geo.domains import areas
from geo.domains.areas import areas_of, named_areas

DOMAIN = domain_from_bbox(-0.06, 51.49, -0.04, 51.505, 8)
WEST, SOUTH = (at - 0.002 for at in DOMAIN.middle)


def box(west: float, south: float, wide: float, high: float) -> dict[str, Any]:
    ring = [
        [west, south],
        [west + wide, south],
        [west + wide, south + high],
        [west, south + high],
        [west, south],
    ]
    return {"type": "Polygon", "coordinates": [ring]}


def feature(shape: dict[str, Any], **properties: object) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": shape}


def text(*features: object) -> bytes:
    return json.dumps({"type": "FeatureCollection", "features": list(features)}).encode()


HERE = box(WEST, SOUTH, 0.004, 0.004)
AWAY = box(WEST + 5.0, SOUTH, 0.01, 0.01)


def test_parts_are_square_metres_and_the_share_that_the_domain_covers() -> None:
    wide = box(WEST - 50, SOUTH - 10, 100, 20)
    found = named_areas(text(feature(HERE), feature(wide), feature(AWAY)), DOMAIN)
    north = 0.004 * 111_320.0  # metres of a degree
    assert found.weights[0].sum() == pytest.approx(north**2 * np.cos(np.radians(51.4963)), rel=1e-4)
    np.testing.assert_allclose(found.weights[1], DOMAIN.areas * 1e6, rtol=5e-3)
    assert found.weights[2].tolist() == [0.0] * DOMAIN.size
    assert found.covered[0] == pytest.approx(1.0)
    assert 0.0 < found.covered[1] < 1e-3
    assert found.covered[2] == 0.0
    kept = found.part(np.array([True, False, True]))
    assert kept.names == ("area 1", "area 3")
    assert [shape.bounds[0] for shape in kept.shapes] == pytest.approx([WEST, WEST + 5.0])
    assert kept.covered.tolist() == [found.covered[0], 0.0]
    assert kept.weights.shape == (2, DOMAIN.size)


def test_an_area_across_the_date_line_lies_on_both_sides() -> None:
    across = domain_from_cells(h3.grid_disk(h3.latlng_to_cell(-17.0, 180.0, 6), 1))
    for west in (179.9, -180.1 + 0.05):
        shape = shapely.multipolygons([shapely.box(max(west, -180.0), -17.05, west + 0.08, -16.95)])
        found = areas_of(["a"], [shape], across)
        assert found.weights.sum() > 1e6


def test_the_first_usual_name_is_taken_on_one_line_and_cut() -> None:
    made = [
        feature(HERE, id=7, borough="B"),
        feature(HERE, title="T", id=7),
        feature(HERE, name="  ", Name="Tower\n Hamlets"),
        feature(HERE, name="x" * 101),
        feature(HERE, id=7),
        feature(HERE, name=["no text"]),
        {**feature(HERE), "properties": None},
    ]
    assert named_areas(text(*made), DOMAIN).names == (
        "B",
        "T",
        "Tower Hamlets",
        "x" * 100,
        "7",
        "area 6",
        "area 7",
    )
    assert named_areas(text(feature(HERE, name="n", code=1.5)), DOMAIN, "code").names == ("1.5",)
    with pytest.raises(DomainError, match="area 2 has no property 'code': name one that every area has"):
        named_areas(text(feature(HERE, code=1), feature(HERE)), DOMAIN, "code")


def test_a_single_feature_and_a_bare_polygon_are_areas_too() -> None:
    assert named_areas(json.dumps(feature(HERE, name="n")).encode(), DOMAIN).names == ("n",)
    assert named_areas(json.dumps(HERE).encode(), DOMAIN).names == ("area 1",)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (text(), "the file holds no area: give a GeoJSON file with polygons."),
        (text("x"), "the file holds something that is no GeoJSON feature."),
        (text(feature(AWAY)), "none of the areas touches a hexagon"),
    ],
)
def test_what_is_no_map_of_these_areas_is_refused(source: bytes, said: str) -> None:
    with pytest.raises(DomainError, match=re.escape(said)):
        named_areas(source, DOMAIN)


def test_limits_are_met_and_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    two = text(feature(HERE), feature(HERE))
    monkeypatch.setattr(areas, "MOST_AREAS", 2)
    monkeypatch.setattr(areas, "MAX_VERTICES", 10)
    assert len(named_areas(two, DOMAIN).names) == 2
    monkeypatch.setattr(areas, "MAX_VERTICES", 9)
    with pytest.raises(DomainError, match="more than 9 corners together"):
        named_areas(two, DOMAIN)
    monkeypatch.setattr(areas, "MOST_AREAS", 1)
    with pytest.raises(DomainError, match="the file holds 2 areas, more than the 1 accepted"):
        named_areas(two, DOMAIN)


def test_outlines_over_as_many_hexagons_as_are_allowed_are_laid_over_them() -> None:
    shape = shapely.multipolygons([shapely.from_geojson(json.dumps(HERE))])
    tree = shapely.STRtree([areas._flat(DOMAIN, one) for one in areas.cell_polygons(DOMAIN.cells)])
    needed = areas._meetings(tree, areas._flat(DOMAIN, shape), 10**6)
    assert needed > 4
    assert areas_of(["a", "b"], [shape, shape], DOMAIN, most=2 * needed).weights[1].any()
    with pytest.raises(DomainError, match="too often to be laid over them"):
        areas_of(["a", "b"], [shape, shape], DOMAIN, most=2 * needed - 1)


def test_what_is_done_is_told_from_nothing_over_a_half_onwards() -> None:
    told: list[tuple[float, str]] = []
    named_areas(
        text(feature(HERE), feature(HERE)), DOMAIN, progress=lambda done, said: told.append((done, said))
    )
    assert told == [
        (0.0, "Reading the areas"),
        (0.25, "Reading the areas"),
        (0.5, "Laying the areas over the hexagons"),
        (0.75, "Laying the areas over the hexagons"),
    ]


def test_every_piece_of_a_cut_outline_has_few_hexagons(monkeypatch: pytest.MonkeyPatch) -> None:
    circle = shapely.multipolygons([shapely.Point(*DOMAIN.middle).buffer(0.008, quad_segs=200)])
    whole = areas_of(["a"], [circle], DOMAIN)
    cells = np.array([areas._flat(DOMAIN, one) for one in areas.cell_polygons(DOMAIN.cells)], dtype=object)
    flat, every = areas._flat(DOMAIN, circle), np.arange(DOMAIN.size)
    assert max(len(some) for some, _ in areas._parted(cells, every, flat)) <= 4
    monkeypatch.setattr(areas, "FEW_CORNERS", 10**6)
    assert len(list(areas._parted(cells, every, flat))) == 1
    plain = areas_of(["a"], [circle], DOMAIN)
    np.testing.assert_allclose(whole.weights, plain.weights, rtol=1e-9, atol=1e-3)
