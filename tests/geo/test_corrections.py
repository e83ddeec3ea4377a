"""Outlines put right: named parts of a file, exchanged axes, and units that have a floor."""

from __future__ import annotations

import json

import pytest

from geo import (
    DomainError,
    chosen_parts,
    domain_from_geojson,
    exchanged,
    part_columns,
    part_names,
)


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
    content = json.dumps(both).encode()
    assert part_columns(content) == ("NAME", "code")
    assert part_names(content) == ("Barnet", "Camden")
    assert part_names(content, "code") == ("E1", "E2")
    camden = chosen_parts(content, ["Camden"])
    assert domain_from_geojson(camden, 7).region.bounds == pytest.approx((-0.1, 51.5, 0.0, 51.6))
    assert domain_from_geojson(chosen_parts(content, ["E1"], "code"), 7).region.bounds == pytest.approx(
        (0.0, 51.5, 0.1, 51.6)
    )
    both_parts = domain_from_geojson(chosen_parts(content, ["Camden", "Barnet", "Camden"]), 7)
    assert both_parts.region.bounds == pytest.approx((-0.1, 51.5, 0.1, 51.6))
    assert part_names(boroughs({"BOROUGH_NM": "b", "code": "x"}, {"BOROUGH_NM": "a", "code": "y"})) == (
        "a",
        "b",
    )


def test_a_column_may_name_several_features_at_once() -> None:
    three = boroughs(
        {"name": "a", "part": "inner"}, {"name": "b", "part": "outer"}, {"name": "c", "part": "inner"}
    )
    assert part_columns(three) == ("name", "part")
    assert part_names(three, "part") == ("inner", "outer")
    inner = chosen_parts(three, ["inner"], "part")
    assert [one["properties"]["name"] for one in inner["features"]] == ["a", "c"]
    assert domain_from_geojson(inner, 7).region.area == pytest.approx(0.02)


def test_a_part_that_is_not_there_is_refused_with_the_nearest_one() -> None:
    both = boroughs({"name": "Camden"}, {"name": "Barnet"})
    with pytest.raises(DomainError, match="no feature 'Camdem': did you mean 'Camden'"):
        chosen_parts(both, ["Camdem"])
    with pytest.raises(DomainError, match="no feature 'Zz': choose among Barnet, Camden"):
        chosen_parts(both, ["Zz"])
    with pytest.raises(DomainError, match="no names in a column 'nom'"):
        chosen_parts(both, ["Camden"], "nom")
    with pytest.raises(DomainError, match="no column of names that distinguishes its features"):
        chosen_parts(boroughs({"name": "same"}, {"name": "same"}), ["same"])


def test_a_converted_file_keeps_its_system() -> None:
    crs = {"type": "name", "properties": {"name": "EPSG:3857"}}
    both = boroughs({"name": "one"}, {"name": "two"}) | {"crs": crs}
    assert chosen_parts(both, ["one"])["crs"] == crs


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
    assert part_names(document) == ()


def test_exchanged_axes_are_turned_back() -> None:
    wrong = exchanged(boroughs({"name": "one"}, {"name": "two"}))
    assert "bbox" not in wrong
    assert wrong["features"][0]["geometry"]["coordinates"][0][0] == [51.5, -0.1]
    right = exchanged(wrong)
    assert right["features"] == boroughs({"name": "one"}, {"name": "two"})["features"]
    with pytest.raises(DomainError, match="not GeoJSON"):
        exchanged(b"no json")
