"""The generated city: real formats, said to be generated everywhere, and a truth that can be found again."""

from __future__ import annotations

import csv
import gzip
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shapely.geometry import Point, shape

from data_loaders import DEMO_YEARS, DemoFiles, demo_data, load_postcodes, load_sales, write_demo
from data_loaders.demo_data import NOISE, WARDS, DemoField, inside, river_north, to_km, to_lonlat


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoFiles:
    return write_demo(tmp_path_factory.mktemp("demo"))


def files(demo: DemoFiles) -> list[Path]:
    return [demo.price_paid_previous, demo.price_paid, demo.postcodes, demo.region]


def test_equal_seeds_give_equal_bytes_and_others_do_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(demo_data, "_KINDS", (replace(demo_data._KINDS[0], per_year=300),))
    monkeypatch.setattr(demo_data, "_POSTCODES", 200)
    demo = write_demo(tmp_path / "demo")
    again = write_demo(tmp_path / "again")
    other = write_demo(tmp_path / "other", seed=7)
    for mine, same, different in zip(files(demo), files(again), files(other), strict=True):
        assert mine.read_bytes() == same.read_bytes()
        assert mine == demo.region or mine.read_bytes() != different.read_bytes()
    assert not list(tmp_path.rglob("*.part"))


def test_it_is_said_to_be_generated_everywhere(demo: DemoFiles) -> None:
    assert all("generated" in path.name for path in files(demo))
    for path in (demo.price_paid_previous, demo.price_paid):
        with gzip.open(path, "rt", newline="") as text:
            rows = list(csv.reader(text))
        assert {len(row) for row in rows} == {16}
        assert all(row[0].startswith("{GENERATED-") for row in rows)
        assert len({row[0] for row in rows}) == len(rows)
        assert all(
            "GENERATED" in row[11] and "GENERATED" in row[12] and "NOT REAL" in row[13] for row in rows
        )
        assert all(not row[3] or row[3].startswith("Q") for row in rows), "no British postcode begins with Q"
    region = json.loads(demo.region.read_text())
    assert "not a real place" in region["features"][0]["properties"]["name"]
    made, _ = load_sales(demo.price_paid, demo.postcodes)
    assert made.generated
    assert load_postcodes(demo.postcodes)[0].generated


@pytest.mark.parametrize("which", [0, 1])
def test_existing_leasehold_flats_follow_the_true_field(demo: DemoFiles, which: int) -> None:
    path, year = (demo.price_paid_previous, demo.price_paid)[which], DEMO_YEARS[which]
    made, report = load_sales(path, demo.postcodes, segment="existing-leasehold-flats", years=year)
    assert 11_900 <= made.size <= 12_000
    assert report.rows_read > 20_000
    residual = np.log(made.value) - demo.truth.log_price(made.x, made.y, year)
    # Mean and deviation of 12,000 normal residuals: five standard errors, failure probability 1e-6 each,
    # and the data are seeded, so a failure stays.
    assert abs(residual.mean()) < 5 * NOISE / math.sqrt(made.size)
    assert abs(residual.std() - NOISE) < 5 * NOISE / math.sqrt(2 * made.size)


def test_every_drop_reason_of_real_files_occurs(demo: DemoFiles) -> None:
    _, report = load_sales(demo.price_paid, demo.postcodes)
    assert {"postcode blank or malformed", "postcode not in the postcode table"} <= dict(
        report.dropped
    ).keys()
    _, postcodes = load_postcodes(demo.postcodes)
    assert dict(postcodes.dropped) == {"postcode without usable coordinates": 1}


def test_the_region_is_a_valid_ring_and_holds_every_postcode(demo: DemoFiles) -> None:
    region = json.loads(demo.region.read_text())
    (ring,) = region["features"][0]["geometry"]["coordinates"]
    assert ring[0] == ring[-1]
    lon, lat = np.array(ring).T
    assert np.sum(lon[:-1] * lat[1:] - lon[1:] * lat[:-1]) > 0, "counter-clockwise, as RFC 7946 asks"
    assert region["bbox"] == [lon.min(), lat.min(), lon.max(), lat.max()]
    table, _ = load_postcodes(demo.postcodes)
    assert inside(*to_km(table.x, table.y)).all()


