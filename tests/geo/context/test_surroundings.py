"""What lies around a region: places, coast and borders, in few numbers and from the cells alone."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from geo import domain_from_bbox
from geo.context import shores, surroundings
from geo.context.surroundings import Place, Surroundings, around, find_places

DOMAIN = domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 7)
PLACES = ["Far\t3.0\t51.5\t900000", "Middleton\t-0.1\t51.5\t5000", "Midway\t-0.2\t51.45\t70"]
# One square of land from 20 degrees west to the meridian of Greenwich, and one border across it.
LAND = [-200_000, 500_000, 200_000, 0, 0, 20_000, -200_000, 0, 0, -20_000]
BORDER = [-100_000, 515_000, 200_000, 0]
# A lake of a tenth of a degree with an isle, and a river along a parallel.
LAKE = [-2_000, 514_500, 1_000, 0, 0, 1_000, -1_000, 0]
ISLE = [-1_600, 514_800, 200, 0, 0, 200, -200, 0]
RIVER = [-30_000, 515_200, 60_000, 0]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Files of a small world of our own."""
    with gzip.open(tmp_path / "places.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(PLACES))
    world = {"land": [LAND], "lakes": [LAKE], "isles": [ISLE], "rivers": [RIVER], "borders": [BORDER]}
    shores.write_shores(tmp_path / "land.npz", 10_000, world)
    monkeypatch.setattr(surroundings, "folder", lambda: tmp_path)
    monkeypatch.setattr(surroundings, "FILE", tmp_path / "land.npz")
    yield tmp_path
    for kept in (surroundings._around, surroundings._gazetteer, shores.shores):
        kept.cache_clear()


def test_places_near_the_region_come_before_larger_ones_far_away(built: Path) -> None:
    assert [place.name for place in around(DOMAIN).places] == ["Middleton", "Midway"]
    wide = domain_from_bbox(-3, 50, 2.9, 53, 4)
    assert [place.name for place in around(wide).places] == ["Far", "Middleton", "Midway"]


def test_a_suburb_is_named_before_its_larger_neighbours(built: Path) -> None:
    """And the nearest place where none is in the area."""
    lines = ["City\t-0.16\t51.5\t900000", "Suburb\t-0.1\t51.5\t70", "Village\t-0.11\t51.52\t50"]
    (built / "places.tsv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    suburb = around(domain_from_bbox(-0.12, 51.49, -0.08, 51.51, 9))
    assert [place.name for place in suburb.places] == ["Suburb", "City", "Village"]
    surroundings._around.cache_clear()
    field = around(domain_from_bbox(-0.118, 51.525, -0.11, 51.53, 10))
    assert [place.name for place in field.places] == ["Village", "City", "Suburb"]


def test_names_are_taken_as_they_are_written(built: Path) -> None:
    """A place called NA is no missing value, and a quotation mark is a letter."""
    lines = ["\"Ada's Corner\t-0.1\t51.5\t9", "NA\t-0.125\t51.4375\t8", "nan\t0.05\t51.55\t7"]
    with gzip.open(built / "places.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    found = around(DOMAIN).places
    assert [(place.name, place.population) for place in found] == [
        ("\"Ada's Corner", 9),
        ("NA", 8),
        ("nan", 7),
    ]
    assert (found[1].longitude, found[1].latitude) == (-0.125, 51.4375)


def test_land_is_cut_at_the_box_and_the_shore_is_where_the_land_ends(built: Path) -> None:
    found = around(DOMAIN)
    west, south, east, north = found.box
    assert west < -0.3 < 0.1 < east
    assert south < 51.4 < 51.6 < north
    (land,) = found.land
    assert land.min(axis=0) == pytest.approx((west, south))
    assert land.max(axis=0) == pytest.approx((0.0, north))
    shore, lake, isle = found.coast
    np.testing.assert_allclose(shore[:, 0], 0.0)
    assert (lake.min(axis=0).tolist(), lake.max(axis=0).tolist()) == ([-0.2, 51.45], [-0.1, 51.55])
    assert (isle.min(axis=0).tolist(), isle.max(axis=0).tolist()) == ([-0.16, 51.48], [-0.14, 51.5])
    (river,) = found.rivers
    assert river[:, 0].tolist() == pytest.approx([west, east])
    (border,) = found.borders
    assert border[:, 0].min() == pytest.approx(west)
    assert border[:, 0].max() == pytest.approx(east)
    assert border[:, 1] == pytest.approx(51.5)


def test_what_travels_is_unpacked_to_the_same_lines(built: Path) -> None:
    found = around(DOMAIN)
    sent = json.loads(json.dumps(found.packed()))
    flat = np.reshape(sent["land"][0], (-1, 2)).cumsum(axis=0) / sent["steps"]
    np.testing.assert_allclose(flat, found.land[0], atol=1e-4)
    assert sent["places"][0] == ["Middleton", -0.1, 51.5, 5000]
    assert sent["source"].startswith("Place names: GeoNames")


def test_it_depends_on_the_cells_and_on_nothing_else(built: Path) -> None:
    assert around(DOMAIN) is around(domain_from_bbox(-0.3, 51.4, 0.1, 51.6, 7))


def test_the_date_line_is_crossed_in_one_piece(built: Path) -> None:
    (built / "places.tsv.gz").write_bytes(gzip.compress(b"West\t-179.9\t51.5\t10\nEast\t179.9\t51.5\t9"))
    there = around(domain_from_bbox(179.5, 51.4, 179.99, 51.6, 7))
    assert there.places == (Place("East", 179.9, 51.5, 9), Place("West", 180.1, 51.5, 10))


def test_the_search_takes_a_whole_name_before_a_larger_place(built: Path) -> None:
    assert [place.name for place in find_places("MID")] == ["Middleton", "Midway"]
    assert [place.name for place in find_places("midway ")] == ["Midway"]
    assert find_places(" ") == ()


def test_lines_are_fine_about_the_region_and_coarser_beyond() -> None:
    angle = np.linspace(0, 2 * np.pi, 20_000)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    inside = surroundings._Fineness((0.0, 0.0), np.array([2.0, 2.0]), 1e-4).simple(circle)
    outside = surroundings._Fineness((9.0, 9.0), np.array([2.0, 2.0]), 1e-4).simple(circle)
    assert (len(inside), len(outside)) == (257, 129)
    np.testing.assert_array_equal(inside[0], circle[0])


def test_a_ragged_coast_has_at_most_four_thousand_corners(built: Path) -> None:
    up = np.random.default_rng(1).integers(-900, 901, 60_000)
    steps = np.column_stack([np.full(60_000, 10), up])
    shore = np.vstack([[-300_000, 515_000], steps, [0, -300_000], [-600_000, 0]]).ravel().tolist()
    shores.write_shores(built / "land.npz", 10_000, {"land": [shore]})
    (land,) = around(domain_from_bbox(-30.0, 46.0, 20.0, 60.0, 1)).land
    assert 1_500 < len(land) <= 4_000


def test_a_small_region_has_no_river_of_a_map_of_the_world(built: Path) -> None:
    """At 1:10 million a river may be a kilometre aside: too much for an area of 10 km."""
    assert around(domain_from_bbox(-0.15, 51.45, -0.05, 51.55, 9)).rivers == ()


def test_without_places_shores_alone_are_drawn_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "folder", lambda: None)
    found = around(DOMAIN)
    assert found.places == ()
    assert found.source == "Shores, rivers and borders: Natural Earth."
    assert around(DOMAIN, world=False) == Surroundings()
    assert around(DOMAIN, world=False).source == ""
    assert find_places("London") == ()


def test_what_ships_knows_london_and_weighs_little() -> None:
    built = surroundings.folder()
    assert built is not None
    assert sum(file.stat().st_size for file in built.iterdir()) < 6_000_000
    found = around(DOMAIN)
    names = [place.name for place in found.places]
    assert names[0] == "London"
    assert {"Islington", "Croydon", "Watford", "Slough"} <= set(names)
    assert len(json.dumps(found.packed(), separators=(",", ":"))) < 30_000
    assert find_places("Reykjav")[0].name == "Reykjavík"
