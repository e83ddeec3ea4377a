"""Areas that ship with the app are found by name and have their outlines."""

from __future__ import annotations

import pytest

from geo import DomainError, region_from_geojson
from geo.context import named_areas
from geo.context.named_areas import FILE, area_names, areas_like, areas_named


def test_names_of_all_the_world_take_less_than_a_megabyte() -> None:
    assert FILE.stat().st_size < 1_000_000
    assert len(area_names()) > 4_500
    assert areas_like("limburg") == ("Limburg, Belgium", "Limburg, Netherlands")
    assert areas_like("united kin", 2) == ("United Kingdom (every area)", "Aberdeen, United Kingdom")
    assert areas_like(" ") == ()
    assert areas_like("sao paulo") == areas_like("SÃO PAULO") == ("São Paulo, Brazil",)


def test_areas_of_one_name_are_told_apart_by_their_countries() -> None:
    made = areas_named(["Limburg, Belgium", "Limburg, Netherlands", "Hainaut"])
    assert [one["properties"]["name"] for one in made["features"]] == [
        "Limburg, Belgium",
        "Limburg, Netherlands",
        "Hainaut",
    ]


@pytest.mark.parametrize(
    ("name", "square_degrees", "west", "north"),
    [
        ("Kent, United Kingdom", 0.459, 0.03, 51.49),
        ("kent", 0.459, 0.03, 51.49),
        ("California", 41.7, -124.4, 42.0),
        ("Tokyo, Japan", 0.213, 138.9, 35.9),
        ("Chukchi Autonomous Okrug", 147.0, -180.0, 71.6),  # on both sides of the date line
    ],
)
def test_an_area_lies_where_it_lies(name: str, square_degrees: float, west: float, north: float) -> None:
    made = areas_named([name])
    (feature,) = made["features"]
    assert feature["properties"]["name"].casefold() == name.split(",")[0].casefold()
    shape = region_from_geojson(made).shape
    assert shape.area == pytest.approx(square_degrees, rel=0.02)
    assert (shape.bounds[0], shape.bounds[3]) == (pytest.approx(west, abs=0.1), pytest.approx(north, abs=0.1))


def test_neighbours_meet_and_a_country_is_all_its_areas() -> None:
    made = areas_named(["Belgium (every area)", "Hainaut"])
    assert [one["properties"]["country"] for one in made["features"]] == ["Belgium"] * 11
    region = region_from_geojson(made)
    parts = sum(region_from_geojson({**made, "features": [one]}).shape.area for one in made["features"])
    assert parts == pytest.approx(region.shape.area, rel=1e-4)
    assert len(region.shape.geoms) <= 3  # no gaps: Baarle-Hertog lies apart


@pytest.mark.parametrize(
    ("names", "word"),
    [
        (["Limburg"], "several areas are called 'Limburg'.* 'Limburg, Belgium'; 'Limburg, Netherlands'"),
        (["Kemt"], "no area called 'Kemt' is known: did you mean 'Kent, United Kingdom'"),
        (["qqqqq"], "give a file of the area"),
        ([], "name 1 to 300 areas, not 0"),
    ],
)
def test_a_name_that_is_not_known_is_one_sentence(names: list[str], word: str) -> None:
    with pytest.raises(DomainError, match=word):
        areas_named(names)


def test_a_ring_goes_on_beyond_the_date_line_and_turns_no_long_edge_around(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(named_areas, "_file", lambda: {"steps": 10})
    lines = [[1700, 0, -3400, 50], [0, 0, 1000, 10, 0, 10]]
    assert named_areas._ring(lines, [0]).tolist() == [[170.0, 0.0], [190.0, 5.0]]
    assert named_areas._ring(lines, [1]).tolist() == [[0.0, 0.0], [100.0, 1.0], [100.0, 2.0]]
    assert named_areas._ring(lines, [~1]).tolist() == [[100.0, 2.0], [100.0, 1.0], [0.0, 0.0]]