def test_the_city_is_worth_a_map(demo: DemoFiles) -> None:
    """Two separate expensive places, a tenth to a third of the city above the usual threshold."""
    axis = np.arange(-20, 20, 0.25)
    east, north = (grid.ravel() for grid in np.meshgrid(axis, axis))
    city = inside(east, north)
    price = np.exp(demo.truth.log_price(*to_lonlat(east[city], north[city])))
    assert 0.10 < np.mean(price > 442_413) < 0.34
    assert 150_000 < price.min() < 300_000
    assert 900_000 < price.max() < 2_000_000
    assert 700 < city.sum() * 0.25**2 < 850, "square kilometres: about 1,250 cells of resolution 8"


def test_prices_grow_from_year_to_year(demo: DemoFiles) -> None:
    first, last = DEMO_YEARS
    growth = demo.truth.log_price(2.2, 54.75, last) - demo.truth.log_price(2.2, 54.75, first)
    assert growth == pytest.approx(0.03 * (last - first))


def test_places_convert_there_and_back() -> None:
    east, north = to_km(*to_lonlat([1.5, -7.0], [2.5, 8.0]))
    np.testing.assert_allclose(east, [1.5, -7.0])
    np.testing.assert_allclose(north, [2.5, 8.0])


def test_the_changed_city_has_a_new_quarter_and_a_fall_and_the_same_public_year(
    demo: DemoFiles, tmp_path: Path
) -> None:
    changed = write_demo(tmp_path, changed=True)
    for mine, same in zip(files(demo), files(changed), strict=True):
        assert (mine.read_bytes() == same.read_bytes()) == (mine != demo.price_paid)
    east, north = np.array([0.5, 7.2, -2.6]), np.array([8.2, float(river_north(7.2)), 1.9])
    first, last = DEMO_YEARS
    before = np.exp(changed.truth.log_price(*to_lonlat(east, north), first))
    after = np.exp(changed.truth.log_price(*to_lonlat(east, north), last))
    assert (before > 450_000).tolist() == [False, True, True]
    assert (after > 450_000).tolist() == [True, False, True]
    axis = np.arange(-20, 20, 0.25)
    grid_east, grid_north = (grid.ravel() for grid in np.meshgrid(axis, axis))
    city = inside(grid_east, grid_north)
    known, new = (
        changed.truth.log_price(*to_lonlat(grid_east[city], grid_north[city]), year) > np.log(450_000)
        for year in DEMO_YEARS
    )
    assert 0.45 < (known & new).sum() / (known | new).sum() < 0.62


def test_the_districts_are_named_and_share_out_the_city(demo: DemoFiles) -> None:
    found = json.loads(demo.districts.read_text())["features"]
    assert [feature["properties"]["name"] for feature in found] == sorted(name.title() for name, *_ in WARDS)
    shapes = [shape(feature["geometry"]) for feature in found]
    (city,) = json.loads(demo.region.read_text())["features"]
    assert sum(one.area for one in shapes) == pytest.approx(shape(city["geometry"]).area, rel=5e-3)
    for feature, one in zip(found, shapes, strict=True):
        ((east, north),) = [
            centre for name, *centre in WARDS if name.title() == feature["properties"]["name"]
        ]
        lon, lat = to_lonlat(east, north)
        assert one.contains(Point(float(lon), float(lat)))


def test_the_invented_city_is_the_published_one() -> None:
    """Its figures stand in documents and stored runs: a changed number is another city."""
    east, north = np.array([0.5, -3.5, 7.0, -9.0, 3.4, 12.0]), np.array([1.0, 4.0, -2.0, 3.0, 4.0, -4.0])
    lon, lat = demo_data.to_lonlat(east, north)
    assert lon[:2] == pytest.approx([2.20778376578, 2.14551363951], abs=1e-10)
    assert lat[:2] == pytest.approx([54.7589847260, 54.7859389039], abs=1e-9)
    found = {
        "dense": demo_data.density(east, north)[[0, 1, 4, 5]],
        "river": demo_data.river_distance(east, north)[:3],
        "outline": demo_data.radius(np.array([0.0, 1.0, 2.5, 4.0])),
        "price": demo_data.DemoField(20, 2024).log_price(lon, lat)[:3],
        "two years before": demo_data.DemoField(20, 2024).log_price(lon, lat, 2022)[:2],
        "changed": demo_data.DemoField(20, 2024, changed=True).log_price(lon, lat)[:3],
        "before the change": demo_data.DemoField(20, 2024, changed=True).log_price(lon, lat, 2023)[:2],
    }
    expected = {
        "dense": [1.2304178252, 0.5402790738, 0.0, 0.1592387914],
        "river": [0.6520742758, 5.5871732031, 1.6140621746],
        "outline": [18.1193557761, 14.4876855304, 16.7926890953, 14.8517365899],
        "price": [13.6714625852, 13.5316669282, 13.1285734304],
        "two years before": [13.6114625852, 13.4716669282],
        "changed": [13.6634049988, 13.5412260874, 12.7867009738],
        "before the change": [13.6414625852, 13.5016669282],
    }
    for name, values in expected.items():
        assert found[name] == pytest.approx(values, abs=2e-10), name


