"""Outlines put right: named parts of a file, exchanged axes, and units that have a floor."""

from __future__ import annotations

import json

import pytest

from geo import DomainError, domain_from_geojson, exchanged, named_parts, never_negative


def square(west: float, south: float) -> dict[str, object]:
    ring = [[west, south], [west + 0.1, south], [west + 0.1, south + 0.1], [west, south + 0.1], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}


def boroughs(*columns: dict[str, object]) -> dict[str, object]:
    places = [square(-0.1 + 0.1 * k, 51.5) for k in range(len(columns))]
    return {
        "type": "FeatureCollection",
        "bbox": [-0.1, 51.5, 0.2, 51.6],
        "features": [
            {"type": "Feature", "properties": column, "geometry": place}
            for column, place in zip(columns, places, strict=True)
        ],
    }


def test_the_parts_of_a_file_are_found_by_their_names() -> None:
    both = boroughs({"code": "E2", "NAME": "Camden"}, {"code": "E1", "NAME": "Barnet"})
    found = named_parts(json.dumps(both).encode())
    assert list(found) == ["Barnet", "Camden"]
    assert domain_from_geojson(found["Camden"], 7).region.bounds == pytest.approx((-0.1, 51.5, 0.0, 51.6))
    assert list(
        named_parts(boroughs({"BOROUGH_NM": "b", "code": "x"}, {"BOROUGH_NM": "a", "code": "y"}))
    ) == [
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    "document",
    [
        square(0, 50),
        boroughs({"name": "one"}),
        boroughs({"name": "same"}, {"name": "same"}),
        boroughs({"name": "one"}, {"name": 2}),
        boroughs({}, {}),
        boroughs({"name": "one"}, None),  # type: ignore[arg-type]
    ],
)
def test_where_nothing_tells_parts_apart_there_is_nothing_to_choose(document: dict[str, object]) -> None:
    assert named_parts(document) == {}


def test_exchanged_axes_are_turned_back() -> None:
    wrong = exchanged(boroughs({"name": "one"}, {"name": "two"}))
    assert "bbox" not in wrong
    assert wrong["features"][0]["geometry"]["coordinates"][0][0] == [51.5, -0.1]
    right = exchanged(wrong)
    assert right["features"] == boroughs({"name": "one"}, {"name": "two"})["features"]
    with pytest.raises(DomainError, match="not GeoJSON"):
        exchanged(b"no json")


@pytest.mark.parametrize("unit", ["GBP", "£", "mg/kg", "ug/m3", "µg/m³", "g m-3", "ppm", "Bq/kg", "uSv/h"])
def test_amounts_have_a_floor(unit: str) -> None:
    assert never_negative(unit)


@pytest.mark.parametrize("unit", ["°C", "C", "m", "", "dB(A) difference", "log10(mg/kg)", "m/s", "points"])
def test_other_units_have_none(unit: str) -> None:
    assert not never_negative(unit)
