"""Reference systems: known places land where they should, round trips close, errors are sentences."""

from __future__ import annotations

import numpy as np
import pytest
from pyproj import Geod

from geo import CrsError, accuracy_note, is_lonlat, parse_crs, project, to_lonlat
from geo.crs import local_crs

# Places with coordinates published in both systems; 10 m allow for datum drift and rounded sources.
KNOWN = [
    # Caister water tower, the worked example of Ordnance Survey's "A guide to coordinate systems in Great
    # Britain": OSGB36 grid coordinates and ETRS89 degrees (52 39 28.723 N, 1 42 57.787 E).
    ("EPSG:27700", 651409.792, 313177.448, 1 + 42 / 60 + 57.787 / 3600, 52 + 39 / 60 + 28.723 / 3600),
    # Onze Lieve Vrouwetoren, Amersfoort: the origin of the Dutch grid, by definition at (155000, 463000).
    ("EPSG:28992", 155000.0, 463000.0, 5.38721, 52.15517),
    # The old observatory of Bern: the origin of the Swiss grid, by definition at (2600000, 1200000).
    ("EPSG:2056", 2600000.0, 1200000.0, 7.43864, 46.95108),
    # Web Mercator of 90 degrees east on the equator is a quarter of 2 pi times 6,378,137 m.
    ("EPSG:3857", np.pi / 2 * 6378137.0, 0.0, 90.0, 0.0),
    ("EPSG:4326", -0.1276, 51.5072, -0.1276, 51.5072),
]


@pytest.mark.parametrize(("crs", "x", "y", "lon", "lat"), KNOWN, ids=[row[0] for row in KNOWN])
def test_known_places(crs: str, x: float, y: float, lon: float, lat: float) -> None:
    found_lon, found_lat = to_lonlat([x], [y], crs)
    assert Geod(ellps="WGS84").inv(found_lon[0], found_lat[0], lon, lat)[2] < 10.0


@pytest.mark.parametrize("crs", ["EPSG:27700", "EPSG:28992", "EPSG:3857", "EPSG:32631", local_crs(4.0, 52.0)])
def test_there_and_back(crs: str) -> None:
    lonlat = np.array([[3.9, 51.9], [4.4, 52.1]])
    x, y = project(lonlat, crs).T
    np.testing.assert_allclose(np.column_stack(to_lonlat(x, y, crs)), lonlat, atol=2e-6)


def test_points_without_an_answer_are_nan_not_an_error() -> None:
    lon, lat = to_lonlat([530000.0, np.nan, np.inf, 1e12], [180000.0, 1.0, 1.0, 1e12], "EPSG:27700")
    assert np.isfinite([lon[0], lat[0]]).all()
    assert np.isnan(lon[1:]).all()
    assert np.isnan(lat[1:]).all()
    lon, lat = to_lonlat([530000.0, -0.1, 0.0], [180000.0, 51.5, 91.0], "EPSG:4326")
    assert np.isnan(lon).tolist() == np.isnan(lat).tolist() == [True, False, True]


def test_arrays_given_are_not_changed() -> None:
    x, y = np.array([500.0]), np.array([500.0])
    to_lonlat(x, y, "EPSG:4326")
    assert (x[0], y[0]) == (500.0, 500.0)


def test_a_code_may_be_written_as_a_number() -> None:
    assert parse_crs("27700") == parse_crs("EPSG:27700") == parse_crs(" epsg:27700 ")
    assert is_lonlat("4326")
    assert not is_lonlat("28992")


@pytest.mark.parametrize("name", ["", "nonsense", "EPSG:99999", "EPSG:abc", "/etc/passwd", "+init=epsg:4326"])
def test_unknown_systems_get_a_sentence(name: str) -> None:
    with pytest.raises(CrsError, match="is not known: give an EPSG code"):
        parse_crs(name)


@pytest.mark.parametrize("name", ["EPSG:5703", "EPSG:4978"])
def test_systems_without_horizontal_coordinates_are_refused(name: str) -> None:
    with pytest.raises(CrsError, match="no horizontal coordinates"):
        parse_crs(name)


def test_unequal_columns_are_refused() -> None:
    with pytest.raises(CrsError, match="same length, got 2 and 1"):
        to_lonlat([1.0, 2.0], [1.0], "EPSG:4326")


def test_the_accuracy_of_the_british_grid_is_said() -> None:
    note = accuracy_note("EPSG:27700")
    assert "about 2 m" in note
    assert note.endswith(".")
    assert accuracy_note("EPSG:4326") == ""


def test_local_projection_keeps_areas_and_has_one_name() -> None:
    assert local_crs(-0.00001, 51.50001) == local_crs(0.00001, 51.49999)
    west, south, east, north = 5.0, 60.0, 6.0, 61.0
    edge = np.linspace(0, 1, 400)
    ring = np.concatenate(
        [
            np.column_stack([west + edge * (east - west), np.full(400, south)]),
            np.column_stack([np.full(400, east), south + edge * (north - south)]),
            np.column_stack([east - edge * (east - west), np.full(400, north)]),
            np.column_stack([np.full(400, west), north - edge * (north - south)]),
        ]
    )
    x, y = project(ring, local_crs(5.5, 60.5)).T
    area = 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
    ground = abs(Geod(ellps="WGS84").polygon_area_perimeter(ring[:, 0], ring[:, 1])[0])
    assert area == pytest.approx(ground, rel=1e-5)
    with pytest.raises(CrsError, match="finite origin"):
        local_crs(float("nan"), 0.0)