def test_the_files_of_the_invented_city_are_the_published_ones(demo: DemoFiles) -> None:
    def rows(path: Path) -> list[list[str]]:
        with gzip.open(path, "rt", newline="") as text:
            return list(csv.reader(text))

    sales, postcodes = rows(demo.price_paid), rows(demo.postcodes)
    assert (len(sales), len(postcodes)) == (23_300, 7_002)
    assert sales[0][1:9] == ["238000", "2024-01-01 00:00", "QH6 5BN", "T", "N", "F", "86", ""]
    assert sales[-1][1:9] == ["1025000", "2024-12-30 00:00", "QH2 1AY", "F", "N", "L", "112", "FLAT 21"]
    assert sales[-1][12:] == ["WEST QUAY (GENERATED)", "GENERATED, NOT REAL", "A", "A"]
    assert sum(int(row[1]) for row in sales) / 23_300 == pytest.approx(563_100.34, rel=1e-5)
    assert (sum(not row[3] for row in sales), sum(row[3] == "QH99 9ZZ" for row in sales)) == (50, 42)
    assert (max(int(row[7]) for row in sales), max(int(row[8][5:] or 0) for row in sales)) == (179, 59)
    assert postcodes[1] == ["QH1 0AA", "202001", "", "1", "GEN000001", "54.758822", "2.184837"]
    assert postcodes[-1] == ["QH98 9ZZ", "202001", "202206", "9", "GEN000000", "99.999999", "0.000000"]
    [ring] = json.loads(demo.region.read_text())["features"][0]["geometry"]["coordinates"]
    assert (len(ring), ring[:2]) == (181, [[2.48207, 54.75], [2.48198, 54.75568]])
    wards = json.loads(demo.districts.read_text())["features"]
    corners = [len(ward["geometry"]["coordinates"][0]) for ward in wards]
    assert corners == [7, 28, 35, 37, 32, 12, 5, 11, 11, 34, 7, 30]
    assert wards[0]["properties"] == {"name": "Amber Reach", "generated": True}


def test_the_city_stands_in_the_open_sea_and_kilometres_are_true() -> None:
    """A degree north is 111.3 km, a degree east as many times the cosine of 54.75 degrees."""
    east, north = to_km([2.2, 3.2, 2.2], [54.75, 54.75, 55.75])
    np.testing.assert_allclose(east, [0.0, 64.2369, 0.0], atol=1e-3)
    np.testing.assert_allclose(north, [0.0, 0.0, 111.3], atol=1e-3)


def near(*numbers: float) -> object:
    return pytest.approx(numbers, abs=2e-4)


def test_the_shape_of_the_city_is_the_published_one() -> None:
    """Kilometres to its outline, its river and the density of its postcodes, at places known by heart."""
    assert demo_data.radius([0.0, 1.0, 2.5]).tolist() == near(18.1194, 14.4877, 16.7927)
    assert river_north([-5.0, 0.0, 7.2]).tolist() == near(-2.3483, -0.0159, -0.2815)
    east, north = np.array([0.5, -5.5, 3.4, 10.0, 0.0]), np.array([1.0, 4.6, 4.69, -9.0, 0.0])
    assert demo_data.river_distance(east, north).tolist() == near(0.6521, 6.9555, 3.6325, 7.3997, 0.0137)
    assert demo_data.density(east, north).tolist() == near(1.2304, 0.0, 0.0, 0.1619, 0.0)
    assert demo_data.ward_of(east, north).tolist() == [0, 2, 4, 9, 0]


def test_the_changed_field_differs_in_its_last_year_alone() -> None:
    """Logarithms of prices in the west, in the new quarter and down the river where they fall."""
    lon, lat = to_lonlat(np.array([-2.6, 0.5, 7.2]), np.array([1.9, 8.2, 0.3]))
    plain, other = DemoField(20, 2024), DemoField(20, 2024, changed=True)
    assert plain.log_price(lon, lat).tolist() == near(13.9224, 12.7033, 13.4167)
    assert (other.log_price(lon, lat) - plain.log_price(lon, lat)).tolist() == near(0.0006, 0.62, -0.4789)
    assert other.log_price(lon, lat, 2023).tolist() == plain.log_price(lon, lat, 2023).tolist()
