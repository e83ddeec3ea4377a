"""The real public files, where they lie beside the checkout: known counts, two lookups, three sensor sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from data_loaders import guess_columns, load_postcodes, load_sales
from tests.data_loaders.material import load_sensors, reasons

NSPL = "postcodes/london_postcodes_nspl_style.csv.gz"
CODE_POINT = "postcodes/codepoint_open_london_areas_2017.tar.gz"


@pytest.mark.parametrize(("year", "flats"), [(2017, 12_465), (2018, 11_344)])
def test_existing_leasehold_flats_of_fifteen_boroughs(shared_data: Path, year: int, flats: int) -> None:
    path = shared_data / f"price_paid/pp-{year}-london-15boroughs.csv.gz"
    made, report = load_sales(path, shared_data / NSPL, segment="existing-leasehold-flats", years=year)
    lost = sum(count for reason, count in report.dropped if "postcode" in reason)
    assert made.size + lost == flats
    assert lost <= 0.0002 * flats
    assert ((made.x > -0.6) & (made.x < 0.4) & (made.y > 51.2) & (made.y < 51.8)).all()
    assert 250_000 < np.median(made.value) < 600_000


def test_coverage_of_all_rows(shared_data: Path) -> None:
    table, report = load_postcodes(shared_data / NSPL)
    assert report.kept == 180_666
    for year, rows in ((2017, 28_357), (2018, 26_493)):
        made, report = load_sales(shared_data / f"price_paid/pp-{year}-london-15boroughs.csv.gz", table)
        assert report.rows_read == rows
        assert made.size >= 0.9997 * rows


def test_two_postcode_formats_place_the_same_sales_alike(shared_data: Path) -> None:
    """Easting and northing against longitude and latitude: the same order along both axes, nearly."""
    path = shared_data / "price_paid/pp-2018-london-15boroughs.csv.gz"
    table, report = load_postcodes(shared_data / CODE_POINT)
    assert table.crs == "EPSG:27700"
    assert reasons(report) == {"postcode without usable coordinates": 61}
    grid, _ = load_sales(path, table, segment="existing-freehold-houses")
    degrees, _ = load_sales(path, shared_data / NSPL, segment="existing-freehold-houses")
    assert 0.9 * degrees.size < grid.size <= degrees.size
    assert abs(np.ptp(grid.y) / np.ptp(degrees.y) / 111_200 - 1) < 0.05, "a degree of latitude in metres"


def test_full_address_rows_of_1995(shared_data: Path) -> None:
    """2,000 rows of the unaltered complete file; the London lookup knows only London's postcodes."""
    path = shared_data / "price_paid/pp-complete-1995-first2000rows.csv.gz"
    made, report = load_sales(path, shared_data / NSPL, years=1995)
    assert report.rows_read == 2000
    assert set(reasons(report)) <= {"postcode blank or malformed", "postcode not in the postcode table"}
    assert 100 < made.size < 500


@pytest.mark.parametrize(
    ("name", "settings", "size"),
    [
        ("london_laqn_2023_station_means.csv", {"value": "no2_ugm3", "x": "lon", "y": "lat"}, 56),
        ("london_laqn_2023_station_means.csv", {"value": "pm25_ugm3", "x": "lon", "y": "lat"}, 20),
        (
            "london_laqn_annual_means_2022_2024.csv",
            {
                "value": "annual_mean",
                "x": "Longitude",
                "y": "Latitude",
                "where": {"species": "NO2", "year": 2022},
            },
            74,
        ),
        ("meuse_topsoil_metals.csv", {"value": "lead", "x": "x", "y": "y", "crs": "EPSG:28992"}, 155),
        ("jura_topsoil_metals_pred.csv", {"value": "Pb", "x": "long", "y": "lat"}, 259),
    ],
)
def test_sensor_tables(shared_data: Path, name: str, settings: dict[str, object], size: int) -> None:
    path = shared_data / "sensors" / name
    made, _ = load_sensors(path, unit="as published", **settings)  # type: ignore[arg-type]
    assert made.size == size
    guess = guess_columns(path)
    assert (guess.x, guess.y) == (settings["x"], settings["y"])
    assert guess.crs == (None if "meuse" in name else "EPSG:4326")
